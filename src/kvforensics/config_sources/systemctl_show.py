"""The output of `systemctl show UNIT`: what systemd has loaded, words joined without quotes."""

from __future__ import annotations

import re

from kvforensics.config_sources.source import Command
from kvforensics.config_sources.systemd_words import split_words

_LOOKS_LIKE = re.compile(r"^ExecStart(?:Ex)?=\{ path=", re.MULTILINE)
_EXEC = re.compile(
    r"ExecStart(?P<ex>Ex)?=\{ path=.*? ; argv\[\]=(?P<argv>.*) ; (?:ignore_errors|flags)=.*\}\s*"
)
_BRACKETS = {"{": "}", "[": "]"}


def is_show(text: str) -> bool:
    """Tell whether a text is the output of `systemctl show`."""
    return _LOOKS_LIKE.search(text) is not None


def commands(text: str) -> list[Command]:
    """Return the commands of each unit: units are apart by an empty line, ExecStartEx repeats ExecStart."""
    found: list[Command] = []
    number = 0
    for block in re.split(r"\n[ \t\r]*\n", text):
        name, environment = None, {}
        starts: dict[str, list[tuple[int, str]]] = {"": [], "Ex": []}
        for offset, line in enumerate(block.split("\n"), 1):
            key, _, value = line.partition("=")
            if key == "Id":
                name = value.strip()
            elif key == "Environment":
                environment = dict(_pairs(value))
            elif (started := _EXEC.fullmatch(line)) is not None:
                starts[started["ex"] or ""].append((number + offset, started["argv"]))
        number += block.count("\n") + 2
        found.extend(
            Command(tuple(split_joined(argv)), line, name, environment)
            for line, argv in starts[""] or starts["Ex"]
        )
    return found


def _pairs(value: str) -> list[tuple[str, str]]:
    words = (word.partition("=") for word in split_words(value))
    return [(name, content) for name, equals, content in words if equals]


def split_joined(argv: str) -> list[str]:
    """Return the words of an argv joined by blanks; JSON in it stays one word."""
    words: list[str] = []
    held: list[str] = []
    depth = 0
    for word in argv.split(" "):
        opens = word[:1] in _BRACKETS
        if depth == 0 and not opens:
            words.append(word)
            continue
        held.append(word)
        depth += sum(word.count(one) for one in _BRACKETS) - sum(
            word.count(one) for one in _BRACKETS.values()
        )
        if depth <= 0:
            words.append(" ".join(held))
            held, depth = [], 0
    words.extend(held)
    return _with_script([word for word in words if word])


def _with_script(words: list[str]) -> list[str]:
    """Return the words with a shell's script, which is all that follows -c, as one."""
    is_shell = words[:1] and words[0].rpartition("/")[2] in ("sh", "bash", "dash")
    if is_shell and words[1:2] and words[1].startswith("-") and words[1].endswith("c"):
        return [*words[:2], " ".join(words[2:])]
    return words
