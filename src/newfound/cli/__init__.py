"""The command line. A command parses its options, calls one workflow and prints the result.

No other package prints, or names an option in a message.
"""

from __future__ import annotations

import sys

try:
    from newfound.cli.app import app, main
except KeyboardInterrupt:  # before `main`, which handles it from then on
    print("newfound: stopped", file=sys.stderr)
    sys.exit(130)

__all__ = ["app", "main"]
