"""Carriers inside of carriers: a message of one may be a line of another, in any order.

What the messages look like is told by the first 200 of them, as a file's carrier is told by its lines. The
carrier that knows most of them then reads the messages as if they were a file. Its records keep the line and
the cursor of the record around them, and its time where the inner one has none with a zone: the inner clock
stands nearer to the program.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

import polars as pl
from msgspec.structs import replace

from kvforensics import compiled
from kvforensics.carriers.blocks import Block, Blocks, cut
from kvforensics.carriers.carrier import HEAD_LINES, Head
from kvforensics.carriers.detection import carriers
from kvforensics.carriers.envelopes import ENVELOPES, RAY_PREFIX, TORCHRUN_PREFIX
from kvforensics.carriers.order import in_time_order
from kvforensics.carriers.prefixed import peel
from kvforensics.carriers.rejoin import rejoined
from kvforensics.carriers.telltale import may_be_carried
from kvforensics.carriers.times import with_times
from kvforensics.carriers.wrapped import Wrapped
from kvforensics.columns import constant
from kvforensics.records import Origin, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kvforensics.carriers.carrier import Carrier, Context
    from kvforensics.carriers.envelopes import Prefix
    from kvforensics.records import Origins

DEEPEST = 8  # of carriers inside of each other
LEAST_SHARE = 0.3  # of the messages that must be a carrier's
# a second one would be the bar or the number of the text itself, or the head line that stays
_ONCE = {"compose", "slurm", "wrapped", "script"}
_NEWLINE = "\ue00a"  # stands for a line end inside of a message; private use, turned back afterwards


def unnested(frames: Iterable[pl.DataFrame], context: Context) -> Iterator[pl.DataFrame]:
    """Yield the frames with all envelopes taken off their messages; name them in the source's `layers`."""
    rest = iter(frames)
    for _ in range(0 if context.continuing.resumed else DEEPEST):
        held, rest = _held(rest)
        if sum(_candidates(frame).len() for frame in held) < HEAD_LINES:
            context.continuing.wait()
        head = _head(held)
        carrier = _inner_carrier(head, {context.source.carrier, *context.source.layers})
        rest = chain(held, rest)
        if carrier is None:
            break
        if carrier.name != (context.source.carrier, *context.source.layers)[-1]:
            context.source.layers = (*context.source.layers, carrier.name)
        inner = _read_messages(carrier, head, rest, context)
        rest = rejoined(with_times(in_time_order(inner), context), context)
    layers, late = context.source.layers, set[str]()
    for frame in rest:
        if frame.height:
            yield _without_ranks(frame, context, late)
            context.source.layers = layers + tuple(sorted(late - set(layers)))


def _held(frames: Iterator[pl.DataFrame]) -> tuple[list[pl.DataFrame], Iterator[pl.DataFrame]]:
    """Take frames until they hold the messages that tell what is inside."""
    held: list[pl.DataFrame] = []
    seen = 0
    while seen < HEAD_LINES:
        frame = next(frames, None)
        if frame is None:
            break
        if frame.height:
            held.append(frame)
            seen += _candidates(frame).len()
    return held, frames


def _candidates(frame: pl.DataFrame) -> pl.Series:
    return frame.filter(~_passes(frame))["message"]


def _passes(frame: pl.DataFrame) -> pl.Series:
    """Tell which records have nothing inside: lost or empty ones, and systemd's own."""
    return frame["message"].is_null() | (frame["message"] == "") | frame["extra"].is_not_null()


def _head(held: list[pl.DataFrame]) -> Head:
    messages = list(chain.from_iterable(_candidates(frame)[:HEAD_LINES] for frame in held))[:HEAD_LINES]
    return Head.of("\n".join(message.replace("\n", _NEWLINE) for message in messages).encode())


