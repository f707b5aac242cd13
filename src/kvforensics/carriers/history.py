"""Several inputs as one history: what two of them hold is counted once.

A record is the same as one of another input when the journal gave both the same cursor; else when text and
time agree at the coarser of both precisions, and whatever both inputs know of host, container and pid. The
second of two equal records of one input is then the second in the other. What syslog made of a journal's
records has other times (`relays`). Where neither host nor container can
be compared and times are whole seconds, one record proves little: fifty in a row must agree, or the whole
input. So it is in the first and the last second of an input, where a rotated series is cut. Records of one
input are never compared with each other.

Kept of each input are fingerprints, 64 bytes a record, in memory up to `MEMORY_BYTES` and beyond that
in temporary files. Only those that overlap in time are looked at, one chunk after another.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import polars as pl
from msgspec import Struct, field

from kvforensics.carriers.archive import split_member
from kvforensics.carriers.fingerprints import BASES, SECOND_US, Fingerprints, Knowledge
from kvforensics.carriers.opening import carrier_of
from kvforensics.carriers.relays import LAG_S, Relay

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kvforensics.options import Options
    from kvforensics.records import Origins, Source

MEMORY_BYTES = 64 << 20
RUN = 50  # records in a row that must agree where one proves little: replicas start alike
MOST_MEMBERS = 64  # of archives, that are opened once more to see what they are
HELD_RECORDS = 200_000  # that wait for the rest of their second
_RANKS = (
    "journal-export",
    "journal-json",
    "journal-verbose",
    "docker-json",
    "cri",
    "logs-json",
    "docker-text",
    "compose",
    "syslog",
    "journal-short",
    "slurm",
    "plain",
)


def reading_order(paths: Sequence[str], options: Options) -> list[int]:
    """Return the places of the inputs in the order in which to read them: what knows most comes first.

    What can be read only once (standard input, a pipe) comes before all others. Of very many members of
    archives the carriers are not looked up.
    """
    if len(paths) < 2:  # noqa: PLR2004
        return list(range(len(paths)))
    members = [path for path in paths if split_member(path) is not None]
    blind = set(members) if len(members) > MOST_MEMBERS else set()
    return by_knowledge(["plain" if path in blind else carrier_of(path, options) for path in paths])


def by_knowledge(carriers: Sequence[str | None]) -> list[int]:
    """Return the places of inputs of these carriers in the order in which to read them."""
    rank: dict[str | None, int] = {name: place for place, name in enumerate(_RANKS, 1)}
    return sorted(range(len(carriers)), key=lambda place: (rank.get(carriers[place], 0), place))


_Span: TypeAlias = tuple[int, int]


class _Input(Struct):
    """The fingerprints of one input, in chunks that know their span."""

    knowledge: Knowledge
    chunks: list[tuple[dict[str, _Span], pl.DataFrame | Path]] = field(default_factory=list)

    def edges(self, basis: str) -> tuple[int, ...]:
        """Return the first and the last second: a rotated series is cut anywhere within one."""
        spans = [span[basis] for span, _ in self.chunks if basis in span]
        return (min(spans)[0] // SECOND_US, max(end for _, end in spans) // SECOND_US) if spans else ()

    def overlaps(self, basis: str, span: _Span) -> bool:
        """Tell whether any chunk holds times of a span."""
        return any(_meet(own, basis, span) for own, _ in self.chunks)

    def near(self, basis: str, span: _Span) -> Iterator[tuple[int, pl.DataFrame]]:
        """Yield the chunks that hold times of a span, and their numbers."""
        for number, (spans, chunk) in enumerate(self.chunks):
            if _meet(spans, basis, span):
                yield number, chunk if isinstance(chunk, pl.DataFrame) else pl.read_ipc(chunk)


def _meet(spans: dict[str, _Span], basis: str, span: _Span) -> bool:
    return basis in spans and spans[basis][0] <= span[1] and spans[basis][1] >= span[0]


def _within(seconds: pl.Series, edges: tuple[int, ...], slack: int) -> pl.Series:
    """Tell which seconds are not those of the edges, nor nearer to them than the slack."""
    near = [edge + step for edge in edges for step in range(-slack, slack + 1)]
    return ~seconds.is_in(near).fill_null(value=False)


def _spans(marks: pl.DataFrame) -> dict[str, _Span]:
    """Return from when to when the records of a chunk are, in whole seconds, by each clock that they have."""
    spans: dict[str, _Span] = {}
    for basis in BASES:
        first, last = marks[basis].min(), marks[basis].max()
        if isinstance(first, int) and isinstance(last, int):
            spans[basis] = (first // SECOND_US * SECOND_US, last // SECOND_US * SECOND_US + SECOND_US - 1)
    return spans


class _Agreement(NamedTuple):
    """Which of some records other inputs hold."""

    proven: pl.Series  # one by one
    likely: pl.Series  # by a time and a text that prove little, the proven ones too
    inside: pl.Series  # of the likely ones, those not in the first or last second of the other input


class History:
    """Remembers the records of the inputs read so far. Close it to remove its temporary files."""

    def __init__(self, origins: Origins) -> None:
        self._origins = origins
        self._inputs: list[_Input] = []
        self._size = 0
        self._files = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def close(self) -> None:
        """Forget everything."""
        self._inputs.clear()
        if self._folder is not None:
            self._folder.cleanup()

    def remember(self, marks: pl.DataFrame, source: Source) -> None:
        """Take the fingerprints of an input that was read before, as far as they were kept."""
        own = _Input(Fingerprints(self._origins, source).knowledge(marks))
        self._remember(own, marks)
        self._inputs.append(own)

    def fresh(
        self, frames: Iterable[pl.DataFrame], source: Source, origins: Origins | None = None
    ) -> Iterator[pl.DataFrame]:
        """Yield the records that no other input gave; `source.repeated` counts the others.

        The frames must be of one input, in its order; read all of them before the next input begins.
        `origins` are its own where it does not share those of the others.
        """
        prints = Fingerprints(self._origins if origins is None else origins, source)
        own: _Input | None = None
        runs, relays = _Runs(), [Relay() for _ in self._inputs]
        for frame, marks in _whole_seconds(frames, prints):
            if own is None:
                own = _Input(prints.knowledge(marks))
            marked = pl.concat([frame, marks.select(pl.all().name.prefix("#"))], how="horizontal")
            for rows, known in runs.feed(marked, self._agreement(marks, own.knowledge, relays)):
                yield from self._kept(rows, known, own, source)
        if own is not None:
            for rows, known in runs.close():
                yield from self._kept(rows, known, own, source)
            self._inputs.append(own)

    def _kept(
        self, rows: pl.DataFrame, known: pl.Series, own: _Input, source: Source
    ) -> Iterator[pl.DataFrame]:
        source.repeated += int(known.sum())
        left = rows.filter(~known)
        if not left.height:
            return
        marks = left.select(pl.col("^#.*$").name.replace("^#", ""))
        self._remember(own, marks)
        yield left.select(pl.exclude("^#.*$"))

    def _agreement(self, marks: pl.DataFrame, knowledge: Knowledge, relays: list[Relay]) -> _Agreement:
        """Tell which records other inputs hold."""
        none = pl.repeat(False, marks.height, dtype=pl.Boolean, eager=True)
        proven = likely = inside = none
        spans = _spans(marks)
        for other, relay in zip(self._inputs, relays, strict=True):
            common = knowledge.common(other.knowledge)
            if common is None or common.basis not in spans:
                continue
            begin, end = spans[common.basis]
            slack = LAG_S if common.relayed else 0
            wide = (begin - slack * SECOND_US, end + slack * SECOND_US)
            if not other.overlaps(common.basis, wide):
                continue
            edges = other.edges(common.basis) if common.relayed or common.precision == SECOND_US else ()
            within = _within(marks[common.basis] // SECOND_US, edges, slack)
            if common.relayed:
                agree = relay.agreeing(marks, other.near("at", wide))
                proven, likely, inside = proven | (agree & within), likely | agree, inside | (agree & within)
            for _, chunk in other.near(common.basis, (begin, end)):
                agree = common.agreeing(marks, chunk)
                likely, inside = likely | agree, inside | (agree & within)
                if not common.is_weak:
                    proven = proven | (agree & within)
        return _Agreement(proven, likely, inside)

    def _remember(self, own: _Input, marks: pl.DataFrame) -> None:
        spans = _spans(marks)
        if not spans:
            return
        self._size += int(marks.estimated_size())
        if self._size <= MEMORY_BYTES:
            own.chunks.append((spans, marks))
            return
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="kvforensics-")
        self._files += 1
        file = Path(self._folder.name) / f"{self._files}.arrow"
        marks.write_ipc(file, compression="zstd")
        own.chunks.append((spans, file))


def _whole_seconds(
    frames: Iterable[pl.DataFrame], prints: Fingerprints
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Yield records and their fingerprints, never cut within a second."""
    held: list[tuple[pl.DataFrame, pl.DataFrame]] = []
    for new in frames:
        frame, marks = new, prints.of(new)
        if held:
            frame, marks = (
                pl.concat([old, now]) for old, now in zip(held.pop(), (frame, marks), strict=True)
            )
        clock = next((basis for basis in BASES if marks[basis][-1] is not None), "at")
        seconds = marks[clock] // SECOND_US
        last = seconds[-1]
        cut = frame.height if last is None else frame.height - _trailing(seconds == last)
        if frame.height - cut > HELD_RECORDS:
            cut = frame.height
        if cut:
            yield frame[:cut], marks[:cut]
        if cut < frame.height:
            held.append((frame[cut:], marks[cut:]))
    yield from held


