"""Files that are whole or not there: written beside their place, flushed to disk, then renamed."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import polars as pl

PART = ".part"  # ending of a file that is being written; no reader's pattern matches it


def write_parquet(frame: pl.DataFrame, target: Path) -> None:
    """Write a frame as Parquet. The same frame gives the same bytes."""
    _replace(target, lambda part: frame.write_parquet(part, compression="zstd", statistics=True))


def write_json(document: Any, target: Path) -> None:
    """Write JSON with sorted keys."""
    text = json.dumps(document, sort_keys=True, indent=1, ensure_ascii=False)
    _replace(target, lambda part: part.write_text(text + "\n", "utf-8"))


def sweep(folder: Path) -> int:
    """Remove what interrupted writers left behind; return how many files that were."""
    left = list(folder.rglob(f"*{PART}"))
    for part in left:
        part.unlink(missing_ok=True)
    return len(left)


def _replace(target: Path, write: Callable[[Path], object]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{uuid4().hex}{PART}")
    try:
        write(part)
        with part.open("rb") as stream:
            os.fsync(stream.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
