"""The settings line: `server_args=` and its relatives, read as values that JSON can hold.

The shape is `grammars/server_args.lark`; a dataclass repr (SGLang 0.3.0 .. 0.5.18) and a dict (0.5.19 ..)
give the same. A text that stops somewhere (rsyslog cuts at 8 KiB, journalctl with an ellipsis, another
process writes into it) gives every field that was complete before, and says that it is truncated.
"""

from __future__ import annotations

import ast
import json
import math
import warnings
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from lark import Token, Tree, UnexpectedInput

from kvforensics.parsing import tables
from kvforensics.parsing.sources import SETTINGS
from kvforensics.redaction import redact_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lark import Lark
    from lark.parsers.lalr_interactive_parser import InteractiveParser

START = "server_args="

_NAME = "ServerArgs("
_CONSTANTS = {"None": None, "True": True, "False": False}
_ENDS_A_VALUE = frozenset({"STRING", "CONSTANT", "OBJECT", "_CLOSE", "_CLOSE_BRACKET", "_CLOSE_BRACE"})
_DEEPEST = 64  # levels of nesting that are followed; a deeper value is given as text
_LONGEST_INT = 40  # digits


@dataclass(frozen=True, slots=True)
class Settings:
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
    if _NAME.startswith(text):  # cut within the name itself
        return Settings({}, "repr", truncated=True)
    if not text.startswith("{") and "(" not in text:
        return None
    parser = _parser()
    try:
        tree: Tree[Token] | None = parser.parse(text)
        stack, truncated = [tree], False
    except UnexpectedInput:
        stack, truncated = _salvage(parser, text)
    values: dict[str, Any] = {}
    for field in _fields(stack):
        values.setdefault(_name(field.children[0], text), _value(field.children[1], text, 0))
    if truncated and not values and not text.startswith(("{", _NAME)):
        return None
    return Settings(redact_values(values), "dict" if text.startswith("{") else "repr", truncated=truncated)


@cache
def _parser() -> Lark:
    return tables.parser(SETTINGS)


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


def _name(node: Tree[Token] | Token, text: str) -> str:
    value = str(node) if isinstance(node, Token) else _value(node, text, 0)
    return value if isinstance(value, str) else str(value)


def _value(node: Any, text: str, depth: int) -> Any:
    """Return the JSON value of a parse tree."""
    children = node.children
    if node.data == "string":
        return "".join(_string(str(token)) for token in children)
    if node.data == "number":
        return _number(str(children[0]))
    if node.data == "constant":
        return _CONSTANTS[str(children[0])]
    if node.data in {"object", "name"}:
        return str(children[0])
    if depth == _DEEPEST:
        return _source(node, text)
    if node.data in {"list", "tuple"}:
        return [_value(child, text, depth + 1) for child in children]
    if node.data == "set":
        return _sorted([_value(child, text, depth + 1) for child in children])
    if node.data == "dict":
        return {_name(k, text): _value(v, text, depth + 1) for k, v in (pair.children for pair in children)}
    return _call(node, text, depth)


def _call(node: Any, text: str, depth: int) -> Any:
    """Return a dataclass as a dict of its fields, a set as a sorted list, another object as its repr."""
    name, arguments = str(node.children[0])[:-1], node.children[1:]
    if arguments and all(argument.data == "keyword" for argument in arguments):
        return {str(key): _value(value, text, depth + 1) for key, value in (a.children for a in arguments)}
    if name in {"set", "frozenset"} and len(arguments) <= 1:
        return _sorted(_value(arguments[0], text, depth + 1)) if arguments else []
    return _source(node, text)


def _source(node: Any, text: str) -> str:
    return text[node.meta.start_pos : node.meta.end_pos]


def _sorted(values: Any) -> list[Any]:
    return sorted(values, key=json.dumps) if isinstance(values, list) else [values]


def _number(text: str) -> int | float | str:
    try:
        return int(text) if len(text) <= _LONGEST_INT else text
    except ValueError:
        number = float(text)
    return number if math.isfinite(number) else str(number)


def _string(token: str) -> str:
    """Return the text of a Python string literal; bytes stay as they are printed."""
    opening = min(token.find(quote) for quote in "'\"" if quote in token)
    if "b" in token[:opening].lower():
        return token
    inner = token[opening + 1 : -1]
    if "\\" not in inner or "r" in token[:opening].lower():
        return inner
    try:
        with warnings.catch_warnings(action="ignore"):
            decoded = ast.literal_eval(token[opening:])
    except (SyntaxError, ValueError):
        return inner
    return str(decoded).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
