"""Everything that is kept of the inputs while they are read, block by block, in bounded memory.

Rare events are kept whole, but floods are not: what repeats itself without end is kept as its first and its
last event with a count between, and systemd's words about units that are no SGLang server are dropped once
there are many.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import TYPE_CHECKING, Any

import polars as pl
from msgspec import Struct, field
from msgspec.structs import replace

from kvforensics import compiled
from kvforensics.carriers import History, expand, open_source, reading_order, side_by_side
from kvforensics.errors import InputError, NothingReadableError
from kvforensics.launches.kinds import RANK_BEGINS, UNIT_GONE, UNIT_START
from kvforensics.launches.services import relevant
from kvforensics.parsing import Parser
from kvforensics.records import Origins, Source
from kvforensics.samples import ALIKE, Samples
from kvforensics.samples.blocks import NO_SUMS, Sums

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from kvforensics.events import Event, EventBlock, ShapeCount
    from kvforensics.options import Options
    from kvforensics.parsing.parser import Prepared

SAME_KEPT = 20  # equal events of one process in a row of a launch
KIND_KEPT = 1000  # events of one kind and process in a row of a launch
MOST_EVENTS = 50_000  # before events that concern no SGLang server are dropped
FIRST_RECORDS = 1_000  # of a source, that are read before the others
ENOUGH_RECORDS = 20_000  # of thinned blocks, that are read together
AT_ONCE = 2  # blocks that are read at the same time
WAITING = 3  # blocks that are held at most beside the one that is awaited
MOST_SHAPES = 20_000  # distinct unknown shapes that are told apart
OTHER_SHAPES = "(other shapes)"
_MARKS = UNIT_START | UNIT_GONE | RANK_BEGINS | {"server_args", "summary", "ready", "kernel_oom_kill"}


class Intake(Struct):
    """What the inputs held."""

    sources: list[Source] = field(default_factory=list)
    origins: Origins = field(default_factory=Origins)
    events: list[Event] = field(default_factory=list)
    samples: Samples = field(default_factory=Samples)
    shapes: dict[str, ShapeCount] = field(default_factory=dict)
    records: int = 0
    understood: int = 0
    unknown: int = 0

    def add(self, block: EventBlock, floods: Floods, sums: Sums = NO_SUMS) -> None:
        """Keep what a block says."""
        kept = list(chain.from_iterable(floods.take(event) for event in block.rare))
        self.events += kept
        self.samples.add(block, {event.line for event in kept if "repeated" not in event.fields}, sums)
        self.records += block.records
        self.understood += block.understood
        self.unknown += block.unknown
        for shape in block.shapes.values():
            self.count_shape(shape)

    def count_shape(self, shape: ShapeCount) -> None:
        """Count an unknown shape; past MOST_SHAPES distinct ones the others are counted together."""
        name = shape.shape
        if name not in self.shapes and len(self.shapes) >= MOST_SHAPES:
            name = OTHER_SHAPES
        known = self.shapes.get(name)
        if known is None:
            self.shapes[name] = replace(shape, shape=name)
        else:
            known.count += shape.count


def read(paths: Iterable[str], options: Options) -> Intake:
    """Read all inputs. An unreadable one becomes damage of its source.

    Raises NothingReadableError when none could be read.
    """
    intake = Intake(samples=Samples(over_time=options.load))
    failures: list[InputError] = []
    expanded = expand(paths)
    intake.sources = [Source(path) for path in expanded]
    history = History(intake.origins) if len(expanded) > 1 else None
    try:
        for index in reading_order(expanded, options):
            try:
                _read_one(index, options, intake, history)
            except InputError as error:
                failures.append(error)
                if options.warn is not None:
                    options.warn(str(error))
                intake.sources[index].add_damage("unreadable", 1)
    finally:
        if history is not None:
            history.close()
    if failures and len(failures) == len(intake.sources):
        first = failures[0]
        raise NothingReadableError(first.message, where=first.where, hint=first.hint)
    if not intake.sources:
        raise NothingReadableError(
            "no input was found", hint="name a file, a folder, or - for standard input"
        )
    return intake


def _read_one(index: int, options: Options, intake: Intake, history: History | None) -> None:
    opened = open_source(intake.sources[index].path, options, intake.origins, index)
    intake.sources[index] = opened.source
    parser = Parser(index, opened.source, intake.origins, options.tz, () if options.load else ALIKE)
    floods = Floods(intake.origins)
    if history is None:
        opened.thin_by(parser)
        frames = iter(opened)
    else:  # which wants to know every record
        fresh = side_by_side(
            history.fresh(opened, opened.source), parser.thinned_frame, lambda: parser.may_thin
        )
        frames = (frame if thin is None else thin for frame, thin in fresh)
    take_in(frames, parser, floods, intake)
    intake.add(parser.close(), floods)
    intake.events += floods.close()


def take_in(
    frames: Iterable[pl.DataFrame], parser: Parser, floods: Floods, intake: Intake, *, threads: bool = True
) -> None:
    """Read the record frames of one source, so far as they come, into the intake.

    While a frame is awaited, those before it are read in threads, and added up in their order. Without
    `threads` one is read after the other, which takes a tenth less of one core, and less memory.
    """
    keeping = _Keeping(floods, intake)
    if not threads:
        for frame in _by_and_by(frames, parser):
            keeping.add(parser.feed(frame))
        return

    def finish(prepared: Future[Prepared]) -> EventBlock:
        return parser.finish(prepared.result())

    def sums(block: Future[EventBlock]) -> Sums:
        return intake.samples.sums(block.result())

    def add(block: Future[EventBlock], summed: Future[Sums]) -> None:
        keeping.add(block.result(), summed.result())

    with (
        ThreadPoolExecutor(AT_ONCE) as preparing,
        ThreadPoolExecutor(1) as finishing,
        ThreadPoolExecutor(AT_ONCE) as summing,
        ThreadPoolExecutor(1) as adding,
    ):
        most = WAITING if compiled.module() is not None else 0  # expressions take more memory
        waiting: deque[Future[None]] = deque()
        for frame in _by_and_by(_gathered(frames), parser):
            block = finishing.submit(finish, preparing.submit(parser.prepare, frame))
            waiting.append(adding.submit(add, block, summing.submit(sums, block)))
            if len(waiting) > most or not parser.knows_layouts:
                waiting.popleft().result()
        for added in waiting:
            added.result()


def _gathered(frames: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield the frames; of thinned ones, of which little is left, several are joined."""
    held: list[pl.DataFrame] = []
    for frame in frames:
        thin = "left_out" in frame.columns
        if thin:
            held.append(frame)
        if held and (not thin or sum(one.height for one in held) > ENOUGH_RECORDS):
            yield pl.concat(held)
            held = []
        if not thin:
            yield frame
    if held:
        yield pl.concat(held)


