"""Where the grammars are, and their texts."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

KIND = "kind"  # the rule whose alternatives are a grammar's kinds
PREFIX = ("prefix", "envelope", "glue")  # such a rule of the grammar `prefix`, and further ones
SETTINGS = "server_args"  # the grammar without kinds


@cache
def folder() -> Path:
    """Return the folder of the grammars: in the wheel beside this package, else the checkout's."""
    packaged = Path(__file__).parents[1] / "_grammars"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "grammars"


@cache
def names() -> tuple[str, ...]:
    """Return the names of the grammars that know kinds of line, in alphabetical order."""
    stems = (path.stem for path in folder().glob("*.lark"))
    return tuple(sorted(stem for stem in stems if re.search(r"(?m)^kind\s*:", text_of(stem))))


@cache
def text_of(name: str) -> str:
    """Return the text of a grammar, read once a process."""
    return (folder() / f"{name}.lark").read_text("utf-8")


def samples(name: str) -> list[str]:
    """Return the bodies of a grammar's packaged sample lines."""
    path = folder() / "samples" / f"{name}.txt"
    if not path.is_file():
        return []
    return [line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("# ")]