def _trailing(flags: pl.Series) -> int:
    """Return how many values at the end are true."""
    first = flags.fill_null(value=False).reverse().arg_min()  # the first false one, or 0 when none is
    if first is None or (first == 0 and flags[-1]):
        return len(flags)
    return first


class _Runs:
    """Decides on records whose agreement proves little: by the run of agreeing records in which they stand.

    A run proves itself with RUN records that are not of the other input's first or last second.
    """

    def __init__(self) -> None:
        self._held: pl.DataFrame | None = None
        self._running = False  # a run that has proven itself reaches up to here
        self._all = True  # every record so far agrees

    def feed(self, rows: pl.DataFrame, agreement: _Agreement) -> Iterator[tuple[pl.DataFrame, pl.Series]]:
        """Yield records and which of them are known from elsewhere."""
        flagged = rows.with_columns(
            agreement.proven.alias("?proven"),
            agreement.likely.alias("?agree"),
            agreement.inside.alias("?inside"),
        )
        if self._held is not None:
            flagged = pl.concat([self._held, flagged])
            self._held = None
        self._all = self._all and bool(flagged["?agree"].all())
        tail = _trailing(flagged["?agree"])
        goes_on = tail == flagged.height and self._running
        proves = goes_on or int(flagged["?inside"].tail(tail).sum()) >= RUN
        undecided = 0 if proves or tail > HELD_RECORDS else tail
        cut = flagged.height - undecided
        if undecided:
            self._held = flagged[cut:]
        if cut:
            yield self._decided(flagged[:cut])
            self._running = proves

    def close(self) -> Iterator[tuple[pl.DataFrame, pl.Series]]:
        """Yield what is left: an input that agrees as a whole is known, a short run at its end is not."""
        flagged = self._held
        if flagged is not None:
            whole = self._all and bool(flagged["?inside"].any())
            yield flagged.select(pl.exclude(r"^\?.*$")), flagged["?agree" if whole else "?proven"]

    def _decided(self, flagged: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
        run = flagged["?agree"].rle_id()
        inside = flagged.select(pl.col("?inside").cast(pl.Int64).sum().over(run.alias("run")))["?inside"]
        long = (inside >= RUN) | ((run == 0) & self._running)
        known = flagged["?proven"] | (flagged["?agree"] & long)
        return flagged.select(pl.exclude(r"^\?.*$")), known
