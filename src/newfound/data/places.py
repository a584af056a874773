"""Folders outside the project: the user's cache and benchmark data."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """`$NEWFOUND_CACHE`, else the platform's cache folder."""
    if chosen := os.environ.get("NEWFOUND_CACHE"):
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or "~/.cache"
    return Path(base).expanduser() / "newfound"
