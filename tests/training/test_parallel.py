"""Training in two real processes (gloo, on the CPU): the same losses and labels as in one with the same batches."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import several_processes
import torch
from safetensors.torch import load_file

from commands import newfound
from conftest import themed_corpus, write_tiny_encoder
from newfound.errors import SettingsError
from newfound.training import launch, parallel
from newfound.training.devices import pick_device
from newfound.training.launch import Launch, current_launch
from newfound.training.parallel import ALONE, Processes, join

SCRIPT = several_processes.__file__


@pytest.fixture(scope="module")
def encoder_without_dropout(tmp_path_factory) -> Path:
    folder = write_tiny_encoder(tmp_path_factory.mktemp("encoders") / "tiny")
    config = json.loads((folder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> dict[str, str]:
    """Of the started processes: one thread each, and no setting or cache of the user."""
    folder = tmp_path_factory.mktemp("environment")
    own = {"NEWFOUND_CACHE": str(folder / "cache"), "HF_HOME": str(folder / "hf"), "OMP_NUM_THREADS": "1"}
    return {**os.environ, **own, "COLUMNS": "100"}


def one_and_two(encoder: Path, environment: dict[str, str], out: Path, device: str) -> tuple[list[int], list[dict]]:
    """Exit codes of two processes; and what one process found, then what each of the two found together."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, parallel.TIMEOUT_VARIABLE: "600"}
    command = [sys.executable, several_processes.__file__, encoder, out, device]
    started = [
        subprocess.Popen(command, env={**environment, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)})
        for rank in range(2)
    ]
    several_processes.main(str(encoder), str(out), device)
    codes = [process.wait(timeout=300) for process in started]
    return codes, [json.loads((out / f"{name}.json").read_text()) for name in ("0-of-1", "0-of-2", "1-of-2")]


@pytest.fixture(scope="module")
def results(encoder_without_dropout, environment, tmp_path_factory) -> list[dict]:
    codes, found = one_and_two(encoder_without_dropout, environment, tmp_path_factory.mktemp("results"), "cpu")
    assert codes == [0, 9], "the second process ends itself at the end"
    return found


def test_the_gather_gives_every_parameter_the_gradient_of_the_whole_batch(results):
    one, *two = (result["gradients"] for result in results)
    for each in two:
        assert each["loss"] == pytest.approx(one["loss"], rel=1e-6)
        assert each["gradients"] == pytest.approx(one["gradients"], rel=1e-4, abs=1e-6)
    assert two[0]["gradients"] == two[1]["gradients"]


@pytest.mark.parametrize("method", several_processes.METHODS)
def test_two_processes_train_as_one_does_with_the_same_batches(results, method):
    one, *two = (result["fits"][method] for result in results)
    assert [result["count"] for result in results] == [1, 2, 2]
    assert any(stage for stage in one["losses"].values())
    for each in two:
        assert each["labels"] == one["labels"]
        for stage, losses in one["losses"].items():
            np.testing.assert_allclose(each["losses"][stage], losses, rtol=1e-3)
        np.testing.assert_allclose(each["probabilities"], one["probabilities"], atol=2e-3)
    assert two[0] == two[1], "the processes hold the same network, to the last bit"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_two_processes_on_one_gpu_train_as_a_captured_step_does(encoder_without_dropout, environment, tmp_path):
    codes, (one, *two) = one_and_two(encoder_without_dropout, environment, tmp_path, "cuda")
    assert codes == [0, 0]
    for method in ("dpl of the paper", "fine-tuning", "e2e"):
        for stage, losses in one["fits"][method]["losses"].items():
            for each in two:
                np.testing.assert_allclose(each["fits"][method]["losses"][stage], losses, rtol=0.03)


def test_each_process_has_its_own_dropout_and_the_main_one_that_of_a_single_process(results):
    one, main, other = (result["noise"] for result in results)
    assert one == main
    assert set(other).isdisjoint(main)


def test_the_main_process_keeps_checkpoints_and_all_resume_from_them(results):
    for each in (result["resumed"] for result in results[1:]):
        assert each["same"]
        assert each["files"] == ["discovery.safetensors", "pre-training.safetensors", "run.json"]
        assert "not all processes see these checkpoints" in each["message"]


def test_when_a_process_dies_the_others_end_with_one_line(results):
    lost = results[1]["lost"]
    assert lost["message"].startswith("one of the 2 processes has ended or does not answer")
    assert lost["seconds"] < 300, "long before the time-out of 600 seconds"


def test_shares_cover_a_batch_and_have_one_size():
    rows = torch.arange(100, 107)
    shares = [Processes(rank, 3).share(rows).tolist() for rank in range(3)]
    assert shares == [[100, 103, 106], [101, 104, 100], [102, 105, 101]]
    assert ALONE.share(rows).tolist() == rows.tolist()


