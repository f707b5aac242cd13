"""Lines behind a time: `docker logs -t`, `podman logs -t`, `kubectl logs --timestamps`.

Docker stamps each record of its log driver, not each line: in a line above 16 KiB a stamp stands after
every 16,384 bytes, and where a process died without a line end the next one's first stamp stands in
mid-line. Docker's stamps have nine digits and end in Z; Kubernetes hands on what the runtime wrote.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

import polars as pl

from kvforensics.carriers.frames import record_frame, repeated
from kvforensics.carriers.prefixed import ANSI, STAMP, compiled, peel, share, utc
from kvforensics.records import Origin

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvforensics.carriers.blocks import Blocks
    from kvforensics.carriers.carrier import Context, Head

PIECE_BYTES = 16_384

_PATTERN = rf"^{ANSI}*(?P<time>{STAMP}){ANSI}*(?: (?P<message>.*))?$"
_LINE = compiled(rf"^{ANSI}*{STAMP}{ANSI}*(?: |$)")
_SYSLOG = compiled(rf"^{STAMP} [A-Za-z0-9._-]+ [^ :\[]+\[[0-9]+\]: ")
_INNER = r"[0-9]T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{9}Z "
_RESET = re.compile(rb"\x1b\[[0-9;]*m$")
_INNER_STAMP = re.compile(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{9}Z ")


class DockerText:
    """One record a line; stamps inside of a line are taken out again."""

    name = "docker-text"

    def score(self, head: Head) -> float:
        """Return the share of lines that begin with a time, those that go on as syslog does not counted."""
        return max(share(head.lines, _LINE) - share(head.lines, _SYSLOG), 0.0)

    def read(self, blocks: Blocks, context: Context) -> Iterator[pl.DataFrame]:
        """Yield the lines; one without a stamp keeps its text and has no time."""
        origin = context.origins.intern(Origin())
        for block in blocks:
            lines = block.text()
            parts = peel(lines, _PATTERN)
            stamped = parts["time"].is_not_null()
            damage = block.damage()
            parts = pl.DataFrame(
                {
                    "line": block.numbers(),
                    "at": utc(parts["time"]),
                    "message": lines.zip_with(~stamped, parts["message"].fill_null("")),
                    "damage": repeated(None, len(lines), pl.String()) if damage is None else damage,
                }
            )
            parts = _without_inner_stamps(parts)
            columns = {**parts.to_dict(), "origin": repeated(origin, parts.height, pl.UInt32())}
            yield record_frame(context, columns)


def _without_inner_stamps(parts: pl.DataFrame) -> pl.DataFrame:
    hits = parts["at"].is_not_null() & parts["message"].str.contains(_INNER)
    if not hits.any():
        return parts
    order = pl.int_range(parts.height, dtype=pl.Int64, eager=True)
    numbered = parts.with_columns(order.alias("order"))
    rows = [
        {**row, "at": at, "message": message}
        for row in numbered.filter(hits).iter_rows(named=True)
        for at, message in _records(row["at"], row["message"])
    ]
    parted = pl.DataFrame(rows, schema=numbered.schema)
    return pl.concat([numbered.filter(~hits), parted]).sort("order", maintain_order=True).drop("order")


def _records(at: datetime, message: str) -> Iterator[tuple[datetime, str]]:
    """Take the stamps of pieces out of a line, and begin a record at a stamp that stands elsewhere."""
    data = message.encode()
    pieces: list[bytes] = []
    begin = size = 0  # of the current piece in data, of the record in bytes that the program wrote
    for stamp in _INNER_STAMP.finditer(data):
        size += stamp.start() - begin
        pieces.append(data[begin : stamp.start()])
        moment = _moment(stamp.group())
        if moment is not None and moment >= at and _ends_piece(size):
            pass
        elif moment is not None and moment > at and _breaks_off(pieces[-1]):
            yield at, b"".join(pieces).decode(errors="replace")
            at, pieces, size = moment, [], 0
        else:  # the program's own text, or a second clock in front of it
            pieces.append(stamp.group())
            size += stamp.end() - stamp.start()
        begin = stamp.end()
    pieces.append(data[begin:])
    yield at, b"".join(pieces).decode(errors="replace")


def _ends_piece(size: int) -> bool:
    """Tell whether so many bytes are whole pieces; a character cut at a border is U+FFFD and counts more."""
    over = size % PIECE_BYTES
    slack = 8 * max(size // PIECE_BYTES, 1)
    return size >= PIECE_BYTES - slack and min(over, PIECE_BYTES - over) <= slack


def _breaks_off(text: bytes) -> bool:
    """Tell whether text ends as a line without an end does, not as what stands before its own clock."""
    return bool(text) and not text[-1:].isspace() and text[-1:] not in b"\"'" and _RESET.search(text) is None


def _moment(stamp: bytes) -> datetime | None:
    try:
        return datetime.fromisoformat(stamp[:26].decode())
    except ValueError:
        return None
