"""What restarts cost: the downtime of each, and the part that edits without effect caused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from kvforensics.analysis import Service
    from kvforensics.verdicts.verdict import Verdict


class Impact(Struct, frozen=True):
    """Seconds without a ready server, from the launches whose downtime the log tells."""

    downtime_s: float  # all known restarts together
    known: int  # restarts whose downtime is known
    unknown: int  # restarts whose downtime is not
    idle_s: float  # of restarts whose memory edits all did nothing for the pool
    idle: tuple[str, ...]  # the launches of those restarts


def impact(service: Service) -> Impact:
    """Add up the downtime of one service's restarts.

    A restart counts as idle when at least one memory setting changed at it and none of them moved the pool:
    whoever restarted for these edits alone waited for nothing.
    """
    edits: dict[str, list[Verdict]] = {}
    for verdict in service.verdicts:
        if verdict.is_edit:
            edits.setdefault(verdict.change.to_launch, []).append(verdict)
    idle = tuple(
        launch.id
        for launch in service.launches
        if edits.get(launch.id) and all(verdict.is_idle for verdict in edits[launch.id])
    )
    known = {each.id: each.downtime_s for each in service.launches[1:] if each.downtime_s is not None}
    return Impact(
        downtime_s=sum(known.values()),
        known=len(known),
        unknown=max(0, len(service.launches) - 1 - len(known)),
        idle_s=sum(known.get(name, 0.0) for name in idle),
        idle=idle,
    )
