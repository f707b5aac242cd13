"""Rejoin what a carrier split: one message that came as several records.

A piece says so in the working column `_more`; the pieces of one message share `_key`, or else stream and
process, or else the origin. The joined record stands where its first piece stood. Records of others between
the pieces stay in order, so they wait until the message is whole, within `GAP_RECORDS` and `SPAN_BYTES`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl
from msgspec import Struct, field

from kvforensics.carriers.blocks import LINE_BYTES, cut_text
from kvforensics.carriers.frames import MORE_CERTAIN, MORE_MAYBE, MORE_NO, MORE_RAW, MORE_SOON

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from kvforensics.carriers.carrier import Context

GAP_RECORDS = 4096  # between two pieces of one message
SPAN_BYTES = 32 << 20  # of all messages from the first piece to the last
SOON_S = 1.0  # between a piece that says MORE_SOON and the next
_IS_A_LINE = re.compile(
    r"\[[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}[\] ]"
)  # no rest begins like this
_BEGINS_A_LINE = ("\r", "[", "INFO:", "WARNING:", "ERROR:")


def rejoined(frames: Iterable[pl.DataFrame], context: Context) -> Iterator[pl.DataFrame]:
    """Yield the frames with split messages joined. What never came whole is said as `split_lost`."""
    joiner = _Joiner(context)
    for frame in frames:
        yield joiner.feed(frame)
    rest = joiner.close()
    if rest is not None:
        context.continuing.wait()
        yield rest


class _Chain(Struct):
    """The pieces of one message so far, by their place in the frame at hand."""

    pieces: list[int]
    row: int  # of the last piece, counted over the source
    begin: int  # bytes before the first piece, counted over the source
    more: int
    at: datetime | None  # of the last piece
    lost: bool = False


class _Joiner(Struct):
    context: Context
    held: pl.DataFrame | None = None
    rows: int = 0
    bytes: int = 0
    keys: dict[int, str] = field(default_factory=dict)

    def feed(self, frame: pl.DataFrame) -> pl.DataFrame:
        if self.held is None and not _any_open(frame):
            return frame  # no message is open, so none is as long as the rows and bytes between
        numbered = self._numbered(frame)
        if self.held is not None:
            numbered = pl.concat([self.held, numbered], how="diagonal")
        return self._join(numbered, last=False)

    def close(self) -> pl.DataFrame | None:
        if self.held is None:
            return None
        return self._join(self.held, last=True)

    def _numbered(self, frame: pl.DataFrame) -> pl.DataFrame:
        sizes = frame["message"].str.len_bytes().fill_null(0).cast(pl.Int64)
        numbered = frame.with_columns(
            pl.int_range(self.rows, self.rows + frame.height).alias("_row"),
            (sizes.cum_sum() - sizes + self.bytes).alias("_begin"),
        )
        self.rows += frame.height
        self.bytes += int(sizes.sum())
        return numbered

    def _join(self, frame: pl.DataFrame, *, last: bool) -> pl.DataFrame:
        done, open_chains = self._chains(frame, last=last)
        cut = min((chain.pieces[0] for chain in open_chains), default=frame.height)
        done = [chain for chain in done if chain.pieces[0] < cut]
        absorbed = {piece for chain in done for piece in chain.pieces[1:]}
        keep = pl.Series([place not in absorbed for place in range(frame.height)], dtype=pl.Boolean)
        joined = _with_joined(frame, done)
        held = frame[cut:].filter(keep[cut:])
        self.held = held if held.height else None
        return joined[:cut].filter(keep[:cut])

    def _chains(self, frame: pl.DataFrame, *, last: bool) -> tuple[list[_Chain], list[_Chain]]:
        keys = self._keys(frame)
        opens = frame["_more"].fill_null(MORE_NO) > MORE_NO
        places = keys.is_in(keys.filter(opens).unique().implode()).arg_true()
        rows = frame.select("message", "_more", "_row", "_begin", "at").with_columns(keys)[places].iter_rows()
        done: list[_Chain] = []
        pending: dict[str, _Chain] = {}
        for place, (message, more, row, begin, at, key) in zip(places, rows, strict=True):
            chain = pending.get(key)
            if chain is not None and _follows(chain, message, row, begin, at):
                chain.pieces.append(place)
                chain.row, chain.more, chain.at = row, more or MORE_NO, at
            elif more and not (more == MORE_MAYBE and message is None):
                _close(pending.pop(key, None), done)
                chain = pending[key] = _Chain([place], row, begin, more, at)
            else:
                _close(pending.pop(key, None), done)
                continue
            if chain.more == MORE_NO:
                done.append(pending.pop(key))
        for key, chain in list(pending.items()):
            if last or self.rows - chain.row > GAP_RECORDS or self.bytes - chain.begin > SPAN_BYTES:
                _close(pending.pop(key), done)
        return done, list(pending.values())

    def _keys(self, frame: pl.DataFrame) -> pl.Series:
        for number in frame["origin"].unique().drop_nulls():
            if number not in self.keys:
                origin = self.context.origins[number]
                name = f"{origin.stream} {origin.pid}" if origin.stream else f"origin {number}"
                self.keys[number] = name
        by_origin = frame["origin"].replace_strict(self.keys, default="", return_dtype=pl.String)
        given = frame["_key"] if "_key" in frame.columns else by_origin
        return given.zip_with(given.is_not_null(), by_origin).alias("key")


def _any_open(frame: pl.DataFrame) -> bool:
    return "_more" in frame.columns and bool((frame["_more"] > MORE_NO).any())


def _follows(chain: _Chain, message: str | None, row: int, begin: int, at: datetime | None) -> bool:
    if row - chain.row > GAP_RECORDS or begin - chain.begin > SPAN_BYTES:
        return False
    if chain.more == MORE_SOON and chain.at is not None and at is not None:
        return abs((at - chain.at).total_seconds()) <= SOON_S
    if chain.more == MORE_CERTAIN and message is not None and _IS_A_LINE.match(message):
        return False
    return chain.more != MORE_MAYBE or not (message is None or message.startswith(_BEGINS_A_LINE))


def _close(chain: _Chain | None, done: list[_Chain]) -> None:
    if chain is not None:
        chain.lost = chain.more in (MORE_CERTAIN, MORE_RAW)
        done.append(chain)


def _with_joined(frame: pl.DataFrame, chains: list[_Chain]) -> pl.DataFrame:
    chains = [chain for chain in chains if len(chain.pieces) > 1 or chain.lost]
    if not chains:
        return frame
    firsts: list[int] = []
    messages: list[str | None] = []
    damages: list[str | None] = []
    for chain in sorted(chains, key=lambda chain: chain.pieces[0]):
        message, damage = _joined(frame[chain.pieces], lost=chain.lost)
        firsts.append(chain.pieces[0])
        messages.append(message)
        damages.append(damage)
    return frame.with_columns(
        frame["message"].scatter(firsts, pl.Series(messages, dtype=pl.String)),
        frame["damage"].scatter(firsts, pl.Series(damages, dtype=pl.String)),
    )


def _joined(pieces: pl.DataFrame, *, lost: bool) -> tuple[str | None, str | None]:
    damage: str | None = next((kind for kind in pieces["damage"] if kind is not None), None)
    texts: list[Any] = pieces["message"].to_list()
    if None in texts:
        return None, damage or "message_null"
    if "_raw" in pieces.columns and pieces["_raw"].null_count() < pieces.height:
        parts = zip(texts, pieces["_raw"], strict=True)
        data = b"".join(text.encode() if raw is None else raw for text, raw in parts)
        if damage in ("message_binary", "invalid_utf8") and data.decode(errors="ignore").encode() == data:
            damage = None
    else:
        data = "".join(texts).encode()
    if len(data) > LINE_BYTES:
        return cut_text(data, LINE_BYTES).decode(errors="replace"), "too_long_line"
    return data.decode(errors="replace"), "split_lost" if lost else damage
