"""Folders outside the project: the user's cache of features and benchmark data."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """Return `$NEWFOUND_CACHE`, or else the platform's cache folder for newfound."""
    if chosen := os.environ.get("NEWFOUND_CACHE"):
        return Path(chosen).expanduser()
    # Imported here: machines that lack it can still import newfound and set NEWFOUND_CACHE.
    from platformdirs import user_cache_path

    return user_cache_path("newfound", appauthor=False)


def feature_cache_dir() -> Path:
    """Return the folder in which encoded utterances are cached."""
    return cache_dir() / "features"


def answer_cache_dir() -> Path:
    """Return the folder in which answers of language models are cached."""
    return cache_dir() / "answers"


def hub_cache_dir() -> Path:
    """Return the folder into which models are fetched from the Hugging Face hub."""
    return cache_dir() / "hub"


def graph_cache_dir() -> Path:
    """Return the folder in which the ONNX graphs of encoders are cached."""
    return cache_dir() / "onnx"
