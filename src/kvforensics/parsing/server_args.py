"""The settings line: `server_args=` and its relatives, read as values that JSON can hold.

The shape is `grammars/server_args.lark`; a dataclass repr (SGLang 0.3.0 .. 0.5.18) and a dict (0.5.19 ..)
give the same. A text that stops somewhere (rsyslog cuts at 8 KiB, journalctl with an ellipsis, another
process writes into it) gives every field that was complete before, and says that it is truncated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lark import Token, Tree, UnexpectedInput
from msgspec import Struct

from kvforensics.parsing.settings_scan import REPR, whole
from kvforensics.parsing.settings_values import name_of, parser, value_of
from kvforensics.redaction import redact_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lark import Lark
    from lark.parsers.lalr_interactive_parser import InteractiveParser

START = "server_args="

_ENDS_A_VALUE = frozenset({"STRING", "CONSTANT", "OBJECT", "_CLOSE", "_CLOSE_BRACKET", "_CLOSE_BRACE"})


class Settings(Struct, frozen=True):
    """Settings as printed, in their order. Secrets are redacted."""

    values: Mapping[str, Any]  # JSON values: see `read`
    form: str  # repr | dict
    truncated: bool


def read(text: str) -> Settings | None:
    """Read a message that begins with `server_args=`; None when it does not, or nothing follows.

    Tuples and sets become lists (sets sorted), inf and nan become strings, a nested dataclass becomes a
    dict of its fields, every other object its repr. `ServerArgs(` anywhere else, as in an error's text,
    is no launch's settings.
    """
    return read_config(text[len(START) :]) if text.startswith(START) else None


def read_config(text: str) -> Settings | None:
    """Read `Name(field=value, …)` or `{'field': value, …}` as `read` does, whatever its name."""
    text = text.lstrip()
    if REPR.startswith(text):  # cut within the name itself
        return Settings({}, "repr", truncated=True)
    if not text.startswith("{") and "(" not in text:
        return None
    truncated = False
    values = whole(text)
    if values is None:
        values, truncated = _parsed(text)
    if truncated and not values and not text.startswith(("{", REPR)):
        return None
    return Settings(redact_values(values), "dict" if text.startswith("{") else "repr", truncated=truncated)


def _parsed(text: str) -> tuple[dict[str, Any], bool]:
    """Return the settings that a parse finds, and whether the text stops before its end."""
    try:
        stack, truncated = [parser().parse(text)], False
    except UnexpectedInput:
        stack, truncated = _salvage(parser(), text)
    values: dict[str, Any] = {}
    for field in _fields(stack):
        values.setdefault(name_of(field.children[0], text), value_of(field.children[1], text))
    return values, truncated


def _salvage(parser: Lark, text: str) -> tuple[list[Any], bool]:
    """Parse as far as it goes; return what was reduced, and whether the closing bracket was missing."""
    state: InteractiveParser = parser.parse_interactive(text)
    last = None
    try:
        for token in state.iter_parse():
            last = token
    except UnexpectedInput:
        pass
    if "$END" in state.accepts():  # type: ignore[no-untyped-call]
        return list(state.parser_state.value_stack), False
    if last is not None and last.type in _ENDS_A_VALUE and "_COMMA" in state.accepts():  # type: ignore[no-untyped-call]
        state.feed_token(Token("_COMMA", ","))  # a string, bracket or word that is closed is whole
    return list(state.parser_state.value_stack), True


def _fields(stack: list[Any]) -> Iterator[Tree[Token]]:
    """Yield the fields of the outermost level, in the order of the text."""
    for node in stack:
        if not isinstance(node, Tree):
            continue
        if node.data in {"setting", "item"}:
            yield node
        elif node.data in {"dataclass", "mapping"} or node.data.startswith("__"):  # Lark's own repetitions
            yield from _fields(list(node.children))
