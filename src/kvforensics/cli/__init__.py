"""The command line: one module a command. It parses options, calls the library, writes the product."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from kvforensics.garbage import look_seldom

SIGNAL_INTERRUPT = 130  # 128 + SIGINT
OWN_FAULT = 70  # EX_SOFTWARE of sysexits.h
TRACEBACK = "KVFORENSICS_TRACEBACK"  # environment: show where a fault of ours arose
# polars' allocator, jemalloc: fewer arenas, and what is free goes back to the system sooner. Blocks are large
# and pass from thread to thread, so that by default each thread's arena comes to hold several.
_ALLOCATOR = "narenas:2,dirty_decay_ms:2000,muzzy_decay_ms:0"


def main() -> None:
    """Run the command line; an error is one line on standard error and an exit code of its own."""
    os.environ.setdefault("_RJEM_MALLOC_CONF", _ALLOCATOR)
    look_seldom()
    atexit.register(gc.freeze)  # else the interpreter looks through all objects before it ends, for 0.1 s
    from kvforensics.errors import KvforensicsError

    try:
        from kvforensics.cli.app import asked, made

        made(asked(sys.argv[1:]))(prog_name="kvforensics")
    except KvforensicsError as error:
        _leave(str(error), error.exit_code)
    except KeyboardInterrupt:
        raise SystemExit(SIGNAL_INTERRUPT) from None
    except Exception as fault:
        if os.environ.get(TRACEBACK):
            raise
        _leave(_fault(fault), OWN_FAULT)


def _leave(line: str, code: int) -> None:
    from kvforensics.cli.warn import warn

    warn(line)
    raise SystemExit(code) from None


def _fault(fault: Exception) -> str:
    """Say what failed and where, without the message: it may hold text of a log."""
    place = fault.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = "" if place is None else f" at {place.tb_frame.f_code.co_qualname}, line {place.tb_lineno}"
    what = f"a fault of kvforensics itself: {type(fault).__name__}{where}"
    return f"{what} (please report it; {TRACEBACK}=1 shows more)"
