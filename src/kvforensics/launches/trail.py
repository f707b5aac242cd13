"""What happened around the launches of a service: edits and restarts by sudo, reloads, the kernel's kills."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from kvforensics.launches.order import arrange

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kvforensics.launches.group import Group
    from kvforensics.launches.items import Item
    from kvforensics.launches.keys import Key
    from kvforensics.launches.start import Start
    from kvforensics.launches.starts import Cutter
    from kvforensics.records import Origins, Source

_UNIT = re.compile(r"([A-Za-z0-9:_.@\\-]+)\.service\b")
_RESTART = re.compile(r"systemctl\s.*?\b(?:try-|reload-or-)?restart\b\s*(.*)")
_HOST_COMMAND = re.compile(r"\b(?:daemon-reload|daemon-reexec|reboot|shutdown|poweroff|kexec)\b")
_SERVER_PROCESS = re.compile(r"sglang|python|pt_main|ray::")
_LINGER_S = 60  # a kill is about a launch that ended this long before at most


class _Service(Protocol):
    group: Group
    cutter: Cutter


def of_service(group: Group, cutter: Cutter, sources: Sequence[Source], origins: Origins) -> list[Item]:
    """Return, in order, the items of a service that belong to no launch, and its host's that concern it."""
    mine: dict[int, list[Item]] = {}
    for item in (*cutter.outside, *(item for item in group.host_wide if _concerns(item, group.key))):
        mine.setdefault(item.source, []).append(item)
    return arrange(mine, sources, origins)


def once(items: Iterable[Item]) -> list[Item]:
    """Return items without those that say again what another one said at that time."""
    kept: dict[object, Item] = {}
    for item in items:
        event = item.event
        known = event is not None and event.at is not None
        kept.setdefault((event.kind, event.at, event.text) if known and event else id(item), item)
    return list(kept.values())


def _concerns(item: Item, key: Key) -> bool:
    event = item.event
    if event is None or event.kind == "kernel_oom_kill":
        return False
    if event.kind not in ("sudo_command", "sudo_continued", "audit_command"):
        return True
    command = str(event.fields.get("command", ""))
    stem = stem_of(key)
    if stem is None:
        return True
    if stem in command or _HOST_COMMAND.search(command):
        return True
    return "sglang" in command.lower() and not _UNIT.search(command)


def stem_of(key: Key) -> str | None:
    """Return a unit's name without its ending, or the container's."""
    if key.unit is None:
        return key.container
    return key.unit.rpartition(".")[0] or key.unit


class Restarts:
    """The `systemctl restart` commands of one service, to be asked start by start."""

    def __init__(self, outside: Sequence[Item], key: Key) -> None:
        names = [name for name in (stem_of(key), "sglang") if name]
        self._items = [
            item
            for item in outside
            if item.kind == "sudo_command"
            and item.event is not None
            and (found := _RESTART.search(str(item.event.fields.get("command", "")))) is not None
            and any(name in found[1] for name in names)
        ]

    def between(self, start: Start, following: Start | None) -> bool:
        """Whether the service was told to restart after a start began and before the next one did."""
        if following is None:
            return False
        first, then = start.first_at, following.first_at
        for item in self._items:
            if item.at is None or first is None or then is None:
                if _stands_between(item, start, following):
                    return True
            elif first <= item.at <= then:
                return True
        return False


def _stands_between(item: Item, start: Start, following: Start) -> bool:
    """Compare lines of one source, where there are no times."""
    firsts = [next((i.line for i in s.items if i.source == item.source), None) for s in (start, following)]
    return firsts[0] is not None and firsts[1] is not None and firsts[0] <= item.line <= firsts[1]


def give_out_kills(services: Sequence[_Service], origins: Origins) -> None:
    """Give the kernel's OOM kills to the launch whose process they name, by pid, else by name and time."""
    lives: dict[str | None, _Lives] = {}
    done: set[int] = set()
    for service in services:
        for item in service.group.host_wide:
            if item.kind != "kernel_oom_kill" or id(item) in done:
                continue
            done.add(id(item))
            host = origins[item.origin].host
            if host not in lives:
                near = [s for s in services if s.group.key.host == host or host is None]
                lives[host] = _Lives([start for s in near for start in s.cutter.starts])
            killed = lives[host].killed(item)
            if killed is not None:
                _insert(killed, item)


class _Lives:
    """When the starts of a host lived, and with which processes."""

    def __init__(self, starts: Sequence[Start]) -> None:
        self._spans = {
            id(start): (
                start.first_at,
                max((item.last_at for item in start.items if item.last_at is not None), default=None),
            )
            for start in starts
        }
        self._starts = starts
        self._by_pid: dict[int, list[Start]] = {}
        for start in starts:
            for pid in start.pids:
                self._by_pid.setdefault(pid, []).append(start)

    def killed(self, item: Item) -> Start | None:
        """Return the start of which a process was killed, None where that is not certain."""
        assert item.event is not None
        pid, process = item.event.fields.get("pid"), str(item.event.fields.get("process", ""))
        named = [start for start in self._by_pid.get(pid, ()) if self._alive(start, item)] if pid else []
        if named:
            return named[-1]
        if not _SERVER_PROCESS.match(process):
            return None
        alive = [start for start in self._starts if self._alive(start, item)]
        dying = [start for start in alive if start.gone is not None or start.terminal is not None]
        candidates = dying or alive
        return candidates[0] if len(candidates) == 1 else None

    def _alive(self, start: Start, item: Item) -> bool:
        first, last = self._spans[id(start)]
        if item.at is None or first is None or last is None:
            return True
        return first <= item.at and (item.at - last).total_seconds() <= _LINGER_S


def _insert(start: Start, item: Item) -> None:
    """Put an item before the first one that is later; without times, where its line stands."""
    for n, other in enumerate(start.items):
        if other.run is not None:
            continue
        if other.at is not None and item.at is not None:
            later = other.at > item.at
        else:
            later = other.source == item.source and other.line > item.line
        if later:
            start.items.insert(n, item)
            return
    start.items.append(item)
