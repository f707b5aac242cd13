"""From events and sample stretches to the launches of every service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from kvforensics.knowledge import VersionRange, within
from kvforensics.launches import processes, trail
from kvforensics.launches.admission import longest_prompt
from kvforensics.launches.beginnings import is_complete, started_at
from kvforensics.launches.config import config, server_command
from kvforensics.launches.copies import without_copies
from kvforensics.launches.ends import End, end_of
from kvforensics.launches.history import ServiceHistory
from kvforensics.launches.items import by_source
from kvforensics.launches.kinds import is_systemd, proves_sglang
from kvforensics.launches.launch import Launch
from kvforensics.launches.memory import by_rank, memory
from kvforensics.launches.order import arrange
from kvforensics.launches.pools import pools
from kvforensics.launches.requests import requests
from kvforensics.launches.services import split
from kvforensics.launches.starts import Cutter
from kvforensics.records import Place
from kvforensics.settings import version_range

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from kvforensics.config_sources import ConfigSource
    from kvforensics.events import Event
    from kvforensics.launches.group import Group
    from kvforensics.launches.launch import Pool
    from kvforensics.launches.start import Start
    from kvforensics.records import Origins, Source
    from kvforensics.samples import Samples

    Handed = Callable[[VersionRange, str | None], ConfigSource | None]


def build(
    sources: Sequence[Source],
    origins: Origins,
    events: Iterable[Event],
    samples: Samples | None = None,
    handed: Handed | None = None,
) -> list[ServiceHistory]:
    """Return every service's history, sorted by id.

    `events` are all rare events in the order in which their sources were read, `samples` what was taken
    out of the hot frames, `handed` gives the unit file (or the like) that the user has for a release and a
    unit, or None. The order of the inputs shows only in `sources` and in places.
    """
    stretches = None if samples is None else samples.stretches()
    records = None if samples is None else samples.records()
    groups = split(by_source(events, stretches, records), sources, origins)
    makers = [_Maker(group, sources, origins, handed) for group in groups]
    trail.give_out_kills(makers, origins)
    histories = [maker.history() for maker in makers if maker.cutter.starts]
    return sorted(_with_unique_ids(histories, makers), key=lambda history: history.id)


def _with_unique_ids(histories: Sequence[ServiceHistory], makers: Sequence[_Maker]) -> list[ServiceHistory]:
    """Keep apart services of one file that the contract's forms of an id would give the same one."""
    named = [maker for maker in makers if maker.cutter.starts]
    count: dict[str, int] = {}
    for history in histories:
        count[history.id] = count.get(history.id, 0) + 1
    result = []
    for history, maker in zip(histories, named, strict=True):
        key = maker.group.key
        more = [part for part in (key.host, key.unit or key.container or key.stream) if part]
        clash = count[history.id] > 1 and more
        result.append(replace(history, id=f"{history.id}:{'/'.join(more)}") if clash else history)
    return result


class _Told(Struct, frozen=True):
    """What several fields of a launch are made of."""

    events: tuple[Event, ...]
    summaries: tuple[Event, ...]
    version: VersionRange


