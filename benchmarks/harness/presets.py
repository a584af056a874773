"""Published settings of methods, where they differ from newfound's defaults, and what was published for one corpus."""

from __future__ import annotations

from typing import Any

from benchmarks.harness.partitions import facts

from newfound.errors import SettingsError

PRESETS = {method: tuple(presets) for method, presets in facts("presets").items()}  # their names, by method


def preset_settings(method: str, name: str, corpus: str = "") -> dict[str, Any]:
    """Return the settings of a preset; `corpus` is `banking77` or `clinc150`, for what was published for it alone."""
    names = PRESETS.get(method, ())
    if name not in names:
        raise SettingsError(f"{method} has no preset {name!r}; its presets: {', '.join(names) or 'none'}")
    preset = facts("presets")[method][name]
    return {**preset["settings"], **preset.get(corpus, {})}
