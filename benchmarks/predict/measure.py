"""Measure time and memory of `newfound predict` on files of many rows, from Parquet and through a pipe.

python -m benchmarks.predict.measure 10000 100000 1000000      writes memory.json beside this file

The encoder is a random one of one narrow layer, so that the time is that of reading, writing and everything between;
the memory is what a real encoder's is added to. Each run is a process of its own; those in the file are skipped.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.harness.provenance import with_code_hash

from newfound.files import to_json, write_atomically

HERE = Path(__file__).parent
FILE_NAME = "memory.json"
WORDS = "pay my bill late where is the meter water leak move house new account solar power back refund please".split()
SHAPE = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
KIB_PER_MIB = 2**10
Row = dict[str, Any]
RUNS = (("parquet", "parquet"), ("pipe", "jsonl"))


def text_of(row: int) -> str:
    """Return an utterance; no two are equal, so that all of them are encoded."""
    words = [WORDS[(row >> shift) % len(WORDS)] for shift in range(0, 20, 3)]
    return f"{' '.join(words)} {row}"


def write_model(folder: Path) -> None:
    """Write a model over two known and one new intent, with a random encoder in its folder."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    from newfound.encoders.encoder import load_encoder
    from newfound.methods.kmeans import KMeans

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    ids = {token: i for i, token in enumerate([*special, *dict.fromkeys(WORDS)])}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    marks = [("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=marks)
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), special, strict=True))
    torch.manual_seed(0)
    BertModel(BertConfig(vocab_size=len(ids), max_position_embeddings=64, **SHAPE)).save_pretrained(folder / "encoder")
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **names).save_pretrained(
        folder / "encoder"
    )
    texts = [text_of(i) for i in range(300)]
    labels = [("pay", "meter", None)[i % 3] for i in range(300)]
    method = KMeans(n_new=1, encoder=load_encoder(str(folder / "encoder")), tune="heads", epochs=1, device="cpu")
    method.fit(texts, labels)
    method.model_.save(folder / "model", with_encoder=True)


def write_rows(path: Path, rows: int) -> None:
    """Write a Parquet file and a text file of so many rows, a piece at a time: the measuring process stays small."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    with pq.ParquetWriter(path, schema) as parquet, path.with_suffix(".txt").open("w") as plain:
        for start in range(0, rows, 100_000):
            numbers = range(start, min(rows, start + 100_000))
            texts = [text_of(i) for i in numbers]
            parquet.write_table(pa.table([numbers, texts], schema=schema))
            plain.writelines(f"{text}\n" for text in texts)


def measure(model: Path, data: Path, rows: int, source: str, target: str) -> Row:
    """Run `newfound predict` once and return its time and its peak memory."""
    command = [sys.executable, "-m", "newfound", "predict", str(model), "--device", "cpu"]
    started = time.perf_counter()
    if source == "pipe":
        with data.with_suffix(".txt").open("rb") as given, data.with_name("out.txt").open("wb") as taken:
            cat = subprocess.Popen(["cat"], stdin=given, stdout=subprocess.PIPE)
            process = subprocess.Popen(command, stdin=cat.stdout, stdout=taken, stderr=subprocess.PIPE)
            peak = _peak_of(process)
            cat.wait()
    else:
        command += [str(data), "--out", f"{data.parent}/out.{target}", "--force"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        peak = _peak_of(process)
    seconds = time.perf_counter() - started
    return {"rows": rows, "from": source, "to": target, "seconds": round(seconds, 1), "peak_mib": round(peak)}


def _peak_of(process: subprocess.Popen[bytes]) -> float:
    """Wait for a process and return the peak of its memory in MiB."""
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(errors.decode())
    usage: resource.struct_rusage = used
    return usage.ru_maxrss / KIB_PER_MIB


def main() -> None:
    """Measure all numbers of rows, the smallest first."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", type=int, help="numbers of rows")
    parser.add_argument("--out", type=Path, default=HERE, help="the folder of the result file")
    parser.add_argument("--model", type=Path, help="only write the model, to this folder")
    options = parser.parse_args()
    if options.model is not None:
        write_model(options.model)
        return
    path = options.out / FILE_NAME
    results: list[Row] = json.loads(path.read_bytes())["runs"] if path.exists() else []
    done = {(run["rows"], run["from"], run["to"]) for run in results}
    # Torch is imported by other processes only: the peak of a child is never below the memory of its parent.
    hardware = _printed("-c", "from benchmarks.harness.provenance import hardware; print(hardware('cpu'))")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _printed("-m", "benchmarks.predict.measure", "--model", name)
        for rows in sorted(options.rows):
            missing = [run for run in RUNS if (rows, *run) not in done]
            if missing:
                write_rows(folder / "rows.parquet", rows)
            for source, target in missing:
                run = measure(folder / "model", folder / "rows.parquet", rows, source, target)
                results.append(with_code_hash(run))
                print(results[-1], flush=True)
                write_atomically(path, to_json({"hardware": hardware, "runs": results}))


def _printed(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


if __name__ == "__main__":
    main()
