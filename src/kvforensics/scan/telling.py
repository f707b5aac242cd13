"""Progress of a scan on standard error: a bar on a terminal, else plain lines, or JSON lines when asked."""

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
        self._began = self._told = time.monotonic()
        self._style = ("rich" if sys.stderr.isatty() else "plain") if style == "auto" else style
        self._bar = self._make_bar() if self._style == "rich" else None

    def __call__(self, outcome: Outcome, item: Item) -> None:
        """Tell about one more input."""
        self._seen += item.size
        now = time.monotonic()
        if self._style == "json":
            self._json("input", outcome, path=item.path)
        elif self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._seen, failed=outcome.failed)
        elif self._style == "plain" and now - self._told >= _EVERY_S:
            self._told = now
            left = (now - self._began) * (self._bytes - self._seen) / max(1, self._seen)
            rate = outcome.lines / max(1e-9, now - self._began)
            done = outcome.read + outcome.continued + outcome.skipped + outcome.renamed
            self._say(
                f"{done:,} of {outcome.planned:,} inputs, {outcome.bytes >> 20:,} MiB, {rate:,.0f} lines/s, "
                f"about {duration(left)} left, {outcome.failed:,} failed"
            )

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
        self._say(json.dumps({"event": what, **counts, **more}, sort_keys=True))

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
            TextColumn("scan"),
            BarColumn(),
            DownloadColumn(binary_units=True),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[failed]} failed"),
            console=Console(stderr=True),
        )
        bar.add_task("scan", total=self._bytes, failed=0)
        bar.start()
        return bar
