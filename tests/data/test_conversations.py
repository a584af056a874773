"""Conversations become utterances of customers that know what was said before them, by whom and with what outcome."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from newfound.data.redact import redact_rows
from newfound.data.rows import ReadOptions, ReadReport
from newfound.data.validation import open_rows, read_corpus
from newfound.errors import DataError
from newfound.training.progress import Reporter
from newfound.workflows.conversations import keep_wishes, with_one_turn_a_label

ROLES = {"agent": "assistant", "customer": "user"}
TALK = [
    ("customer", "hi"),
    ("agent", "How can I help you?"),
    ("customer", "I want to cancel my order"),
    ("agent", "Ok"),
]
PICTURE = {"type": "image_url", "image_url": {"url": "x"}}
AUTHORS = {"customer": {"type": "user", "name": "Ann"}, "agent": {"type": "admin", "name": "Bob"}}
FORMATS = {
    "roles.jsonl": [{"id": "a", "messages": [{"role": ROLES[s], "content": t} for s, t in TALK]}],
    "parts.jsonl": [
        {
            "session_id": "a",
            "turns": [{"speaker": s, "content": [{"type": "text", "text": t}, PICTURE]} for s, t in TALK],
        }
    ],
    "trace.jsonl": [{"trace_id": "a", "inputs": {"messages": [[{"type": s, "text": t} for s, t in TALK]]}}],
    "authors.json": {"data": [{"id": "a", "messages": [{"author": AUTHORS[s], "body": t} for s, t in TALK]}]},
    "array.json": [{"id": "a", "dialogue": [{"from": s, "value": t} for s, t in TALK]}],
}


def write(path, content):
    lines = "\n".join(map(json.dumps, content)) if path.suffix == ".jsonl" else json.dumps(content)
    path.write_text(lines, "utf-8")
    return path


def table(tmp_path, rows, header="conversation,turn,speaker,text"):
    path = tmp_path / "talk.csv"
    path.write_text("\n".join([header, *rows]), "utf-8")
    return path


@pytest.mark.parametrize("name", FORMATS)
def test_lists_of_messages_are_read_whatever_their_keys_are(tmp_path, name):
    corpus, report = read_corpus(write(tmp_path / name, FORMATS[name]), labels="ignored")
    assert corpus.texts == ("hi", "I want to cancel my order")
    first, second = (origin.said for origin in corpus.origins)
    assert (first.conversation, first.turn, first.before, first.openings) == ("a", 1, (), 0)
    assert (second.conversation, second.turn, second.openings, second.answers) == ("a", 3, 1, 0)
    assert [turn.partition(": ")[2] for turn in second.before] == ["hi", "How can I help you?"]
    assert report.notes[-1].endswith(
        "1 conversations: 2 turns are customers'; 2 of agents and 0 of systems and tools are left out"
    )


def test_parquet_holds_lists_of_messages_or_columns(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.Table.from_pylist(FORMATS["roles.jsonl"]), tmp_path / "lists.parquet")
    turns = [{"text": t, "speaker": s, "thread id": "a", "cost": 2.0} for s, t in TALK]
    parquet.write_table(pa.Table.from_pylist(turns), tmp_path / "columns.parquet")
    lists, columns = (
        read_corpus(tmp_path / f"{name}.parquet", ReadOptions(value_columns=values), "ignored")[0]
        for name, values in (("lists", ()), ("columns", ("cost",)))
    )
    assert lists.texts == columns.texts == ("hi", "I want to cancel my order")
    assert [o.said.turn for o in lists.origins] == [o.said.turn for o in columns.origins] == [1, 3]
    assert columns.origins[0].said.values == (("cost", 2.0, 1),)


def test_turns_of_a_table_are_put_in_order_and_counted_by_person_and_outcome(tmp_path):
    rows = ["a,2,Agent,Which one?,u1,yes", "a,1,Customer,a book is missing,u1,yes", "a,3,Customer,the blue one,u1,yes"]
    rows += ["b,1,Customer,a book is missing,u2,no", "b,2,system,closed,u2,", "b,3,Customer,thanks,u2,maybe"]
    path = table(tmp_path, rows, "conversation,turn,speaker,text,user_id,resolved")
    corpus, report = read_corpus(path, ReadOptions(value_columns=("resolved",)), "ignored", max_logs=2)
    said = dict(zip(corpus.texts, (origin.said for origin in corpus.origins), strict=True))
    first = said.get("a book is missing")
    if first is not None:  # which two of the three are in the sample is by chance of their hashes
        assert (len(first.conversations), len(first.users), first.values) == (2, 2, (("resolved", 1.0, 2),))
    everything, _ = read_corpus(path, ReadOptions(value_columns=("resolved",)), "ignored")
    assert everything.texts == ("a book is missing", "the blue one", "a book is missing", "thanks")
    assert everything.origins[1].said.answers == 1
    assert everything.origins[1].said.before == ("customer: a book is missing", "agent: Which one?")
    assert "u1" not in repr(everything)
    assert report.counts["unvalued"] == 1  # maybe
    assert any("people are counted by the column 'user_id'" in note for note in report.notes)


def test_small_talk_and_answers_are_left_out_and_three_turns_of_a_conversation_stay(tmp_path):
    wishes = ["I want to cancel my order", "can you send me a new card?", "how do I change my address?"]
    rows = ["a,1,user,hello", *(f"a,{i},user,{text}" for i, text in enumerate([*wishes, "I need to pay a bill"], 2))]
    rows += ["b,1,user,thanks a lot", "b,2,bot,What is your name?", "b,3,user,Maria Lopez"]
    corpus, _ = read_corpus(table(tmp_path, rows), labels="ignored")
    kept = keep_wishes(corpus, Reporter())
    assert len(kept) == 3
    assert set(kept.texts) < {*wishes, "I need to pay a bill"}
    alone, _ = read_corpus(table(tmp_path, ["hello", "Maria Lopez"], "text"), labels="ignored")
    assert keep_wishes(alone, Reporter()).texts == alone.texts  # only turns of conversations are judged


def test_a_label_of_a_whole_conversation_is_that_of_its_wish(tmp_path):
    talks = [{"topic": topic, "messages": FORMATS["roles.jsonl"][0]["messages"]} for topic in ("orders", "money")]
    talks[1]["messages"] = [{"role": "user", "content": text} for text in ("hello", "how do I pay my bill?", "ok")]
    corpus, _ = read_corpus(write(tmp_path / "a.jsonl", talks), ReadOptions(label_column="topic"))
    known = with_one_turn_a_label(corpus)
    assert known.labels == ("orders", "money")
    assert known.texts == ("I want to cancel my order", "how do I pay my bill?")
    by_turn, _ = read_corpus(
        table(tmp_path, ["a,1,user,hi,greet", "a,2,user,bye,part"], "conversation,turn,role,text,label")
    )
    assert with_one_turn_a_label(by_turn).texts == ("hi", "bye")


def test_german_turns_are_not_judged_by_english_words(tmp_path):
    rows = ["a,1,kunde,guten morgen", "a,2,kunde,ich möchte meine Bestellung mit der Karte bezahlen"]
    corpus, _ = read_corpus(table(tmp_path, rows), labels="ignored")
    assert keep_wishes(corpus, Reporter()).texts == ("ich möchte meine Bestellung mit der Karte bezahlen",)


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (
            '{"messages": [{"role": "assistant", "content": "hi"}]}',
            {},
            "none of 1 turns is a customer's; all are of agents",
        ),
        ('{"messages": [{"role": "zorg", "content": "hi"}]}', {}, "the speakers are 'zorg'; say whose turns"),
        ('{"text": "a", "role": "user"}', {"speaker_column": "who"}, "no column 'who'"),
        ("\n".join(['{"text": "a"}'] * 6 + ['{"text": ']), {}, "line 7: not JSON"),
        ('{"messages": []}', {}, "no utterance in it"),
        ('{"messages": [{"role": "user", "content": ""}]}', {}, "no utterance in it"),
    ],
)
def test_what_cannot_be_read_is_one_line_that_says_what_to_do(tmp_path, content, options, message):
    path = tmp_path / "a.jsonl"
    path.write_text(content, "utf-8")
    with pytest.raises(DataError) as caught:
        read_corpus(path, ReadOptions(**options), "ignored")
    assert message in str(caught.value)


def test_other_speakers_are_named_and_can_be_chosen(tmp_path):
    path = table(tmp_path, ["a,1,zorg,pay my bill", "a,2,agent,Sure", "a,3,customer,thanks"])
    corpus, report = read_corpus(path, labels="ignored")
    assert corpus.texts == ("thanks",)
    assert report.counts["strangers"] == 1
    assert any("neither customers nor agents: 'zorg'" in note for note in report.notes)
    assert read_corpus(path, ReadOptions(speaker="zorg"), "ignored")[0].texts == ("pay my bill",)


def test_odd_messages_lose_no_other_and_a_conversation_may_be_called_0(tmp_path):
    nested = ["deep"]
    for _ in range(900):
        nested = [nested]
    odd = [{"role": None, "content": "a b"}, {"role": "user", "content": nested}]
    talk = {"id": 0, "user_id": 0, "messages": [*odd, {"role": "user", "content": "cancel my order bob@mail.example"}]}
    (tmp_path / "talks.jsonl").write_text(json.dumps(talk) + "\n")
    rows, _ = open_rows(tmp_path / "talks.jsonl", labels="ignored")
    (row,) = redact_rows(rows, ReadReport("talks"))
    assert (row.text, row.origin.said.conversation, len(row.origin.said.users)) == ("cancel my order <email>", "0", 1)


def test_a_column_that_only_looks_like_speakers_changes_nothing(tmp_path):
    path = table(tmp_path, ["7,where is my card?,web", "8,pay my bill,phone"], "ticket_id,text,from")
    corpus, report = read_corpus(path, labels="ignored")
    assert len(corpus) == 2
    assert not any(origin.said.conversation for origin in corpus.origins)
    assert not report.notes


def test_right_to_left_text_and_very_long_messages_are_kept(tmp_path):
    path = write(
        tmp_path / "a.jsonl", [{"messages": [{"role": "user", "content": t}]} for t in ("أين طلبي؟", "x " * 10**6)]
    )
    corpus, report = read_corpus(path, labels="ignored")
    assert corpus.texts[0] == "أين طلبي؟"
    assert len(corpus.texts[1]) < 30_000
    assert report.counts["truncated"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("endless", [False, True], ids=["many conversations", "one endless conversation"])
def test_conversations_stream_in_bounded_memory(tmp_path, endless):
    path, n = tmp_path / "many.jsonl", 20_000
    with path.open("w", encoding="utf-8") as file:
        for i in range(n):
            turns = [{"role": "user", "content": f"text {i % 50} of {i}"}, {"role": "assistant", "content": "ok " * 50}]
            record = {"text": f"t {i}", "speaker": "user", "conversation": "one"}
            file.write(json.dumps(record if endless else {"id": str(i), "messages": turns}) + "\n")
    tracemalloc.start()
    rows, _ = open_rows(path, labels="ignored")
    assert sum(1 for _ in rows) == n
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 25 * 2**20  # the file of many conversations has 5 MiB; as Python objects, 60
