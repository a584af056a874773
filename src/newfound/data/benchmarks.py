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
import tempfile
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
from newfound.paths import cache_dir

PARTS = ("train", "dev", "test")
DOWNLOAD_TIMEOUT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class UtteranceSet:
    """Where the utterances of one data set come from, and under which terms.

    Attributes:
        name: The name of the data set.
        credit: Authors and licence.
        url: Address of a part, with `{part}` in place of its name.
    """

    name: str
    credit: str
    url: str

    def url_of(self, part: str) -> str:
        """Return the address of a part: train, dev or test."""
        return self.url.format(part=part)


_TEXTOIR = "https://raw.githubusercontent.com/thuiar/TEXTOIR"
SETS = {
    "banking77": UtteranceSet(
        "banking77",
        "Casanueva et al. 2020, CC-BY-4.0; the 9,003 / 1,000 division of the GID literature",
        _TEXTOIR + "/ad5822ed8402f9f406a184ad2fdc0355f3d43a9f/data/banking/{part}.tsv",
    ),
    "clinc150": UtteranceSet(
        "clinc150",
        "Larson et al. 2019, CC-BY-3.0; 120 / 15 / 15 per intent",
        _TEXTOIR + "/31e9ed79caecc2fe5e6ff67304d3a0760b7b8112/data/clinc/{part}.tsv",
    ),
}


@cache
def facts(name: str) -> Any:
    """Return the content of a JSON file in the folder `facts`.

    Args:
        name: `splits` (the class lists), `checksums` (of the rows) or `published` (the paper's scores).
    """
    return json.loads(resources.files("newfound.data").joinpath(f"facts/{name}.json").read_text("utf-8"))


def benchmark_names() -> tuple[str, ...]:
    """Return the names of the benchmarks."""
    return tuple(sorted(facts("splits")["datasets"]))


def find(name: str, part: str) -> Path | None:
    """Return the file of one part of a data set; None if it is not on this machine."""
    _known_set(name)
    roots = [Path(os.environ["NEWFOUND_DATA"]).expanduser()] if os.environ.get("NEWFOUND_DATA") else []
    for root in [*roots, cache_dir() / "data"]:
        path = root / name / f"{part}.csv"
        if path.is_file():
            return path
    return None


def get(name: str, fetch: Callable[[str], bytes] | None = None) -> dict[str, Path]:
    """Find or fetch every part of a data set, and verify it.

    Args:
        name: One of `SETS`.
        fetch: Function that returns the content of an address; by default it is downloaded.

    Returns:
        The file of each part.
    """
    source = _known_set(name)
    paths = {}
    for part in PARTS:
        path = find(name, part)
        if path is None:
            path = _download(source, part, fetch or _fetch)
        read_part(name, part, path)
        paths[part] = path
    return paths


def read_part(name: str, part: str, path: Path | None = None) -> Corpus:
    """Return the utterances of one part, verified. Repeated texts and contradicting labels are kept as they are.

    Args:
        name: One of `SETS`.
        part: train, dev, test or oos.
        path: The file; by default it is looked for.

    Raises:
        DataError: The file is not on this machine, or has other rows.
    """
    path = path or find(name, part)
    if path is None:
        raise DataError(
            f"{name}/{part}.csv is not on this machine; run `newfound data get {name}`, or set NEWFOUND_DATA to a "
            f"folder that holds {name}/{part}.csv"
        )
    corpus = _parse(path.read_bytes(), ",")
    if _checksum(corpus) != facts("checksums")[name][part]["sha256"]:
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


def _known_set(name: str) -> UtteranceSet:
    if name not in SETS:
        raise DataError(f"no data set {name!r}; one of {', '.join(SETS)}")
    return SETS[name]


def _parse(content: bytes, delimiter: str) -> Corpus:
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8"), newline=""), delimiter=delimiter))
    return Corpus.of((row["text"] for row in rows), (row.get("label") or None for row in rows))


def _checksum(corpus: Corpus) -> str:
    rows = sorted(f"{label or ''}\t{text}\n" for text, label in zip(corpus.texts, corpus.labels, strict=True))
    return hashlib.sha256("".join(rows).encode()).hexdigest()


def _download(source: UtteranceSet, part: str, fetch: Callable[[str], bytes]) -> Path:
    corpus = _parse(fetch(source.url_of(part)), "\t")
    if _checksum(corpus) != facts("checksums")[source.name][part]["sha256"]:
        raise DataError(f"{source.url_of(part)}: not the rows this project expects; nothing was kept")
    folder = cache_dir() / "data" / source.name
    folder.mkdir(parents=True, exist_ok=True)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([("text", "label"), *zip(corpus.texts, corpus.labels, strict=True)])
    with tempfile.NamedTemporaryFile("wb", dir=folder, delete=False) as temporary:
        temporary.write(text.getvalue().encode())
    target = folder / f"{part}.csv"
    Path(temporary.name).replace(target)
    return target


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
        raise DataError(f"{name} has no split {split} at ratio {ratio}; published are {_published(name)}") from None
    return _task(f"{name}/{ratio}/{split}", splits["datasets"][name], new)


def dataset_task(dataset: str, *, ood_ratio: float, seed: int) -> DiscoveryTask:
    """Divide a data set at random into known and new intents, with its own test rows, as new intent discovery does.

    Args:
        dataset: One of `SETS`.
        ood_ratio: Share of new intents; with 1 all intents are new.
        seed: Chooses the new intents.
    """
    train = read_part(dataset, "train")
    new = train.intents if ood_ratio == 1 else partition(train, ood_ratio, seed)[1]
    return _task(f"{dataset}/{ood_ratio:g}/{seed}", dataset, new)


def fresh_task(dataset: str, *, ood_ratio: float, seed: int) -> DiscoveryTask:
    """Divide a data set anew into known and new intents. Settings are chosen on such tasks, not on published splits.

    Its test part holds the data set's dev rows, so that no choice of a setting ever sees a test row.

    Args:
        dataset: One of `SETS`.
        ood_ratio: Share of new intents, between 0 and 1.
        seed: Chooses the new intents.
    """
    train = read_part(dataset, "train")
    _, new = partition(train, ood_ratio, seed)
    return _without_test_rows(_task(f"{dataset}/fresh/{ood_ratio:g}/{seed}", dataset, new))


def fresh_domain_task(*, hidden: int, seed: int) -> DiscoveryTask:
    """Declare all intents of some of CLINC150's ten domains new. Settings may be chosen on such tasks too.

    Its test part holds the data set's dev rows, as in `fresh_task`.

    Args:
        hidden: Number of domains whose intents are new.
        seed: Chooses the domains.
    """
    domains = facts("splits")["clinc150_domains"]
    chosen = np.random.default_rng(seed).permutation(sorted(domains))[:hidden]
    new = [intent for domain in chosen for intent in domains[domain]]
    return _without_test_rows(_task(f"clinc150/domains/{hidden}/{seed}", "clinc150", new))


def _without_test_rows(task: DiscoveryTask) -> DiscoveryTask:
    return replace(task, test=task.dev)


def _task(name: str, dataset: str, new: tuple[str, ...] | list[str]) -> DiscoveryTask:
    parts = {part: read_part(dataset, part) for part in PARTS}
    known = set(parts["train"].intents) - set(new)
    return make_task(name, sorted(known), new, **parts)


def _published(name: str) -> str:
    by_ratio = facts("splits")["ood_classes"][name]
    return "; ".join(f"ratio {ratio}: {', '.join(sorted(by_ratio[ratio]))}" for ratio in sorted(by_ratio))
