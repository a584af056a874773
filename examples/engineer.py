"""From two CSV files to new intents in a bot: discover, look, decide, export.

    python examples/engineer.py

The two files are made from the demo corpus, a utility company's chat; put your own in their place.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from pathlib import Path

import newfound
from newfound.data.demo_corpus import load_demo
from newfound.review.decisions import Decision
from newfound.review.store import ReviewStore


def write_files(folder: Path) -> tuple[Path, Path]:
    """Write known.csv (text, label) and logs.csv (text): what you would export from your bot."""
    corpus = load_demo().observed_train
    labelled, unlabelled = corpus.labelled(), corpus.unlabelled()
    # Real logs hold known intents too, so every tenth labelled utterance goes into the logs, without its label.
    known = [row for i, row in enumerate(zip(labelled.texts, labelled.labels, strict=True)) if i % 10]
    logs = [(text,) for text in (*unlabelled.texts, *labelled.texts[::10])]
    for name, header, rows in (("known.csv", ("text", "label"), known), ("logs.csv", ("text",), logs)):
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])
    return folder / "known.csv", folder / "logs.csv"


def main(encoder: str = "minilm", folder: Path | None = None) -> None:
    folder = folder or Path(tempfile.mkdtemp(prefix="newfound-engineer-"))
    folder.mkdir(parents=True, exist_ok=True)
    known, logs = write_files(folder)
    bot = folder / "my-bot"

    # 1. Discover.
    result = newfound.discover(known, logs, out=bot, encoder=encoder)
    print(f"{result.n_new} new intents:")
    new = sorted((intent for intent in result.intents if not intent.known), key=lambda intent: -intent.size)
    for intent in new:
        print(f"  {intent.name} ({intent.size} utterances): {intent.exemplars[0]}")

    # 2. Classify.
    print("\npredictions:")
    texts = ["the display of my smart meter is blank", "i want to pay my bill"]
    for prediction in newfound.predict(bot, texts, encoder=encoder):
        status = "known" if prediction.known else "new"
        print(f"  {prediction.text} -> {prediction.intent} ({status}, {prediction.probability:.2f})")

    # 3. Decide. The review page (`newfound review my-bot`) records the same decisions. Read the utterances before you
    # decide; here the smallest intent is rejected, and the others are accepted and renamed, to show how it is done.
    *kept, rejected = new
    decisions = [Decision("reject", {"intent": rejected.name})]
    decisions += [Decision("accept", {"intent": intent.name}) for intent in kept]
    decisions += [Decision("rename", {"intent": intent.name, "to": f"customer_{intent.name}"}) for intent in kept]
    ReviewStore(bot).decide(decisions, author="ana")

    # 4. Export the intents that are left to Rasa.
    newfound.export(bot, "rasa", folder / "nlu.yml", encoder=encoder)
    exported = (folder / "nlu.yml").read_text(encoding="utf-8")
    print(f"\nwrote nlu.yml with {exported.count('- intent:')} intents")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="minilm", help="minilm, mpnet, bert, a folder, or owner/name")
    parser.add_argument("--folder", type=Path, help="where to write; a new temporary folder otherwise")
    arguments = parser.parse_args()
    main(arguments.encoder, arguments.folder)
