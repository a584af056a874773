"""The command line. A command parses its options, calls one workflow and prints the result.

No other package prints, or names an option in a message.
"""

from __future__ import annotations

from newfound.cli.app import app, main

__all__ = ["app", "main"]
