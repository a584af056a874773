"""Training the network on given labels: pre-training on the known intents, and the last stage of pipelines."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.assignment import class_means
from newfound.algorithms.clustering import balance, kmeans
from newfound.encoders.ragged import Batch, RaggedBatches
from newfound.methods.context import FitContext
from newfound.model.network import IntentNetwork
from newfound.training.seeding import derive
from newfound.training.trainer import Losses, Optimization

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
    return context.run.of_main(ids)


def train_on_labels(
    context: FitContext,
    network: IntentNetwork,
    y: Tensor,
    schedule: Optimization,
    *,
    stage: str,
    columns: int,
    temperature: float,
    times: int = 1,
) -> None:
    """Cross-entropy of the first `columns` cosine logits on the rows that have a label in `y` (CPU, -1 for none).

    An epoch holds the rows that a person labelled `times` times.
    """
    y = context.run.of_main(y)
    target = y.to(context.device)

    def step(batch: Batch) -> Losses:
        network.classifier.normalize_()
        logits = network.classifier(network(context.features, batch))[:, :columns]
        return {"loss": F.cross_entropy(logits.float() / temperature, target[batch.rows])}

    context.fit(stage, network, schedule, _rows_of_an_epoch(context, y, times), step)


def _rows_of_an_epoch(context: FitContext, y: Tensor, times: int) -> Tensor:
    return torch.cat([(y >= 0).nonzero().squeeze(1), context.known_rows.repeat(times - 1)])


def train_head(
    context: FitContext,
    network: IntentNetwork,
    x: Tensor,
    y: Tensor,
    schedule: Optimization,
    *,
    temperature: float,
    times: int = 1,
) -> None:
    """Train the classifier alone, on vectors that do not change any more.

    Args:
        context: The context of the fit, which records the history of the stage.
        network: Its classifier is trained in place.
        x: Vectors of all rows, [n, d].
        y: Labels of all rows (CPU), -1 for none.
        schedule: Epochs and learning rates.
        temperature: Of the cosine classifier's cross-entropy.
        times: How often an epoch holds each row that a person labelled.
    """
    y = context.run.of_main(y)
    target, classifier = y.to(context.device), network.classifier

    def step(batch: Batch) -> Losses:
        classifier.normalize_()
        return {"loss": F.cross_entropy(classifier(x[batch.rows]).float() / temperature, target[batch.rows])}

    batches = RaggedBatches(torch.ones(len(y), dtype=torch.int64), context.device)
    context.fit("training", classifier, schedule, _rows_of_an_epoch(context, y, times), step, batches=batches)


def pretrain(context: FitContext, network: IntentNetwork, schedule: Optimization, *, temperature: float) -> None:
    """IND pre-training: the network learns the known intents. Over a frozen encoder their means say as much.

    A single known intent, or none, has nothing to teach.
    """
    if not context.tune.layers or context.n_known < 2:
        start_classifier(network, context.embed(network), context.y)
        return

    def train() -> dict[str, Tensor]:
        train_on_labels(
            context,
            network,
            context.y,
            schedule,
            stage="pre-training",
            columns=context.n_known,
            temperature=temperature,
        )
        return {name: t.clone() for name, t in network.classifier_branch().items()}

    trained = context.run.get_or_make(_pretraining_key(context, network, schedule, temperature), train)
    for name, tensor in network.classifier_branch().items():
        tensor.copy_(trained[name])


def _pretraining_key(context: FitContext, network: IntentNetwork, schedule: Optimization, temperature: float) -> str:
    """Everything that the result of pre-training depends on; methods differ only in what comes after it."""
    shared = [context.run.identity.get(name) for name in ("data", "encoder")]
    views = None if context.features.noisy is None else len(context.features.noisy)
    shape = [network.dense is not None, network.dropout.p, context.n_known, context.n_new, context.trunk_dropout, views]
    return repr(
        [
            *shared,
            context.encoder.max_length,
            context.tune,
            context.seed,
            str(context.device),
            *shape,
            schedule,
            temperature,
        ]
    )


@torch.no_grad()
def start_classifier(network: IntentNetwork, x: Tensor, y: Tensor) -> None:
    """Set every column of the classifier to the mean direction of the rows labelled with it."""
    weight = network.classifier.weight
    means, filled = class_means(x, y.to(x.device), len(weight))
    weight[filled] = means[filled].to(weight.dtype)  # a column without rows keeps its random start
