"""Values of the settings line: what its grammar's trees stand for, as values that JSON can hold."""

from __future__ import annotations

import ast
import json
import math
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

from lark import Token

from kvforensics.parsing import tables
from kvforensics.parsing.sources import SETTINGS

if TYPE_CHECKING:
    from lark import Lark, Tree

CONSTANTS = {"None": None, "True": True, "False": False}
_DEEPEST = 64  # levels of nesting that are followed; a deeper value is given as text
_LONGEST_INT = 40  # digits


@cache
def parser() -> Lark:
    """Return the parser of settings."""
    return tables.parser(SETTINGS)


def name_of(node: Tree[Token] | Token, text: str) -> str:
    """Return the name of a setting, whatever a dict has for a key."""
    value = str(node) if isinstance(node, Token) else value_of(node, text)
    return value if isinstance(value, str) else str(value)


def value_of(node: Any, text: str, depth: int = 0) -> Any:
    """Return the JSON value of a parse tree."""
    children = node.children
    if node.data == "string":
        return "".join(string(str(token)) for token in children)
    if node.data == "number":
        return number(str(children[0]))
    if node.data == "constant":
        return CONSTANTS[str(children[0])]
    if node.data in {"object", "name"}:
        return str(children[0])
    if depth == _DEEPEST:
        return _source(node, text)
    if node.data in {"list", "tuple"}:
        return [value_of(child, text, depth + 1) for child in children]
    if node.data == "set":
        return _sorted([value_of(child, text, depth + 1) for child in children])
    if node.data == "dict":
        return {
            name_of(k, text): value_of(v, text, depth + 1) for k, v in (pair.children for pair in children)
        }
    return _call(node, text, depth)


def _call(node: Any, text: str, depth: int) -> Any:
    """Return a dataclass as a dict of its fields, a set as a sorted list, another object as its repr."""
    name, arguments = str(node.children[0])[:-1], node.children[1:]
    if arguments and all(argument.data == "keyword" for argument in arguments):
        return {str(key): value_of(value, text, depth + 1) for key, value in (a.children for a in arguments)}
    if name in {"set", "frozenset"} and len(arguments) <= 1:
        return _sorted(value_of(arguments[0], text, depth + 1)) if arguments else []
    return _source(node, text)


def _source(node: Any, text: str) -> str:
    return text[node.meta.start_pos : node.meta.end_pos]


def _sorted(values: Any) -> list[Any]:
    return sorted(values, key=json.dumps) if isinstance(values, list) else [values]


def number(text: str) -> int | float | str:
    """Return the number that a text writes; a text where JSON has none."""
    try:
        return int(text) if len(text) <= _LONGEST_INT else text
    except ValueError:
        number = float(text)
    return number if math.isfinite(number) else str(number)


def string(token: str) -> str:
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
