"""Option groups: dataclasses whose fields become options of a command, and a panel of its help."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

Result = TypeVar("Result")


def with_option_groups(command: Callable[..., Result]) -> Callable[..., Result]:
    """Return a command in which each parameter of a dataclass type is replaced by the fields of that type.

    The help shows the options of each type in a panel of its own, which its class variable `PANEL` names.
    """
    hints = get_type_hints(command, include_extras=True)
    parameters, groups = [], {}
    for name, parameter in inspect.signature(command).parameters.items():
        if not is_dataclass(hints[name]):
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        groups[name] = hints[name]
        types = get_type_hints(hints[name], include_extras=True)
        parameters += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.default is MISSING else field.default,
                annotation=_in_panel(types[field.name], hints[name].PANEL),
            )
            for field in fields(hints[name])
        ]

    @wraps(command)
    def grouped(**values: Any) -> Result:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        return command(**values)

    grouped.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    grouped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return grouped


def _in_panel(annotation: Any, panel: str) -> Any:
    """Return the annotation of an option with the panel of the help that shows it."""
    kind, option = get_args(annotation)
    option = copy(option)  # other commands may have the same option elsewhere
    option.rich_help_panel = panel
    return Annotated[kind, option]
