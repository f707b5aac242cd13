"""The postmortem page: one self-contained HTML file."""

from __future__ import annotations

from kvforensics.report.html.page import html

__all__ = ["html"]
