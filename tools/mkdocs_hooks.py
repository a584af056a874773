"""Hooks of `mkdocs build`: links that are right on GitHub become right on the site."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

LINK = re.compile(r"\]\((?P<target>\.\./[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Rewrite `[text](../benchmarks/results)`, which is right on GitHub, for the site.

    Args:
        markdown: The text of the page.
        page: The page, as mkdocs describes it.
        config: The settings of mkdocs.yml.
        files: The files of the site; not needed.

    Returns:
        The text with links that lead out of docs/ made absolute. A link to a file that does not exist stays as it
        is, so that the strict build reports it.
    """
    root = Path(config.config_file_path).parent
    if page.file.src_uri == "changelog.md":  # which includes a file whose links start at the root of the repository
        markdown = (root / "CHANGELOG.md").read_text("utf-8").replace("](docs/", "](")

    def rewrite(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page.file.src_uri), match["target"]))
        if path.startswith(("docs/", "..")) or not (root / path).exists():
            return match[0]
        return f"]({config.extra['repository']}/blob/main/{path}{match['anchor'] or ''})"

    return LINK.sub(rewrite, markdown)
