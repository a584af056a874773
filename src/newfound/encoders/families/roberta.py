"""RoBERTa and XLM-RoBERTa: the layers of BERT, with other position ids."""

from __future__ import annotations

from typing import Any

from newfound.encoders.families import bert
from newfound.encoders.families.base import Family


def first_position(config: Any) -> int:
    """Return the position id of the first token; the ids up to that of the padding token are reserved."""
    return int(config.pad_token_id) + 1


ROBERTA = Family(bert.layer_parts, bert.layers_of, first_position)
