"""Measure what is read of mails: requests of BANKING77, wrapped in greetings, chat, quoted threads and signatures.

export NEWFOUND_DATA=...
python -m benchmarks.messages.mails --out benchmarks/messages/mails.jsonl
python -m benchmarks.messages.mails --table benchmarks/messages/mails.jsonl

The classifier is a head on the frozen encoder that saw single utterances only. `--dev` measures dev rows with other
chat, on which `newfound.preparation` was chosen.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from benchmarks.harness.datasets import read_part
from benchmarks.harness.studies import Row, append_row, read_rows
from benchmarks.harness.tables import as_markdown
from benchmarks.messages.parts import fitted

from newfound.plain import plain_text
from newfound.preparation import Preparation

GREETINGS = ("Hi there,", "Dear support team,", "Hello,", "Good morning,")
CHAT = {
    "dev": (
        "I hope you are all well after the holidays. We spent two weeks at the lake, and the weather was lovely.",
        "Sorry for the long mail. My son has just started school, so the mornings are a little wild at our house.",
        "It has been a busy month here. My sister got married on Saturday and half of the family stayed with us.",
    ),
    "test": (
        "I trust this finds you well. Our twins turned six last weekend and the garden still looks like a fairground.",
        "You helped my husband last spring and he was very pleased. He sends his regards from Lisbon, by the way.",
        "Apologies for writing so late. Grandma moved in with us in May, and evenings are the only quiet time we get.",
    ),
}
SIGNATURES = (
    "Kind regards,\nMaria Lopez\n\n12 Elm Street, Leeds\n+44 20 7946 0018",
    "Thanks,\nTom\n\nSent from my iPhone",
    "Best wishes\n\n-- \nDr A. Novak | Head of Finance | Novak & Sons Ltd\nThis e-mail is confidential.",
)
THREADS = (
    "On Mon, 3 Feb 2025 at 10:12, Support <help@bank.example> wrote:\n> Dear customer,\n> your card was sent.\n> Bye",
    "-----Original Message-----\nFrom: Support\nSent: Monday\nSubject: Your exchange rate\n\nThe app shows the rate.",
)
PLACES = ("start", "middle", "end")
WAYS: dict[str, Callable[[str], str]] = {
    "the whole mail": lambda text: text,
    "its own words": plain_text,
    "what is learned of it before any model is there": Preparation(),
    "newfound": lambda text: text,  # it chooses among what may be read
}


def wrapped(request: str, place: str, chat: tuple[str, ...], generator: np.random.Generator) -> str:
    """Return a mail that holds a request at the start, in the middle or at the end of its own words."""
    paragraphs = [str(text) for text in generator.choice(chat, 2, replace=False)]
    paragraphs.insert(PLACES.index(place), request)
    return "\n\n".join(
        [
            str(generator.choice(GREETINGS)),
            *paragraphs,
            str(generator.choice(SIGNATURES)),
            str(generator.choice(THREADS)),
        ]
    )


def measure(split: str) -> list[Row]:
    """Return the accuracy of bare requests, and of mails at each place and read in each way, in percent."""
    plain, rows = fitted("banking77"), read_part("banking77", split)
    preparing = replace(plain, provenance={**plain.provenance, "preparation": Preparation().as_dict()})

    def accuracy(texts: list[str], name: str) -> float:
        predicted = (preparing if "newfound" in name else plain).predict(texts)
        return round(100 * float(np.mean([a == b for a, b in zip(predicted, rows.labels, strict=True)])), 1)

    bare = list(rows.texts)
    found: list[Row] = [
        {"way": name, **dict.fromkeys(PLACES, accuracy(bare, name))}
        for name in ("the bare request", "the bare request, by newfound")
    ]
    mails = {
        place: [wrapped(text, place, CHAT[split], np.random.default_rng(i)) for i, text in enumerate(rows.texts)]
        for place in PLACES
    }
    for name, way in WAYS.items():
        found.append({"way": name, **{place: accuracy([*map(way, mails[place])], name) for place in PLACES}})
    return found


def main() -> None:
    """Measure, or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--table", type=Path)
    parser.add_argument("--dev", action="store_true")
    options = parser.parse_args()
    if options.table:
        shown = [(row["way"], *(f"{row[place]:.1f}" for place in PLACES)) for row in read_rows(options.table)]
        print(as_markdown(("what is classified", *(f"request at the {place}" for place in PLACES)), shown))
        return
    for row in measure("dev" if options.dev else "test"):
        print(row, flush=True)
        if options.out:
            append_row(options.out, row)


if __name__ == "__main__":
    main()
