"""Known faults of a release, where the launch shows what they need to bite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.findings.catalogue import CATALOGUE
from kvforensics.findings.scene import Finding, Scene, finding
from kvforensics.knowledge import known_issues
from kvforensics.sizing.facts import cap, number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kvforensics.launches import Launch


def of_launch(scene: Scene, before: Launch | None, launch: Launch) -> Iterator[Finding]:
    """Yield the faults of a launch's release that its own figures show, if the launch before had them not."""
    for issue in known_issues():
        bites = _BITES.get(issue.id)
        if bites is None or issue.id not in CATALOGUE or issue.concerns(launch.version) is not True:
            continue
        if not bites(scene, launch):
            continue
        if before is not None and issue.concerns(before.version) is True and bites(scene, before):
            continue
        yield finding(
            issue.id,
            launch,
            issue.title,
            issue.detail + _gap(scene, launch),
            f"{issue.fix} ({', '.join(issue.source)})" if issue.source else issue.fix,
            evidence=scene.evidence(launch, "pool_tokens", "config"),
        )


def _gap(scene: Scene, launch: Launch) -> str:
    """Say how far budget and pools are apart, where they are."""
    budget = scene.budget(launch)
    if (
        budget is None
        or budget.closes is not False
        or budget.closure_gib is None
        or budget.why_not == "cap_binds"
    ):
        return ""
    more = "more" if budget.closure_gib > 0 else "less"
    return f" Here the pools take {abs(budget.closure_gib):.2f} GiB {more} than the budget."


def _why_not(scene: Scene, launch: Launch) -> str | None:
    budget = scene.budget(launch)
    return None if budget is None else budget.why_not


def _overpriced(scene: Scene, launch: Launch) -> bool:
    return _why_not(scene, launch) == "draft_priced_as_target"


def _forgotten(scene: Scene, launch: Launch) -> bool:
    hybrid = any(p.role == "swa" for p in launch.pools)
    return hybrid and _why_not(scene, launch) == "draft_pool_unbudgeted"


def _wide(scene: Scene, launch: Launch) -> bool:
    return _why_not(scene, launch) == "dsa_fp8_layout"


def _paged(_: Scene, launch: Launch) -> bool:
    page = number(launch.config.values.get("page_size"))
    return page is not None and page > 1 and launch.pool_tokens is not None


def _over_the_cap(_: Scene, launch: Launch) -> bool:
    limit = cap(launch)
    hybrid = any(p.role == "swa" for p in launch.pools)
    return hybrid and limit is not None and launch.pool_tokens is not None and launch.pool_tokens > limit


def _scaled(scene: Scene, launch: Launch) -> bool:
    return _why_not(scene, launch) == "fraction_scaled"


_BITES: Mapping[str, Callable[[Scene, Launch], bool]] = {
    "draft_priced_as_target": _overpriced,
    "swa_ignores_dflash_draft": _forgotten,
    "dsa_fp8_layout_over_budget": _wide,
    "page_unschedulable": _paged,
    "swa_cap_before_split": _over_the_cap,
    "fraction_changed_silently": _scaled,
}
