"""Stages that methods share: clusters to start from, pre-training on the known intents, training on given labels."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.assignment import class_means
from newfound.algorithms.clustering import balance, kmeans
from newfound.encoders.ragged import Batch
from newfound.errors import SettingsError
from newfound.methods.context import FitContext
from newfound.model.network import IntentNetwork
from newfound.training.schedule import Optimization
from newfound.training.seeding import derive
from newfound.training.trainer import Losses

TEMPERATURE = 0.1  # the released code's
FROZEN_TEMPERATURE = 0.05  # vectors that cannot move need a sharper softmax: +3 points of IND ACC (fresh partitions)


def default_temperature(context: FitContext) -> float:
    return TEMPERATURE if context.tune.layers else FROZEN_TEMPERATURE


def cluster(x: Tensor, context: FitContext, restarts: int = 10, *, balanced: bool = False) -> Tensor:
    """Ids of all rows: known labels as they are, k-means clusters of x [n, d] for the unlabelled rows (CPU).

    `balanced` evens out the clusters' sizes.
    """
    rows = context.unlabelled_rows
    points = F.normalize(x[rows.to(x.device)].float(), dim=-1)
    clustering = kmeans(points, context.n_new, restarts=restarts, seed=derive(context.seed, "k-means"))
    ids = context.y.clone()
    ids[rows] = context.n_known + (balance(points, clustering.centres) if balanced else clustering.labels).cpu()
    return ids


def check_sizes(sizes: str, start: str) -> None:
    """Refuse sizes that are to be estimated from clusters where the training does not start from any."""
    if sizes == "estimated" and start in ("random", "zeros"):
        raise SettingsError(
            f"sizes='estimated' needs clusters to start from, but start={start!r} has none; take kmeans"
        )


def start_at_clusters(
    context: FitContext, network: IntentNetwork, *, start: str, sizes: str
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Start the classifier at k-means clusters of the unlabelled rows; return what it started from.

    That are the vectors [n, d] of all rows, their ids [n], and the estimated share of each new intent [M]; None for
    equal shares.
    """
    x = context.embed(network)
    ids = cluster(x, context, balanced=start == "balanced" and sizes == "equal")
    start_classifier(network, x, ids)
    if sizes == "equal":
        return x, ids, None
    # One utterance is added to each, so that no share is zero.
    counts = torch.bincount(ids[context.unlabelled_rows] - context.n_known, minlength=context.n_new) + 1.0
    return x, ids, (counts / counts.sum()).to(context.device)


def train_on_labels(
    context: FitContext,
    network: IntentNetwork,
    y: Tensor,
    schedule: Optimization,
    *,
    stage: str,
    columns: int,
    temperature: float,
) -> None:
    """Cross-entropy of the first `columns` cosine logits on the rows that have a label in `y` (CPU, -1 for none)."""
    target = y.to(context.device)

    def step(batch: Batch) -> Losses:
        network.classifier.normalize_()
        logits = network.classifier(network(context.features, batch))[:, :columns]
        return {"loss": F.cross_entropy(logits.float() / temperature, target[batch.rows])}

    context.fit(stage, network, schedule, (y >= 0).nonzero().squeeze(1), step)


def train_head(
    context: FitContext,
    network: IntentNetwork,
    x: Tensor,
    y: Tensor,
    schedule: Optimization,
    *,
    temperature: float,
    times: int = 1,
    margin: float = 0.0,
    stage: str = "training",
) -> None:
    """Train the classifier alone, on vectors x [n, d] that do not change any more, and labels y [n] (CPU, -1 for none).

    An epoch holds the rows that a person labelled `times` times. The cosine with new intents is raised by a `margin` in
    training, and in training alone: it makes a new intent keep its distance from known ones.
    """
    target, classifier = y.to(context.device), network.classifier
    raised = margin * (torch.arange(len(classifier.weight), device=context.device) >= context.n_known)

    def step(batch: Batch) -> Losses:
        classifier.normalize_()
        cosine = classifier(x[batch.rows]).float() + raised
        return {"loss": F.cross_entropy(cosine / temperature, target[batch.rows])}

    rows = torch.cat([(y >= 0).nonzero().squeeze(1), context.known_rows.repeat(times - 1)])
    context.fit(stage, classifier, schedule, rows, step, lengths=torch.ones_like(y))


def pretrain(context: FitContext, network: IntentNetwork, schedule: Optimization, *, temperature: float) -> None:
    """IND pre-training: the network learns the known intents. Over a frozen encoder their means say as much.

    A single known intent, or none, has nothing to teach.
    """
    if not context.tune.layers or context.n_known < 2:
        start_classifier(network, context.embed(network), context.y)
        return

    def train() -> dict[str, Tensor]:
        n, y = context.n_known, context.y
        train_on_labels(context, network, y, schedule, stage="pre-training", columns=n, temperature=temperature)
        return {name: t.clone() for name, t in network.classifier_branch().items()}

    # Everything that the result depends on; methods differ only in what comes after it.
    shared = [context.run.identity.get(name) for name in ("data", "encoder")]
    views = None if context.features.noisy is None else len(context.features.noisy)
    head = [network.dense is not None, network.layer_std, network.dropout.p, context.n_known, context.n_new]
    shape = [*head, context.trunk_dropout, views]
    of_fit = [context.encoder.max_length, context.tune, context.seed, str(context.device)]
    trained = context.run.get_or_make(repr([*shared, *of_fit, *shape, schedule, temperature]), train)
    for name, tensor in network.classifier_branch().items():
        tensor.copy_(trained[name])


@torch.no_grad()
def start_classifier(network: IntentNetwork, x: Tensor, y: Tensor) -> None:
    """Set every column of the classifier to the mean direction of the rows labelled with it."""
    weight = network.classifier.weight
    means, filled = class_means(x, y.to(x.device), len(weight))
    weight[filled] = means[filled].to(weight.dtype)  # a column without rows keeps its random start
