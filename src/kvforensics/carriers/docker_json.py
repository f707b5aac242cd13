r"""Docker's `json-file` driver: `{"log":"TEXT\n","stream":"stderr","time":"…Z"}` a line.

A `log` without a line end is a piece: docker cuts after 16,384 bytes, and where a process ends, so that a
short piece is continued only by what comes at once. Docker has put U+FFFD for what was not UTF-8. Containers
started with a TTY end their lines with a CR as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import polars as pl

from kvforensics.carriers.frames import MORE_CERTAIN, MORE_NO, MORE_SOON, record_frame
from kvforensics.carriers.json_line import decode_object
from kvforensics.carriers.prefixed import compiled, origin_numbers, share, utc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvforensics.carriers.blocks import Block, Blocks
    from kvforensics.carriers.carrier import Context, Head

PIECE_BYTES = 16_384

_KEYS = {"log", "stream", "time", "attrs"}
_LINE = compiled(r'^\{"(?:log|stream|time|attrs)" ?: ?["{]')
_CUT_HEAD_LINE = 8192


class _Line(msgspec.Struct):
    log: str | None = None
    stream: str | None = None
    time: str | None = None
    attrs: dict[str, Any] | None = None


_DECODER = msgspec.json.Decoder(_Line)


class DockerJson:
    """One record a line end; pieces of one stream belong together."""

    name = "docker-json"

    def score(self, head: Head) -> float:
        """Return the share of lines that are objects with docker's keys and no others."""
        if not share(head.lines, _LINE):
            return 0.0
        return sum(_is_docker(line) for line in head.lines) / len(head.lines)

    def read(self, blocks: Blocks, context: Context) -> Iterator[pl.DataFrame]:
        """Yield the lines; one that is no such object keeps its text, and a broken one says `split_lost`."""
        for block in blocks:
            numbers, lines, damage = _lines(block)
            text = pl.Series("message", [line.log for line in lines], dtype=pl.String)
            ended = text.str.ends_with("\n")
            full = text.str.len_bytes() >= PIECE_BYTES
            more = pl.when(ended).then(MORE_NO).when(full).then(MORE_CERTAIN).otherwise(MORE_SOON)
            origin = {
                "container": pl.Series([_container(line.attrs) for line in lines], dtype=pl.String),
                "stream": pl.Series([line.stream for line in lines], dtype=pl.String),
            }
            yield record_frame(
                context,
                {
                    "line": numbers,
                    "at": utc(pl.Series([line.time for line in lines], dtype=pl.String)),
                    "origin": origin_numbers(context.origins, origin),
                    "message": text.str.strip_suffix("\n").str.strip_suffix("\r"),
                    "damage": damage,
                    "_more": pl.select(more).to_series(),
                },
            )


def _is_docker(line: bytes) -> bool:
    if len(line) == _CUT_HEAD_LINE:
        return line.startswith(b'{"log":"')
    found = decode_object(line)
    return found is not None and "log" in found and "time" in found and found.keys() <= _KEYS


def _lines(block: Block) -> tuple[list[int], list[_Line], list[str | None]]:
    """Decode a block's lines: their numbers, what they say, their damage. Empty lines are no records."""
    long = set(block.long)
    numbers: list[int] = []
    lines: list[_Line] = []
    damage: list[str | None] = []
    for row, raw in enumerate(block.data.split(b"\n")):
        if not raw or raw.isspace():
            continue
        line = _decoded(raw)
        numbers.append(block.line + row)
        lines.append(line or _Line(log=raw.decode(errors="replace") + "\n"))
        broken = line is None and _is_broken(raw)
        damage.append("too_long_line" if row in long else "split_lost" if broken else None)
    return numbers, lines, damage


def _is_broken(data: bytes) -> bool:
    """Tell a piece of an object from text that stands beside the objects."""
    text = data.strip()
    return text.startswith(b"{") or text.endswith(b'"}')


def _decoded(data: bytes) -> _Line | None:
    try:
        line = _DECODER.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        return _repaired(data)
    return line if line.log is not None else None


def _repaired(data: bytes) -> _Line | None:
    found = decode_object(data)
    if found is None or not isinstance(found.get("log"), str):
        return None
    stream, time, attrs = (found.get(name) for name in ("stream", "time", "attrs"))
    return _Line(
        log=found["log"],
        stream=stream if isinstance(stream, str) else None,
        time=time if isinstance(time, str) else None,
        attrs=attrs if isinstance(attrs, dict) else None,
    )


def _container(attrs: dict[str, Any] | None) -> str | None:
    """Name the container where the driver was told to log its tag or labels."""
    if not attrs:
        return None
    for name in ("com.docker.compose.service", "io.kubernetes.container.name", "tag"):
        if isinstance(attrs.get(name), str):
            return str(attrs[name])
    return None
