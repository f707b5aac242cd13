"""The postmortem skeleton in Markdown, filled as far as the logs prove it."""

from __future__ import annotations

from kvforensics.report.markdown.postmortem import markdown

__all__ = ["markdown"]
