"""The history of one service: its launches in order, and what happened around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from kvforensics.events import Event
    from kvforensics.launches.launch import Launch


class ServiceHistory(Struct, frozen=True):
    """One server over all inputs.

    `id` is host/unit, host/container, or the path of the first file in time. `trail` holds, in order, what
    belongs to no launch: edits and restarts by sudo, reloads, a stop whose start is not in the log.
    """

    id: str
    host: str | None
    unit: str | None  # systemd unit or container
    launches: tuple[Launch, ...]
    trail: tuple[Event, ...] = ()
    sources: tuple[int, ...] = ()  # that hold its records
    stretches: tuple[tuple[int, int, int, str], ...] = ()  # source, after_line, origin -> launch id
    copies: tuple[tuple[str, Event], ...] = ()  # launches that stand in the log again, and where
