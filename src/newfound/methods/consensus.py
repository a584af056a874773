"""Consensus: newfound's own recipe, and the default of `newfound discover`.

It keeps DPL's idea that labels come from prototypes and not from the classifier that learns them, and repairs where
it starts: heads begin at what many clusterings agree on. `_discover` and `_label` are the steps of docs/recipe.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, cast

import torch
from torch import Tensor

from newfound.algorithms.ensembles import (
    Sizes,
    cluster_ensemble,
    consensus_clustering,
    consistency,
    estimate_label_accuracy,
    extend_consensus,
    is_more_consistent,
    joint_ensemble,
    name_by_labels,
    share_agreeing,
    try_on_known,
    with_words,
)
from newfound.algorithms.no_intent import precise_recognition
from newfound.algorithms.recognition import Way, absorb_into_known, choose_way, recognise_around, recognise_known
from newfound.data.corpus import Corpus
from newfound.defaults import LOGS_HOLD, NO_INTENT, LogsHold, NoIntent
from newfound.encoders.encoder import Tune
from newfound.errors import NothingToFineTuneOn
from newfound.methods.asking import ask_about, move_to_short_labels
from newfound.methods.base import Discoverer
from newfound.methods.context import FitContext
from newfound.methods.estimation import put_aside
from newfound.methods.finetuning import epochs_for_steps, fine_tune
from newfound.methods.settings import Count, NonNegativeInt, OpenShare, Positive
from newfound.methods.supervised import FROZEN_TEMPERATURE, start_classifier, train_head
from newfound.model.network import IntentNetwork
from newfound.training.schedule import AdamWSchedule, Schedule
from newfound.training.seeding import derive

MAX_CLUSTERED_ROWS = 20_000  # in larger corpora the other rows follow the means of these
MAX_ROWS_FOR_ALL_EPOCHS = 20_000  # in the training of the classifier; beyond it, epochs become fewer
MIN_EPOCHS = 5
MAX_ROWS_WITH_WORDS = 10_000  # rows whose words are looked at; in larger logs the other clusterings decide alone
MIN_AGREEMENT_TO_TEACH = 0.5  # share of the clusterings that must agree on a row for it to teach the next round
ROUNDS_IN_MIXED_LOGS = 3
MIN_SHARE_ASIDE = 0.05  # of the logs: from here on, clusters of known intents hold rows of no intent, too
MAX_COMPARED = 8  # clusterings, pair by pair, for how consistent they are
WAYS: dict[Way, str] = {
    "joint": "Known and new intents are clustered together",
    "divided": "Utterances of known intents are recognised first, and the others clustered",
    "around": "Utterances of known intents are recognised first, by clusterings around the labels",
}


@dataclass(kw_only=True, eq=False, repr=False)
class Consensus(Discoverer):
    """Cluster two views of the utterances many times, take the consensus, and train one classifier on it.

    With `tune="heads"` the encoder stays as it is. Otherwise it is fine-tuned gently on the known intents first, and
    then in rounds on the labels that the clusterings agree on. Without known intents it clusters all texts, and there
    is nothing to fine-tune on.

    Attributes:
        logs: What the logs hold: "mixed", utterances of known intents too; or "novel", new intents only (the paper's
            setting).
        way: In mixed logs, "divided" tells first which utterances belong to known intents, by their labelled
            neighbours, and clusters the others; "around" does the same by clusterings around the labels; "joint"
            clusters everything at once and lets labels name the clusters; "auto" takes the way that fits the number of
            labels, how far clusterings agree, and how clearly the known intents are clusters.
        sizes: Sizes of the new intents: "estimated" from how consistent the clusterings are, or taken to be "equal".
        no_intent: Rows of the logs that belong to no intent: "auto" puts aside what is less typical than labelled
            utterances lead one to expect, a share puts aside that share of the logs, and "none" nothing. Logs that hold
            new intents only hold no such rows.
        known_precision: Share of the utterances recognised as known intents that are to be of known intents; it is
            estimated, and those that are less typical of their intent stay undecided.
        words: Whether clusterings of vectors with words (TF-IDF) beside them count too: "auto" where they are clearly
            more consistent than the others and the encoder is frozen; or "never".
        runs: Clusterings of each of the two views; twice as many vote in the consensus.
        neighbours: Nearest neighbours over which the second view averages, and which tell known from new intents in
            mixed logs.
        finetune_epochs: Epochs of the fine-tuning on the known intents and the logs.
        finetune_steps: Least steps of the fine-tuning in mixed logs, and half of those of a round: with few labels an
            epoch is only a few steps.
        finetune_lr: Highest learning rate of the encoder in the fine-tuning (AdamW).
        rounds: Rounds of fine-tuning on what the clusterings agree on; "auto" is 3 in mixed logs and none otherwise.
        round_epochs: Epochs of each round.
        temperature: Temperature of the cosine classifier's softmax in training; lower is sharper. None is 0.05.
        epochs: Epochs of the classifier's training.
        questions: How many questions about doubtful utterances an annotator is asked, if `fit` is given one.
    """

    logs: LogsHold = LOGS_HOLD
    way: Way | Literal["auto"] = "auto"
    sizes: Sizes = "estimated"
    no_intent: OpenShare | Literal["auto", "none"] = NO_INTENT
    known_precision: OpenShare = 0.9
    words: Literal["auto", "never"] = "auto"
    runs: Count = 6
    neighbours: Count = 10
    finetune_epochs: Count = 2
    finetune_steps: Count = 100
    finetune_lr: Positive = 2e-5
    rounds: NonNegativeInt | Literal["auto"] = "auto"
    round_epochs: Count = 4
    temperature: Positive | None = None
    epochs: NonNegativeInt = 50
    questions: NonNegativeInt = 100

    ASKS_QUESTIONS: ClassVar[bool] = True
    NEEDS_KNOWN: ClassVar[bool] = False
    EFFORTS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "quick": {"tune": "heads"},
        "standard": {"tune": "layers", "rounds": 0},
        "best": {"tune": "layers", "rounds": "auto"},
    }

    def check_settings(self, corpus: Corpus) -> None:
        """Refuse what cannot work: without two known intents, instance contrast alone would spoil the vectors."""
        super().check_settings(corpus)
        if len(corpus.intents) < 2 and self.tune not in ("auto", "heads"):
            raise NothingToFineTuneOn(len(corpus.intents))

    def _logs_hold(self) -> LogsHold:
        return self.logs

    def _stored_views(self, tune: Tune, device: torch.device) -> int:
        return 0  # heads see one view, and the fine-tuning runs all layers with dropout

    def _discover(self, context: FitContext) -> tuple[IntentNetwork, float]:
        network = context.network()
        rounds = self._rounds(context)
        if context.tune.layers:
            self._fine_tune(context, network, context.y, "fine-tuning", self.finetune_epochs)
        for number in range(rounds):
            y, agreement = self._label(context, context.language_free(context.unit_vectors(network)), number)
            taught = torch.where((context.y >= 0) | (agreement >= MIN_AGREEMENT_TO_TEACH), y, -1)
            self._fine_tune(context, network, taught, f"round {number + 1}", self.round_epochs)
        x = context.unit_vectors(network)  # [n, d]
        language_free = context.language_free(x)  # the classifier learns from x, and need not know languages
        y, agreement = self._label(context, language_free, rounds, last=True)
        start_classifier(network, x, y)  # step 5
        temperature = self.temperature or FROZEN_TEMPERATURE
        schedule, times = self._schedule_for(len(y))
        train_head(context, network, x, y, schedule, temperature=temperature, times=times)
        self._estimate_label_accuracy(context, language_free, y, agreement)  # step 6
        return network, temperature

    def _label(self, context: FitContext, x: Tensor, number: int, *, last: bool = False) -> tuple[Tensor, Tensor]:
        """Labels [n] of all rows (CPU), and for each the share of the clusterings that agree with it.

        Labels that a person gave stay. Rows of the logs get known intents (in mixed logs) and new ones.
        """
        y = context.y.to(x.device).clone()
        aside = self._put_aside(context, x)  # step 0
        way = self._way(context, x)
        joint = way == "joint"
        if self._may_hold_known(context) and not joint:
            kept = (~aside).nonzero().squeeze(1)
            y[kept] = self._recognise(context, x[kept], y[kept], number, around=way == "around")
            y = self._undecided_unless_typical(context, x, y)
        rows = (~aside if joint else ~aside & (y < 0)).nonzero().squeeze(1).cpu()
        agreement = torch.ones(len(y))
        if context.n_new and (len(rows) > context.n_new or not context.n_known):
            labels, share = self._cluster(context, x, y, rows, number, joint=joint, last=last)  # steps 1 to 4
            y[rows.to(y.device)] = labels
            agreement[rows] = share.cpu()
        if joint and float(aside.sum()) >= MIN_SHARE_ASIDE * len(context.unlabelled_rows):
            y = self._undecided_unless_typical(context, x, y)  # nothing clusters them any more: they have no intent
        y = context.settle(y.cpu())
        if self._no_intent() != "none":
            without = y < 0 if context.n_new else aside.cpu()  # without new intents, undecided ones are known after all
            context.estimates["no_intent"] = float(without.sum()) / max(1, len(context.unlabelled_rows))
        context.history.setdefault("consensus", []).append({"epoch": number, **context.pseudo_label_accuracy(y)})
        return y, agreement

    def _cluster(
        self, context: FitContext, x: Tensor, y: Tensor, rows: Tensor, number: int, *, joint: bool, last: bool
    ) -> tuple[Tensor, Tensor]:
        """Labels [m] of the given rows [m], and the share of the clusterings that agree on each."""
        chosen = self._draw_rows(context, rows, number)
        points, given = x[chosen.to(x.device)], y[chosen.to(x.device)]
        k = context.n_new + (context.n_known if joint else 0)
        if joint:
            seeds = partial(derive, context.seed, "vote", number)
            ensemble = joint_ensemble(points, given, context.n_known, k, self.runs, seeds, neighbours=self.neighbours)
        else:
            ensemble = self._ensemble(context, points, "vote", number, self.runs)
            ensemble += self._ensemble_with_words(context, points, chosen, ensemble, number)

        def agree() -> Tensor:  # step 4
            clusters = consensus_clustering(ensemble, k, seed=derive(context.seed, "agree", number))
            return name_by_labels(clusters, given, context.n_known) if joint else context.n_known + clusters

        labels = agree()
        if context.labeller is not None and k >= 2 and not context.tune.layers:
            moved = move_to_short_labels(context, points, chosen, share_agreeing(ensemble, labels))
            more = [] if moved is None else self._ensemble(context, moved, "vote with labels", number, self._half)
            if is_more_consistent(more, ensemble):
                ensemble += more
                labels = agree()
        if last:
            offer_known = self._may_hold_known(context)
            labels = ask_about(context, x, chosen, ensemble, labels, self.questions, offer_known=offer_known)
            context.estimates["consistency"] = consistency(ensemble[:MAX_COMPARED]) if len(ensemble) > 1 else 1.0
        if len(chosen) == len(rows):
            return labels, share_agreeing(ensemble, labels)
        place = torch.full((len(x),), -1).index_put_((rows,), torch.arange(len(rows)))[chosen]
        return extend_consensus(labels, ensemble, x[rows.to(x.device)], place.to(x.device))

    def _draw_rows(self, context: FitContext, rows: Tensor, number: int) -> Tensor:
        """All rows, or of very many a random part; labelled ones first."""
        if len(rows) <= MAX_CLUSTERED_ROWS:
            return rows
        generator = torch.Generator().manual_seed(derive(context.seed, "voters", number))
        drawn = rows[torch.randperm(len(rows), generator=generator)]
        order = (context.y[drawn] < 0).int().argsort(stable=True)
        return drawn[order][:MAX_CLUSTERED_ROWS]

    @property
    def _half(self) -> int:
        return max(1, self.runs // 2)

    def _ensemble(self, context: FitContext, x: Tensor, kind: str, number: int, runs: int) -> list[Tensor]:
        """Steps 1 to 3: clusterings [m] of both views of x into the new intents, those that count."""
        seeds = partial(derive, context.seed, kind, number)
        return cluster_ensemble(x, context.n_new, runs, seeds, neighbours=self.neighbours, sizes=self.sizes)

    def _ensemble_with_words(
        self, context: FitContext, x: Tensor, rows: Tensor, ensemble: list[Tensor], number: int
    ) -> list[Tensor]:
        """Clusterings [m] of vectors with the words of their texts beside them, where they are more consistent."""
        wanted = self.words == "auto" and self.sizes == "estimated" and not context.tune.layers
        wanted = wanted and context.languages is None  # words would tell languages apart
        if not wanted or context.n_new < 2 or len(rows) > MAX_ROWS_WITH_WORDS:
            return []
        texts = [context.train.texts[i] for i in rows.tolist()]
        worded = with_words(x, texts, seed=derive(context.seed, "words", number))
        more = self._ensemble(context, worded, "vote with words", number, self._half)
        return more if is_more_consistent(more, ensemble) else []

    def _may_hold_known(self, context: FitContext) -> bool:
        return self.logs == "mixed" and context.n_known > 0

    def _way(self, context: FitContext, x: Tensor) -> Way:
        """How the rows of mixed logs get their labels; chosen once in a fit."""
        if not self._may_hold_known(context) or not context.n_new:
            return "divided"
        if "way" not in context.choices and self.way == "auto":
            seeds = partial(derive, context.seed, "ways")
            way, reason = choose_way(x, context.y.to(x.device), context.n_known, context.n_new, seeds)
            context.choices.update(way=way, way_reason=reason)
            context.run.reporter.note(f"{WAYS[way]}: {reason}.")
        return cast(Way, context.choices.setdefault("way", self.way))

    def _recognise(self, context: FitContext, x: Tensor, y: Tensor, number: int, *, around: bool) -> Tensor:
        """Labels [n] in which rows of the logs that belong to known intents have them."""
        if around:
            k, seeds = context.n_known + context.n_new, partial(derive, context.seed, "known", number)
            return recognise_around(x, y, context.n_known, k, self.runs, seeds, neighbours=self.neighbours)
        y = y.clone()
        seed = derive(context.seed, "known", number)
        y[y < 0] = recognise_known(x, y, context.n_known, neighbours=self.neighbours, seed=seed)
        if self.n_new != "auto":  # a number that was given is taken at its word
            return y
        return absorb_into_known(x, y, context.n_known, max(1, context.n_new), neighbours=self.neighbours, seed=seed)

    def _no_intent(self) -> NoIntent:
        return self.no_intent if self.logs == "mixed" else "none"

    def _put_aside(self, context: FitContext, x: Tensor) -> Tensor:
        """Which rows of the logs belong to no intent, [n]: they are neither clustered nor learned from."""
        is_labelled, one_language = (context.y >= 0).numpy(), context.languages is None
        seed, texts = derive(context.seed, "density"), context.train.texts
        rows = put_aside(texts, x, is_labelled, self._no_intent(), comparable=one_language, seed=seed)
        return torch.from_numpy(rows).to(x.device)

    def _undecided_unless_typical(self, context: FitContext, x: Tensor, y: Tensor) -> Tensor:
        """Labels [n] in which rows that were recognised as known intents have none where that is not sure enough."""
        if self._no_intent() == "none" or context.languages is not None:
            return y  # labels of one language do not show what other languages are like
        given = context.y.to(x.device)
        recognition = precise_recognition(x, given, y, context.n_known, precision=self.known_precision)
        context.estimates.update(known_precision=recognition.precision, known_accuracy=recognition.accuracy)
        rows = ((given < 0) & (y >= 0) & (y < context.n_known)).nonzero().squeeze(1)
        y = y.clone()
        y[rows[~recognition.accepts(x[rows], y[rows])]] = -1
        return y

    def _rounds(self, context: FitContext) -> int:
        if not context.tune.layers:
            return 0  # frozen vectors cluster alike every time
        if self.rounds == "auto":
            return ROUNDS_IN_MIXED_LOGS if self._may_hold_known(context) else 0
        return self.rounds

    def _fine_tune(self, context: FitContext, network: IntentNetwork, y: Tensor, stage: str, epochs: int) -> None:
        if self._may_hold_known(context):
            steps = self.finetune_steps * (1 if stage == "fine-tuning" else 2)
            epochs = max(epochs, epochs_for_steps(y, steps))
        fine_tune(context, network, y, AdamWSchedule(epochs=epochs, lr=self.finetune_lr), stage=stage)

    def _estimate_label_accuracy(self, context: FitContext, x: Tensor, y: Tensor, agreement: Tensor) -> None:
        """Note how many labels of new intents are probably right; frozen vectors of known intents are compared with."""
        is_new, trained = y >= context.n_known, bool(context.tune.layers)
        if context.n_new < 2 or int(is_new.sum()) < 2 * context.n_new:
            return
        frozen = context.language_free(context.unit_vectors(context.network())) if trained else x
        seeds = partial(derive, context.seed, "trial")
        trial = try_on_known(frozen, context.y, context.n_new, seeds, neighbours=self.neighbours)
        agreed, consistent = float(agreement[is_new].mean()), context.estimates["consistency"]
        accuracy = estimate_label_accuracy(agreed, consistent, trial, mixed=self.logs == "mixed", trained=trained)
        context.estimates["label_accuracy"] = accuracy

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
