"""The data sets that the benchmarks are made from. Their utterances are not part of the repository.

They are looked for in `$NEWFOUND_DATA`, then in the user's cache, then on the web at a pinned revision. In each case
the rows are verified by a checksum that ignores their order.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
from collections.abc import Callable
from pathlib import Path

from newfound.data.corpus import Corpus
from newfound.errors import DataError
from newfound.files import csv_bytes, write_atomically
from newfound.paths import cache_dir

PARTS = ("train", "dev", "test")
CHECKSUMS = Path(__file__).parents[1] / "facts" / "checksums.json"
DOWNLOAD_TIMEOUT_SECONDS = 60


_TEXTOIR = "https://raw.githubusercontent.com/thuiar/TEXTOIR"
SETS = {
    # Casanueva et al. 2020, CC-BY-4.0; the 9,003 / 1,000 division of the GID literature
    "banking77": _TEXTOIR + "/ad5822ed8402f9f406a184ad2fdc0355f3d43a9f/data/banking/{part}.tsv",
    # Larson et al. 2019, CC-BY-3.0; 120 / 15 / 15 per intent
    "clinc150": _TEXTOIR + "/31e9ed79caecc2fe5e6ff67304d3a0760b7b8112/data/clinc/{part}.tsv",
}
"""The data sets, and the address of their parts with `{part}` in place of the names of these."""


def find(name: str, part: str) -> Path | None:
    """Return the file of one part of a data set; None if it is not on this machine."""
    if name not in SETS:
        raise DataError(f"no data set {name!r}; one of {', '.join(SETS)}")
    roots = (os.environ.get("NEWFOUND_DATA"), str(cache_dir() / "data"))
    paths = (Path(root).expanduser() / name / f"{part}.csv" for root in roots if root)
    return next(filter(Path.is_file, paths), None)


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
            f"{name}/{part}.csv is not on this machine; run `python -m benchmarks get {name}`, or set NEWFOUND_DATA to "
            f"a folder that holds {name}/{part}.csv"
        )
    corpus = _parse(path.read_bytes(), ",")
    if not _is_verified(corpus, name, part):
        raise DataError(
            f"{path}: its rows are not those of {name}/{part}; delete it and run `python -m benchmarks get {name}`"
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
    checksum: str = json.loads(CHECKSUMS.read_bytes())[name][part]["sha256"]
    return hashlib.sha256("".join(rows).encode()).hexdigest() == checksum


def _download(name: str, part: str, fetch: Callable[[str], bytes]) -> Path:
    url = SETS[name].format(part=part)
    corpus = _parse(fetch(url), "\t")
    if not _is_verified(corpus, name, part):
        raise DataError(f"{url}: not the rows this project expects; nothing was kept")
    path = cache_dir() / "data" / name / f"{part}.csv"
    write_atomically(path, csv_bytes([("text", "label"), *zip(corpus.texts, corpus.labels, strict=True)]))
    return path


def _fetch(url: str) -> bytes:
    from urllib.request import urlopen

    try:
        with urlopen(url, timeout=DOWNLOAD_TIMEOUT_SECONDS) as answer:
            content: bytes = answer.read()
            return content
    except OSError as error:
        raise DataError(
            f"{url}: could not be fetched ({error}); set NEWFOUND_DATA to a folder that holds the files"
        ) from None
