"""The ways in which a language model may help, each measured on a cell of the guard before and after it was asked.

`answers` to newfound's questions, and `trusted`, which believes them whatever the check questions say; `labels`: short
labels as a further view, one of each utterance or five that are sampled; `same`: pairs of utterances that may have the
same intent say where a Ward tree is cut, which gives the number of new intents; `propose`: what people write
themselves, intents proposed from samples, and a classifier that learns from utterances which the model classifies.
"""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from benchmarks.guard.cells import Cell, Data, data_of, read_corpus
from benchmarks.guard.scoring import columns, scores
from benchmarks.harness.studies import Row, frozen_vectors, study_encoder
from torch import Tensor

from newfound.algorithms.ensembles import diffuse
from newfound.encoders.encoder import Encoder
from newfound.llm import LanguageModelSettings
from newfound.llm.asking import LanguageModel
from newfound.methods import asking, consensus
from newfound.methods.consensus import Consensus
from newfound.questions.annotators import Answer, PosedQuestion
from newfound.questions.language_model import SHARE_FOR_LABELS, SHARE_FOR_QUESTIONS, ModelAnnotator, ModelLabeller

BUDGETS = (500, 200)  # requests; of the smaller one, answers are remembered
SHORTEST, SHORT, LABELS, LISTS = 24, 60, 200, 400  # tokens of an answer
SAMPLED, TEMPERATURE = 5, 0.7
TRUSTED_RELIABILITY = 0.7
AT_ONCE = int(os.environ.get("NEWFOUND_STUDY_AT_ONCE", "128"))  # requests
COARSEST, FINEST = 0.4, 2.5  # cuts of the tree that are compared, over the estimated number
SAMPLES, ROWS_OF_SAMPLE, ROWS_CLASSIFIED = 3, 50, 300
SAME = """Two users wrote to a chatbot.
One wrote: {}
The other wrote: {}
Do both want the same thing? Answer with one JSON object {{"same": true}} or {{"same": false}} and nothing else."""
PROPOSE = """Below are messages that users sent to a chatbot. Which intents do they have? Answer with one JSON list of
names in English snake_case, two to four words each, such as ["cancel_booking"], and nothing else.

{}"""
MERGE = """Below are names that were proposed for the intents of a chatbot. Merge names that mean the same, and keep all
others. Answer with one JSON list of names and nothing else.

{}"""
CLASSIFY = """Which of these intents does the message of a user have?

{}

Message: {}

Answer with one JSON object {{"intent": "..."}} and nothing else."""


@dataclass(frozen=True, slots=True)
class Job:
    """A way on a cell; the results of a way before it are not needed."""

    way: str
    cell: Cell
    url: str
    encoder: str
    old: str = ""  # a checkout of newfound whose names are compared


class Asked(LanguageModel):
    """Keeps the answers, and may sample them."""

    def __init__(self, url: str, budget: int, tokens: int, temperature: float = 0.0) -> None:
        """Open the endpoint; sampled answers are not remembered."""
        limits: dict[str, Any] = {"budget": budget, "answer_tokens": tokens, "timeout": 600.0, "at_once": AT_ONCE}
        super().__init__(LanguageModelSettings(url, remember=not temperature, **limits), warn=print)
        self._endpoint._optional["temperature"] = temperature
        self.answers: list[str | None] = []

    def ask_many(self, prompts: Sequence[str], **more: Any) -> list[str | None]:
        answers = super().ask_many(prompts, **more)
        self.answers += answers
        return answers

    def bad(self) -> Row:
        """Return how many answers there are, and how many of them cannot be used; with an example of each kind."""
        given = [answer for answer in self.answers if answer is not None]
        kinds = {
            "no_json": [answer for answer in given if from_json(answer) is None],
            "foreign": [answer for answer in given if re.search(r"[^\x00-\u024f\u2000-\u206f]", answer)],
        }
        counts = {"asked": len(self.answers), "unanswered": len(self.answers) - len(given)}
        return counts | {k: len(v) for k, v in kinds.items()} | {f"{k}_is": v[0][:200] for k, v in kinds.items() if v}


def from_json(answer: str | None) -> Any:
    """Return the JSON value in an answer; None if there is none."""
    match = re.search(r"\{.*\}|\[.*\]", answer or "", re.S)
    try:
        return json.loads(match.group()) if match else None
    except ValueError:
        return None


class Watched:
    """Asks a language model, and compares its answers with the gold labels, which reach nothing else."""

    def __init__(self, llm: Asked, data: Data, gold: dict[str, str], reliability: float | None) -> None:
        self._annotator, self._gold, self.reliability = ModelAnnotator(llm), gold, reliability
        self._known = {text for text, _ in data.known}
        self.right: dict[str, list[int]] = {}  # right, wrong and unusable answers by kind

    def answer(self, question: PosedQuestion) -> Answer | None:
        answer, gold = self._annotator.answer(question), self._gold[question.text]
        fits = [i for i, texts in enumerate(question.candidates) if self._gold[texts[0]] == gold]
        kind = ("check, " if question.text in self._known else "") + ("one fits" if fits else "none fits")
        is_right = answer is not None and (answer.choice in fits if fits else answer.choice is None)
        outcome = 2 if answer is None else int(not is_right)
        self.right.setdefault(kind, [0, 0, 0])[outcome] += 1
        return answer


