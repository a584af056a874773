"""The command line: parses, calls one workflow, and shows its result. The only place that prints or names a flag."""

from __future__ import annotations

from newfound.cli.app import app, main

__all__ = ["app", "main"]
