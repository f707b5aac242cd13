"""Rules that look at launches and say what is wrong."""

from __future__ import annotations

from kvforensics.findings.catalogue import CATALOGUE
from kvforensics.findings.find import find
from kvforensics.findings.finding import Finding

__all__ = ["CATALOGUE", "Finding", "find"]
