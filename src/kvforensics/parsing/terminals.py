"""What may be said of a terminal's texts without reading any: their characters and their width.

A layout is sound only for slots whose extent can be told from the characters alone. So a terminal is
*plain* when it is a run of character classes and characters, each with a greedy quantifier, or a choice
of words none of which begins another; and when Python's and Rust's regular expressions read it alike.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from lark.lexer import PatternStr

if TYPE_CHECKING:
    from lark.lexer import TerminalDef

_OTHER = "\x80"  # stands for every character beyond ASCII: a plain pattern tells none of them apart
_ALL = (*map(chr, range(128)), _OTHER)
_ATOM = re.compile(
    r"(?P<atom>\[\^?(?:\\[^A-Za-z0-9]|\\[nrt]|[^\]\\\[])+\]|\\[^A-Za-z0-9]|\\[nrt]|[^\\()|?*+{}\[\].^$])"
    r"(?:\?|\+|\*|\{[0-9]+(?:,[0-9]*)?\})?(?![?+*{])"
)
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$#&~-]")
_ANY_ATOM = re.compile(r"\[\^?(?:\\.|[^\]\\])+\]|\\.|[^()|?*+{}^$]")
_WORDS = re.compile(r"[A-Za-z0-9_]+(?:\|[A-Za-z0-9_]+)*")


def escaped(text: str) -> str:
    """Return a regular expression of a constant that Python and Rust read alike."""
    return _SPECIAL.sub(r"\\\g<0>", text).replace("\n", r"\n").replace("\r", r"\r").replace("\t", r"\t")


def is_constant(terminal: TerminalDef) -> bool:
    """Tell whether a terminal is one fixed text."""
    return isinstance(terminal.pattern, PatternStr) and not terminal.pattern.flags


def pattern_of(terminal: TerminalDef) -> str:
    """Return a regular expression that matches the terminal's texts and binds as one unit."""
    return f"(?:{terminal.pattern.value})"


def width_of(terminal: TerminalDef) -> int | None:
    """Return the length that all texts of a terminal have, or None."""
    low, high = terminal.pattern.min_width, terminal.pattern.max_width
    return int(low) if low == high else None


def characters_of(terminal: TerminalDef) -> frozenset[str] | None:
    """Return the characters that texts of a plain terminal hold, or None when it is not plain.

    The set speaks of ASCII; ask with `holds` about other characters.
    """
    if is_constant(terminal):
        return frozenset(map(_folded, terminal.pattern.value))
    return None if terminal.pattern.flags else _characters(terminal.pattern.value)


@cache
def possible_characters(pattern: str) -> frozenset[str]:
    """Return every character that a text of any pattern may hold, and perhaps some more."""
    bare = re.sub(r"\(\?(?:[:=!]|<[=!])", "(", pattern)  # groups, look-ahead, look-behind
    found: set[str] = set()
    for atom in _ANY_ATOM.findall(bare):
        found |= _of_atom(atom)
    return frozenset(found)


@cache
def _of_atom(atom: str) -> frozenset[str]:
    """Return the characters that one character, class or dot stands for."""
    if atom.isalnum() and atom.isascii():
        return frozenset(atom)
    fits = re.compile(atom, re.DOTALL).fullmatch
    return frozenset(char for char in _ALL if fits(char))


def reads_on(pattern: str) -> bool:
    """Tell whether a pattern looks beyond what it takes."""
    return re.search(r"\(\?[=!<]|\$|\\[bBZ]", pattern) is not None


def holds_all(characters: frozenset[str], text: str) -> bool:
    """Tell whether all characters of a text are in a set."""
    return all(holds(characters, char) for char in text)


def holds(characters: frozenset[str], char: str) -> bool:
    """Tell whether a character is in a set that `characters_of` gave."""
    return _folded(char) in characters


def _folded(char: str) -> str:
    return char if char.isascii() else _OTHER


@cache
def _characters(pattern: str) -> frozenset[str] | None:
    if not pattern.isascii():
        return None
    if _WORDS.fullmatch(pattern) and "|" in pattern:
        words = pattern.split("|")
        clash = any(a is not b and b.startswith(a) for a in words for b in words)
        return None if clash else frozenset("".join(words))
    found: set[str] = set()
    at = 0
    while at < len(pattern):
        atom = _ATOM.match(pattern, at)
        if atom is None:
            return None
        found |= _of_atom(atom["atom"])
        at = atom.end()
    return frozenset(found)