def test_one_process_is_given_back_what_it_gave():
    x = torch.randn(2, 3, 4)
    assert ALONE.gather(x, 3) is x
    assert ALONE.total(x) is x
    assert ALONE.from_main(x) is x
    assert ALONE.all_of(7) == [7]


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, Launch()),
        ({"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "0"}, Launch(1, 4, 0)),
        ({"RANK": "1", "WORLD_SIZE": "4"}, Launch()),
        ({"RANK": "4", "WORLD_SIZE": "4", "LOCAL_RANK": "0"}, Launch()),
        ({"RANK": "x", "WORLD_SIZE": "4", "LOCAL_RANK": "0"}, Launch()),
    ],
)
def test_what_the_environment_says(variables, expected, monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert current_launch() == expected


@pytest.fixture
def second_of_two(monkeypatch):
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)


def test_without_accelerate_one_line_says_what_to_install(second_of_two, monkeypatch):
    monkeypatch.setitem(sys.modules, "accelerate", None)
    with pytest.raises(SettingsError, match=r"needs accelerate; install it with: pip install 'newfound\[gpus\]'"):
        join(torch.device("cpu"))


@pytest.mark.parametrize("seconds", ["soon", "0", "-3", "inf", "nan"])
def test_a_wrong_timeout_is_refused(seconds, second_of_two, monkeypatch):
    monkeypatch.setenv(parallel.TIMEOUT_VARIABLE, seconds)
    with pytest.raises(SettingsError, match="must be a number of seconds above 0"):
        join(torch.device("cpu"))


def test_more_processes_than_gpus_are_refused_and_each_takes_its_own(second_of_two, monkeypatch):
    taken = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(SettingsError, match="start one per GPU"):
        pick_device("auto")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert pick_device("cuda") == torch.device("cuda")
    assert taken == [1]
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    assert pick_device("auto") == torch.device("cpu")


def test_a_command_that_is_not_divided_is_refused(saved, monkeypatch):
    done = newfound("predict", saved, RANK="0", WORLD_SIZE="2", LOCAL_RANK="0")
    assert done.returncode == 2
    assert done.stderr.startswith("newfound: error: newfound predict works in one process; start it without accelerate")
    monkeypatch.setattr(launch, "SECONDS_FOR_THE_MAIN_PROCESS", 0.0)
    other = newfound("predict", saved, RANK="1", WORLD_SIZE="2", LOCAL_RANK="1")
    assert other.stderr.startswith("newfound: error: process 1: newfound predict works")
    assert other.stdout == ""


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> tuple[Path, Path]:
    folder, corpus = tmp_path_factory.mktemp("files"), themed_corpus(per_theme=29)
    known = [f"{text},{label}" for text, label in zip(corpus.texts, corpus.labels, strict=True) if label]
    (folder / "known.csv").write_text("\n".join(["text,label", *known]))
    (folder / "logs.txt").write_text("\n".join(corpus.unlabelled().texts))
    return folder / "known.csv", folder / "logs.txt"


@pytest.mark.slow
def test_accelerate_launch_writes_the_folder_of_one_process(encoder_without_dropout, environment, files, tmp_path):
    arguments = ["discover", *files, "--encoder", encoder_without_dropout, "--n-new", "2", "--effort", "standard"]
    arguments += ["--logs-contain", "novel"]
    arguments = [*map(str, arguments), "--device", "cpu", "--out"]
    launcher = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    launcher += ["--main_process_port", "0", "-m", "newfound"]
    two = subprocess.run(
        [*launcher, *arguments, tmp_path / "two"], env=environment, capture_output=True, text=True, timeout=300
    )
    one = newfound(*arguments, tmp_path / "one")
    assert (one.returncode, two.returncode) == (0, 0), two.stderr
    assert two.stderr.count("fine-tuning: 6/6") == two.stderr.count("training: 50/50") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"one", "two"}
    assert {p.name for p in (tmp_path / "one").iterdir()} == {p.name for p in (tmp_path / "two").iterdir()}
    for path in (tmp_path / "one").glob("*.safetensors"):
        weights, expected = load_file(tmp_path / "two" / path.name), load_file(path)
        assert weights.keys() == expected.keys()
        for name, tensor in expected.items():
            torch.testing.assert_close(weights[name], tensor, atol=2e-3, rtol=1e-3)
    # Sums in another order move an utterance between two intents now and then, and the order of equally central ones.
    one_model, two_models = (json.loads((tmp_path / name / "model.json").read_text()) for name in ("one", "two"))
    names, sizes = ([[i[key] for i in m["intents"]] for m in (one_model, two_models)] for key in ("name", "size"))
    assert names[0] == names[1]
    assert sizes[0] == pytest.approx(sizes[1], abs=2)


@pytest.mark.slow
def test_bad_input_is_reported_once(environment, files, tmp_path):
    launcher = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "-m",
        "newfound",
    ]
    done = subprocess.run(
        [*launcher, "discover", tmp_path / "missing.csv", files[1], "--out", tmp_path / "m"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode != 0
    assert len(re.findall("newfound: error: ", done.stderr)) == 1
    assert "missing.csv" in done.stderr
    assert not (tmp_path / "m").exists()