def _inner_carrier(head: Head, around: set[str]) -> Carrier | None:
    best, best_score = None, LEAST_SHARE
    outer = (*carriers(), *ENVELOPES) if may_be_carried(head) else ()
    for carrier in (*outer, Wrapped()):
        if carrier.name == "plain" or (carrier.name in _ONCE and carrier.name in around):
            continue
        score = carrier.score(head)
        if score > best_score:
            best, best_score = carrier, score
    return best


def _read_messages(
    carrier: Carrier, head: Head, frames: Iterator[pl.DataFrame], context: Context
) -> Iterator[pl.DataFrame]:
    window = _Window(context.origins, blank_ends=carrier.name == "journal-export")
    source = Source(context.source.path, damaged=context.source.damaged)
    blocks = _FrameBlocks(window.stream(frames), source, head)
    for frame in carrier.read(blocks, replace(context, source=source)):
        merged = window.merged(frame)
        if merged.height:
            yield merged
    rest = window.passed_by()
    if rest.height:
        yield rest


class _FrameBlocks(Blocks):
    """A block for the messages of each frame, and an empty one for a frame without messages.

    So nothing waits for more messages, and what passes by is never held for long.
    """

    def __iter__(self) -> Iterator[Block]:
        for data in self.stream:
            yield from self._block(*cut([data], self.line_bytes))


class _Window:
    """The records whose messages an inner carrier is reading, from its last one on."""

    def __init__(self, origins: Origins, *, blank_ends: bool = False) -> None:
        self._origins = origins
        self._blank_ends = blank_ends
        self._fed: list[pl.DataFrame] = []
        self._base = 0  # messages fed before the window
        self._passing: list[pl.DataFrame] = []
        self._rows = 0
        self._begun = False  # whether the first message of the window has come out already
        self._both: dict[tuple[int, int], int] = {}

    def stream(self, frames: Iterator[pl.DataFrame]) -> Iterator[bytes]:
        """Yield the messages as the lines of a file."""
        for frame in frames:
            if not frame.height:
                continue
            place = pl.int_range(self._rows, self._rows + frame.height, dtype=pl.Int64)
            numbered = frame.drop("_more", "_key", "_raw", strict=False).with_columns(place.alias("_place"))
            self._rows += frame.height
            passes = _passes(frame)
            if self._blank_ends:  # an empty line ends an entry
                passes &= frame["message"].is_null() | (frame["message"] != "")
            self._passing.append(numbered.filter(passes))
            fed = numbered.filter(~passes)
            if not fed.height:
                yield b""
                continue
            lines = fed["message"].str.replace_all("\n", _NEWLINE, literal=True)
            self._fed.append(fed.drop("message"))
            yield lines.str.join("\n").item().encode() + b"\n"

    def merged(self, inner: pl.DataFrame) -> pl.DataFrame:
        """Put the records of the inner carrier into those around them."""
        if not inner.height:
            return self._with_passing(None, self._done_until())
        fed = pl.concat(self._fed, how="diagonal")
        index = (inner["line"] - 1 - self._base).clip(0, fed.height - 1)
        outer = fed[index]
        made = {
            "source": outer["source"],
            "line": outer["line"],
            "origin": self._merged_origins(outer["origin"], inner["origin"]),
            "message": inner["message"].str.replace_all(_NEWLINE, "\n", literal=True),
            "_place": outer["_place"],
        }
        for name, first, second in (
            ("at", inner, outer),
            *((name, outer, inner) for name in ("mono", "cursor", "extra", "damage")),
        ):
            made[name] = first[name].zip_with(first[name].is_not_null(), second[name])
        untimed = outer["at"].is_null()
        for name in ("_wall", "_local"):
            if name in inner.columns:
                nothing = constant(name, None, inner[name].dtype, inner.height)
                made[name] = inner[name].zip_with(untimed, nothing)
        if "_more" in inner.columns:
            made["_more"] = inner["_more"]
            key = inner["_key"].fill_null("") if "_key" in inner.columns else pl.lit("")
            made["_key"] = pl.select(
                pl.concat_str(made["origin"].cast(pl.String), pl.lit(" "), key)
            ).to_series()
        last = int(index[-1])
        self._fed, self._base, self._begun = [fed[last:]], self._base + last, True
        return self._with_passing(pl.DataFrame(made), int(outer["_place"].max()))  # type: ignore[arg-type]

    def _done_until(self) -> int:
        """Return the place before the first message that has not come out."""
        waiting = chain.from_iterable(frame["_place"] for frame in self._fed)
        return next(islice(waiting, int(self._begun), None), self._rows + 1) - 1

    def passed_by(self) -> pl.DataFrame:
        """Return the records that passed by after the last message."""
        return self._with_passing(None, self._rows)

    def _with_passing(self, made: pl.DataFrame | None, until: int) -> pl.DataFrame:
        passing = [frame for frame in self._passing if frame.height]
        if not passing:
            self._passing = []
            return pl.DataFrame() if made is None else made.drop("_place")
        waiting = pl.concat(passing, how="diagonal")
        now = waiting.filter(pl.col("_place") <= until)
        self._passing = [waiting.filter(pl.col("_place") > until)]
        parts = [now] if made is None else [made, now]
        return pl.concat(parts, how="diagonal").sort("_place", maintain_order=True).drop("_place")

    def _merged_origins(self, outer: pl.Series, inner: pl.Series) -> pl.Series:
        pairs = pl.DataFrame({"outer": outer, "inner": inner})
        distinct = pairs.unique(maintain_order=True)
        numbers = [self._merged_origin(*pair) for pair in distinct.iter_rows()]
        known = distinct.with_columns(pl.Series("origin", numbers, dtype=pl.UInt32))
        joined = pairs.join(known, on=["outer", "inner"], how="left", nulls_equal=True, maintain_order="left")
        return joined["origin"]

    def _merged_origin(self, outer: int, inner: int) -> int:
        known = self._both.get((outer, inner))
        if known is None:
            known = self._both[outer, inner] = self._origins.intern(
                within(self._origins[outer], self._origins[inner])
            )
        return known


