"""The command that serves a model over HTTP; `newfound review` starts the same server."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from newfound.cli.options import (
    LanguageModelOptions,
    ModelArgument,
    ModelEncoderOption,
)
from newfound.errors import SettingsError


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Where a server listens."""

    PANEL: ClassVar = "The server"
    host: Annotated[str, typer.Option(help="The address to listen on. Any but 127.0.0.1 needs --token-file.")] = (
        "127.0.0.1"
    )
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port to listen on; 0 chooses a free one.")] = 8765
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="A file with the secret token that every request must send, or with one line `name: token` a person."
        ),
    ] = None
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="Believe the forwarding headers of a reverse proxy.")
    ] = False


def serve(
    model: ModelArgument,
    server: ServerOptions,
    asking: LanguageModelOptions,
    encoder: ModelEncoderOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not log requests.")] = False,
) -> None:
    """Serve predictions and the review page over HTTP. A newer model in the folder is loaded at once."""
    start_server(model, server, asking, encoder, quiet=quiet)


def start_server(
    model: Path,
    server: ServerOptions,
    asking: LanguageModelOptions,
    encoder: str | None,
    *,
    quiet: bool = True,
    open_page: bool = False,
) -> None:
    """Run the server until it is stopped."""
    try:
        from newfound.serve.server import serve as run_server
    except ModuleNotFoundError as error:
        raise SettingsError(f"{error.name} is missing; install it with: pip install 'newfound[serve]'") from None
    from newfound.serve.settings import ServeSettings, read_token

    def announce(message: str) -> None:
        print(f"{message} (stop with Ctrl-C)", file=sys.stderr, flush=True)

    logging.basicConfig(stream=sys.stderr, format="newfound: %(levelname)s: %(message)s", level=logging.WARNING)
    access, handler = logging.getLogger("newfound.access"), logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(message)s"))
    access.addHandler(handler)
    access.setLevel(logging.WARNING if quiet else logging.INFO)
    access.propagate = False
    settings = ServeSettings(
        host=server.host,
        port=server.port,
        token=None if server.token_file is None else read_token(server.token_file),
        behind_proxy=server.behind_proxy,
        llm=asking.settings(),
    )
    run_server(model, settings, encoder=encoder, open_page=open_page, announce=announce)