class Sampler:
    """A labeller whose labels are sampled; each call is a share of the requests."""

    def __init__(self, url: str, requests: int, temperature: float) -> None:
        self._source = url, math.ceil(requests / SHARE_FOR_LABELS), LABELS, temperature
        self.asked: list[Asked] = []

    def labels(self, texts: Sequence[str]) -> list[str | None]:
        self.asked.append(Asked(*self._source))
        return ModelLabeller(self.asked[-1]).labels(texts)


def gold_of(corpus: str) -> dict[str, str]:
    """Return the true intent of each text of the logs; those of no intent share a name of their own."""
    train, _, outside = read_corpus(corpus)
    return dict.fromkeys(outside, "no intent") | dict(train)


def fit(data: Data, encoder: Encoder, effort: str, *, questions: int = 0, n_new: int = 0, **who: Any) -> Consensus:
    """Fit as the product does, with somebody to ask."""
    method = Consensus(n_new=n_new or "auto", encoder=encoder, device="cpu", seed=0, **Consensus.EFFORTS[effort])
    method.set_params(questions=questions)
    labels = [*(intent for _, intent in data.known), *[None] * len(data.logs)]
    return method.fit([*columns(data.known)[0], *data.logs], labels, **who)


def scored(method: Consensus, data: Data, encoder: Encoder) -> Row:
    """Return the accuracies on held-out rows, and the numbers of new intents."""
    texts, gold = columns(data.test)
    names = {name for name, status in method.model_.head.statuses.items() if status == "known"}
    predicted = method.model_.with_cache(encoder.cache).predict(texts)
    found = scores(gold, predicted, data.new, names)
    return found | {"n_new": method.n_new_, "true_new": len(data.new)}


def answers(job: Job, data: Data, encoder: Encoder, reliability: float | None = None) -> list[Row]:
    rows = []
    for budget in BUDGETS if reliability is None else BUDGETS[1:]:
        llm = Asked(job.url, math.ceil(budget / SHARE_FOR_QUESTIONS), SHORTEST)
        watched = Watched(llm, data, gold_of(job.cell.corpus), reliability)
        method = fit(data, encoder, job.cell.effort, questions=budget, annotator=watched)
        rows.append({"budget": budget, **scored(method, data, encoder), "right": watched.right, **llm.bad()})
    return rows


