"""Two launches, services, hosts, files or periods side by side."""

from __future__ import annotations

from kvforensics.compare.comparison import Comparison, compare
from kvforensics.compare.selector import select

__all__ = ["Comparison", "compare", "select"]
