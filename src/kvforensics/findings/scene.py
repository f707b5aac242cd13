"""What a finding rule looks at: one service's history, judged, with the places of its lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from kvforensics.findings.catalogue import CATALOGUE
from kvforensics.findings.finding import Finding
from kvforensics.records import Place

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from kvforensics.events import Event
    from kvforensics.launches import Launch
    from kvforensics.launches.history import ServiceHistory
    from kvforensics.records import Source
    from kvforensics.sizing import Budget
    from kvforensics.verdicts import Verdict


class Scene(Struct, frozen=True):
    """One service as the rules see it."""

    history: ServiceHistory
    budgets: Mapping[str, Budget]
    verdicts: Sequence[Verdict]
    sources: Sequence[Source]

    def place(self, event: Event) -> Place | None:
        """Return where an event stands; None where its input is not among the sources."""
        if not 0 <= event.source < len(self.sources):
            return None
        return Place(self.sources[event.source].path, event.line, event.cursor)

    def places(self, *events: Event | None) -> tuple[Place, ...]:
        """Return where some events stand, without what is unknown and without repeats."""
        found = (self.place(event) for event in events if event is not None)
        return tuple(dict.fromkeys(place for place in found if place is not None))

    def evidence(self, launch: Launch, *names: str) -> tuple[Place, ...]:
        """Return the places that a launch names as evidence, such as `pool_tokens`."""
        found = (launch.evidence.get(name) for name in names)
        return tuple(dict.fromkeys(place for place in found if place is not None))

    def budget(self, launch: Launch) -> Budget | None:
        """Return a launch's budget."""
        return self.budgets.get(launch.id)


def finding(
    kind: str,
    launch: Launch | None,
    title: str,
    detail: str,
    fix: str | None,
    *,
    at: datetime | None = None,
    evidence: tuple[Place | None, ...] = (),
    severity: str | None = None,
) -> Finding:
    """Make a finding of the catalogue; its severity is the catalogue's unless the rule knows better."""
    return Finding(
        id=kind,
        severity=severity or CATALOGUE[kind][0],
        title=title,
        detail=detail,
        fix=fix,
        launch=None if launch is None else launch.id,
        at=at if at is not None else _time_of(launch),
        evidence=tuple(dict.fromkeys(place for place in evidence if place is not None)),
    )


def _time_of(launch: Launch | None) -> datetime | None:
    return None if launch is None else launch.ready_at or launch.started_at


__all__ = ["Finding", "Place", "Scene", "finding"]
