"""newfound: extend an intent classifier to the intents its users really have.

The names that it offers stand in `__init__.pyi`, where type checkers and editors read them. Each is imported when it is
first used: torch takes seconds to load, and `newfound --help` should not wait for it.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

_STUB = Path(__file__).with_name("__init__.pyi").read_text("utf-8")
_MODULE_OF_NAME = {name: module for module, name in re.findall(r"from (\S+) import (\w+)", _STUB)}
__all__ = sorted(_MODULE_OF_NAME)


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF_NAME:
        return getattr(import_module(_MODULE_OF_NAME[name]), name)
    raise AttributeError(f"module 'newfound' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
