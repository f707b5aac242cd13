"""Files that are whole or not there: written beside their place, flushed to disk, then renamed."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import uuid4

from kvforensics.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import polars as pl

PART = ".part"  # ending of a file that is being written; no reader's pattern matches it


class CatalogueWriteError(UsageError):
    """The catalogue's place takes no more: full, read-only or gone. Nothing that was committed is lost."""

    @classmethod
    def of(cls, error: BaseException, where: str) -> CatalogueWriteError:
        """Return the error for what the system said."""
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        hint = "what was committed is kept: make room or mend the place, then run the same command again"
        return cls(f"cannot write to the catalogue: {reason}", where=where, hint=hint)

    def __reduce__(self) -> tuple[object, ...]:
        """Let a worker send it."""
        return _made, (self.message, self.where, self.hint)


def write_parquet(frame: pl.DataFrame, target: Path, metadata: Mapping[str, str] | None = None) -> None:
    """Write a frame as Parquet. The same frame gives the same bytes.

    `sink_parquet` and a plain write leave a torn file under the final name when the process dies.
    """
    _replace(
        target,
        lambda part: frame.write_parquet(
            part, compression="zstd", statistics=True, metadata=dict(metadata) if metadata else None
        ),
    )


def write_bytes(data: bytes, target: Path) -> None:
    """Write a small file."""
    _replace(target, lambda part: part.write_bytes(data))


def sweep(folder: Path) -> int:
    """Remove what interrupted writers left behind; return how many files that were."""
    left = list(folder.rglob(f"*{PART}"))
    for part in left:
        part.unlink(missing_ok=True)
    return len(left)


def _replace(target: Path, write: Callable[[Path], object]) -> None:
    part = target.with_name(f".{target.name}.{uuid4().hex}{PART}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write(part)
        with part.open("rb") as stream:
            os.fsync(stream.fileno())
        part.replace(target)
    except OSError as error:
        raise CatalogueWriteError.of(error, str(target)) from error
    except Exception as error:
        if type(error).__module__.startswith("polars"):  # polars' own errors of a full disk
            raise CatalogueWriteError.of(error, str(target)) from error
        raise
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _made(message: str, where: str | None, hint: str | None) -> CatalogueWriteError:
    return CatalogueWriteError(message, where=where, hint=hint)
