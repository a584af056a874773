"""Arithmetic of vectors and probabilities in NumPy. This module does not need torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from newfound.errors import SettingsError

if TYPE_CHECKING:
    from torch import Tensor

Array = npt.NDArray[np.float32]
Names = npt.NDArray[np.object_]
TEXTS_PER_BATCH, TEXTS_PER_BATCH_ON_GPU = 1_024, 8_192
MIN_LEAD_OF_BEST = 1e-6  # by how much the most probable intent stays the most probable one
SMALLEST_NORM = 1e-12  # as in torch's `normalize`
MAX_TEMPERATURE = 0.5  # at which hardly any row is sure
BISECTION_STEPS = 20


def text_classifier_tags(tags: Any) -> Any:
    """Return scikit-learn's tags of an estimator, changed to those of a classifier of texts."""
    from sklearn.utils import ClassifierTags

    tags.estimator_type = "classifier"
    tags.classifier_tags = ClassifierTags()
    tags.input_tags.string = True
    tags.input_tags.two_d_array = False
    tags.input_tags.one_d_array = True
    return tags


def in_batches(
    encode: Callable[[Sequence[str]], Array], texts: Sequence[str], width: int, size: int = TEXTS_PER_BATCH
) -> Array:
    """Return the vectors of texts, [n, width], which are encoded in batches; refuse what is not a list of texts."""
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise SettingsError("give a list of texts: strings, and not one string alone")
    pieces = [encode(texts[i : i + size]) for i in range(0, len(texts), size)]
    return np.concatenate(pieces) if pieces else np.empty((0, width), np.float32)


def unit(vectors: Array) -> Array:
    """Return vectors [n, d] at unit length."""
    scaled: Array = vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), SMALLEST_NORM)
    return scaled


def softmax(logits: Array) -> Array:
    """Return the softmax over the last axis."""
    exponents = np.exp(logits - logits.max(-1, keepdims=True))
    shares: Array = exponents / exponents.sum(-1, keepdims=True)
    return shares


def with_reliability(probabilities: Array, is_new: npt.NDArray[np.bool_], reliability: float) -> Array:
    """Return probabilities [n, intents] of which the new intents [intents] give up what their labels are not worth.

    The labels of new intents come from clusters, of which only a part is right. A share of the probability of a new
    intent stays with it; the rest is divided among all new intents. The most probable intent stays the most probable.
    """
    count = int(is_new.sum())
    if reliability >= 1 or count < 2 or not len(probabilities):
        return probabilities
    new = np.where(is_new, probabilities, np.float32(0))
    even = new.sum(1, keepdims=True) / np.float32(count)  # [n, 1]
    best = new.max(1, keepdims=True)
    rival = np.where(is_new, np.float32(0), probabilities).max(1, keepdims=True)
    # Where a new intent leads by little, it gives up no more than its lead over the known ones.
    needed = (rival + np.float32(MIN_LEAD_OF_BEST) - even) / np.maximum(best - even, np.float32(1e-12))
    kept = np.where(best > rival, needed.clip(reliability, 1.0), np.float32(reliability)).astype(np.float32)
    changed: Array = np.where(is_new, kept * probabilities + (1 - kept) * even, probabilities)
    return changed


def reliability_of(probabilities: Tensor, is_new: Tensor, accuracy: float) -> float:
    """Return the share of the probability of new intents that is to stay with them, so that its mean is right.

    A classifier that was taught clusters is sure of them (`probabilities`, [n, intents]); the accuracy is the share of
    the rows in new intents that are estimated to be right.
    """
    best, predicted = probabilities.max(1)
    confidences = best[is_new[predicted]]
    if not len(confidences):
        return 1.0
    return min(1.0, accuracy / float(confidences.mean()))


def temperature_of(cosines: Tensor, accuracy: float, temperature: float) -> float:
    """Return a temperature of the softmax at which rows are as confident on average as they are right.

    The accuracy is the share of the rows whose most similar intent, by their cosines [n, intents], is estimated to be
    theirs. The result is not below the temperature that the classifier was taught with.
    """
    low, high = temperature, MAX_TEMPERATURE
    if not len(cosines) or float((cosines / low).softmax(1).amax(1).mean()) <= accuracy:
        return temperature
    for _ in range(BISECTION_STEPS):
        middle = (low * high) ** 0.5
        is_too_sure = float((cosines / middle).softmax(1).amax(1).mean()) > accuracy
        low, high = (middle, high) if is_too_sure else (low, middle)
    return round(low, 6)


def ids_of(probabilities: Array) -> npt.NDArray[np.int64]:
    """Return the number of the most probable of the intents [n, intents], [n]; -1 for a text of no intent."""
    best: npt.NDArray[np.int64] = np.where(probabilities.any(1), probabilities.argmax(1), -1)
    return best


def best_of(probabilities: Array) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return probability and number of the best of the intents [n, intents], [n] each.

    What a row lacks to 1 is the probability of no intent, whose number is the one after the last.
    """
    no_intent = 1 - probabilities.sum(1, keepdims=True)
    every = np.concatenate([probabilities, no_intent], axis=1)
    best = every.argmax(1)
    return np.take_along_axis(every, best[:, None], axis=1)[:, 0], best


def round_probability(probability: float) -> float:
    """Return a probability as answers show it."""
    return round(min(max(probability, 0.0), 1.0), 6)
