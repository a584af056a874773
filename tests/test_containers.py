"""The Dockerfile and the compose file, as far as they can be tested without a container: they fit the package."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

pytest.importorskip("fastapi", reason="extra `serve` not installed")

from newfound.cli import app as command_line
from newfound.serve.middleware import OPEN_PATHS
from newfound.serve.server import SECONDS_TO_FINISH
from newfound.serve.settings import ServeSettings

ROOT = Path(__file__).parents[1]
PORT = ServeSettings().port


def instructions() -> list[tuple[str, str]]:
    """Instructions of the Dockerfile with their arguments, continued lines joined."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [tuple(line.split(maxsplit=1)) for line in joined.splitlines() if line.strip()]  # type: ignore[misc]


def arguments_of(name: str) -> list[str]:
    """The arguments of every instruction of a name in the last stage."""
    stages = [i for i, (instruction, _) in enumerate(instructions()) if instruction == "FROM"]
    return [arguments for instruction, arguments in instructions()[stages[-1] :] if instruction == name]


@pytest.fixture(scope="module")
def compose() -> dict:
    return yaml.safe_load((ROOT / "compose.yaml").read_text())


@pytest.fixture(scope="module")
def service(compose) -> dict:
    return compose["services"]["newfound"]


def health_command() -> list[str]:
    (arguments,) = arguments_of("HEALTHCHECK")
    return json.loads(arguments[arguments.index("[") :])


def default(value: str) -> str:
    """A value of the compose file with no variable set: `${NAME:-default}` is its default."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value)


def test_nobody_runs_as_root(service):
    (user,) = arguments_of("USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user), "a number, so that orchestrators can see that it is not root"
    assert default(service["user"]) == user
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]


def test_the_command_is_one_of_the_command_line():
    (entry,), (command,) = ([json.loads(a) for a in arguments_of(name)] for name in ("ENTRYPOINT", "CMD"))
    assert entry == [next(iter(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]))]
    import typer

    serve = typer.main.get_command(command_line).commands[command[0]]
    context = serve.make_context("serve", command[1:])
    assert context.params["port"] == PORT
    assert context.params["token_file"] == Path("/run/secrets/newfound_token")
    assert not ServeSettings(host=context.params["host"], token="t" * 32).is_local
    assert arguments_of("EXPOSE") == [str(PORT)]
    assert arguments_of("VOLUME") == [command[1]]


def test_ports_volumes_and_secrets_fit_the_image(compose, service):
    assert default(service["ports"][0]) == f"127.0.0.1:{PORT}:{PORT}"
    assert default(service["volumes"][0]).endswith(f":{arguments_of('VOLUME')[0]}")
    assert set(service["secrets"]) <= set(compose["secrets"])
    assert service["deploy"]["resources"]["limits"].keys() >= {"cpus", "memory"}
    assert int(service["stop_grace_period"].removesuffix("s")) > SECONDS_TO_FINISH
    environment = dict(shlex.split(arguments_of("ENV")[0])[i].split("=", 1) for i in range(6))
    assert Path(environment["NEWFOUND_CACHE"]).is_relative_to(service["tmpfs"][0])
    assert Path(environment["HOME"]).is_relative_to(service["tmpfs"][0])


def test_the_health_check_is_the_same_in_both_files_and_needs_no_token(service):
    assert service["healthcheck"]["test"] == ["CMD", *health_command()]
    path = re.search(r"'GET', '([^']+)'", health_command()[-1])
    assert path
    assert path[1] in OPEN_PATHS


def test_the_health_check_tells_a_server_from_none(saved, tiny_folder):
    from serve.serving import server_of

    code = health_command()[-1]
    assert code.count(str(PORT)) == 1
    with server_of(saved, str(tiny_folder), ServeSettings(token="0123456789abcdef")) as address:
        port = address.rpartition(":")[2]
        assert _exit_code(code.replace(str(PORT), port)) == 0
    assert _exit_code(code.replace(str(PORT), port)) != 0


def _exit_code(code: str) -> int:
    return subprocess.run([sys.executable, "-c", code], capture_output=True).returncode


def test_extras_and_copied_files_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    installed = re.search(r"\.whl\)\[([^\]]+)\]", (ROOT / "Dockerfile").read_text())
    assert installed
    assert set(installed[1].split(",")) <= set(extras)
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    copied = [a.split()[:-1] for i, a in instructions() if i == "COPY" and not a.startswith("--from")]
    for name in (name for names in copied for name in names):
        assert (ROOT / name).exists()
        assert f"!{name}" in ignored, "the builder would not get it"


def test_prometheus_asks_the_server(compose):
    prometheus = compose["services"]["prometheus"]
    assert prometheus["profiles"] == ["metrics"], "it starts only if it is asked for"
    source, target, _ = prometheus["volumes"][0].split(":")
    (job,) = yaml.safe_load((ROOT / source).read_text())["scrape_configs"]
    assert target == "/etc/prometheus/prometheus.yml"
    assert job["static_configs"][0]["targets"] == [f"newfound:{PORT}"]
    secret = Path(job["authorization"]["credentials_file"])
    assert secret.parent == Path("/run/secrets")
    assert secret.name in prometheus["secrets"]


def test_prometheus_gets_the_metrics_with_the_token(saved, tiny_folder):
    from serve.serving import client_of

    token = "0123456789abcdef"
    (job,) = yaml.safe_load((ROOT / "docker" / "prometheus.yml").read_text())["scrape_configs"]
    settings = ServeSettings(host="0.0.0.0", token=token)
    with client_of(saved, str(tiny_folder), settings) as client:
        headers = {"Host": job["static_configs"][0]["targets"][0]}
        assert client.get(job["metrics_path"], headers=headers).status_code == 401
        scheme = job["authorization"]["type"]
        answer = client.get(job["metrics_path"], headers={**headers, "Authorization": f"{scheme} {token}"})
    assert answer.status_code == 200
    assert "newfound_" in answer.text
