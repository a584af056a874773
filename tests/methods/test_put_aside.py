"""Which utterances of the logs are put aside: small talk and its like, unless labels say that it has an intent."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from newfound.errors import DataError
from newfound.methods.estimation import put_aside

SMALL_TALK = ["hi", "thank you", "Guten Morgen", "no, gracias", "ok", "oui merci"]
LIKE_IT = ["thnks 4 all", "hi sam"]  # not in any list, and close to small talk
INTENTS = ["pay", "move", "leak", "meter"]
ROWS_PER_INTENT = 20


def everyday_logs() -> tuple[list[str], torch.Tensor]:
    """Rows of four intents, each around a direction of its own, and small talk around a fifth one."""
    texts = [f"{intent} number {i} of them" for intent in INTENTS for i in range(ROWS_PER_INTENT)]
    texts += [*SMALL_TALK, *LIKE_IT]
    groups = [i // ROWS_PER_INTENT for i in range(len(INTENTS) * ROWS_PER_INTENT)] + [4] * 8
    noise = torch.randn(len(texts), 32, generator=torch.Generator().manual_seed(0))
    return texts, F.normalize(torch.eye(32)[groups] + 0.1 * noise, dim=-1)


def aside(no_intent="auto", *, labelled=(), comparable=True, texts=None):
    own, x = everyday_logs()
    is_labelled = np.isin(np.arange(len(own)), list(labelled))
    found = put_aside(texts or own, x, torch.from_numpy(is_labelled), no_intent, comparable=comparable)
    return {own[i] for i in np.flatnonzero(found)}


@pytest.mark.parametrize("labelled", [(), range(60)], ids=["without labels", "with labels"])
@pytest.mark.parametrize("comparable", [True, False])
def test_small_talk_and_its_like_are_put_aside_and_nothing_else(labelled, comparable):
    assert aside(labelled=labelled, comparable=comparable) == {*SMALL_TALK, *LIKE_IT}


def test_small_talk_with_a_label_has_intents():
    texts, _ = everyday_logs()
    assert not aside(labelled=[*range(40), texts.index("ok")]) & {*SMALL_TALK, *LIKE_IT}


def test_numbers_are_put_aside_where_small_talk_has_labels():
    texts, _ = everyday_logs()
    changed = ["12" if text == "hi" else text for text in texts]
    assert aside(labelled=[*range(40), texts.index("ok")], texts=changed) == {"hi"}


def test_of_a_share_small_talk_comes_first():
    found = aside(0.1)  # 9 of 88 rows
    assert len(found) == 9
    assert found >= {*SMALL_TALK, *LIKE_IT}
    assert aside("none") == set()


def test_logs_of_small_talk_alone_cannot_be_learned_from():
    with pytest.raises(DataError, match="hold no word or only small talk, such as 'hi', and none is labelled"):
        put_aside(["hi", "thanks", "ok"], torch.eye(3), torch.zeros(3, dtype=bool), "auto")
