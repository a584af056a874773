"""Consensus: newfound's own recipe, and the default of `newfound discover`.

It keeps DPL's idea that labels come from prototypes and not from the classifier that learns them, and repairs where
it starts: prototypes and heads begin at what many clusterings agree on. docs/recipe.md says what each part adds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from newfound.algorithms.assignment import class_means
from newfound.algorithms.consensus import (
    Vote,
    agree,
    agreement,
    believed,
    diffuse,
    expected_accuracy,
    surer,
    vote,
)
from newfound.algorithms.lexical import with_words
from newfound.algorithms.metrics import accuracy, map_clusters
from newfound.algorithms.questions import MAX_EXAMPLES, Inquiry, OutsideIntent
from newfound.algorithms.recognition import (
    absorb_into_known,
    labels_are_scarce,
    recognise_around_labels,
    recognise_known,
)
from newfound.defaults import LOGS_HOLD, LogsHold
from newfound.encoders.encoder import Tune
from newfound.intents.questions import ask, measured_reliability
from newfound.methods.base import Discoverer
from newfound.methods.context import FitContext
from newfound.methods.controls import control_questions
from newfound.methods.finetuning import fine_tune
from newfound.methods.settings import Count, CountOrNone, DropoutRate, Positive
from newfound.methods.supervised import FROZEN_TEMPERATURE, pretrain, start_classifier, train_head, train_on_labels
from newfound.model.network import IntentNetwork
from newfound.training.schedule import GentleSchedule, Schedule
from newfound.training.seeding import derive

MAX_VOTERS = 20_000  # rows that vote; in larger logs the others follow the prototypes of these
MAX_ROWS_FOR_ALL_EPOCHS = 20_000  # in the training of the classifier; beyond it, epochs become fewer
MIN_EPOCHS = 5
MAX_READ = 10_000  # rows whose words are looked at; in larger logs the other votes decide alone
TRIAL_RUNS = 2  # of each view, in the estimate of how many labels are right
MAX_TRIAL_ROWS = 5_000
MIN_AGREEMENT_UNLABELLED = 0.9  # share of the votes: rows on which fewer agree get a short label
MAX_CONTROLS = 20  # questions about certain utterances, which measure how far answers can be believed
UNMEASURED_RELIABILITY = 0.7  # of answers, where there is nothing certain to measure it on
MIN_RELIABILITY = 0.5  # of answers that are believed at all
FEWEST_TO_LEARN_FROM = 8  # known intents
MIN_AGREEMENT = 0.5  # share of the votes that must agree on a row for it to teach the next round


@dataclass(kw_only=True, eq=False, repr=False)
class Consensus(Discoverer):
    """Cluster two views of the logs many times, take what the clusterings agree on, and train one classifier on it.

    With `tune="heads"` the encoder stays as it is. Otherwise it is fine-tuned gently first, and then in rounds on the
    labels that the clusterings agree on. Without known intents it clusters all texts; what learns from labels is
    skipped: of the fine-tuning, the contrast of each utterance with its own second view is left.

    Attributes:
        logs: What the logs hold: "mixed", utterances of known intents too, which their labelled neighbours tell; or
            "novel", new intents only (the paper's setting).
        sizes: Of the new intents: "estimated" from how far the clusterings agree, or taken to be "equal".
        words: Whether votes on vectors with words (TF-IDF) beside them count too: "auto" where they agree clearly more
            with each other than the others do, and the encoder is frozen; or "never".
        runs: Clusterings of each view.
        neighbours: Over which the second view averages, and that tell known from new in mixed logs.
        finetune_epochs: Epochs of the fine-tuning on the known intents and the logs.
        finetune_lr: Its learning rate.
        rounds: Of fine-tuning on what the clusterings agree on.
        round_epochs: Epochs of each round.
        temperature: Of the cosine classifier's cross-entropy.
        dropout: On the vector, in the classifier's training.
        epochs: Of the classifier's training.
        questions: How many questions about doubtful utterances an answerer is asked, if `fit` is given one.
    """

    logs: LogsHold = LOGS_HOLD
    sizes: Literal["estimated", "equal"] = "estimated"
    words: Literal["auto", "never"] = "auto"
    runs: Count = 6
    neighbours: Count = 10
    finetune_epochs: Count = 2
    finetune_lr: Positive = 2e-5
    rounds: CountOrNone = 3
    round_epochs: Count = 4
    temperature: Positive | None = None
    dropout: DropoutRate = 0.0
    epochs: CountOrNone = 50
    questions: CountOrNone = 100

    ASKS_QUESTIONS: ClassVar[bool] = True
    NEEDS_KNOWN: ClassVar[bool] = False
    EFFORTS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"tune": "heads"},
        "standard": {"tune": "layers", "rounds": 0},
        "best": {"tune": "layers"},
    }

    def _logs_hold(self) -> LogsHold:
        return self.logs

    def _stored_views(self, tune: Tune, device: torch.device) -> int:
        return 0  # heads see one view, and the fine-tuning runs all layers with dropout

    def _discover(self, context: FitContext) -> tuple[IntentNetwork, float]:
        temperature = self.temperature or FROZEN_TEMPERATURE
        if not context.tune.layers:
            return self._on_frozen_vectors(context, temperature), temperature
        network = context.network(dropout=self.dropout)
        gentle = GentleSchedule(epochs=self.finetune_epochs, lr=self.finetune_lr)
        fine_tune(context, network, context.y, gentle, stage="fine-tuning")
        for number in range(self.rounds):
            x = F.normalize(context.embed(network).float(), dim=-1)  # [n, d]
            y, agreed = self._label(context, x, number)
            taught = torch.where((context.y >= 0) | (agreed >= MIN_AGREEMENT), y, -1)
            context.history.setdefault("consensus", []).append({"epoch": number, **context.pseudo_label_accuracy(y)})
            gentle = GentleSchedule(epochs=self.round_epochs, lr=self.finetune_lr)
            fine_tune(context, network, taught, gentle, stage=f"round {number + 1}")
        x = F.normalize(context.embed(network).float(), dim=-1)
        y, _ = self._label(context, x, self.rounds)
        context.history.setdefault("consensus", []).append({"epoch": self.rounds, **context.pseudo_label_accuracy(y)})
        self._estimate_label_accuracy(context, x, y)
        start_classifier(network, x, y)
        schedule, times = self._schedule_for(len(y))
        train_head(context, network, x, y, schedule, temperature=temperature, times=times)
        return network, temperature

    def _on_frozen_vectors(self, context: FitContext, temperature: float) -> IntentNetwork:
        """Cluster once, and train the classifier: frozen vectors cluster alike every time."""
        network = context.network(dropout=self.dropout)
        pretrain(context, network, self._pretraining(), temperature=temperature)
        x = F.normalize(context.embed(network).float(), dim=-1)  # [n, d]
        y, _ = self._label(context, x, 0)
        self._estimate_label_accuracy(context, x, y)
        start_classifier(network, x, y)
        context.history["consensus"] = [{"epoch": 0, **context.pseudo_label_accuracy(y)}]
        schedule, times = self._schedule_for(len(y))
        train_on_labels(
            context,
            network,
            y,
            schedule,
            stage="training",
            columns=context.n_known + context.n_new,
            temperature=temperature,
            times=times,
        )
        return network

    def _schedule_for(self, rows: int) -> tuple[Schedule, int]:
        """The settings of the classifier's training, and how often an epoch holds what a person labelled.

        Each of many rows is seen less often, which bounds the steps. What a person labelled is seen as often as ever:
        otherwise known intents would be taken for new ones the more, the larger the logs are.
        """
        schedule = self._schedule()
        share = min(1.0, MAX_ROWS_FOR_ALL_EPOCHS / max(1, rows))
        if share == 1:
            return schedule, 1
        epochs = min(self.epochs, max(MIN_EPOCHS, round(share * self.epochs)))
        return replace(schedule, epochs=epochs, warmup_epochs=round(share * schedule.warmup_epochs)), round(1 / share)

    def _label(self, context: FitContext, x: Tensor, number: int) -> tuple[Tensor, Tensor]:
        """Ids [n] of all rows (CPU), and for each the share of the votes that agree with it.

        Known labels stay as they are; utterances of the logs get known intents (in mixed logs) and new ones.
        """
        y = context.y.clone()
        agreed = torch.ones(len(y))
        logs = context.unlabelled_rows
        if self.logs == "mixed" and context.n_known:
            seed = derive(context.seed, "known", number)
            known = context.y.to(x.device).clone()  # on a CPU it would be the very same tensor
            settings = {"neighbours": self.neighbours, "seed": seed}
            scarce = labels_are_scarce(len(context.known_rows), context.n_known, len(context.unlabelled_rows))
            if scarce:
                new = max(1, context.n_new)
                known[known < 0] = recognise_around_labels(x, known, context.n_known, new, **settings)
            else:
                known[known < 0] = recognise_known(x, known, context.n_known, **settings)
            if self.n_new == "auto" and not scarce:  # a number that was given is taken at its word
                known = absorb_into_known(x, known, context.n_known, max(1, context.n_new), **settings)
            y = known.cpu()
            logs = (y < 0).nonzero().squeeze(1)
        if context.n_new and (len(logs) > context.n_new or not context.n_known):
            clusters, share = self._cluster(context, x, logs, number)
            clusters = clusters.cpu()
            y[logs] = torch.where(clusters < 0, -1 - clusters, context.n_known + clusters)
            agreed[logs] = share.cpu()
        return context.labels_of_main(y), agreed

    def _cluster(self, context: FitContext, x: Tensor, logs: Tensor, number: int) -> tuple[Tensor, Tensor]:
        """New intents [m] of the rows `logs` [m] of vectors x [n, d], and the share of the votes that agree on each.

        Rows that answers give to the known intent i have the number -1 - i.
        """
        voting = logs
        if len(logs) > MAX_VOTERS:
            generator = torch.Generator().manual_seed(derive(context.seed, "voters", number))
            voting = logs[torch.randperm(len(logs), generator=generator)[:MAX_VOTERS]]
        voters = x[voting.to(x.device)]
        counted = self._votes(context, voters, self.runs, "vote", number)
        if self._may_read_words(context, len(voters)):
            worded = self._votes_with_words(context, voters, voting, number)
            counted += worded if surer(worded, counted) else []
        clusters = agree(counted, context.n_new, seed=derive(context.seed, "agree", number))
        if context.labeller is not None and context.n_new >= 2 and not context.tune.layers:
            labelled = self._votes_with_labels(context, voters, voting, agreement(counted, clusters), number)
            if surer(labelled, counted):
                counted += labelled
                clusters = agree(counted, context.n_new, seed=derive(context.seed, "agree", number))
        if number == (self.rounds if context.tune.layers else 0):
            clusters = self._under_answers(context, x, voting, counted, clusters)
        if len(voters) == len(logs):
            return clusters, agreement(counted, clusters.clamp(min=0))
        found = (x @ class_means(voters, clusters.clamp(min=-1), context.n_new)[0].T).argmax(1)
        to_known = clusters < 0
        found[voting.to(x.device)[to_known]] = clusters[to_known]
        return found[logs.to(x.device)], torch.ones(len(logs))

    def _votes_with_labels(
        self, context: FitContext, x: Tensor, rows: Tensor, agreed: Tensor, number: int
    ) -> list[Tensor]:
        """Votes [n] on vectors that lie halfway to those of short labels, where votes disagree and there are labels."""
        assert context.labeller is not None
        doubtful = (agreed < MIN_AGREEMENT_UNLABELLED).nonzero().squeeze(1)
        doubtful = doubtful[agreed[doubtful].argsort(stable=True)].cpu()
        texts = [context.train.texts[i] for i in rows[doubtful].tolist()]
        labels = context.labeller.labels(texts) if texts else []
        found = [(i, label) for i, label in zip(doubtful.tolist(), labels, strict=True) if label is not None]
        if not found:
            return []
        moved = x.clone()
        at = torch.tensor([i for i, _ in found], device=x.device)
        features = context.encoder.features([label for _, label in found], context.encoder.tune("heads"))
        vectors = F.normalize(features.data.flat.float().to(x.device), dim=-1)
        moved[at] = F.normalize(x[at] + vectors, dim=-1)
        return self._votes(context, moved, max(1, self.runs // 2), "vote with labels", number)

    def _under_answers(
        self, context: FitContext, x: Tensor, rows: Tensor, votes: list[Tensor], clusters: Tensor
    ) -> Tensor:
        """The clusters [m] of rows [m] when the answerer, if there is one, was asked where votes disagree.

        In mixed logs an answer may also be a known intent i, which is -1 - i here.
        """
        if context.answerer is None or not self.questions:
            return clusters
        voters = x[rows.to(x.device)]
        texts = [context.train.texts[i] for i in rows.tolist()]
        reliability, left = self._reliability_of_answers(context, x, voters, texts, votes, clusters)
        if reliability < MIN_RELIABILITY:
            context.run.reporter.warn(
                f"about {reliability:.0%} of the answers about certain utterances were right; nothing else is asked"
            )
            return clusters
        outside = self._known_beside(context, x, len(texts)) if self.logs == "mixed" else {}
        texts += [context.train.texts[i] for i in context.known_rows.tolist()]
        inquiry = Inquiry(diffuse(voters, neighbours=self.neighbours), votes, clusters, outside=outside)
        seed = derive(context.seed, "order of candidates")
        answered = ask(inquiry, texts, context.answerer, left, reliability=reliability, seed=seed)
        context.run.reporter.note(f"{answered} questions about doubtful utterances were answered")
        labels = inquiry.labels(context.n_new)
        is_new = labels >= 0
        labels[is_new] = torch.unique(labels[is_new], return_inverse=True)[1]
        return labels

    def _reliability_of_answers(
        self,
        context: FitContext,
        x: Tensor,
        voters: Tensor,
        texts: Sequence[str],
        votes: list[Tensor],
        clusters: Tensor,
    ) -> tuple[float, int]:
        """The share of answers that are right, and how many questions are left when it was measured."""
        assert context.answerer is not None
        given = context.answerer.reliability
        if given is not None:
            return given, self.questions
        count, seed = min(MAX_CONTROLS, self.questions // 4), derive(context.seed, "control questions")
        controls = control_questions(context.train.texts, x, context.y, count, seed=seed)
        if not controls:
            certain = torch.where(agreement(votes, clusters) == 1, clusters, -1).cpu()
            controls = control_questions(texts, voters, certain, count, seed=seed)
        measured = measured_reliability(context.answerer, controls)
        return UNMEASURED_RELIABILITY if measured is None else measured, self.questions - len(controls)

    def _known_beside(self, context: FitContext, x: Tensor, first: int) -> dict[int, OutsideIntent]:
        """The known intents as answers may name them; their examples are numbered from `first`, as `known_rows`."""
        known = context.known_rows
        y = context.y[known]
        points = x[known.to(x.device)]
        means = class_means(points, y.to(x.device), context.n_known)[0]
        typical = (points * means[y.to(x.device)]).sum(1).cpu()
        found = {}
        for intent in range(context.n_known):
            own = (y == intent).nonzero().squeeze(1)
            own = own[typical[own].argsort(descending=True, stable=True)][:MAX_EXAMPLES]
            found[-1 - intent] = OutsideIntent(means[intent], tuple(first + i for i in own.tolist()))
        return found

    def _votes(self, context: FitContext, x: Tensor, runs: int, kind: str, number: int) -> list[Tensor]:
        """Clusterings [n] of both views of vectors [n, d]."""
        votes = [
            vote(view, context.n_new, seed=derive(context.seed, kind, number, i, run))
            for i, view in enumerate((x, diffuse(x, neighbours=self.neighbours)))
            for run in range(runs)
        ]
        return self._counted(votes)

    def _may_read_words(self, context: FitContext, voters: int) -> bool:
        """Whether words are worth their time: not beside fine-tuned vectors, where they were not tried."""
        wanted = self.words == "auto" and self.sizes == "estimated" and not context.tune.layers
        return wanted and context.n_new >= 2 and voters <= MAX_READ

    def _votes_with_words(self, context: FitContext, x: Tensor, rows: Tensor, number: int) -> list[Tensor]:
        """Votes [n] on vectors with the words of their texts beside them."""
        texts = [context.train.texts[i] for i in rows.tolist()]
        worded = with_words(x, texts, seed=derive(context.seed, "words", number))
        return self._votes(context, worded, max(1, self.runs // 2), "vote with words", number)

    def _estimate_label_accuracy(self, context: FitContext, x: Tensor, y: Tensor) -> None:
        """Estimate how many labels y [n] of new intents are right; frozen vectors of known intents are compared with.

        Args:
            context: The fit, which notes the estimate.
            x: The vectors that were clustered, [n, d].
            y: The labels, [n] (CPU).
        """
        if context.n_new < 2 or int((y >= context.n_known).sum()) < 2 * context.n_new:
            return
        on_logs, _ = self._trial(context, x, y, context.n_known, context.n_new, "logs")
        if context.n_known < FEWEST_TO_LEARN_FROM:
            context.estimates["label_accuracy"] = max(0.05, on_logs)
            return
        frozen = x
        if context.tune.layers:
            frozen = F.normalize(context.embed(context.network()).float(), dim=-1)
        count = min(context.n_new, context.n_known)
        generator = torch.Generator().manual_seed(derive(context.seed, "trial"))
        chosen = torch.randperm(context.n_known, generator=generator)[:count]
        renumbered = torch.full_like(context.y, -1)
        for number, intent in enumerate(chosen.tolist()):
            renumbered[context.y == intent] = number
        on_known, right = self._trial(context, frozen, renumbered, 0, count, "known")
        trained = bool(context.tune.layers)
        context.estimates["label_accuracy"] = expected_accuracy(on_logs, on_known, right, trained=trained)

    def _trial(self, context: FitContext, x: Tensor, y: Tensor, first: int, k: int, kind: str) -> tuple[float, float]:
        """Cluster the rows of x whose label in y is `first` or more.

        Returns:
            How far the votes agree with their consensus, and the share of rows for which it agrees with y.
        """
        rows = (y >= first).nonzero().squeeze(1)
        if len(rows) > MAX_TRIAL_ROWS:
            generator = torch.Generator().manual_seed(derive(context.seed, "trial rows", kind))
            rows = rows[torch.randperm(len(rows), generator=generator)[:MAX_TRIAL_ROWS]]
        points = x[rows.to(x.device)]
        votes = [
            vote(view, k, seed=derive(context.seed, "trial", kind, i, run))
            for i, view in enumerate((points, diffuse(points, neighbours=self.neighbours)))
            for run in range(TRIAL_RUNS)
        ]
        counted = self._counted(votes)
        labels = agree(counted, k, seed=derive(context.seed, "trial", kind))
        gold = (y[rows] - first).numpy()
        right = accuracy(gold, map_clusters(gold, labels.cpu().numpy())) / 100
        return float(agreement(counted, labels).mean()), right

    def _counted(self, votes: list[Vote]) -> list[Tensor]:
        return [v.even for v in votes] if self.sizes == "equal" else believed(votes)
