"""What a reviewer's answers to the queue gain after a refit, if all of them are right (an oracle reads gold labels).

python -m benchmarks.questions.review GID-SD:1 GID-SD:2 GID-SD:3 --out FILE
python -m benchmarks.questions.review --show FILE

The first utterance of the queue is answered, again and again, as a person does on the page: it stays, it is moved to
one of the intents that are shown or to a new one, or its intent is merged. Then the model is refitted twice: with the
logs clustered again under the answers, and with what was answered alone.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from benchmarks.harness.experiments import Column
from benchmarks.harness.partitions import load_partition
from benchmarks.harness.scoring import score_ids
from benchmarks.harness.studies import Row, append_row, read_rows, study_encoder
from benchmarks.harness.tables import as_markdown, table_of_rows

from newfound.data.task import DiscoveryTask
from newfound.encoders.encoder import Encoder
from newfound.methods.consensus import Consensus
from newfound.model.classifier import IntentModel
from newfound.review.decisions import Decision
from newfound.review.queries import ReviewView
from newfound.review.session import ReviewSession
from newfound.review.views import QueueItem
from newfound.workflows.updating import refit

FIELDS = ("ind_acc", "ood_acc", "all_acc")
COLUMNS = tuple(Column(name.upper().replace("_", " "), (name,)) for name in FIELDS)


def strict_scores(model: IntentModel, task: DiscoveryTask) -> Row:
    """Score a model by the names of its intents: known ones must be named exactly, new ones are matched."""
    names = {intent.name for intent in model.intents}
    new = {name: len(task.known) + i for i, name in enumerate(sorted(names - set(task.known)))}
    place = {name: i for i, name in enumerate(task.known)} | new
    predicted = model.predict(task.test.texts)
    scores = score_ids(task, np.array([place.get(name or "", -1) for name in predicted]))["scores"]["strict"]
    return {name: scores[name] for name in FIELDS}


def right_decision(item: QueueItem, view: ReviewView, gold: dict[str, str | None], number: int) -> Decision:
    """Return what somebody decides who knows the gold labels: an intent means what most of its utterances are."""
    wanted = gold[item.text]
    meaning: dict[str, Counter[str | None]] = {}
    for utterance in view.reviewed.assigned:
        if utterance.intent is not None:
            meaning.setdefault(utterance.intent, Counter())[gold[utterance.text]] += 1
    fits = [name for name, _ in item.candidates if name in meaning and meaning[name].most_common(1)[0][0] == wanted]
    if item.asks_about is not None:
        if fits:
            return Decision("merge", {"intents": [item.asks_about], "into": fits[0]})
        return Decision("move", {"texts": [item.text], "to": item.asks_about})
    if fits:
        return Decision("move", {"texts": [item.text], "to": fits[0]})
    return Decision("move", {"texts": [item.text], "to": f"intent {number}", "create": True})


def measure(partition: str, encoder: Encoder, count: int) -> list[Row]:
    """Discover, answer, refit and score."""
    benchmark, _, split = partition.partition(":")
    task = load_partition(benchmark, split=int(split))
    gold = dict(zip(task.train.texts, task.train.labels, strict=True))
    observed = task.observed_train
    method = Consensus(n_new=len(task.new), encoder=encoder, tune="heads", device="cpu", logs="novel")
    method.fit(observed.texts, observed.labels)
    rows = [{"refit": "none", "decisions": 0, **strict_scores(method.model_, task)}]
    with tempfile.TemporaryDirectory() as folder:
        method.model_.save(Path(folder) / "model")
        session = ReviewSession(Path(folder) / "model", encoder=encoder)
        session.votes()
        for number in range(count):
            view = session.view()
            session.store.decide([right_decision(view.queue(1)[0], view, gold, number)], author="oracle")
        for recluster in (False, True):
            result = refit(
                session.folder, encoder=encoder, tune="heads", effort="quick", device="cpu", recluster=recluster
            )
            row = {"refit": "clustered again" if recluster else "answers alone", "decisions": count}
            rows.append(
                row
                | {"intents": len(result.model.intents), "followed": result.changes.reclustered}
                | strict_scores(result.model, task)
            )
    return [{"data": partition, "oracle": True, **row} for row in rows]


def show(rows: list[Row]) -> None:
    """Print means by kind of refit."""
    print(as_markdown(*table_of_rows(rows, ("refit", "decisions"), COLUMNS)))


def main() -> None:
    """Run or show the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("partitions", nargs="*", help="BENCHMARK:SPLIT")
    parser.add_argument("--decisions", type=int, default=100)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--show", type=Path)
    options = parser.parse_args()
    if options.show is not None:
        show(read_rows(options.show))
        return
    encoder = study_encoder()
    for partition in options.partitions:
        for row in measure(partition, encoder, options.decisions):
            append_row(options.out, row)
            print(row, flush=True)


if __name__ == "__main__":
    main()
