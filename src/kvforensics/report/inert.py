"""Text from logs is data: what is shown of it must not steer a terminal or mislead a reader's eye.

Every control, format, surrogate, private and unassigned character is written as a visible escape, so
that ANSI sequences, OSC hyperlinks, clipboard writes, bidi overrides and invisible joiners arrive as letters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_PLAIN = frozenset(map(chr, range(0x20, 0x7F)))


def inert(text: str, limit: int | None = None) -> str:
    r"""Return `text` on one line with every unsafe character escaped (`\x1b`, `\u202e`), cut to `limit`."""
    if not _PLAIN.issuperset(text):
        text = "".join(c if c in _PLAIN else _escape(c) for c in text)
    if limit is not None and len(text) > limit:
        text = text[: limit - 1] + "…"
    return text


def inert_values(value: Any) -> Any:
    """Return a value with all texts in it inert, in mappings, lists and tuples; line ends of a text stay."""
    if isinstance(value, str):
        return value if _PLAIN.issuperset(value) else "\n".join(map(inert, value.split("\n")))
    if isinstance(value, Mapping):
        return {inert_values(key): inert_values(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [inert_values(one) for one in value]
    return value


def encodable(text: str, encoding: str) -> str:
    """Return `text` with what `encoding` cannot say written as an escape."""
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _escape(char: str) -> str:
    if unicodedata.category(char) not in _UNSAFE:
        return char
    named = {"\n": "\\n", "\r": "\\r", "\t": " "}.get(char)
    if named is not None:
        return named
    code = ord(char)
    if code < 0x100:  # noqa: PLR2004 - the last code that two hexadecimal digits can say
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004
