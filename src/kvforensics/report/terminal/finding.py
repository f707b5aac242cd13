"""Findings: the sign, the title, what it means, what to do, where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.report.terminal.band import rail
from kvforensics.report.terminal.change import places
from kvforensics.report.terminal.figures import clock
from kvforensics.report.terminal.signs import SEVERITIES, STRANGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kvforensics.findings.finding import Finding
    from kvforensics.report.terminal.page import Page

_INDENT = 2


class Told:
    """What was said already: advice of this launch, notes of the service, so that it is said once."""

    def __init__(self) -> None:
        self._advice: set[str] = set()
        self._notes: dict[tuple[str, str, str], str] = {}

    def begin(self, advice: Iterable[str | None]) -> None:
        """Begin a launch into which changes with this advice led."""
        self._advice = {one for one in advice if one}

    def advice_is_new(self, advice: str) -> bool:
        """Tell whether this launch was not given the advice yet, and take note."""
        new = advice not in self._advice
        self._advice.add(advice)
        return new

    def note_of(self, finding: Finding) -> str | None:
        """Return the launch about which the very same note was made before, or None."""
        if finding.severity != "info" or finding.launch is None:
            return None
        return self._notes.setdefault((finding.id, finding.title, finding.detail), finding.launch)


def draw_findings(findings: Sequence[Finding], page: Page, told: Told, *, railed: bool = True) -> None:
    """Draw findings of one launch inside its band, or of a service below its bands."""
    edge = rail(page) if railed else page.text()
    for finding in findings:
        sign = SEVERITIES.get(finding.severity, STRANGE)
        head = page.text((f"{sign.mark} {finding.id}", sign.style), "  ")
        earlier = told.note_of(finding)
        if earlier is not None and earlier != finding.launch:
            page.prose(page.text(head, (f"as at {earlier}", "dim")), rail=edge)
            continue
        page.prose(page.text(head, (finding.title, "bold")), rail=edge, hang=_INDENT)
        if finding.detail:
            page.prose(page.text(finding.detail), rail=edge, indent=_INDENT)
        if finding.fix and told.advice_is_new(finding.fix):
            page.prose(page.text((f"→ {finding.fix}", "bold green")), rail=edge, indent=_INDENT, hang=2)
        where = [clock(finding.at)] if finding.at else []
        where += [places(finding.evidence)] if finding.evidence else []
        if where:
            page.prose(page.text(("  ".join(where), "dim")), rail=edge, indent=_INDENT)
