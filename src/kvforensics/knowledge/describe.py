"""What is known of one setting, laid out for a reader: the data behind `kvforensics knobs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvforensics.knowledge.history import UNKNOWN, default, flag_aliases, spans
from kvforensics.knowledge.issues import known_issues
from kvforensics.knowledge.knobs import knob
from kvforensics.knowledge.patterns import patterns_of
from kvforensics.knowledge.releases import members, within

if TYPE_CHECKING:
    from kvforensics.knowledge.knobs import Knob
    from kvforensics.knowledge.patterns import Pattern
    from kvforensics.knowledge.releases import Version


def describe(name: str, version: Version = None) -> dict[str, Any] | None:
    """Return what is known of a setting as plain JSON values, or None where nothing is.

    `name` is a field or a flag's spelling with dashes. With a version, only what concerns it.
    """
    field = name.lstrip("-").replace("-", "_")
    known = knob(field)
    if known is None:
        return None
    shown = default(field, version)
    return {
        "name": known.name,
        "flags": _flags(known, version),
        "role": known.role,
        "purpose": known.purpose,
        "memory_setting": known.is_memory_setting,
        "mistaken_for": known.mistaken_for,
        "direction": dict(known.direction),
        "why": known.why,
        "conditions": known.conditions,
        "log": known.log,
        "unit": known.unit,
        "feature": known.feature.name if known.feature else None,
        "derived_from": list(known.derived_from),
        "since": known.since,
        "until": known.until,
        "exists": known.exists_in(version) if version is not None else None,
        "default": {"known": shown is not UNKNOWN, "value": None if shown is UNKNOWN else shown},
        "history": [
            {
                "since": span.since,
                "until": span.until,
                "type": span.type,
                "default": None if span.default is UNKNOWN else repr(span.default),
            }
            for span in known.spans
            if version is None or span in spans(field, version)
        ],
        "older_names": list(known.older_names),
        "newer_names": list(known.newer_names),
        "patterns": [
            _pattern(one)
            for one in _own_patterns(field)
            if within(version, one.since, one.until) is not False
        ],
        "issues": [
            {"id": one.id, "title": one.title, "since": one.since, "until": one.until, "fix": one.fix}
            for one in known_issues()
            if field in one.settings and one.concerns(version) is not False
        ],
        "source": list(known.source),
    }


def _own_patterns(field: str) -> tuple[Pattern, ...]:
    return tuple(one for one in patterns_of(field) if "/./" not in one.settings)


def _flags(known: Knob, version: Version) -> list[str]:
    """Return the setting's flags, its own first; private fields have none."""
    if known.name.startswith("_"):
        return []
    others = {
        flag
        for release in members(version)
        for flag, field in flag_aliases(release).items()
        if field == known.name
    }
    return [f"--{known.name.replace('_', '-')}", *sorted(others)]


def _pattern(one: Pattern) -> dict[str, Any]:
    return {
        "id": one.id,
        "outcome": one.outcome,
        "code": one.code,
        "why": one.why,
        "fix": one.fix,
        "since": one.since,
        "until": one.until,
    }
