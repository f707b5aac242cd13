"""Functions that tests send to workers."""

import os
import signal
import time
from pathlib import Path

from kvforensics.scan.atomic import CatalogueWriteError


def threads(_: int) -> tuple[int, int]:
    import polars as pl

    return os.getpid(), pl.thread_pool_size()


def poison(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.01)
    return number * 10


def die_once(job: tuple[str, int]) -> int:
    folder, number = job
    mark = Path(folder) / "died"
    if number == 2 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def fails(job: tuple[str, str]) -> int:
    """Count the tries in a file, and fail each time."""
    folder, kind = job
    with (Path(folder) / kind).open("a") as stream:
        stream.write("x")
    raise {"passing": OSError("share went away"), "bug": ValueError("a bug"), "full": full()}[kind]


def full() -> CatalogueWriteError:
    return CatalogueWriteError.of(OSError(28, "No space left on device"), "kv")


def poison_file(folder: str, options, job):
    """Read one input, but die of one whose name says so."""
    from kvforensics.scan.work import read_one

    if job[0].path.endswith("poison.log"):
        os.kill(os.getpid(), signal.SIGKILL)
    return read_one(folder, options, job)


def deadly_files(folder: str, options, job):
    """Read one input; die of a poison file each time, and of another one the first time."""
    from kvforensics.scan.work import read_one

    mark = Path(folder) / ".died"
    if job[0].path.endswith("kills-once.log") and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return (
        poison_file(folder, options, job)
        if job[0].path.endswith("poison.log")
        else read_one(folder, options, job)
    )
