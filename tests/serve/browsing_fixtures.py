"""The review page in a real browser, as fixtures."""

from __future__ import annotations

import shutil
import warnings
from functools import partial

import pytest
from serving import server_of

from waiting import SECONDS_TO_WAIT

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        warnings.warn("NO BROWSER: the review page was NOT tested; install Debian's package chromium", stacklevel=1)
        pytest.skip("no Chromium here; .ci/run installs Debian's package")
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        launched.new_context = partial(_new_context, launched.new_context)
        yield launched
        launched.close()


def _new_context(new_context, **options):
    """A context that waits long, as a machine may be busy."""
    context = new_context(**options)
    context.set_default_timeout(1_000 * SECONDS_TO_WAIT)
    return context


@pytest.fixture
def page(browser, saved, tmp_path, tiny_encoder):
    """The page of a fresh copy of the model; any error in its console fails the test."""
    folder = shutil.copytree(saved, tmp_path / "model")
    with server_of(folder, tiny_encoder) as address:
        context = browser.new_context(viewport={"width": 1280, "height": 860}, accept_downloads=True)
        opened = context.new_page()
        problems = []
        opened.on("pageerror", lambda error: problems.append(str(error)))
        opened.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        opened.goto(address)
        opened.fill("#author", "Ana")
        yield opened
        context.close()
        expected = ("409", "422")  # a refusal is an answer, and browsers report it
        assert [p for p in problems if not any(status in p for status in expected)] == []
