"""What a caller may ask of a run: which input to read as what, and which part of it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime


class Options(Struct, frozen=True):
    """Everything is optional; the defaults read all of every input."""

    units: tuple[str, ...] = ()  # systemd units or containers; `.service` may be left out, globs work
    hosts: tuple[str, ...] = ()  # host names; globs work
    since: datetime | None = None  # naive UTC, inclusive
    until: datetime | None = None  # naive UTC, inclusive
    tz: str = "UTC"  # zone of times that carry none: an IANA name or an offset such as +02:00
    carrier: str | None = None  # read every input as this carrier (contract's names) instead of detecting it
    config: str | None = None  # a unit file, compose file … handed in as the source of settings
    load: bool = True  # keep what schedulers log over time; without it only what a launch's lines add up to
    progress: Callable[[str, int, int | None], None] | None = None  # path, bytes read, bytes in all if known
    warn: Callable[[str], None] | None = None  # told why an input was left out