def _by_and_by(frames: Iterable[pl.DataFrame], parser: Parser) -> Iterator[pl.DataFrame]:
    """Yield the frames, in small pieces while no layout is known: a few lines teach what the rest needs."""
    size = FIRST_RECORDS
    for frame in frames:
        rest = frame
        while rest.height > size and not parser.knows_layouts:
            yield rest[:size]
            rest, size = rest[size:], 2 * size
        yield rest


class _Keeping:
    """Adds blocks to an intake, and forgets events that concern no SGLang server when there are many."""

    def __init__(self, floods: Floods, intake: Intake) -> None:
        self._floods, self._intake = floods, intake
        self._most = MOST_EVENTS

    def add(self, block: EventBlock, sums: Sums = NO_SUMS) -> None:
        """Take the next block."""
        intake = self._intake
        intake.add(block, self._floods, sums)
        if len(intake.events) > self._most:
            stretches = intake.samples.stretches()
            intake.events = relevant(intake.events, intake.sources, intake.origins, stretches)
            self._most = max(MOST_EVENTS, 2 * len(intake.events))


class Floods:
    """Lets through what is rare, and of a flood its first events and its last.

    The last one's field `repeated` is the number of events before it that were left out.
    """

    def __init__(self, origins: Origins) -> None:
        self._origins = origins
        self._writers: dict[Hashable, _Writer] = {}

    def take(self, event: Event) -> Sequence[Event]:
        """Return the events to keep now, in order."""
        origin = self._origins[event.origin]
        about = event.fields.get("unit") if event.kind.startswith("unit_") else None
        name = (origin.host, about or origin.unit or origin.container or origin.ident)
        writer = self._writers.get(name)
        if event.kind in _MARKS:
            return [event] if writer is None else [*writer.close(), event]
        if writer is None:
            writer = self._writers[name] = _Writer()
        return [event] if writer.keeps(event) else []

    def close(self) -> list[Event]:
        """Return what was held back, and begin to count anew."""
        held = [event for writer in self._writers.values() for event in writer.close()]
        return sorted(held, key=lambda event: event.line)

    def counts(self) -> list[tuple[Any, list[Any], list[Any]]]:
        """Return what was counted and what is held back, for `resume`: lists and tuples of plain values."""
        return [(name, *writer.counts()) for name, writer in self._writers.items()]

    def resume(self, counts: Iterable[tuple[Any, Iterable[Any], Iterable[Any]]]) -> None:
        """Go on from what `counts` returned."""
        for name, kinds, held in counts:
            self._writers[name] = _Writer(dict(kinds), {key: (event, number) for key, event, number in held})


class _Writer:
    """Counts the events of one unit, container or program between two of its starts."""

    def __init__(
        self, counts: dict[Hashable, int] | None = None, held: dict[Hashable, tuple[Event, int]] | None = None
    ) -> None:
        self._counts = counts or {}
        self._held = held or {}

    def counts(self) -> tuple[list[Any], list[Any]]:
        """Return the counts by key, and the events held back with theirs."""
        return list(self._counts.items()), [(key, *held) for key, held in self._held.items()]

    def keeps(self, event: Event) -> bool:
        """Whether to keep an event now; otherwise it is held back as the last of its flood so far."""
        many = self._count(event.kind) > KIND_KEPT
        key = event.kind if many else (event.kind, event.ranks, _frozen(event.fields))
        if not many and self._count(key) <= SAME_KEPT:
            return True
        _, left_out = self._held.get(key, (event, -1))
        self._held[key] = (event, left_out + 1)
        return False

    def close(self) -> list[Event]:
        """Return what was held back, with the number of events that were left out before it."""
        held = [
            replace(event, fields={**event.fields, "repeated": left_out})
            for event, left_out in self._held.values()
        ]
        self._counts.clear()
        self._held.clear()
        return sorted(held, key=lambda event: event.line)

    def _count(self, key: Hashable) -> int:
        self._counts[key] = self._counts.get(key, 0) + 1
        return self._counts[key]


def _frozen(value: Any) -> Hashable:
    if isinstance(value, dict):
        return tuple((key, _frozen(item)) for key, item in sorted(value.items()))
    if isinstance(value, list | tuple):
        return tuple(_frozen(item) for item in value)
    return value if isinstance(value, str | int | float | bool | None) else repr(value)
