"""The model card: `README.md` in a model folder, with the fields that the hub reads. It has no utterances."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from newfound.encoders.registry import RELEASES
from newfound.files import CARD_FILE
from newfound.model.hub import REPOSITORY
from newfound.model.types import Intent, KnownCheck

CARD = """---
library_name: newfound
pipeline_tag: text-classification
tags: [newfound, intent-classification, intent-discovery]
{base_model}---

# {name}

A classifier of utterances into {n_intents} intents: {n_known} were known, and {n_new} were found in logs.

```python
import newfound

model = newfound.load("{source}")
model.predict(["..."])
```

{facts}

## Intents

The expected error is the share of an intent's utterances from the logs that belong elsewhere.

{intents}

The licence of the model is up to those who made it, and is not stated here.
"""
MARK = "<!-- Written by newfound ({digest}). It is written again with the model, unless somebody has changed it. -->\n"


def kept_card(folder: Path) -> bytes | None:
    """Return the card of a folder if somebody has written or changed it."""
    path = folder / CARD_FILE
    card = path.read_bytes() if path.is_file() else b""
    text, begin, rest = card.rpartition(b"<!-- ")
    return card if card and begin + rest != _mark(text) else None


def model_card(about: Mapping[str, Any], intents: Sequence[Intent], *, name: str, source: str) -> bytes:
    """Return the card of a model, from the content of `model.json`; the source is what to load."""
    encoder, provenance = public_name(about["encoder"]["name"]), about["provenance"]
    data, release = provenance.get("data", {}), RELEASES.get(encoder)
    known_check = KnownCheck.of(provenance)
    trained = "trained in part" if about["tune"]["layers"] else "as it is, not trained"
    facts = {
        "Data": f"{data.get('labelled', '?')} labelled and {data.get('unlabelled', '?')} unlabelled utterances, "
        f"fingerprint `{str(data.get('fingerprint', '?'))[:16]}`",
        "Encoder": f"{release.repo if release else encoder}, {trained}",
        "Licence of the encoder": release.licence if release else "see its card",
        "Expected error": _expected_error(intents),
        **({"Known intents": known_check.figures} if known_check else {}),
        "Method": f"{provenance.get('method', '?')}, settings `{json.dumps(provenance.get('settings', {}))}`",
        "Made": f"{provenance.get('created', '?')} with newfound {provenance.get('versions', {}).get('newfound', '?')}",
    }
    header = ("intent", "status", "utterances", "labelled", "expected error")
    rows = ((i.name, i.status, i.size, i.labelled, _percent(i.expected_error)) for i in intents)
    n_known = sum(intent.known for intent in intents)
    text = CARD.format(
        base_model=f"base_model: {release.repo}\n" if release else "",
        name=_cell(name),
        source=source,
        n_intents=len(intents),
        n_known=n_known,
        n_new=len(intents) - n_known,
        facts=_table(("", ""), facts.items()),
        intents=_table(header, rows),
    ).encode()
    return text + _mark(text)


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


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    cells = [header, ["---"] * len(header), *([_cell(str(cell)) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _mark(text: bytes) -> bytes:
    return MARK.format(digest=hashlib.sha256(text).hexdigest()[:16]).encode()
