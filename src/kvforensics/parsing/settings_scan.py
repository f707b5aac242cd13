"""Settings of a whole text, read one by one: a log holds the same ones at every launch.

A parse of some hundred settings takes as long as a million scheduler lines. What stands between two commas
is looked at alone instead: a plain value by its terminal, any other by a parse of its own, and what was
parsed is remembered. Where a text is not wholly of that make, nothing is said, and the grammar reads it all.

That is sound, because in a settings line every setting begins in the same state of the parser, and because
a value that is followed by a comma or the closing bracket is the same value before either of the two.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any, NamedTuple

from lark import Token, Tree, UnexpectedInput

from kvforensics.parsing.settings_values import CONSTANTS, number, parser, string, value_of

REPR = "ServerArgs("
_DICT = "{"
_REMEMBERED = 500  # values
_LONGEST = 8_000  # characters of a value that is parsed alone
_CLOSES = {"(": ")", "[": "]", "{": "}"}


class _Form(NamedTuple):
    """How one of the two forms is written."""

    opening: str
    name: re.Pattern[str]  # a name and what follows it
    end: re.Pattern[str]  # behind a value


class _Alone(NamedTuple):
    """A value that was parsed. Others hold it as well: it is not to be changed."""

    value: Any


@cache
def _forms() -> tuple[_Form, _Form]:
    """Return the form of a dataclass and that of a dict."""
    name, text = _terminal("NAME"), _terminal("STRING")
    return (
        _Form(REPR, re.compile(f"({name})="), re.compile(r",[ \t]*|\)\Z")),
        _Form(_DICT, re.compile(f"({text}):[ \t]*"), re.compile(r",[ \t]*|\}\Z")),
    )


@cache
def _plain() -> re.Pattern[str]:
    """Return an expression of plain values, one group for each terminal."""
    return re.compile("|".join(f"(?P<{name}>{_terminal(name)})" for name in ("CONSTANT", "NUMBER", "STRING")))


@cache
def _token() -> re.Pattern[str]:
    """Return an expression of what a value is made of, as far as its brackets have to be told."""
    brackets = r"(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<comma>,)"
    return re.compile(f"{_terminal('STRING')}|{_terminal('OBJECT')}|{brackets}|" + r"[^'\"<()\[\]{},\n]+|.")


def _terminal(name: str) -> str:
    return f"(?:{parser().get_terminal(name).pattern.to_regexp()})"


def whole(text: str) -> dict[str, Any] | None:
    """Return the settings of a text, or None where it is to be parsed as one."""
    form = next((form for form in _forms() if text.startswith(form.opening)), None)
    if form is None:
        return None
    values: dict[str, Any] = {}
    at, plain = len(form.opening), _plain()
    while at < len(text):
        named = form.name.match(text, at)
        if named is None:
            return None
        start = named.end()
        found = plain.match(text, start)
        end = form.end.match(text, found.end()) if found is not None else None
        if found is not None and end is not None:
            value = _value(str(found.lastgroup), found[0])
        else:
            stop = _stop(text, start)
            end = form.end.match(text, stop)
            alone = _parsed(text[start:stop]) if end is not None else None
            if end is None or alone is None:
                return None
            value = alone.value
        values.setdefault(named[1] if form.opening == REPR else string(named[1]), value)
        at = end.end()
        if not end[0].startswith(","):
            return values
    return None


def _value(terminal: str, text: str) -> Any:
    if terminal == "CONSTANT":
        return CONSTANTS[text]
    return number(text) if terminal == "NUMBER" else string(text)


def _stop(text: str, start: int) -> int:
    """Return where the value that starts there ends, if it is well-formed and not too long."""
    open_, at = [], start
    while at - start <= _LONGEST and (token := _token().match(text, at)) is not None:
        if token["open"]:
            open_.append(_CLOSES[token[0]])
        elif (token["close"] and (not open_ or open_.pop() != token[0])) or (token["comma"] and not open_):
            break
        at = token.end()
    return at


@lru_cache(_REMEMBERED)
def _parsed(text: str) -> _Alone | None:
    """Return a value, or None of a text that is none or more than one."""
    line = f"{REPR}x={text})"
    try:
        tree: Tree[Token] = parser().parse(line)
    except UnexpectedInput:
        return None
    settings = [child for child in tree.children if isinstance(child, Tree)]
    return _Alone(value_of(settings[0].children[1], line)) if len(settings) == 1 else None
