"""Do known intents suffer? Some labels are hidden from a fit, and compared with what it makes of their utterances."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from newfound.algorithms.recognition import classify_known
from newfound.methods.context import FitContext
from newfound.model.network import IntentNetwork
from newfound.model.types import KnownCheck
from newfound.training.seeding import derive

SHARE_HELD_OUT, MAX_HELD_OUT = 0.1, 200  # of the labels: with 200, a share is off by 4 points at most
MIN_LABELS_TO_HOLD_OUT = 5  # of an intent: hiding one of fewer would cost more than it tells


@dataclass(frozen=True, slots=True)
class KnownTrial:
    """Rows [m] with a label that is hidden from the fit, and their known intents [m] (CPU)."""

    rows: Tensor
    y: Tensor

    @classmethod
    def draw(cls, context: FitContext) -> KnownTrial:
        """Draw rows that a person labelled, of each intent with enough labels in turn."""
        rng = np.random.default_rng(derive(context.seed, "held out"))
        y = torch.where(context.train.by_person, context.y, -1).numpy()
        wanted = min(MAX_HELD_OUT, round(SHARE_HELD_OUT * int((y >= 0).sum())))
        by_intent = [rng.permutation(np.flatnonzero(y == intent)) for intent in rng.permutation(context.n_known)]
        by_intent = [rows for rows in by_intent if len(rows) >= MIN_LABELS_TO_HOLD_OUT]
        turns = max((len(rows) // MIN_LABELS_TO_HOLD_OUT for rows in by_intent), default=0)
        drawn = [
            rows[turn] for turn in range(turns) for rows in by_intent if turn < len(rows) // MIN_LABELS_TO_HOLD_OUT
        ]
        rows = torch.from_numpy(np.array(drawn[:wanted], dtype=np.int64))
        return cls(rows, context.y[rows])

    def hide_labels(self, context: FitContext) -> FitContext:
        """Return the context in which the held-out rows are rows of the logs."""
        return replace(context, train=replace(context.train, y=context.y.index_fill(0, self.rows, -1)))

    def compare(
        self, context: FitContext, network: IntentNetwork, frozen: Tensor, x: Tensor, *, seen_before: bool = False
    ) -> KnownCheck | None:
        """Compare the network with a logistic regression on the labelled rows alone; None if nothing was held out.

        `frozen` [n, d] are the vectors of the pretrained encoder, x [n, d] those of the network, which may have been
        trained on the held-out labels before.
        """
        if not len(self.rows):
            return None
        with torch.inference_mode():
            now = network.classifier(x[self.rows.to(x.device)]).argmax(1).cpu() == self.y
        # The held-out rows as a logistic regression on the labelled rows classifies them.
        held_out = torch.zeros(len(frozen), dtype=torch.bool).index_fill(0, self.rows, True)
        y, seed = torch.where(context.train.by_person, context.y, -1), derive(context.seed, "plain")
        classified = torch.zeros(len(frozen), dtype=torch.int64)
        classified[held_out] = classify_known(frozen.cpu(), y, held_out, seed=seed)
        plain = classified[self.rows] == self.y
        lost, gained = int((plain & ~now).sum()), int((now & ~plain).sum())
        shares = float(plain.float().mean()), float(now.float().mean())
        return KnownCheck(len(self.rows), *shares, lost, gained, seen_before)
