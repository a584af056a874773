"""The benchmarks GID-SD, GID-CD and GID-MD. Their class lists are part of the package, their utterances are not.

The utterances are looked for in `$NEWFOUND_DATA`, then in the user's cache, then on the web at a pinned revision. In
each case the rows are verified by a checksum that ignores their order.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from newfound.data.corpus import Corpus
from newfound.data.task import DiscoveryTask, make_task, partition
from newfound.errors import DataError
from newfound.files import csv_bytes, write_atomically
from newfound.paths import cache_dir

PARTS = ("train", "dev", "test")
DOWNLOAD_TIMEOUT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class UtteranceSet:
    """Authors and licence of a data set, and the address of its parts, with `{part}` in place of their names."""

    credit: str
    url: str


_TEXTOIR = "https://raw.githubusercontent.com/thuiar/TEXTOIR"
SETS = {
    "banking77": UtteranceSet(
        "Casanueva et al. 2020, CC-BY-4.0; the 9,003 / 1,000 division of the GID literature",
        _TEXTOIR + "/ad5822ed8402f9f406a184ad2fdc0355f3d43a9f/data/banking/{part}.tsv",
    ),
    "clinc150": UtteranceSet(
        "Larson et al. 2019, CC-BY-3.0; 120 / 15 / 15 per intent",
        _TEXTOIR + "/31e9ed79caecc2fe5e6ff67304d3a0760b7b8112/data/clinc/{part}.tsv",
    ),
}


@cache
def facts(name: str) -> Any:
    """Return the facts called `splits` (the class lists), `checksums` (of the rows) or `published` (the scores)."""
    return json.loads(resources.files("newfound.data").joinpath(f"facts/{name}.json").read_text("utf-8"))


def benchmark_names() -> tuple[str, ...]:
    """Return the names of the benchmarks."""
    return tuple(sorted(facts("splits")["datasets"]))


def find(name: str, part: str) -> Path | None:
    """Return the file of one part of a data set; None if it is not on this machine."""
    if name not in SETS:
        raise DataError(f"no data set {name!r}; one of {', '.join(SETS)}")
    roots = [Path(os.environ["NEWFOUND_DATA"]).expanduser()] if os.environ.get("NEWFOUND_DATA") else []
    for root in [*roots, cache_dir() / "data"]:
        path = root / name / f"{part}.csv"
        if path.is_file():
            return path
    return None


def get(name: str, fetch: Callable[[str], bytes] | None = None) -> dict[str, Path]:
    """Find every part of a data set or fetch its address, verify it, and return the file of each part."""
    paths = {}
    for part in PARTS:
        paths[part] = find(name, part) or _download(name, part, fetch or _fetch)
        read_part(name, part, paths[part])
    return paths


def read_part(name: str, part: str, path: Path | None = None) -> Corpus:
    """Return the utterances of one part (train, dev, test or oos), verified; the file is looked for by default.

    Repeated texts and contradicting labels are kept as they are.
    """
    path = path or find(name, part)
    if path is None:
        raise DataError(
            f"{name}/{part}.csv is not on this machine; run `newfound data get {name}`, or set NEWFOUND_DATA to a "
            f"folder that holds {name}/{part}.csv"
        )
    corpus = _parse(path.read_bytes(), ",")
    if not _is_verified(corpus, name, part):
        raise DataError(
            f"{path}: its rows are not those of {name}/{part}; delete it and run `newfound data get {name}`"
        )
    return corpus


def out_of_scope() -> tuple[str, ...]:
    """Return CLINC150's utterances that belong to no intent (its authors' oos_train, oos_val and oos_test)."""
    if find("clinc150", "oos") is None:
        raise DataError(
            "clinc150/oos.csv is not on this machine; write the out-of-scope texts of CLINC150's data_full.json under "
            "a header `text`, and set NEWFOUND_DATA to the folder above it"
        )
    return read_part("clinc150", "oos").texts


def _parse(content: bytes, delimiter: str) -> Corpus:
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8"), newline=""), delimiter=delimiter))
    return Corpus.of((row["text"] for row in rows), (row.get("label") or None for row in rows))


def _is_verified(corpus: Corpus, name: str, part: str) -> bool:
    rows = sorted(f"{label or ''}\t{text}\n" for text, label in zip(corpus.texts, corpus.labels, strict=True))
    checksum: str = facts("checksums")[name][part]["sha256"]
    return hashlib.sha256("".join(rows).encode()).hexdigest() == checksum


def _download(name: str, part: str, fetch: Callable[[str], bytes]) -> Path:
    url = SETS[name].url.format(part=part)
    corpus = _parse(fetch(url), "\t")
    if not _is_verified(corpus, name, part):
        raise DataError(f"{url}: not the rows this project expects; nothing was kept")
    path = cache_dir() / "data" / name / f"{part}.csv"
    write_atomically(path, csv_bytes([("text", "label"), *zip(corpus.texts, corpus.labels, strict=True)]))
    return path


def _fetch(url: str) -> bytes:
    from urllib.error import URLError
    from urllib.request import urlopen

    try:
        with urlopen(url, timeout=DOWNLOAD_TIMEOUT_SECONDS) as answer:
            content: bytes = answer.read()
            return content
    except (URLError, OSError) as error:
        raise DataError(
            f"{url}: could not be fetched ({error}); set NEWFOUND_DATA to a folder that holds the files"
        ) from None


def load_benchmark(name: str, *, ratio: int = 40, split: int = 1) -> DiscoveryTask:
    """Load a published split of a benchmark.

    Args:
        name: GID-SD, GID-CD or GID-MD.
        ratio: Share of new (OOD) intents in percent: 20, 40 or 60.
        split: Number of the split: 1, 2 or 3.
    """
    splits = facts("splits")
    name = name.upper()
    if name not in splits["datasets"]:
        raise DataError(f"no benchmark {name!r}; one of {', '.join(benchmark_names())}")
    try:
        new = splits["ood_classes"][name][str(ratio)][str(split)]
    except KeyError:
        by_ratio = splits["ood_classes"][name]
        published = "; ".join(f"ratio {key}: {', '.join(sorted(by_ratio[key]))}" for key in sorted(by_ratio))
        raise DataError(f"{name} has no split {split} at ratio {ratio}; published are {published}") from None
    return _task(f"{name}/{ratio}/{split}", splits["datasets"][name], new)


def dataset_task(dataset: str, *, ood_ratio: float, seed: int) -> DiscoveryTask:
    """Divide a data set at random into known and new intents, with its own test rows, as new intent discovery does.

    With an `ood_ratio` of 1 all intents are new.
    """
    train = read_part(dataset, "train")
    new = train.intents if ood_ratio == 1 else partition(train, ood_ratio, seed)[1]
    return _task(f"{dataset}/{ood_ratio:g}/{seed}", dataset, new)


def fresh_task(dataset: str, *, ood_ratio: float, seed: int) -> DiscoveryTask:
    """Divide a data set anew into known and new intents. Settings are chosen on such tasks, not on published splits.

    Its test part holds the data set's dev rows, so that no choice of a setting ever sees a test row.
    """
    _, new = partition(read_part(dataset, "train"), ood_ratio, seed)
    task = _task(f"{dataset}/fresh/{ood_ratio:g}/{seed}", dataset, new)
    return replace(task, test=task.dev)


def fresh_domain_task(*, hidden: int, seed: int) -> DiscoveryTask:
    """Declare all intents of so many (`hidden`) of CLINC150's ten domains new; see `fresh_task`."""
    domains = facts("splits")["clinc150_domains"]
    chosen = np.random.default_rng(seed).permutation(sorted(domains))[:hidden]
    new = [intent for domain in chosen for intent in domains[domain]]
    task = _task(f"clinc150/domains/{hidden}/{seed}", "clinc150", new)
    return replace(task, test=task.dev)


def _task(name: str, dataset: str, new: tuple[str, ...] | list[str]) -> DiscoveryTask:
    parts = {part: read_part(dataset, part) for part in PARTS}
    known = set(parts["train"].intents) - set(new)
    return make_task(name, sorted(known), new, **parts)
