"""Progress of a long read, on standard error: a moving line on a terminal, now and then a line elsewhere."""

import sys
import time
from typing import TextIO

from kvforensics.report.inert import encodable, inert

_QUIET_S = 1.5  # nothing is shown before
_TERMINAL_S = 0.1
_PIPE_S = 10.0
_MIB = 2**20


class Progress:
    """Called with path, bytes read and bytes in all; `close` clears the line."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._tty = self._stream.isatty()
        self._next = time.monotonic() + (_QUIET_S if self._tty else _PIPE_S)
        self._shown = 0

    def __call__(self, path: str, done: int, total: int | None) -> None:
        """Show how far the read of one input is, if it is time to."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + (_TERMINAL_S if self._tty else _PIPE_S)
        share = f" of {total / _MIB:,.0f} MiB ({done * 100 // total} %)" if total else " MiB"
        name = encodable(inert(path), self._stream.encoding or "ascii")
        said = f"reading {name}: {done / _MIB:,.0f}{share}"
        if self._tty:
            self._stream.write("\r" + said.ljust(self._shown))
            self._shown = len(said)
        else:
            self._stream.write(said + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Leave the terminal's line empty."""
        if self._shown:
            self._stream.write("\r" + " " * self._shown + "\r")
            self._stream.flush()
            self._shown = 0
