"""The unit of a text stream that carries none.

Short journal text and syslog name the program and its pid, not the unit; systemd's own lines name the unit.
So a process group is of the unit that systemd started right before the group's first word. Other units start
in between: a stream keeps to the unit that most of its groups were started as, and another one counts only
where its name says SGLang or its server ran beside the usual one.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from kvforensics.launches import processes
from kvforensics.launches.keys import Key, says_sglang
from kvforensics.launches.kinds import RANK_BEGINS, START_FAILURES, UNIT_START, is_systemd, proves_sglang
from kvforensics.launches.order import arrange

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from kvforensics.launches.items import Item
    from kvforensics.records import Origins, Source

START_WITHIN_S = 900  # a server's first line follows systemd's word about its start within this
_FIRST_WORDS = RANK_BEGINS | START_FAILURES | {"server_args"}

Owner: TypeAlias = tuple[Key, int | None]  # a stream and one of its process groups


def of_streams(
    keyed: Sequence[tuple[Key | None, Item]], sources: Sequence[Source], origins: Origins
) -> dict[Owner, Key]:
    """Return the unit of each stream's process groups; the group None stands for the rest of a stream."""
    streams = {
        key
        for key, item in keyed
        if key is not None and key.stream is not None and (item.hot is not None or _speaks(item))
    }
    names: dict[Owner, Key] = {}
    for host in sorted({key.host for key in streams}, key=lambda host: host or ""):
        mine: dict[int, list[Item]] = {}
        owners: dict[int, Key] = {}
        for key, item in keyed:
            if key is None or key.host != host:
                continue
            about = item.event is not None and is_systemd(item.event.kind)
            if key in streams or (key.unit and about):
                mine.setdefault(item.source, []).append(item)
                owners[id(item)] = key
        ordered = arrange(mine, sources, origins)
        for stream in streams:
            if stream.host == host:
                processes.group([item for item in ordered if owners[id(item)] == stream], origins)
        claims = _Claims()
        for item in ordered:
            claims.take(item, owners[id(item)])
        names.update({owner: Key(host=host, unit=unit) for owner, unit in claims.settled().items()})
    return names


class _Claims(Struct):
    """Which start by systemd each process group claims by speaking next."""

    named: set[str] = field(default_factory=set)
    waiting: list[tuple[str, Item]] = field(default_factory=list)
    offers: dict[Owner, list[str]] = field(default_factory=dict)  # units that waited when a group first spoke
    spans: dict[Owner, tuple[datetime, datetime]] = field(default_factory=dict)

    def take(self, item: Item, key: Key) -> None:
        """Look at the next item of a host."""
        if key.unit is not None:
            self.named.add(key.unit)
            if item.kind in UNIT_START:
                self.waiting = [pair for pair in self.waiting if pair[0] != key.unit and _soon(pair[1], item)]
                self.waiting.append((key.unit, item))
            return
        owner = (key, item.group)
        if item.at is not None:
            first, _ = self.spans.get(owner, (item.at, item.at))
            self.spans[owner] = (first, item.last_at or item.at)
        if not _speaks(item) or (owner in self.offers and item.group is not None):
            return
        if item.group is None and item.kind not in _FIRST_WORDS and owner in self.offers:
            return
        offered = [name for name, start in self.waiting if _soon(start, item)]
        self.offers.setdefault(owner, []).extend(offered)
        named = [name for name in offered if says_sglang(name)]
        chosen = named[0] if named else offered[-1] if offered else None  # who was started first speaks first
        self.waiting = [pair for pair in self.waiting if pair[0] != chosen]

    def settled(self) -> dict[Owner, str]:
        """Return the unit of every group that has one."""
        streams = {key for key, _ in self.offers}
        settled: dict[Owner, str] = {}
        for stream in sorted(streams, key=lambda key: key.stream or ""):
            owners = [owner for owner in self.offers if owner[0] == stream]
            votes = Counter(name for owner in owners for name in self.offers[owner])
            main = self._main(votes, alone=len(streams) == 1)
            if main is None:
                continue
            settled[stream, None] = main
            usual = [owner for owner in owners if main in self.offers[owner] or not self.offers[owner]]
            for owner in owners:
                other = self._other(owner, main, usual)
                if other is not None:
                    settled[owner] = other
        return settled

    def _main(self, votes: Counter[str], *, alone: bool) -> str | None:
        """Return the unit that a stream usually is: the one started before most of its groups."""
        if votes:
            return min(votes, key=lambda unit: (-votes[unit], not says_sglang(unit), unit))
        likely = {unit for unit in self.named if says_sglang(unit)} or self.named
        return next(iter(likely)) if alone and len(likely) == 1 else None

    def _other(self, owner: Owner, main: str, usual: Sequence[Owner]) -> str | None:
        """Return the unit of a group that is not the stream's usual one."""
        offered = self.offers[owner]
        named = [name for name in offered if says_sglang(name)]
        if not offered or (main in offered and not named):
            return None
        if named:
            return named[0] if named[0] != main else None
        beside = any(_overlap(self.spans.get(owner), self.spans.get(one)) for one in usual)
        return offered[-1] if beside else None


def _speaks(item: Item) -> bool:
    """Whether an item shows that an SGLang server wrote it."""
    if item.event is not None:
        return proves_sglang(item.event.kind)
    return item.run is not None and bool(item.run["ours"])


def _soon(start: Item, item: Item) -> bool:
    if start.at is None or item.at is None:
        return True
    return abs((item.at - start.at).total_seconds()) <= START_WITHIN_S


def _overlap(a: tuple[datetime, datetime] | None, b: tuple[datetime, datetime] | None) -> bool:
    return a is not None and b is not None and a[0] < b[1] and b[0] < a[1]
