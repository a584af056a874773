"""What a new user types in the first hour: predictions, exports and decisions, and how quickly they are refused."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from dataclasses import asdict

import pytest

import newfound as package
from commands import newfound
from newfound.review.decisions import Decision
from newfound.review.store import ReviewStore

UTTERANCES = "pay my bill money\nleak water smell\nzzz qqq\n"
SLOW = {"torch", "numpy", "sklearn", "scipy", "transformers", "sentence_transformers"}


@pytest.fixture
def model(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "model")


def new_intents(folder):
    return [i["name"] for i in json.loads((folder / "model.json").read_text())["intents"] if not i["known"]]


def decide(folder, *decisions):
    ReviewStore(folder).decide([Decision(kind, arguments) for kind, arguments in decisions], author="ana")


def refused(done, *phrases):
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    for phrase in phrases:
        assert phrase in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "xml"], "no format 'xml' for predictions"),
        (["--threshold", "2"], "--threshold 2: give a share"),
        (["--top", "-1"], "--top"),
        (["--device", "tpu"], "auto, cpu, cuda"),
    ],
)
def test_wrong_options_of_predict(model, options, message):
    done = newfound("predict", model, *options, stdin=UTTERANCES)
    refused(done, message)
    assert done.stdout == ""


@pytest.mark.parametrize("out", [(), ("--out", "out.csv")])
def test_predict_names_its_own_option_for_the_format_of_the_file(model, tmp_path, monkeypatch, out):
    monkeypatch.chdir(tmp_path)
    logs = tmp_path / "logs.data"
    logs.write_text(UTTERANCES)
    done = newfound("predict", model, logs, *out)
    refused(done, "name its format with --format")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["discover", "known.csv", "logs.csv", "--out", "m", "--method", "magic"], 2),
        (["discover", "known.csv", "logs.csv", "--out", "m", "--seed", "-1"], 2),
        (["discover", "known.csv", "logs.csv", "--out", "m"], 2),
        (["update", "MODEL", "absent.csv", "--out", "m"], 2),
        (["estimate", "known.csv", "logs.csv", "--strategy", "guess"], 2),
        (["predict", "MODEL", "absent.csv"], 2),
        (["predict", "MODEL", "--to", "xml"], 2),
        (["export", "MODEL", "--to", "floppy", "--out", "x"], 2),
        (["export", "MODEL", "--to", "csv", "--out", "x.csv"], 0),
        (["inspect", "MODEL"], 0),
        (["review", "log", "MODEL"], 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_torch_is_not_loaded_for_what_does_not_need_it(model, tmp_path, monkeypatch, arguments, code):
    """In a process of its own, since this one has loaded torch. One accepted intent is not a reason to load it."""
    decide(model, ("accept", {"intent": new_intents(model)[0]}))
    command = ["newfound", *(str(model) if argument == "MODEL" else argument for argument in arguments)]
    script = (
        f"import sys; sys.argv = {command!r}\n"
        "from newfound.cli import main\n"
        "try: main()\n"
        "except SystemExit as stop:\n"
        f"    slow = {SLOW!r} & set(sys.modules)\n"
        "    assert not slow, slow\n"
        "    sys.exit(stop.code)"
    )
    monkeypatch.chdir(tmp_path)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


def test_descriptions_without_the_network_are_those_with_it(model, tiny_encoder):
    first, second = new_intents(model)
    decide(model, ("accept", {"intent": second}), ("rename", {"intent": first, "to": "moving"}))
    loaded = package.load(model, encoder=tiny_encoder)
    for stored, computed in zip(loaded.intents, loaded.reviewed.describer().describe_all(), strict=True):
        assert stored.certainty == pytest.approx(computed.certainty, abs=2e-4)  # probabilities are stored rounded
        one, other = asdict(stored), asdict(computed)
        for key in ("certainty", "expected_error", "id"):
            del one[key], other[key]
        assert one == other
        assert stored.id == loaded.head.ids[stored.name]


def exported(model, out, *options):
    done = newfound("export", model, "--to", "csv", "--out", out, "--force", *options)
    assert done.returncode == 0, done.stderr
    with out.open(newline="") as file:
        return [(row["text"], row["label"]) for row in csv.DictReader(file)]


@pytest.mark.parametrize("changed", ["nothing", "names", "moved", "merged"])
def test_exports_without_the_network_are_those_with_it(model, tmp_path, tiny_encoder, changed):
    first, second = new_intents(model)
    text = json.loads((model / "utterances.jsonl").read_text().splitlines()[0])["text"]
    decisions = {
        "nothing": [],
        "names": [("accept", {"intent": second}), ("rename", {"intent": first, "to": "moving"})],
        "moved": [
            ("move", {"texts": [text], "to": "own", "create": True}),
            ("move", {"texts": ["=cmd|calc pay 🎉"], "to": None}),
        ],
        "merged": [("merge", {"intents": [first], "into": second})],
    }[changed]
    if decisions:
        decide(model, *decisions)
    assigned = package.load(model, encoder=tiny_encoder).utterances
    wanted = [(u.text, u.intent) for u in assigned if u.intent is not None]
    assert exported(model, tmp_path / "x.csv", "--with-guesses") == wanted


def test_exports_that_cannot_be_narrowed_so(model, tmp_path):
    out = tmp_path / "x.csv"
    refused(newfound("export", model, "--to", "csv", "--out", out, "--only", "accepted"), "accept some, or export all")
    refused(newfound("export", model, "--to", "csv", "--out", out, "--only", "some"), "'new', 'accepted'")
    refused(newfound("export", model, "--to", "csv", "--out", out, "--min-probability", "9"), "--min-probability 9")


def test_an_export_holds_what_people_labelled_or_accepted_and_counts_the_rest(model, tmp_path):
    first, second = new_intents(model)
    names = [intent["name"] for intent in json.loads((model / "model.json").read_text())["intents"]]
    utterances = [json.loads(line) for line in (model / "utterances.jsonl").read_text().splitlines()]
    labelled = [u["text"] for u in utterances if u["labelled"]]
    done = newfound("export", model, "--to", "csv", "--out", tmp_path / "a.csv")
    assert f"{len(labelled)} labelled by people, 0 that the model put into accepted intents, 0 guesses" in done.stdout
    left_out = len(utterances) - len(labelled)
    assert f"Left out: {left_out} guesses of the model; 2 new intents are not accepted yet." in done.stdout
    assert "--with-guesses" in done.stdout
    assert [text for text, _ in exported(model, tmp_path / "a.csv")] == labelled

    guess = next(u["text"] for u in utterances if not u["labelled"] and names[u["intent"]] == second)
    decide(model, ("accept", {"intent": first}), ("move", {"texts": [guess], "to": "pay"}))
    in_first = [u for u in utterances if not u["labelled"] and names[u["intent"]] == first]
    sure = [u["text"] for u in in_first if u["probability"] >= 0.5]
    found = exported(model, tmp_path / "b.csv")
    assert {text for text, _ in found} == {*labelled, *sure, guess}
    assert dict(found)[guess] == "pay"
    assert len(found) == len(labelled) + len(sure) + 1
    everything = newfound("export", model, "--to", "csv", "--out", tmp_path / "c.csv", "--with-guesses")
    others = len(utterances) - len(labelled) - len(sure) - 1
    assert f"{len(labelled) + 1} labelled by people, {len(sure)} that the model" in everything.stdout
    assert f", {others} guesses" in everything.stdout
    assert "Left out" not in everything.stdout
    assert len(exported(model, tmp_path / "d.csv", "--min-probability", 0)) == len(labelled) + len(in_first) + 1


def test_from_python_an_export_warns_of_new_intents_that_nobody_accepted(model, tmp_path, caplog):
    def warning(**options):
        caplog.clear()
        package.export(model, "csv", tmp_path / "x.csv", overwrite=True, **options)
        return caplog.text

    assert "the new intents that nobody has accepted (2, which is all of them)" in warning()
    assert warning(with_guesses=True) == ""
    decide(model, *(("accept", {"intent": name}) for name in new_intents(model)))
    assert warning() == ""


@pytest.mark.parametrize("command", [("export", "--to", "rasa"), ("report",)])
def test_what_is_there_is_not_overwritten(model, tmp_path, tiny_folder, command):
    command = (command[0], model, *command[1:], "--out", tmp_path / "file", "--encoder", tiny_folder)
    (tmp_path / "file").write_text("mine")
    refused(newfound(*command), "add --force to replace it")
    assert (tmp_path / "file").read_text() == "mine"
    done = newfound(*command, "--force")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "file").read_text() != "mine"


def test_an_update_is_refused_before_its_logs_are_read(model, tmp_path):
    refused(newfound("update", model, tmp_path / "absent.csv", "--out", tmp_path / "m"), "no new intent was accepted")


def test_renamed_intents_are_printed(model, tmp_path):
    first, _ = new_intents(model)
    decide(model, ("rename", {"intent": first, "to": "faq/moving"}))
    done = newfound("export", model, "--to", "rasa", "--out", tmp_path / "nlu.yml", "--with-guesses")
    assert "faq/moving is called faq_moving there" in done.stdout


def test_a_model_without_utterances_holds_none(tmp_path, tiny_folder):
    """Whoever asks for it must not find utterances in the descriptions of the intents."""
    themes = {"pay": "secret pay bill", "leak": "secret leak gas"}
    known = [(f"{words} {w}", label) for label, words in themes.items() for w in "abcdefgh"]
    logs = ["secret solar car " + w for w in "abcdefgh"] + ["secret move house " + w for w in "abcdefgh"]
    done = package.discover(
        tuple(map(list, zip(*known, strict=True))),
        logs,
        tmp_path / "m",
        encoder=str(tiny_folder),
        n_new=2,
        device="cpu",
        keep_utterances=False,
    )
    assert any(intent.exemplars for intent in done.intents), "the caller still sees them"
    assert not (tmp_path / "m" / "utterances.jsonl").exists()
    written = (tmp_path / "m" / "model.json").read_text()
    assert not [text for text in [t for t, _ in known] + logs if text in written]
    intents = json.loads(written)["intents"]
    assert any(intent.name.startswith("“") for intent in done.intents)
    assert "“" not in written
    assert "\\u201c" not in written
    assert all(intent["exemplars"] == intent["border"] == [] for intent in intents)
    assert all(intent["keywords"] for intent in intents)
    assert newfound("inspect", tmp_path / "m").returncode == 0
    refused(newfound("export", tmp_path / "m", "--to", "csv", "--out", tmp_path / "x"), "without its utterances")


def test_discover_and_inspect_show_how_certain_an_intent_is(model, capsys):
    from newfound.cli.show import print_new_intents

    intents = package.load(model).intents
    print_new_intents(intents)
    for shown in (capsys.readouterr().out, newfound("inspect", model, "--new").stdout):
        assert all(f"{100 * intent.certainty:.0f} %" in shown for intent in intents if not intent.known)


@pytest.mark.parametrize(
    ("yaml", "phrases"),
    [
        ("- accept: {first}\n- rename: {{intent: {first}x, to: a}}", ["decision 2, rename:", "did you mean '{first}'"]),
        ("- accept: {first}x", ["decision 1, accept:", "no intent '{first}x'", "did you mean '{first}'"]),
        ("- renam: {{intent: a, to: b}}", ["decision 1: no decision 'renam'", "did you mean 'rename'"]),
        ("- rename: {{intnt: a, to: b}}", ["decision 1", "unknown argument 'intnt' (did you mean 'intent'?)"]),
        ("- move: {{texts: [asdf], to: {first}x}}", ["decision 1, move:", "not among the utterances"]),
        ("- move: {{texts: ['=cmd|calc pey 🎉'], to: {first}}}", ["did you mean '=cmd|calc pay 🎉'"]),
        ("- accept: {first}\n- 3", ["decision 2: a decision is one of"]),
        ("- merge: {{intents: [{first}], into: moving}}", ["no intent 'moving'; merge into one of them, then rename"]),
    ],
)
def test_refused_decisions_are_named(model, tmp_path, yaml, phrases):
    first, _ = new_intents(model)
    (tmp_path / "decisions.yaml").write_text(yaml.format(first=first))
    done = newfound("review", "apply", model, tmp_path / "decisions.yaml")
    refused(done, *(phrase.format(first=first) for phrase in phrases), "nothing was recorded")
    assert not ReviewStore(model).exists


def test_the_demo_as_the_files_that_a_user_has(tmp_path):
    assert "known.csv" in newfound("data", "get", "demo", "--to", tmp_path).stdout
    header = {path.name: path.read_text("utf-8").splitlines()[0] for path in tmp_path.iterdir()}
    assert header == {"known.csv": "text,label", "logs.csv": "text", "held-out.csv": "text,label"}
    refused = newfound("data", "get", "demo", "--to", tmp_path)
    assert (refused.returncode, "known.csv" in refused.stderr) == (2, True)
    assert newfound("data", "get", "demo", "--to", tmp_path, "--force").returncode == 0
