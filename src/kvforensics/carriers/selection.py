"""Which records were asked for (`--since`, `--until`, `--unit`, `--host`).

Only what is known to be something else is left out: a record without time, host or unit stays, and so do
sudo's, the kernel's and systemd's own, which belong to no service but say what happened to it.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from kvforensics.carriers.carrier import Context
    from kvforensics.records import Origin

_TRAIL = frozenset({"sudo", "su", "kernel", "audit", "systemd-journald", "systemd-oomd"})


class Selection:
    """Remembers which origins are wanted."""

    def __init__(self, context: Context) -> None:
        self._context = context
        options = context.options
        self._by_origin = bool(options.units or options.hosts)
        self._known: dict[int, bool] = {}

    def of(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the records that are wanted."""
        options = self._context.options
        if options.since is not None:
            frame = frame.filter(pl.col("at").is_null() | (pl.col("at") >= options.since))
        if options.until is not None:
            frame = frame.filter(pl.col("at").is_null() | (pl.col("at") <= options.until))
        if self._by_origin:
            wanted = [number for number in frame["origin"].unique() if self._wants(number)]
            frame = frame.filter(pl.col("origin").is_in(wanted))
        return frame

    def _wants(self, number: int) -> bool:
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = self._matches(self._context.origins[number])
        return known

    def _matches(self, origin: Origin) -> bool:
        options = self._context.options
        if options.hosts and origin.host is not None and not _any_match(origin.host, options.hosts):
            return False
        names = [name for name in (origin.unit, origin.container) if name is not None]
        if not options.units or not names or origin.ident in _TRAIL or origin.unit == "init.scope":
            return True
        return any(_any_match(name, options.units) for name in names)


def _any_match(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) or fnmatchcase(name, pattern + ".service") for pattern in patterns)
