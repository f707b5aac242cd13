"""Findings: the sign, the title, what it means, what to do, where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.report.terminal.band import rail
from kvforensics.report.terminal.change import places
from kvforensics.report.terminal.figures import clock
from kvforensics.report.terminal.signs import SEVERITIES, STRANGE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvforensics.findings.finding import Finding
    from kvforensics.report.terminal.page import Page

_INDENT = 2


def draw_findings(findings: Sequence[Finding], page: Page, *, railed: bool = True) -> None:
    """Draw findings of one launch inside its band, or of a service below its bands."""
    edge = rail(page) if railed else page.text()
    for finding in findings:
        sign = SEVERITIES.get(finding.severity, STRANGE)
        page.prose(
            page.text((f"{sign.mark} {finding.id}", sign.style), "  ", (finding.title, "bold")),
            rail=edge,
            hang=_INDENT,
        )
        if finding.detail:
            page.prose(page.text(finding.detail), rail=edge, indent=_INDENT)
        if finding.fix:
            page.prose(page.text((f"→ {finding.fix}", "bold green")), rail=edge, indent=_INDENT, hang=2)
        where = [clock(finding.at)] if finding.at else []
        where += [places(finding.evidence)] if finding.evidence else []
        if where:
            page.prose(page.text(("  ".join(where), "dim")), rail=edge, indent=_INDENT)
