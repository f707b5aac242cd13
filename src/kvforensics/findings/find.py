"""All findings of a service, in the order of its launches."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from kvforensics.findings import handed, issues, losses, pairs, pool, trail, trouble
from kvforensics.findings.scene import Finding, Scene
from kvforensics.verdicts.effects import kept

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kvforensics.launches import Launch
    from kvforensics.launches.history import ServiceHistory
    from kvforensics.records import Source
    from kvforensics.sizing import Budget
    from kvforensics.verdicts import Verdict


_ANY_TIME = datetime(1970, 1, 1)  # noqa: DTZ001 naive UTC, as all times here


def find(
    history: ServiceHistory,
    budgets: Mapping[str, Budget],
    verdicts: Sequence[Verdict],
    sources: Sequence[Source],
) -> list[Finding]:
    """Return the findings of one service; their places name lines of `sources`.

    Ordered by launch, then by time, then by id, so that the same input gives the same list.
    """
    scene = Scene(history, budgets, verdicts, sources)
    found: list[Finding] = []
    earlier: tuple[Launch, ...] = ()
    for launch in history.launches:
        found.extend(pool.of_launch(scene, launch))
        found.extend(trouble.of_launch(scene, launch))
        found.extend(losses.of_launch(scene, launch))
        found.extend(issues.of_launch(scene, earlier[-1] if earlier else None, launch))
        if earlier:
            found.extend(pairs.of_pair(scene, earlier, launch))
        earlier = kept((*earlier, launch))
    found.extend(trail.stale_units(scene))
    found.extend(handed.stale_file(scene))
    found.extend(losses.of_service(scene))
    order = {launch.id: number for number, launch in enumerate(history.launches)}
    return sorted(
        found,
        key=lambda f: (order.get(f.launch or "", -1), f.at is None, f.at or _ANY_TIME, f.id),
    )
