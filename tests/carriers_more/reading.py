"""Read bytes as an input and look at the records."""

from __future__ import annotations

import polars as pl

from kvforensics.carriers.opening import open_source, open_stream
from kvforensics.options import Options
from kvforensics.records import Origins


class Reading:
    def __init__(self, opened, origins, frame):
        self.source = opened.source
        self.origins = origins
        self.frame = frame

    @property
    def messages(self):
        return self.frame["message"].to_list() if self.frame.height else []

    def column(self, name):
        return self.frame[name].to_list()

    def origin(self, row):
        return self.origins[self.frame["origin"][row]]


def read(data, *, cuts=(), block_bytes=8 << 20, **options):
    """Read bytes, or lines of bytes, handed over in pieces that end at `cuts`."""
    if not isinstance(data, bytes):
        data = b"\n".join(data) + b"\n"
    ends = [*cuts, len(data)]
    pieces = [data[begin:end] for begin, end in zip([0, *cuts], ends, strict=True)]
    origins = Origins()
    opened = open_stream(iter(pieces), None, "test", Options(**options), origins, 0)
    opened.blocks.block_bytes = block_bytes
    return _collected(opened, origins)


def read_path(path, **options):
    origins = Origins()
    return _collected(open_source(str(path), Options(**options), origins, 0), origins)


def _collected(opened, origins):
    frames = list(opened)
    return Reading(opened, origins, pl.concat(frames) if frames else pl.DataFrame())
