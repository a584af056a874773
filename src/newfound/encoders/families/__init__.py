"""The encoder families whose layers newfound can run and train. A family is one file here and one entry in `FAMILIES`.

The families compute the same thing (post-norm self-attention and feed-forward) with differently named modules. Each
file reads the layers of one family into `LayerParts`, which `newfound.encoders.layers` runs.
"""

from __future__ import annotations

from typing import Any

from newfound.encoders.families.base import Family
from newfound.encoders.families.bert import BERT
from newfound.encoders.families.distilbert import DISTILBERT
from newfound.encoders.families.mpnet import MPNET
from newfound.encoders.families.roberta import ROBERTA
from newfound.errors import NotSplittable

FAMILIES: dict[str, Family] = {
    "bert": BERT,
    "roberta": ROBERTA,
    "xlm-roberta": ROBERTA,
    "mpnet": MPNET,
    "distilbert": DISTILBERT,
}
"""The families by the `model_type` of a transformers config."""


def family_of(model: Any) -> Family:
    """Return the family of a transformers model.

    Raises:
        NotSplittable: The model belongs to no family of `FAMILIES`.
    """
    model_type = model.config.model_type
    if model_type not in FAMILIES:
        raise NotSplittable(model_type, list(FAMILIES))
    return FAMILIES[model_type]
