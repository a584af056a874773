"""The version of newfound; alone, so that everything may import it."""

from __future__ import annotations

__version__ = "0.1.0"