class _Maker:
    """Makes the launches of one service."""

    def __init__(
        self,
        group: Group,
        sources: Sequence[Source],
        origins: Origins,
        handed: Handed | None,
    ) -> None:
        self.group = group
        self.sources = sources
        self.origins = origins
        self.handed = handed
        self.items = arrange(group.items, sources, origins)
        self.place_of = {id(item): place for place, item in enumerate(self.items)}
        self._group_processes()
        self.cutter = Cutter(origins)
        self.cutter.cut(self.items)
        self.cutter.starts, self.copies = without_copies(self.cutter.starts)

    def _group_processes(self) -> None:
        """Tell servers apart by pid, but only where no record names its invocation or stream."""
        own = [item for item in self.items if not is_systemd(item.kind)]
        told = (self.origins[item.origin] for item in own)
        if any(origin.invocation or (origin.stream and origin.unit) for origin in told):
            for item in own:
                item.group = None
        else:
            processes.group(own, self.origins)

    def place(self, source: int, line: int, cursor: str | None = None) -> Place:
        """Return where a line stands."""
        return Place(self.sources[source].path, line, cursor)

    def of(self, event: Event) -> Place:
        """Return where an event stands."""
        return self.place(event.source, event.line, event.cursor)

    def history(self) -> ServiceHistory:
        """Return the service with all its launches."""
        starts = self.cutter.starts
        outside = trail.of_service(self.group, self.cutter, self.sources, self.origins)
        if self.copies:
            outside = trail.once(outside)
        restarts = trail.Restarts(outside, self.group.key)
        launches: list[Launch] = []
        stretches: list[tuple[int, int, int, str]] = []
        ended: datetime | None = None
        for number, start in enumerate(starts):
            following = starts[number + 1] if number + 1 < len(starts) else None
            end = end_of(start, following, told_to_restart=restarts.between(start, following))
            launch = self._launch(f"L{number + 1}", start, end)
            launches.append(replace(launch, downtime_s=_between(ended, launch.ready_at)))
            ended = launch.ended_at
            stretches.extend(
                (item.source, item.after_line, item.origin, launch.id)
                for item in start.items
                if item.hot is not None
            )
        key = self.group.key
        return ServiceHistory(
            id=self._id(starts),
            host=key.host,
            unit=key.unit or key.container,
            launches=tuple(launches),
            trail=tuple(item.event for item in outside if item.event is not None),
            sources=tuple(sorted(self.group.items)),
            stretches=tuple(stretches),
            copies=tuple((f"L{starts.index(copy.of) + 1}", copy.first) for copy in self.copies),
        )

    def _id(self, starts: Sequence[Start]) -> str:
        key = self.group.key
        name = key.unit or key.container
        if key.host is not None and name is not None:
            return f"{key.host}/{name}"
        items = [item for start in starts for item in start.items]
        telling = (item for item in items if item.event is not None or item.hot is not None)
        first = next(telling, items[0] if items else None)  # a README beside the logs tells nothing
        return name or "-" if first is None else self.sources[first.source].path

    def _launch(self, number: str, start: Start, end: End) -> Launch:
        told = self._told(start)
        key = self.group.key
        handed = None if self.handed is None else self.handed(told.version, key.unit or key.container)
        settings = config(start, self.origins, told.version, self.place, handed)
        ranks = by_rank(told.events)
        own = pools(ranks, told.events, settings.values, self.of)
        first = told.summaries[0] if told.summaries else None
        tokens = _least(told.summaries, "pool_tokens")
        if tokens is None:
            tokens = _pool_tokens(own)
        context = _context_len(told, settings.values.get("context_length"))
        return Launch(
            id=number,
            config=settings,
            started_at=started_at(start, self.items, self.place_of),
            ready_at=None if start.ready is None else start.ready.at,
            ended_at=end.at,
            last_at=start.last_at,
            end=end.kind,
            engine=_engine(told.events),
            version=told.version,
            device=None if first is None else first.fields.get("device"),
            pool_tokens=tokens,
            context_len=context,
            max_running_requests=_least(told.summaries, "max_running_requests"),
            longest_prompt_tokens=longest_prompt(
                tokens, context, told.version, settings.values, dated=_dated(told.events)
            ),
            free_gib=_least(told.summaries, "free_gib"),
            memory=memory(ranks, told.version),
            pools=own,
            requests=requests((item.hot for item in start.items if item.hot is not None), self.place),
            complete_start=is_complete(start),
            events=told.events,
            evidence=self._evidence(start, end, settings.place, first, own),
        )

    def _told(self, start: Start) -> _Told:
        events = tuple(item.event for item in start.items if item.event is not None)
        values = start.server_args.fields if start.server_args is not None else {}
        version = version_range(
            tuple(values.get("values") or ()),
            truncated=bool(values.get("truncated")),
            form=values.get("form"),
            events=events,
            flags=server_command(start, self.origins)[0] or (),
        )
        summaries = tuple(event for event in events if event.kind == "summary")
        return _Told(events, summaries, version or VersionRange())

    def _evidence(
        self,
        start: Start,
        end: End,
        settings: Place | None,
        summary: Event | None,
        own: Sequence[Pool],
    ) -> dict[str, Place]:
        ready = start.ready.event if start.ready is not None else None
        loads = [item.event for item in start.items if item.kind == "load_begin"]
        places: dict[str, Place | None] = {
            "config": settings,
            "pool_tokens": self.of(summary) if summary is not None else _place_of(own),
            "ready": self.of(ready) if ready is not None else None,
            "end": self.of(end.event) if end.event is not None else None,
            "started": self.of(start.unit_start) if start.unit_start is not None else None,
            "before_load": self.of(loads[0]) if loads and loads[0] is not None else None,
        }
        return {name: place for name, place in places.items() if place is not None}


def _engine(events: Iterable[Event]) -> str:
    """Return the engine: another one only where its name is there and nothing of SGLang's."""
    named = [str(e.fields.get("engine")).lower() for e in events if e.kind == "other_engine"]
    return named[0] if named and not any(proves_sglang(e.kind) for e in events) else "sglang"


def _least(events: Iterable[Event], name: str) -> Any:
    return min((e.fields[name] for e in events if e.fields.get(name) is not None), default=None)


def _context_len(told: _Told, asked: Any) -> int | None:
    """Return the context length of the summaries that are whole: a line may be cut within its last number.

    available_gpu_mem follows from 0.4.7.post1 (managers/scheduler.py). Where the release is unknown, a number
    that begins like the one asked for tells.
    """
    has_more = within(told.version, "0.4.7.post1", None)
    lengths: list[int] = [
        e.fields["context_len"]
        for e in told.summaries
        if e.fields.get("context_len") is not None
        and (
            e.fields.get("free_gib") is not None
            or not (has_more or (has_more is None and _begins(asked, e.fields["context_len"])))
        )
    ]
    return min(lengths, default=None)


def _begins(whole: Any, part: Any) -> bool:
    return isinstance(whole, int) and whole != part and str(whole).startswith(str(part))


def _pool_tokens(own: Sequence[Pool]) -> int | None:
    """Return the target's own tokens: of a hybrid the full pool's, of an all-window model the window's."""
    for role in ("target", "full", "swa"):
        found = [pool.tokens for pool in own if pool.role == role and pool.tokens is not None]
        if found:
            return found[0]
    return None


def _place_of(own: Sequence[Pool]) -> Place | None:
    return next((pool.place for pool in own if pool.role in ("target", "full", "swa")), None)


def _between(ended: datetime | None, ready: datetime | None) -> float | None:
    """Return the seconds without service; None where the clock was set back between."""
    if ended is None or ready is None or ready < ended:
        return None
    return round((ready - ended).total_seconds(), 6)


def _dated(events: Iterable[Event]) -> bool:
    return any(event.inner_at is not None and event.inner_at.year > 1970 for event in events)  # noqa: PLR2004
