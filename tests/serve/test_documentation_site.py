"""The documentation site is built without a network, and can be read and searched from the file system."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["browsing_fixtures"]
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    # No proxy answers at port 9: an attempt to download anything becomes a warning, and the build is strict.
    offline = {"https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9", "NO_MKDOCS_2_WARNING": "1"}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    built = tmp_path_factory.mktemp("documentation") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(built)],
        cwd=ROOT,
        env={**os.environ, **offline, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return built


def test_the_site_is_built_without_a_network(site):
    """Strictly: a broken link or a function that does not exist ends it, as in `make site`."""
    assert (site / "howto" / "check.html").is_file()


def test_the_site_is_searched_from_the_file_system(site, browser):
    page = browser.new_context().new_page()
    page.goto((site / "howto" / "check.html").as_uri())
    page.click("input.md-search__input")
    page.keyboard.type("thresholds")
    page.locator(".md-search-result__link").first.wait_for()
    links = page.locator(".md-search-result__link").evaluate_all("links => links.map(link => link.href)")
    assert any("howto/thresholds.html" in link for link in links)
