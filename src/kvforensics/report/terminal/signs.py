"""The sign, the words and the colour of each verdict, severity and end."""

from __future__ import annotations

from typing import NamedTuple


class Sign(NamedTuple):
    """A sign that is understood without its colour."""

    mark: str
    style: str
    words: str


LOUD = frozenset({"no_op_for_pool", "no_op", "adverse", "overridden"})
VERDICTS = {
    "no_op_for_pool": Sign("✘", "bold red", "no effect on the pool"),
    "no_op": Sign("✘", "bold red", "no effect"),
    "clamped": Sign("⇥", "bold yellow", "cut to a limit"),
    "overridden": Sign("↺", "bold yellow", "never applied"),
    "adverse": Sign("▼", "bold red", "made it worse"),
    "confounded": Sign("≈", "bold magenta", "one of several possible causes"),
    "unproven": Sign("?", "bold", "the log does not tell"),
    "effective": Sign("✔", "bold green", "worked"),
}
SEVERITIES = {
    "info": Sign("●", "blue", "note"),
    "warning": Sign("▲", "bold yellow", "warning"),
    "error": Sign("✖", "bold red", "error"),
}
ENDS = {
    "running": Sign("", "green", "still running"),
    "stopped": Sign("", "cyan", "stopped"),
    "restarted": Sign("", "cyan", "restarted"),
    "crashed": Sign("", "bold red", "crashed"),
    "killed": Sign("", "bold red", "killed"),
    "oom": Sign("", "bold red", "out of memory"),
    "failed_start": Sign("", "bold red", "failed to start"),
    "unknown": Sign("", "yellow", "end not in the log"),
}
STRANGE = Sign("?", "bold", "")
