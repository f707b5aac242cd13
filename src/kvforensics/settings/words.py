"""The words of a command, and which of them are the arguments of SGLang's server."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_STARTS = re.compile(
    r"(?:^|/)(?:launch_server(?:\.py)?|sglang_launch_server)$|^sglang\.(?:launch_server|srt\.\S+|cli\.\S+)$"
)


def split(text: str) -> list[str]:
    """Return the words of a command as a shell splits it; by blanks where the quotes do not close."""
    try:
        return shlex.split(text.replace("\\\n", " "), comments=False)
    except ValueError:
        return text.split()


def server_words(words: Sequence[str]) -> list[str]:
    """Return the words after the server's name, be it `sglang.launch_server` or `sglang serve`.

    A shell's script (`bash -c "…"`) is opened. Without any such name, the words after the program.
    """
    script = _script(words)
    if script is not None:
        return server_words(script)
    for place, word in enumerate(words):
        if _STARTS.search(word):
            return _until_shell_operator(words[place + 1 :])
        if word.rpartition("/")[2] == "sglang" and words[place + 1 : place + 2] == ["serve"]:
            return _until_shell_operator(words[place + 2 :])
    first = next((place for place, word in enumerate(words) if word.startswith("--")), len(words))
    return list(words[first:])


def is_server(words: Sequence[str]) -> bool:
    """Tell whether a command starts SGLang's server."""
    script = _script(words)
    if script is not None:
        return is_server(script)
    return any(
        _STARTS.search(word) is not None
        or (word.rpartition("/")[2] == "sglang" and list(words[place + 1 : place + 2]) == ["serve"])
        for place, word in enumerate(words)
    )


def _script(words: Sequence[str]) -> list[str] | None:
    """Return the words of the script that a shell is given, or None."""
    shells = {"sh", "bash", "dash", "zsh", "ash"}
    for place, word in enumerate(words):
        if word.rpartition("/")[2] in shells:
            for option in range(place + 1, min(place + 4, len(words) - 1)):
                if words[option].startswith("-") and words[option].endswith("c"):
                    return split(words[option + 1])
    return None


def _until_shell_operator(words: Sequence[str]) -> list[str]:
    stops = {"&&", "||", "|", ";", "&", ">", ">>", "2>&1", "2>", "&>", "<"}
    found: list[str] = []
    for word in words:
        if word in stops:
            break
        if word.endswith(";") and not word.endswith("\\;"):
            found.append(word[:-1])
            break
        found.append(word)
    return found
