"""Words of a systemd unit file: quotes, escapes, specifiers and variables, as systemd 247 to 257 reads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", '"': '"', "'": "'", "s": " ",
}  # fmt: skip
_NUMBERED = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})", re.ASCII)
_VARIABLE = re.compile(r"\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)\}", re.ASCII)
_ALONE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)", re.ASCII)
_SPECIFIER = re.compile(r"%(.)")
_LARGEST = 0x10FFFF


def split_words(text: str) -> list[str]:
    """Return the words of a value. Quotes go, known C escapes are decoded, unknown ones stay as they are."""
    words: list[str] = []
    word: list[str] = []
    quote = ""
    started = False
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            decoded, at = _escape(text, at)
            word.append(decoded)
            started = True
            continue
        at += 1
        if quote:
            if char == quote:
                quote = ""
            else:
                word.append(char)
        elif char in "\"'":
            quote, started = char, True
        elif char in " \t\n\r":
            if started:
                words.append("".join(word))
            word, started = [], False
        else:
            word.append(char)
            started = True
    if started:
        words.append("".join(word))
    return words


def _escape(text: str, at: int) -> tuple[str, int]:
    """Return what the backslash at `at` and what follows it mean, and where to go on."""
    follower = text[at + 1 : at + 2]
    if follower in _ESCAPES and follower:
        return _ESCAPES[follower], at + 2
    numbered = _NUMBERED.match(text, at + 1)
    if numbered is not None:
        hexadecimal = numbered[1] or numbered[2] or numbered[3]
        code = int(hexadecimal, 16) if hexadecimal else int(numbered[4], 8)
        if 0 < code <= _LARGEST:
            return chr(code), numbered.end()
    return "\\" + follower, at + 1 + len(follower)


def expand_specifiers(text: str, unit: str | None) -> str:
    """Return the text with the specifiers that a unit's name tells; others stay."""

    def value(match: re.Match[str]) -> str:
        if match[1] == "%":
            return "%"
        known = _specifiers(unit).get(match[1]) if unit else None
        return match[0] if known is None else known

    return _SPECIFIER.sub(value, text)


def _specifiers(unit: str) -> dict[str, str]:
    """Return what %n %N %p %i %I %j mean for a unit name."""
    stem = unit.rpartition(".")[0] or unit
    prefix, _, instance = stem.partition("@")
    plain = instance.replace("-", "/")
    decoded = re.sub(r"\\x([0-9a-f]{2})", lambda match: chr(int(match[1], 16)), plain)
    return {
        "n": unit,
        "N": stem,
        "p": prefix,
        "i": instance,
        "I": decoded,
        "j": prefix.rpartition("-")[2],
    }


def expand_variables(words: list[str], environment: Mapping[str, str], *, whole: bool) -> list[str]:
    """Return the words with `${A}` in words and `$A` alone expanded.

    A variable that `environment` lacks becomes nothing where the environment is known whole, as systemd
    does it, and stays as it is where a file that was not read may set it.
    """
    expanded: list[str] = []
    for word in words:
        alone = _ALONE.fullmatch(word)
        if alone is not None and (whole or alone[1] in environment):
            expanded.extend(environment.get(alone[1], "").split())
            continue
        expanded.append(_VARIABLE.sub(lambda match: _known(match, environment, whole=whole), word))
    return expanded


def _known(match: re.Match[str], environment: Mapping[str, str], *, whole: bool) -> str:
    if match[1] is None:
        return "$"
    return environment.get(match[1], "" if whole else match[0])
