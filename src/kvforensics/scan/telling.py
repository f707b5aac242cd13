"""Progress of a scan on standard error: a bar on a terminal, else plain lines, or JSON lines when asked.

Told are inputs, bytes, lines a second, the time left and the failures; as JSON one line for each input that
was not skipped, and one at the end.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

from rich.progress import Progress

from kvforensics.report.inert import inert
from kvforensics.report.span import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvforensics.scan.plan import Item
    from kvforensics.scan.work import Outcome

_EVERY_S = 5.0
_MOST_FAILURES = 20


class Teller:
    """Called with the outcome so far after each input."""

    def __init__(self, items: Sequence[Item], style: str) -> None:
        self._bytes = sum(item.size for item in items)
        self._seen = 0
        self._worked = 0
        self._began = self._told = time.monotonic()
        self._style = ("rich" if sys.stderr.isatty() else "plain") if style == "auto" else style
        self._bar = self._make_bar() if self._style == "rich" else None

    def __call__(self, outcome: Outcome, item: Item) -> None:
        """Tell about one more input."""
        self._seen += item.size
        now = time.monotonic()
        if self._style == "json":
            if outcome.worked > self._worked:
                self._json("input", outcome, path=item.path)
            self._worked = outcome.worked
        elif self._bar is not None:
            self._bar.update(
                self._bar.task_ids[0],
                completed=self._seen,
                files=f"{outcome.worked + outcome.skipped:,}/{outcome.planned:,}",
                rate=f"{self._rate(outcome):,.0f}",
                failed=outcome.failed,
            )
        elif self._style == "plain" and now - self._told >= _EVERY_S:
            self._told = now
            self._say(
                f"{outcome.worked + outcome.skipped:,} of {outcome.planned:,} inputs, "
                f"{outcome.bytes >> 20:,} MiB, {self._rate(outcome):,.0f} lines/s, "
                f"about {duration(self._left())} left, {outcome.failed:,} failed"
            )

    def _rate(self, outcome: Outcome) -> float:
        """Return the lines read a second."""
        return outcome.lines / max(1e-9, time.monotonic() - self._began)

    def _left(self) -> float:
        """Return the seconds that the rest will take at the pace so far."""
        return (time.monotonic() - self._began) * (self._bytes - self._seen) / max(1, self._seen)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()

    def finish(self, outcome: Outcome) -> None:
        """Tell the end and the failures."""
        if self._style == "json":
            self._json("end", outcome, failures=[list(each) for each in outcome.failures])
            return
        if self._style == "none":
            return
        for path, reason in outcome.failures[:_MOST_FAILURES]:
            self._say(f"failed: {inert(path)}: {inert(reason, 300)}")
        if len(outcome.failures) > _MOST_FAILURES:
            self._say(f"and {len(outcome.failures) - _MOST_FAILURES:,} more, see the table sources")
        self._say(
            f"{outcome.read:,} read, {outcome.continued:,} continued, {outcome.skipped:,} unchanged, "
            f"{outcome.renamed:,} known by content, {outcome.failed:,} failed"
        )

    def _json(self, what: str, outcome: Outcome, **more: object) -> None:
        counts = {
            name: getattr(outcome, name)
            for name in ("planned", "read", "continued", "skipped", "renamed", "failed", "bytes", "lines")
        }
        pace = {"lines_per_s": round(self._rate(outcome)), "seconds_left": round(self._left(), 1)}
        self._say(json.dumps({"event": what, **counts, **pace, **more}, sort_keys=True))

    def _say(self, text: str) -> None:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()

    def _make_bar(self) -> Progress:
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import (  # noqa: PLC0415
            BarColumn,
            DownloadColumn,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        bar = Progress(
            TextColumn("scan {task.fields[files]}"),
            BarColumn(),
            DownloadColumn(binary_units=True),
            TransferSpeedColumn(),
            TextColumn("{task.fields[rate]} lines/s"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[failed]} failed"),
            console=Console(stderr=True),
        )
        bar.add_task("scan", total=self._bytes, files="", rate="0", failed=0)
        bar.start()
        return bar