def labels(job: Job, data: Data, encoder: Encoder) -> list[Row]:
    rows = []
    for samples, budget in ((1, BUDGETS[1]), (SAMPLED, BUDGETS[0]), (SAMPLED, BUDGETS[1])):
        labeller = Sampler(job.url, budget // samples, TEMPERATURE if samples > 1 else 0.0)

        def move(*points: Any, n: int = samples) -> Tensor | None:
            moved = [each for _ in range(n) if (each := asking.move_to_short_labels(*points)) is not None]
            return F.normalize(torch.stack(moved).mean(0), dim=-1) if moved else None

        setattr(consensus, "move_to_short_labels", move)  # noqa: B010
        method = fit(data, encoder, "quick", labeller=labeller)
        bad = [llm.bad() for llm in labeller.asked]
        counts = {k: sum(own[k] for own in bad) for k in ("asked", "unanswered", "no_json", "foreign")}
        rows.append({"budget": budget, "samples": samples, **scored(method, data, encoder), **counts})
    return rows


def same(job: Job, data: Data, encoder: Encoder, budgets: Sequence[int] = BUDGETS) -> list[Row]:
    from sklearn.cluster import AgglomerativeClustering

    method, gold = fit(data, encoder, "quick"), gold_of(job.cell.corpus)
    model, rng = method.model_, np.random.default_rng(job.cell.seed)
    known = set(model.names[: model.n_known])
    texts = [u.text for u in model.utterances if u.intent is not None and u.intent not in known]
    n, x = method.n_new_, diffuse(F.normalize(frozen_vectors(encoder, texts).float(), dim=-1))
    tree = AgglomerativeClustering(n_clusters=None, distance_threshold=0, linkage="ward").fit(x.numpy())
    members = [[i] for i in range(len(texts))]
    merges = []
    for a, b in tree.children_:
        merges.append((members[a], members[b]))
        members.append(members[a] + members[b])
    finest, coarsest = min(len(texts) - 1, round(FINEST * n)), max(2, round(COARSEST * n))
    merges = merges[len(texts) - finest : len(texts) - coarsest]
    rows = []
    for budget in budgets:
        asked = [merges[i % len(merges)] for i in range(budget)]
        pairs = [(texts[rng.choice(a)], texts[rng.choice(b)]) for a, b in asked]
        llm = Asked(job.url, budget, SHORTEST)
        said = [from_json(answer) for answer in llm.ask_many([SAME.format(*pair) for pair in pairs], purpose="same")]
        values = [value.get("same") if isinstance(value, dict) else None for value in said]
        yes = [value if isinstance(value, bool) else None for value in values]
        gain = np.zeros(len(merges))
        right: dict[str, list[int]] = {}
        for i, (pair, answer) in enumerate(zip(pairs, yes, strict=True)):
            is_same = gold[pair[0]] == gold[pair[1]]
            outcome = 2 if answer is None else int(answer != is_same)
            right.setdefault("same" if is_same else "different", [0, 0, 0])[outcome] += 1
            gain[i % len(merges)] += 0.0 if answer is None else answer - 0.5
        k = finest - int(np.argmax(np.concatenate([[0.0], np.cumsum(gain)])))
        after = scored(fit(data, encoder, "quick", n_new=k), data, encoder)
        rows.append({"budget": budget, "estimated": n, **after, "right": right, **llm.bad()})
    return rows


def propose(job: Job, data: Data, encoder: Encoder, classified: int = ROWS_CLASSIFIED) -> list[Row]:
    from sklearn.linear_model import LogisticRegression

    rng, llm, gold = np.random.default_rng(job.cell.seed), Asked(job.url, 1000, LISTS), gold_of(job.cell.corpus)
    drawn = [[data.logs[i] for i in rng.permutation(len(data.logs))[:ROWS_OF_SAMPLE]] for _ in range(SAMPLES)]
    lists = llm.ask_many([PROPOSE.format("\n".join(own)) for own in drawn], purpose="propose")
    proposed = [name for answer in lists for name in names_in(answer)]
    merged = names_in(llm.ask(MERGE.format("\n".join(dict.fromkeys(proposed))), purpose="merge")) or proposed
    known = sorted({intent for _, intent in data.known})
    intents = list(dict.fromkeys([*known, *merged]))
    texts = [data.logs[i] for i in rng.permutation(len(data.logs))[:classified]]
    short = Asked(job.url, classified, SHORT)
    said = short.ask_many([CLASSIFY.format("\n".join(intents), text) for text in texts], purpose="classify")
    values = [value.get("intent") if isinstance(value := from_json(answer), dict) else None for answer in said]
    labelled = [(text, value) for text, value in zip(texts, values, strict=True) if value in intents]
    rows = data.known + labelled
    test, true = columns(data.test)
    if len({intent for _, intent in rows}) < 2:
        predicted: list[str | None] = [None] * len(test)
    else:
        x, y = columns(rows)
        classifier = LogisticRegression(C=20, max_iter=300).fit(frozen_vectors(encoder, x).numpy(), y)
        predicted = classifier.predict(frozen_vectors(encoder, test).numpy()).tolist()
    used = {intent for _, intent in labelled} - set(known)
    of_known = [(text, intent) for text, intent in labelled if gold[text] not in data.new]
    right = sum(gold[text] == intent for text, intent in of_known)
    row = {"budget": SAMPLES + 1 + len(texts), **scores(true, predicted, data.new, known), "n_new": len(used)}
    row |= {"true_new": len(data.new), "proposed": len(proposed), "merged": len(merged), "labelled": len(labelled)}
    return [row | {"known_right": [right, len(of_known)], "lists": llm.bad(), **short.bad()}]


def names_in(answer: str | None) -> list[str]:
    """Return the names in the JSON list of an answer; of a list that was cut off, those that are whole."""
    value = from_json(answer)
    found = value if isinstance(value, list) else re.findall(r'"([a-z][a-z0-9_]+)"', answer or "")
    return list(dict.fromkeys(name for name in found if isinstance(name, str) and name))


def run(job: Job) -> list[Row]:
    """Return the rows of a job."""
    from benchmarks.language_model.names import injected, names

    torch.set_num_threads(1)
    encoder, data, started = study_encoder(job.encoder), data_of(job.cell), time.perf_counter()
    if job.way == "trusted":
        rows = answers(job, data, encoder, TRUSTED_RELIABILITY)
    elif job.way == "before":
        method = fit(data, encoder, job.cell.effort)
        rows = [{"budget": 0, **scored(method, data, encoder)}]
        rows += [names(job, data, encoder, method.model_)] if job.cell.effort == "quick" else []
    else:
        ways = {"answers": answers, "labels": labels, "same": same, "propose": propose, "injected": injected}
        rows = ways[job.way](job, data, encoder)
    seconds = {"seconds": round(time.perf_counter() - started, 1)}
    return [{"way": job.way, **asdict(job.cell), **row, **seconds} for row in rows]


def attempt(job: Job) -> list[Row] | str:
    """Return the rows of a job, or a sentence about its failure, so that the others go on."""
    try:
        return run(job)
    except Exception as error:
        return f"{job.way} {job.cell} failed: {error!r}"


def majority(values: Sequence[str]) -> tuple[str, float]:
    """Return the most frequent value, and its share."""
    value, count = Counter(values).most_common(1)[0]
    return value, count / len(values)
