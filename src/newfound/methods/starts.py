"""Where prototypes, projections and the sizes of new intents start."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from newfound.errors import SettingsError
from newfound.methods.context import FitContext


def check_sizes(sizes: str, start: str) -> None:
    """Refuse sizes that are to be estimated from clusters where the training does not start from any."""
    if sizes == "estimated" and start in ("random", "zeros"):
        raise SettingsError(
            f"sizes='estimated' needs clusters to start from, but start={start!r} has none; take kmeans"
        )


def estimate_shares(ids: Tensor, context: FitContext) -> Tensor:
    """Return the share of each new intent among the unlabelled rows [M], from the clusters `ids` [n] of all rows.

    One utterance is added to each, so that no share is zero.
    """
    sizes = torch.bincount(ids[context.unlabelled_rows] - context.n_known, minlength=context.n_new) + 1.0
    return (sizes / sizes.sum()).to(context.device)


def random_directions(count: int, width: int, *, seed: int) -> Tensor:
    """Return random unit vectors, [count, width], that depend on nothing but the seed."""
    return F.normalize(torch.randn(count, width, generator=torch.Generator().manual_seed(seed)), dim=-1)


@torch.no_grad()
def start_projection(projection: nn.Module, x: Tensor) -> None:
    """Set a projection to the principal components of the unit vectors of x [n, d].

    A layer with ReLU in front of the last one passes every component twice, with both signs, and the last layer takes
    the difference: relu(a) - relu(-a) = a. Hidden units that are left over keep their random start, with no effect yet.
    """
    unit = F.normalize(x.float(), dim=-1)
    centred = unit - unit.mean(0)
    last = projection[-1] if isinstance(projection, nn.Sequential) else projection
    assert isinstance(last, nn.Linear)
    hidden = projection[0] if isinstance(projection, nn.Sequential) else None
    most = last.out_features if hidden is None else min(last.out_features, last.in_features // 2)
    components = torch.linalg.eigh(centred.T @ centred).eigenvectors.flip(1).T[:most]  # [C, d], the largest first
    count = len(components)
    if hidden is None:
        last.weight.zero_()
        last.weight[:count] = components
        last.bias.zero_()
        last.bias[:count] = -(components @ unit.mean(0))
        return
    assert isinstance(hidden, nn.Linear)
    both = torch.cat([components, -components])
    hidden.weight[: 2 * count] = both
    hidden.bias.zero_()
    hidden.bias[: 2 * count] = -(both @ unit.mean(0))
    last.weight.zero_()
    last.bias.zero_()
    rows = torch.arange(count, device=last.weight.device)
    last.weight[rows, rows] = 1.0
    last.weight[rows, rows + count] = -1.0
