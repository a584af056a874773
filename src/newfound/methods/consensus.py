"""Consensus: newfound's own recipe, and the default of `newfound discover`.

It keeps DPL's idea that labels come from prototypes and not from the classifier that learns them, and repairs where
it starts: heads begin at what many clusterings agree on. `_discover` and `_label` are the steps of docs/recipe.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from torch import Tensor

from newfound.algorithms.clustering import kmeans
from newfound.algorithms.ensembles import (
    Sizes,
    cluster_around,
    cluster_ensemble,
    consensus_clustering,
    consistency,
    diffuse,
    extend_consensus,
    name_by_labels,
    share_agreeing,
    views,
)
from newfound.algorithms.recognition import MIN_LABELS_FOR_NEIGHBOURS, overlooks_new, recognise_known, typical_labels
from newfound.data.corpus import Corpus
from newfound.defaults import LOGS_HOLD, NO_INTENT, LogsHold, NoIntent
from newfound.encoders.encoder import Encoder
from newfound.errors import NothingToFineTuneOn
from newfound.methods.asking import ask_about
from newfound.methods.base import Discoverer
from newfound.methods.checking import KnownTrial
from newfound.methods.context import Discovery, FitContext
from newfound.methods.estimation import estimate_from_vectors, put_aside
from newfound.methods.finetuning import FineTuning, fine_tune
from newfound.methods.settings import Count, NonNegativeInt, NotNegative, OpenShare, Positive
from newfound.methods.supervised import FROZEN_TEMPERATURE, start_classifier, train_head
from newfound.model.network import IntentNetwork
from newfound.training.run import Run
from newfound.training.schedule import Schedule
from newfound.training.seeding import derive

MAX_CLUSTERED_ROWS = 20_000  # in larger corpora the other rows follow the means of these
MAX_ROWS_FOR_ALL_EPOCHS = 20_000  # in the training of the classifier; beyond it, epochs become fewer
MIN_EPOCHS = 5
MAX_COMPARED = 8  # clusterings, pair by pair, for how consistent they are
SPARE_CENTRES = 2.0  # for each new intent, when known ones are recognised: one without a centre would fall to these
MAX_ROWS_GROUPED = 4_000  # to see whether labels did harm
MIN_LABELS_TO_FINE_TUNE = 3  # of the typical known intent (docs/cold-start.md)
MAX_TOKENS_TO_FINE_TUNE = 4_000_000  # whose hidden states are kept in memory: about 6 GB with minilm
TOKENS_PER_WORD = 1.4
SHARE_OF_EPOCHS_TO_ADD_HELD_OUT = 0.2
# Of new intents, where known ones are in the logs too: twice 0.04 gave these half a point and took half a point from
# new intents, for as many right in all. A share of how far apart two rows are on average, since vectors of some
# encoders all lie close to each other.
MARGIN = 0.08
SHARE_OF_TUNED, SHARE_OF_TUNED_BY_FEW_LABELS = 0.8, 0.5  # of a cosine: the rest is of the pretrained encoder's vectors


class Labels(NamedTuple):
    """What one pass over the corpus says."""

    y: Tensor  # [n] (CPU) intent of each row, -1 for none
    agreement: Tensor  # [n] (CPU) share of the clusterings that agree; 1 for rows that were not clustered
    consistency: float  # mean adjusted Rand index of two clusterings; 1 if nothing was clustered


@dataclass(kw_only=True, eq=False, repr=False)
class Consensus(Discoverer):
    """Cluster two views of the utterances many times, take the consensus, and train one classifier on it.

    With `tune="heads"` the encoder stays as it is. Otherwise it is fine-tuned gently on the known intents first. "auto"
    fine-tunes the upper half of its layers where there are enough labels, on every machine. Without known intents it
    clusters all texts, and there is nothing to fine-tune on.

    Attributes:
        logs: What the logs hold: "mixed", utterances of known intents too; or "novel", new intents only (the paper's
            setting).
        sizes: Sizes of the new intents: "estimated" from how consistent the clusterings are, or taken to be "equal".
        no_intent: Rows of the logs that belong to no intent: "auto" puts aside small talk, texts without words and what
            is less typical than labelled utterances lead one to expect, a share puts aside that share of the logs, and
            "none" nothing. Logs that hold new intents only hold no such rows.
        runs: Clusterings of each of the two views; twice as many vote in the consensus, in mixed logs sixfold.
        neighbours: Nearest neighbours over which the second view averages, and which tell known from new intents in
            mixed logs.
        finetune_steps: Steps of the fine-tuning; None is 60 (fewer with few labels), or two epochs of the labelled rows
            in larger steps if all layers train and the logs are novel.
        finetune_lr: Highest learning rate of the encoder in the fine-tuning (AdamW); None is 5e-5, or 3e-5 if all
            layers train, or 2e-5 if the logs are novel, too.
        instance_weight: Weight of the instance contrast on the logs, beside 1 for the contrast of known intents; None
            is 0, or 1 if all layers train and the logs are novel.
        temperature: Temperature of the cosine classifier's softmax in training; lower is sharper. None is 0.05.
        epochs: Epochs of the classifier's training.
        questions: How many questions about doubtful utterances an annotator is asked, if `fit` is given one.
    """

    logs: LogsHold = LOGS_HOLD
    sizes: Sizes = "estimated"
    no_intent: OpenShare | Literal["auto", "none"] = NO_INTENT
    runs: Count = 6
    neighbours: Count = 10
    finetune_steps: Count | None = None
    finetune_lr: Positive | None = None
    instance_weight: NotNegative | None = None
    temperature: Positive | None = None
    epochs: NonNegativeInt = 50
    questions: NonNegativeInt = 100

    ASKS_QUESTIONS: ClassVar[bool] = True
    SORTS_ROWS: ClassVar[bool] = True
    NEEDS_KNOWN: ClassVar[bool] = False
    # Heads see one view; in a few dozen steps, dropout in the upper layers suffices.
    STORED_VIEWS: ClassVar[Mapping[str, int]] = {"cuda": 0, "cpu": 0}
    # More than this gained nothing: more clusterings, several fine-tunings, rounds of self-training, and in mixed logs
    # all layers (docs/recipe.md).
    EFFORTS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"tune": "heads"},
        "standard": {"tune": "upper"},
        "best": {"tune": "layers"},
    }

    def check_settings(self, corpus: Corpus) -> None:
        """Refuse what cannot work: without two known intents, instance contrast alone would spoil the vectors."""
        super().check_settings(corpus)
        if len(corpus.intents) < 2 and self.tune not in ("auto", "heads"):
            raise NothingToFineTuneOn(len(corpus.intents))

    @classmethod
    def settings_of_effort(cls, effort: str, logs: LogsHold = LOGS_HOLD) -> Mapping[str, Any]:
        """Return the settings that an effort stands for; in mixed logs all layers are not worth their time."""
        return cls.EFFORTS["standard" if effort == "best" and logs == "mixed" else effort]

    @classmethod
    def auto_tune(cls, corpus: Corpus, device: torch.device, logs: LogsHold = LOGS_HOLD) -> str:
        """Return how much of the encoder trains by default: the upper layers, where that helps and fits into memory.

        On a GPU and in logs of new intents only, as in the paper, it is all layers.
        """
        if logs == "novel" and device.type == "cuda" and not has_few_labels(corpus):
            return "layers"
        tokens = sum(2 + TOKENS_PER_WORD * len(text.split()) for text in corpus.texts)
        return "heads" if has_few_labels(corpus) or tokens > MAX_TOKENS_TO_FINE_TUNE else "upper"

    def _logs_hold(self) -> LogsHold:
        return self.logs

    def _no_intent(self) -> NoIntent:
        return self.no_intent if self.logs == "mixed" else "none"

    def _n_new(self, encoder: Encoder, corpus: Corpus, run: Run) -> int:
        return 0 if self.n_new == "auto" else self.n_new  # it is estimated after the fine-tuning

    def _discover(self, context: FitContext) -> Discovery:
        network = context.network()
        trial = KnownTrial.draw(context)
        context = trial.hide_labels(context)
        frozen = context.unit_vectors(network)  # [n, d]
        aside = self._put_aside(context, frozen)  # step 1
        x = self._fine_tune(context, network) if context.tune.layers else frozen  # step 2
        joined = self._join(context, frozen, x)
        if self.n_new == "auto":  # step 3
            likely, seed, tuned = context.languages, context.seed, joined if context.tune.layers else None
            found = estimate_from_vectors(frozen, context.y, aside, likely, self.logs, seed=seed, tuned=tuned)
            context = context.with_number(network, self._report_estimate(found, context.run))
        labels = self._label(context, joined, frozen, aside)  # steps 4 and 5
        context = context.with_number(network, max(context.n_new, int(labels.y.max()) + 1 - context.n_known))
        self._fit_classifier(context, network, x, labels.y)  # step 6
        check = trial.compare(context, network, frozen, x)
        if trial.rows.numel():
            share = SHARE_OF_EPOCHS_TO_ADD_HELD_OUT
            y = labels.y.index_copy(0, trial.rows, trial.y)
            self._fit_classifier(context, network, x, y, share_of_epochs=share)
        is_new = labels.y >= context.n_known
        # Without new intents, rows that are not recognised are of known ones all the same.
        no_intent = (labels.y < 0) & (context.y < 0) if context.n_new else aside.cpu()
        return Discovery(
            network,
            self.temperature or FROZEN_TEMPERATURE,
            vectors=x,
            no_intent=None if self._no_intent() == "none" else no_intent,
            share_of_no_intent=self.no_intent if isinstance(self.no_intent, float) else None,
            agreement=float(labels.agreement[is_new].mean()) if bool(is_new.any()) else None,
            consistency=labels.consistency,
            known_check=check,
            choices=context.choices,
        )

    def _put_aside(self, context: FitContext, x: Tensor) -> Tensor:
        """Which rows of the logs belong to no intent, [n]: they are neither clustered nor learned from.

        x are vectors of the pretrained encoder: after a fine-tuning, labelled rows lie closer to each other than
        anything else, and nearly everything would look untypical beside them.
        """
        x, texts, one_language = context.language_free(x), context.train.texts, context.languages is None
        rows = put_aside(texts, x, context.y >= 0, self._no_intent(), comparable=one_language, seed=context.seed)
        return rows.to(x.device)

    def _fine_tune(self, context: FitContext, network: IntentNetwork) -> Tensor:
        """Fine-tune the network on the labels, and return its unit vectors [n, d]."""
        fine_tune(context, network, self._fine_tuning(context))
        return context.unit_vectors(network)

    def _join(self, context: FitContext, frozen: Tensor, tuned: Tensor) -> Tensor:
        """Return the vectors that are clustered: in mixed logs, the cosine of two rows is a mean of before and after.

        Fine-tuning tells known intents apart, and with few labels brings new ones together that were apart.
        """
        if not (context.tune.layers and self._may_hold_known(context)):
            return tuned
        has_few = typical_labels(context.y, context.n_known) < MIN_LABELS_FOR_NEIGHBOURS
        share = SHARE_OF_TUNED_BY_FEW_LABELS if has_few else SHARE_OF_TUNED
        return torch.cat([(1 - share) ** 0.5 * frozen, share**0.5 * tuned], dim=1)

    def _fine_tuning(self, context: FitContext) -> FineTuning:
        settings = FineTuning(lr=3e-5) if context.tune.everything else FineTuning()  # lower layers need a lower rate
        settings = settings.bounded(len(context.known_rows), context.n_known)
        if context.tune.everything and self.logs == "novel":
            settings = FineTuning.of_the_paper(len(context.known_rows))
        return replace(
            settings,
            steps=self.finetune_steps or settings.steps,
            lr=self.finetune_lr or settings.lr,
            instance_weight=settings.instance_weight if self.instance_weight is None else self.instance_weight,
        )

    def _may_hold_known(self, context: FitContext) -> bool:
        return self.logs == "mixed" and context.n_known > 0

    def _label(self, context: FitContext, x: Tensor, frozen: Tensor, aside: Tensor) -> Labels:
        """Labels of all rows: those that a person gave, known intents in mixed logs, and new intents.

        x [n, d] are unit vectors, `frozen` [n, d] those of the pretrained encoder, `aside` [n] the rows of no intent.
        """
        x, frozen = context.language_free(x), context.language_free(frozen)
        y, kept = context.y.to(x.device), (~aside).nonzero().squeeze(1)
        if self._may_hold_known(context):  # step 4
            recognised = y.clone()
            recognised[kept] = self._recognise(context, x[kept], frozen[kept], y[kept])
            if context.n_new and self._overlooks_new(context, x[kept], y[kept], recognised[kept]):
                return self._label_without_labels(context, x, kept)
            y = recognised
        rows = ((y < 0) & ~aside).nonzero().squeeze(1).cpu()
        if not context.n_new or not len(rows):
            return Labels(y.cpu(), torch.ones(len(y)), 1.0)
        offer_known = self._may_hold_known(context)
        known = ((y >= 0) & ~aside).nonzero().squeeze(1).cpu() if offer_known else None
        ensemble, chosen, clusters = self._cluster(context, x, rows, context.n_new, known)  # step 5
        labels = context.n_known + clusters
        labels = ask_about(context, x, chosen, ensemble, labels, self.questions, offer_known=offer_known)
        return self._put_together(x, y, rows, chosen, ensemble, labels)

    def _recognise(self, context: FitContext, x: Tensor, frozen: Tensor, y: Tensor) -> Tensor:
        seeds = partial(derive, context.seed, "known")
        n_new = max(context.n_new + 1, round(SPARE_CENTRES * context.n_new))
        runs, neighbours = max(1, self.runs // 2) + 1, self.neighbours
        return recognise_known(x, y, context.n_known, n_new, runs, seeds, neighbours=neighbours, pretrained=frozen)

    def _overlooks_new(self, context: FitContext, x: Tensor, y: Tensor, recognised: Tensor) -> bool:
        """Whether groups that are seen without labels, and hold none, would be taken for known intents."""
        generator = torch.Generator().manual_seed(derive(context.seed, "rows grouped"))
        rows = torch.randperm(len(x), generator=generator)[:MAX_ROWS_GROUPED].to(x.device)
        points = diffuse(x[rows], neighbours=self.neighbours)
        k = min(context.n_known + context.n_new, len(rows))
        groups = kmeans(points, k, restarts=3, seed=derive(context.seed, "groups")).labels
        return overlooks_new(groups, y[rows], recognised[rows])

    def _label_without_labels(self, context: FitContext, x: Tensor, kept: Tensor) -> Labels:
        """Cluster everything as if nothing were known; a cluster with most labels of an intent has its name."""
        why = "most groups of utterances without a label would be taken for known intents"
        context.choices.update(strategy="without labels", strategy_reason=why)
        context.run.reporter.warn(
            f"{why}, so everything is clustered without labels, and the labels name the clusters. Give each known "
            "intent more labels if known intents suffer"
        )
        k, y = context.n_known + context.n_new, context.y.to(x.device)
        ensemble, chosen, clusters = self._cluster(context, x, kept.cpu(), k)
        labels = name_by_labels(clusters, y[chosen.to(y.device)], context.n_known)
        return self._put_together(x, y, kept.cpu(), chosen, ensemble, labels)

    def _cluster(
        self, context: FitContext, x: Tensor, rows: Tensor, k: int, known: Tensor | None = None
    ) -> tuple[list[Tensor], Tensor, Tensor]:
        """Clusterings of some rows [m] of x, which of the rows were clustered, and the consensus on these.

        In mixed logs, clusterings of the rows together with `known` ones have a say in the consensus too.
        """
        chosen = self._draw_rows(context, rows)
        points, k = x[chosen.to(x.device)], min(k, len(chosen))
        seeds = partial(derive, context.seed, "vote")
        ensemble = cluster_ensemble(points, k, self.runs, seeds, neighbours=self.neighbours, sizes=self.sizes)
        voters = ensemble if known is None or k < 2 else ensemble + self._cluster_with_known(context, x, chosen, known)
        return ensemble, chosen, consensus_clustering(voters, k, seed=derive(context.seed, "agree"))

    def _cluster_with_known(self, context: FitContext, x: Tensor, chosen: Tensor, known: Tensor) -> list[Tensor]:
        """Clusterings [m] of chosen rows among those of known intents, which show better where new intents end.

        Half of them start at the labels, the others know nothing.
        """
        rows = torch.cat([chosen, self._draw_rows(context, known)]).to(x.device)
        points, y, k = x[rows], context.y.to(x.device)[rows], min(context.n_known + context.n_new, len(rows))
        seeds = partial(derive, context.seed, "vote with known")
        free = cluster_ensemble(points, k, self.runs, seeds, neighbours=self.neighbours, sizes=self.sizes)
        around = [
            cluster_around(view, y, context.n_known, k, seed=seeds("around", i, run))
            for i, view in enumerate(views(points, neighbours=self.neighbours))
            for run in range(self.runs)
        ]
        return [labels[: len(chosen)] for labels in free + around]

    def _put_together(
        self, x: Tensor, y: Tensor, rows: Tensor, chosen: Tensor, ensemble: list[Tensor], labels: Tensor
    ) -> Labels:
        """Labels of all rows, of which some [m] were to be clustered, and of these some were chosen."""
        if len(chosen) == len(rows):
            shares = share_agreeing(ensemble, labels)
        else:
            place = torch.full((len(x),), -1).index_put_((rows,), torch.arange(len(rows)))[chosen]
            labels, shares = extend_consensus(labels, ensemble, x[rows.to(x.device)], place.to(x.device))
        y, agreement = y.cpu(), torch.ones(len(y)).index_copy(0, rows, shares.cpu())
        y = y.index_copy(0, rows, torch.where(y[rows] >= 0, y[rows], labels.cpu()))  # labels that were given stay
        return Labels(y, agreement, consistency(ensemble[:MAX_COMPARED]) if len(ensemble) > 1 else 1.0)

    def _draw_rows(self, context: FitContext, rows: Tensor) -> Tensor:
        """All rows, or of very many a random part; labelled ones first."""
        if len(rows) <= MAX_CLUSTERED_ROWS:
            return rows
        generator = torch.Generator().manual_seed(derive(context.seed, "voters"))
        drawn = rows[torch.randperm(len(rows), generator=generator)]
        order = (context.y[drawn] < 0).int().argsort(stable=True)
        return drawn[order][:MAX_CLUSTERED_ROWS]

    def _fit_classifier(
        self, context: FitContext, network: IntentNetwork, x: Tensor, y: Tensor, *, share_of_epochs: float = 1.0
    ) -> None:
        """Train the classifier on labels y [n] (CPU, -1 for none); a share of the epochs goes on from where it is."""
        if share_of_epochs == 1:
            start_classifier(network, x, y)
        schedule, times = self._schedule_for(len(y), share_of_epochs)
        temperature = self.temperature or FROZEN_TEMPERATURE
        stage = "training" if share_of_epochs == 1 else "training on all labels"
        spread = 1 - float(x.mean(0).square().sum())  # 1 minus the mean cosine of two rows
        margin = MARGIN * spread if self._may_hold_known(context) else 0.0
        train_head(context, network, x, y, schedule, temperature=temperature, times=times, margin=margin, stage=stage)

    def _schedule_for(self, rows: int, share_of_epochs: float = 1.0) -> tuple[Schedule, int]:
        """The settings of the classifier's training, and how often an epoch holds what a person labelled.

        Each of many rows is seen less often, which bounds the steps. What a person labelled is seen as often as ever:
        otherwise known intents would be taken for new ones the more, the larger the logs are.
        """
        schedule = self._schedule()
        of_rows = min(1.0, MAX_ROWS_FOR_ALL_EPOCHS / max(1, rows))
        share = of_rows * share_of_epochs
        if share == 1:
            return schedule, 1
        epochs = min(self.epochs, max(MIN_EPOCHS, round(share * self.epochs)))
        return replace(schedule, epochs=epochs, warmup_epochs=round(share * schedule.warmup_epochs)), round(1 / of_rows)


def has_few_labels(corpus: Corpus) -> bool:
    """Return whether a corpus has too few labels to fine-tune an encoder on."""
    n_known, y = len(corpus.intents), torch.tensor(corpus.ids(corpus.intents))
    return n_known < 2 or typical_labels(y, n_known) < MIN_LABELS_TO_FINE_TUNE
