"""How a timeline is shown, and the exit code that it ends with."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from kvforensics.cli.options import Document, FailOn
from kvforensics.cli.product import document_format, write_page, write_text
from kvforensics.errors import NoLaunchError

if TYPE_CHECKING:
    from kvforensics.analysis import Analysis

_FAILED = 1


def show_timeline(
    analysis: "Analysis",
    *,
    chosen: Document | None,
    output: str | None,
    important: bool,
    fail_on: Sequence[FailOn] | None,
    no_color: bool,
    width: int | None,
) -> None:
    """Write the timeline; exit 4 where there is no launch, 1 where `fail_on` is met."""
    from kvforensics import selection

    shown = selection.important(analysis) if important else analysis
    if document_format(chosen, output) is Document.JSON:
        from kvforensics.report.plain import dumps
        from kvforensics.report.timeline_json import timeline

        write_text(dumps(timeline(shown)), output)
        require_launch(analysis)
    else:
        from kvforensics.report.terminal.timeline import draw

        require_launch(analysis)
        write_page(lambda page: draw(shown, page, quiet=important), output, width=width, no_color=no_color)
    leave(analysis, fail_on)


def require_launch(analysis: "Analysis") -> None:
    """Raise NoLaunchError where the inputs hold no launch of SGLang."""
    if not any(service.launches for service in analysis.services):
        read = analysis.coverage.records
        raise NoLaunchError(
            f"the inputs hold no SGLang launch ({read:,} records read)",
            hint="see what they hold with: kvforensics coverage",
        )


def leave(analysis: "Analysis", fail_on: Sequence[FailOn] | None) -> None:
    """Exit with 1 where `--fail-on` is met."""
    from kvforensics.gate import met

    if fail_on and met(analysis, [level.value for level in fail_on]):
        raise typer.Exit(_FAILED)
