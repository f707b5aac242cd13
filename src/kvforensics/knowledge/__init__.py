"""Facts about SGLang that are data: settings, releases, no-op patterns, known faults.

Everything is read out of the TOML and JSON files beside this module; see their heads for the vocabularies.
"""

from __future__ import annotations

from kvforensics.knowledge.conditions import FACTS, Condition, Facts, all_hold
from kvforensics.knowledge.describe import describe
from kvforensics.knowledge.history import UNKNOWN, Span, Unknown, default, fields, history
from kvforensics.knowledge.issues import KnownIssue, issues_of, known_issues
from kvforensics.knowledge.knobs import FIGURES, Feature, Knob, feature, knob, knobs
from kvforensics.knowledge.patterns import Pattern, pattern_codes, patterns, patterns_of
from kvforensics.knowledge.releases import (
    Version,
    VersionRange,
    as_range,
    release_key,
    releases,
    within,
)
from kvforensics.knowledge.signs import Sign, signs, signs_in

__all__ = [
    "FACTS",
    "FIGURES",
    "UNKNOWN",
    "Condition",
    "Facts",
    "Feature",
    "Knob",
    "KnownIssue",
    "Pattern",
    "Sign",
    "Span",
    "Unknown",
    "Version",
    "VersionRange",
    "all_hold",
    "as_range",
    "default",
    "describe",
    "feature",
    "fields",
    "history",
    "issues_of",
    "knob",
    "knobs",
    "known_issues",
    "pattern_codes",
    "patterns",
    "patterns_of",
    "release_key",
    "releases",
    "signs",
    "signs_in",
    "within",
]
