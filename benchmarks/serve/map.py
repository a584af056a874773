"""How long the map of the review page takes to appear in Chromium: python benchmarks/serve/map.py MODEL."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

IS_DRAWN = "() => document.querySelector('canvas')?.map?.shownNames > 0"
PORT = 8799


def main() -> None:
    """Start a server, open the map right after its start and again with the final layout, and print the seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    model = parser.parse_args().model
    command = [sys.executable, "-m", "newfound", "serve", model, "--port", str(PORT)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            _wait_for_server()
            _measure(f"http://127.0.0.1:{PORT}/")
        finally:
            server.terminate()


def _wait_for_server() -> None:
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}/healthz").close()
            return
        except urllib.error.URLError:
            time.sleep(0.05)


def _measure(address: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(120_000)

        def seconds_to_map() -> float:
            page.goto(f"{address}#intents")
            page.wait_for_selector("h2:has-text('Known intents')")
            begin = time.perf_counter()
            page.click("nav a:has-text('Map')")
            page.wait_for_function(IS_DRAWN)
            return time.perf_counter() - begin

        print(f"right after the start: {seconds_to_map():.2f} s")
        print(page.locator(".tools .quiet").inner_text())
        page.wait_for_selector("#layout-note", state="hidden")
        print(f"with the final layout: {seconds_to_map():.2f} s")
        browser.close()


if __name__ == "__main__":
    main()
