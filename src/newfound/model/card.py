"""The model card: `README.md` in a model folder, with the fields that the hub reads. It has no utterances."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from newfound.encoders.languages import UNKNOWN, likely_language
from newfound.encoders.registry import RELEASES
from newfound.files import CARD_FILE
from newfound.model.hub import REPOSITORY
from newfound.model.types import Intent, KnownCheck

MAX_TEXTS_LOOKED_AT, MIN_SHARE_OF_A_LANGUAGE = 1_000, 0.02
CODES = dict(
    pair.split(":")
    for pair in "Danish:da Dutch:nl English:en Finnish:fi French:fr German:de Hungarian:hu Indonesian:id Italian:it "
    "Japanese:ja Norwegian:no Polish:pl Portuguese:pt Romanian:ro Spanish:es Swahili:sw Swedish:sv Tagalog:tl "
    "Turkish:tr Vietnamese:vi CJK:zh HANGUL:ko GREEK:el HEBREW:he THAI:th".split()
)
"""ISO 639 codes of the languages that `likely_language` tells apart; a script of several languages has none."""
MARK = "<!-- Written by newfound ({digest}). It is written again with the model, unless somebody has changed it. -->"
MARK_LINE = re.compile(re.escape(MARK).replace(r"\{digest\}", "([0-9a-f]{16})").encode() + rb"\n?$")


def spoken_languages(texts: Sequence[str]) -> list[str]:
    """Return the languages that a share of the texts are in, the most frequent first; a part of many is looked at."""
    part = texts[:: max(1, -(-len(texts) // MAX_TEXTS_LOOKED_AT))]
    counts = Counter(map(likely_language, part))
    least = MIN_SHARE_OF_A_LANGUAGE * len(part)
    return [language for language, count in counts.most_common() if language != UNKNOWN and count >= least]


def is_generated(card: bytes) -> bool:
    """Return whether a card is as newfound wrote it."""
    mark = MARK_LINE.search(card)
    return mark is not None and mark[1].decode() == _digest(card[: mark.start()])


def kept_card(folder: Path) -> bytes | None:
    """Return the card of a folder that somebody has changed or written; None if there is none."""
    path = folder / CARD_FILE
    card = path.read_bytes() if path.is_file() else b""
    return card if card and not is_generated(card) else None


def model_card(about: Mapping[str, Any], intents: Sequence[Intent], *, name: str, source: str) -> bytes:
    """Return the card of a model.

    Args:
        about: The content of `model.json`.
        intents: Its intents, as they are shown.
        name: What the model is called.
        source: What to load: a folder, or an address on the hub.
    """
    encoder, provenance = public_name(about["encoder"]["name"]), about["provenance"]
    data, release = provenance.get("data", {}), RELEASES.get(encoder)
    languages = [str(language) for language in about.get("languages", ())]
    codes = [CODES[language] for language in languages if language in CODES]
    front = {
        "library_name": "newfound",
        "pipeline_tag": "text-classification",
        "tags": ["newfound", "intent-classification", "intent-discovery"],
        **({"language": codes} if codes else {}),
        **({"base_model": release.repo} if release else {}),
    }
    n_known = sum(intent.known for intent in intents)
    known_check = KnownCheck.of(provenance)
    trained = "trained in part" if about["tune"]["layers"] else "as it is, not trained"
    facts = {
        "Data": f"{data.get('labelled', '?')} labelled and {data.get('unlabelled', '?')} unlabelled utterances, "
        f"fingerprint `{str(data.get('fingerprint', '?'))[:16]}`",
        "Languages": ", ".join(languages) or "not known",
        "Encoder": f"{release.repo if release else encoder}, {trained}",
        "Licence of the encoder": release.licence if release else "see its card",
        "Expected error": _expected_error(intents),
        **({"Known intents": known_check.figures} if known_check else {}),
        "Calibration": f"temperature {about['temperature']:.4g}, reliability of new intents "
        f"{about.get('reliability', 1.0):.4g}",
        "Method": f"{provenance.get('method', '?')}, settings `{json.dumps(provenance.get('settings', {}))}`",
        "Made": f"{provenance.get('created', '?')} with newfound {provenance.get('versions', {}).get('newfound', '?')}",
    }
    lines = [
        f"---\n{yaml.safe_dump(front, sort_keys=False)}---\n",
        f"# {_cell(name)}\n",
        f"A classifier of utterances into {len(intents)} intents: {n_known} were known, and {len(intents) - n_known} "
        "were found in logs.\n",
        f'```python\nimport newfound\n\nmodel = newfound.load("{source}")\nmodel.predict(["..."])\n```\n',
        *_table(("", ""), facts.items()),
        "## Intents\n",
        "The expected error is the share of an intent's utterances from the logs that belong elsewhere.\n",
        *_table(
            ("intent", "status", "utterances", "labelled", "expected error"),
            ((i.name, i.status, i.size, i.labelled, _percent(i.expected_error)) for i in intents),
        ),
        "The licence of the model is up to those who made it, and is not stated here.\n",
    ]
    text = "\n".join(lines).encode()
    return text + (MARK.format(digest=_digest(text)) + "\n").encode()


def public_name(encoder: str) -> str:
    """Return the name of an encoder without the folders of this machine."""
    return encoder if REPOSITORY.fullmatch(encoder) else re.split(r"[/\\]", encoder.rstrip("/\\"))[-1]


def _expected_error(intents: Sequence[Intent]) -> str:
    """Return the mean over the utterances from the logs, in words."""
    weighted = [(i.size - i.labelled, i.expected_error) for i in intents if i.expected_error is not None]
    total = sum(weight for weight, _ in weighted)
    return _percent(sum(weight * error for weight, error in weighted) / total if total > 0 else None)


def _percent(share: float | None) -> str:
    return "not known" if share is None else f"{share:.1%}"


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    cells = [header, ["---"] * len(header), *([_cell(str(cell)) for cell in row] for row in rows)]
    return [*(f"| {' | '.join(row)} |" for row in cells), ""]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:16]