def within(outer: Origin, inner: Origin) -> Origin:
    """Return the origin of a record inside of another: the outer knows the machine, the inner the rest."""
    return Origin(
        host=outer.host or inner.host,
        unit=inner.unit or outer.unit,
        container=inner.container or outer.container,
        ident=inner.ident or outer.ident,
        pid=outer.pid if inner.pid is None else inner.pid,
        invocation=inner.invocation or outer.invocation,
        stream=inner.stream or outer.stream,
        boot=outer.boot or inner.boot,
        cmdline=inner.cmdline or outer.cmdline,
    )


def _without_ranks(frame: pl.DataFrame, context: Context, late: set[str]) -> pl.DataFrame:
    """Take off Ray's and torchrun's prefixes, which may begin late in a log and stand in few lines."""
    beginnings = compiled.beginnings(frame["message"])
    for prefix in (RAY_PREFIX, TORCHRUN_PREFIX, RAY_PREFIX):
        if not prefix.may_begin(beginnings):
            continue
        rows = frame["message"].str.contains(prefix.pattern).fill_null(value=False).arg_true()
        if len(rows):
            late.add(prefix.name)
            frame = _peeled(prefix, frame, rows, context)
            beginnings = compiled.beginnings(frame["message"])
    return frame


def _peeled(prefix: Prefix, frame: pl.DataFrame, rows: pl.Series, context: Context) -> pl.DataFrame:
    origins = context.origins
    message, columns = prefix.apart(
        peel(frame["message"][rows], prefix.pattern), frame["message"][rows], context
    )
    pairs = zip(frame["origin"][rows], columns["origin"], strict=True)
    numbers = [origins.intern(within(origins[outer], origins[inner])) for outer, inner in pairs]
    return frame.with_columns(
        frame["message"].scatter(rows, message),
        frame["origin"].scatter(rows, pl.Series(numbers, dtype=pl.UInt32)),
    )
