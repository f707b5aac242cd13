"""Commands whose words need no conversion: texts, and words of a list.

Typer hands every value to pydantic, which takes longer to load than all of the command line. Here texts are
taken as they stand; whatever else there is, and whatever is wrong, is left to typer.
"""

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption


class Command(TyperCommand):
    """A command of this program."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, the one for help among them."""
        return [_plain(parameter) for parameter in super().get_params(ctx)]


class Group(TyperGroup):
    """What stands before a command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, the one for help among them."""
        return [_plain(parameter) for parameter in super().get_params(ctx)]


def _plain(parameter: Any) -> Any:
    """Let a parameter take texts as they stand."""
    if isinstance(parameter, TyperArgument | TyperOption) and not isinstance(
        parameter.process_value, partial
    ):
        parameter.process_value = partial(_value, parameter, parameter.process_value)  # type: ignore[method-assign]
    return parameter


def _value(parameter: Any, convert: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    """Return the value of a parameter: as it stands, or as typer converts it."""
    kind = parameter.type_descriptor.annotation
    if value is None and not parameter.required:
        nothing = () if parameter.multiple or parameter.nargs == -1 else None
        return nothing if parameter.callback is None else parameter.callback(context, parameter, nothing)
    if not value or parameter.callback is not None:
        return convert(context, value)
    if kind is str and isinstance(value, str):
        return value
    if kind == list[str] and isinstance(value, list | tuple) and all(isinstance(v, str) for v in value):
        return list(value)
    if isinstance(kind, type) and issubclass(kind, StrEnum) and value in set(kind):
        return kind(value)
    return convert(context, value)
