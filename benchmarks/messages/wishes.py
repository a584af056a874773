"""Train the scorer of wishes, and measure which turns of conversations are kept.

export NEWFOUND_DATA=...
python -m benchmarks.messages.wishes --train src/newfound/wishes.json
python -m benchmarks.messages.wishes --out benchmarks/messages/wishes.jsonl
python -m benchmarks.messages.wishes --table benchmarks/messages/wishes.jsonl

It is trained on turns of MultiDoGO's software support, sentences of mails, and training rows of corpora of single
utterances, all of permissive licences; features are n-grams that at least four of these corpora share. It is measured
on conversations of other domains, which it was not trained on: MultiDoGO's fast food and SGD.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from benchmarks.everyday.shapes import NO_WISH
from benchmarks.harness.studies import Row, append_row, read_rows
from benchmarks.harness.tables import as_markdown
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression

from newfound.data.corpus import Corpus
from newfound.data.rows import ReadOptions
from newfound.data.validation import read_corpus
from newfound.files import write_atomically
from newfound.wishes import features
from newfound.workflows.conversations import rows_with_wishes

MIN_SHARE, MIN_CORPORA = 0.002, 5  # in how many texts of how many corpora an n-gram must stand
C, OF_MAILS, OF_UTTERANCES = 0.01, 0.3, 0.3  # regularisation; weights of texts beside the turns
OF_WISHES = 4.0  # the weight of a turn that states a wish: they are few
UTTERANCES = {  # corpora of requests, and how many of each
    "banking77/train.csv": 700,
    "clinc150/train.csv": 1_500,
    "more/dstc11-insurance.csv": 400,
    "more/dstc11-banking.csv": 300,
    "more/snips.csv": 400,
}
SMALL_TALK = frozenset("yes no maybe thank_you greeting goodbye".split())  # intents of CLINC150
CHAT = SMALL_TALK | set(
    "what_is_your_name are_you_a_bot who_made_you what_are_your_hobbies do_you_have_pets where_are_you_from "
    "how_old_are_you tell_joke meaning_of_life fun_fact flip_coin roll_dice repeat cancel".split()
)
WORDS_OF_WISHING = re.compile(
    r"\b(want|need|like to|looking for|can you|could you|how|help me|please|where|i'd like|what|when|which|why|"
    r"is there|order|book|find|cancel|change|problem|issue|not working)\b",
    re.IGNORECASE,
)
SCORES = ("precision", "recall", "f1")
RULES = ("all turns of the customer", "the first turn", "words of wishing", "newfound")


def read_table(name: str) -> list[dict[str, str]]:
    import csv

    with (Path(os.environ["NEWFOUND_DATA"]) / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def states_wish(labels: str) -> bool:
    return bool({label for label in labels.split("|") if label} - NO_WISH)


def examples() -> list[tuple[list[str], list[bool], float]]:
    """Return texts of each corpus, whether they state a wish, and the weight of those that do not."""
    turns = read_table("more/multidogo-software.csv")
    mails = [row for row in read_table("more/email-sentences.csv") if row["label"] in ("intent", "none")]
    groups = [
        ([row["text"] for row in turns], [states_wish(row["labels"]) for row in turns], 1.0),
        ([row["text"] for row in mails], [row["label"] == "intent" for row in mails], OF_MAILS),
    ]
    generator = np.random.default_rng(0)
    for name, count in UTTERANCES.items():
        rows = read_table(name)
        requests = [row["text"] for row in rows if row["label"] and row["label"] not in CHAT]
        chosen = [requests[i] for i in generator.permutation(len(requests))[:count]]
        chat = [row["text"] for row in rows if row["label"] in SMALL_TALK]
        groups.append((chosen + chat, [True] * len(chosen) + [False] * len(chat), OF_UTTERANCES))
    return groups


def train() -> dict[str, float]:
    """Return the weights of the features, the largest first."""
    groups, corpora = examples(), Counter[str]()
    made = [[features(text) for text in texts] for texts, _, _ in groups]
    for own in made:
        counts = Counter(name for text in own for name in text if not name.isupper())
        corpora.update(name for name, n in counts.items() if n >= MIN_SHARE * len(own) and name != "^")
    kept = {name for name, n in corpora.items() if n >= MIN_CORPORA}
    chosen = [{n: v for n, v in text.items() if n in kept or n.isupper()} for own in made for text in own]
    vectorizer = DictVectorizer(sparse=True)
    x = vectorizer.fit_transform(chosen)
    y = np.concatenate([labels for _, labels, _ in groups])
    weight = np.concatenate([np.full(len(texts), own) for texts, _, own in groups])
    weight[: len(groups[0][0])][groups[0][1]] = OF_WISHES
    model = LogisticRegression(C=C, max_iter=5_000, fit_intercept=False).fit(x, y, sample_weight=weight)
    weights = dict(zip(vectorizer.get_feature_names_out().tolist(), model.coef_[0].tolist(), strict=True))
    return {name: round(w, 3) for name, w in sorted(weights.items(), key=lambda item: -abs(item[1]))}


def rows_of_rule(rule: str, turns: Corpus) -> Sequence[int]:
    """Return which turns a rule keeps."""
    if rule == "newfound":
        return rows_with_wishes(turns)
    conversations = [origin.said.conversation for origin in turns.origins]
    keeps: dict[str, Callable[[int], bool]] = {
        "all turns of the customer": lambda i: True,
        "words of wishing": lambda i: bool(WORDS_OF_WISHING.search(turns.texts[i])),
        "the first turn": lambda i: i == conversations.index(conversations[i]),
    }
    return [i for i in range(len(turns)) if keeps[rule](i)]


def measure(name: str, rule: str) -> Row:
    """Return precision, recall and F1 of the turns that a rule keeps, in percent."""
    path = Path(os.environ["NEWFOUND_DATA"]) / "more" / f"{name}.csv"
    turns, _ = read_corpus(path, ReadOptions(), "ignored")
    wishes = {
        (row["conversation"], row["text"].strip())
        for row in read_table(f"more/{name}.csv")
        if row["speaker"] == "customer" and states_wish(row.get("labels") or row.get("label", ""))
    }
    said = [(origin.said.conversation, text) for text, origin in zip(turns.texts, turns.origins, strict=True)]
    gold = {i for i, pair in enumerate(said) if pair in wishes}
    kept = set(rows_of_rule(rule, turns))
    right = len(gold & kept)
    precision, recall = right / len(kept), right / len(gold)
    f1 = 2 * precision * recall / (precision + recall)
    return {"turns": len(turns), "wishes": len(gold), "kept": len(kept)} | {
        key: round(100 * value, 1) for key, value in {"precision": precision, "recall": recall, "f1": f1}.items()
    }


def table(rows: list[Row]) -> str:
    header = ("conversations", "rule", "turns kept", "precision", "recall", "F1")
    cells = [
        (r["corpus"], r["rule"], f"{r['kept']:,} of {r['turns']:,}", *(f"{r[n]:.1f}" for n in SCORES)) for r in rows
    ]
    return as_markdown(header, cells)


def main() -> None:
    """Train, measure what is missing, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path)
    options = parser.parse_args()
    if options.table:
        print(table(read_rows(options.table)))
    elif options.train:
        write_atomically(options.train, (json.dumps(train(), indent=0, ensure_ascii=False) + "\n").encode())
    else:
        done = {(row["corpus"], row["rule"]) for row in read_rows(options.out)}
        for name in ("multidogo-fastfood", "sgd-conversations"):
            for rule in RULES:
                if (name, rule) not in done:
                    append_row(options.out, {"corpus": name, "rule": rule, **measure(name, rule)})


if __name__ == "__main__":
    main()
