"""Values of a column's text: the name of the terminal that reads it gives the type."""

from __future__ import annotations

import math
import re
from datetime import datetime
from typing import Any

UNSIGNED = frozenset({"INT"})
INTEGERS = frozenset({"INT", "SINT"})
FLOATS = frozenset({"FLOAT", "NUM"})
BOOLEANS = frozenset({"BOOL"})
SCALAR = "SCALAR"  # whatever the word is: the settings that rare lines quote
TIMES = frozenset({"STAMP"})

_CONSTANTS = {"True": True, "False": False, "None": None}
_NUMBERS = {"SINT": re.compile(r"-?[0-9]+"), "NUM": re.compile(r"-?[0-9]+\.[0-9]+(e[-+]?[0-9]+)?")}
_INT64 = 2**63
_INT64_DIGITS = 19


def typed(terminal: str, text: str) -> Any:
    """Return the value that a column's text has by its terminal; None for a number that does not fit."""
    if terminal in INTEGERS:
        # Python refuses to convert very long digit strings, so the length is looked at first.
        digits = text.lstrip("-0") or "0"
        value = int(digits) if len(digits) <= _INT64_DIGITS else _INT64 + 1
        value = -value if text.startswith("-") else value
        return value if -_INT64 <= value < _INT64 else None
    if terminal in FLOATS:
        number = float(text)
        return number if math.isfinite(number) else None
    if terminal in BOOLEANS:
        return text == "True"
    if terminal in TIMES:
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            return None
    return _scalar(text) if terminal == SCALAR else text


def _scalar(text: str) -> Any:
    """Return a Python number or constant as a value, any other word as text."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    terminal = next((name for name, pattern in _NUMBERS.items() if pattern.fullmatch(text)), "TEXT")
    return typed(terminal, text)
