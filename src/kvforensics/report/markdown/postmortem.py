"""Markdown: CommonMark with GitHub's tables and footnotes; log text is escaped, evidence is a footnote."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kvforensics.impact import impact
from kvforensics.report import story, timeline_json
from kvforensics.report.evidence import Evidence
from kvforensics.report.markdown.escape import code, escape
from kvforensics.report.span import duration
from kvforensics.timewords import zone
from kvforensics.verdicts.verdict import NOT_ABOUT_MEMORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvforensics.analysis import Analysis

_LONGEST = 160  # characters of a log line in a row or a footnote
_MOST_BARS = 40  # launches of a diagram that can still be told apart


def markdown(analysis: Analysis, *, local: str = "UTC") -> str:
    """Return the postmortem. `local` is the zone of the second column of times, as `--tz` names zones."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only reports need it

    document = timeline_json.timeline(analysis)
    notes = _Footnotes(Evidence(analysis))
    environment = Environment(
        loader=PackageLoader("kvforensics.report.markdown"),
        autoescape=False,  # noqa: S701 - Markdown has its own escaping, the filter `md`
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(md=escape, code=code, cite=notes.cite)
    environment.globals.update(
        number=story.number, value=lambda v: escape(story.value(v)), duration=duration, zone=local
    )
    parts = [
        {
            "service": service,
            "story": story.tell(service),
            "idle": story.without_effect(service),
            "impact": impact(drawn),
            "restarts": _restarts(service),
            "actions": _actions(service),
            "rows": [
                row | {"utc": _clock(row["at"], "UTC"), "local": _clock(row["at"], local)}
                for row in sorted(_rows(service), key=lambda row: (row["at"] is None, row["at"]))
            ],
            "limits": _limits(service),
        }
        for service, drawn in zip(document["services"], analysis.services, strict=True)
    ]
    text = environment.get_template("postmortem.md.j2").render(doc=document, parts=parts, notes=notes)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


class _Footnotes:
    """Places of the log, numbered in the order in which they are cited, with their lines where known."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._numbers: dict[tuple[str, int], int] = {}

    def cite(self, evidence: list[dict[str, Any]]) -> str:
        """Return the marks of up to three places."""
        marks = []
        for place in evidence[:3]:
            key = (place["path"], place["line"])
            marks.append(f"[^{self._numbers.setdefault(key, len(self._numbers) + 1)}]")
        return "".join(marks)

    def __iter__(self) -> Iterator[str]:
        for (path, line), number in self._numbers.items():
            text = self._evidence({"path": path, "line": line})["text"]
            told = f": {escape(text.strip(), _LONGEST)}" if text else ""
            yield f"[^{number}]: {escape(path)}, line {line}{told}"


def _rows(service: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Give what happened, one row a moment: `at`, `what` (Markdown) and `evidence`."""
    starts = {launch["id"]: launch["started_at"] for launch in service["launches"]}
    for launch in service["launches"]:
        places = [place for place in (launch["evidence"].get("config"),) if place]
        pool = [place for place in (launch["evidence"].get("pool_tokens"),) if place]
        yield _row(launch["started_at"], f"{launch['id']} starts", places)
        if launch["ready_at"]:
            figures = (
                f"pool {story.number(launch['pool_tokens'])}, context {story.number(launch['context_len'])}"
            )
            yield _row(launch["ready_at"], f"{launch['id']} is ready: {figures}", pool)
        if launch["ended_at"]:
            yield _row(launch["ended_at"], f"{launch['id']} ends: {launch['end'].replace('_', ' ')}", [])
    for change in service["changes"]:
        if change["reason_code"] == NOT_ABOUT_MEMORY:
            continue
        before, after = escape(story.value(change["before"])), escape(story.value(change["after"]))
        verdict = change["verdict"].replace("_", " ")
        text = f"{code(change['setting'])} {before} → {after}: **{verdict}**"
        yield _row(starts.get(change["to"]), text, change["evidence"])
    for finding in service["findings"]:
        yield _row(
            finding["at"] or starts.get(finding["launch"]), escape(finding["title"]), finding["evidence"]
        )
    for event in service["trail"]:
        told = (event["text"] or event["kind"].replace("_", " ")).strip()
        yield _row(event["at"], escape(told, _LONGEST), [event["evidence"]])


def _row(at: str | None, what: str, evidence: list[dict[str, Any]]) -> dict[str, Any]:
    return {"at": at, "what": what, "evidence": evidence}


def _clock(at: str | None, name: str) -> str:
    if at is None:
        return "unknown"
    return datetime.fromisoformat(at).astimezone(zone(name)).strftime("%Y-%m-%d %H:%M:%S")


def _restarts(service: dict[str, Any]) -> list[dict[str, Any]]:
    """Return each restart with its downtime and the memory edits that it was made for."""
    edits: dict[str, list[str]] = {}
    for change in service["changes"]:
        if story.is_edit(change):
            text = f"{code(change['setting'])} ({change['verdict'].replace('_', ' ')})"
            edits.setdefault(change["to"], []).append(text)
    return [
        {
            "launch": each["id"],
            "downtime": duration(each["downtime_s"]),
            "edits": ", ".join(edits.get(each["id"], [])),
        }
        for each in service["launches"][1:]
    ]


def _actions(service: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is advised, each text once, with the launches that it is about."""
    found: dict[str, list[str]] = {}
    for change in story.without_effect(service):
        if change["advice"]:
            found.setdefault(change["advice"], []).append(change["to"])
    for finding in service["findings"]:
        if finding["fix"]:
            found.setdefault(finding["fix"], []).extend([finding["launch"]] if finding["launch"] else [])
    return [{"text": text, "launches": list(dict.fromkeys(launches))} for text, launches in found.items()]


def _limits(service: dict[str, Any]) -> dict[str, Any] | None:
    """Return pool and context of the launches that logged both, or None for fewer than two or too many."""
    rows = [each for each in service["launches"] if each["pool_tokens"] and each["context_len"]]
    if not 2 <= len(rows) <= _MOST_BARS:  # noqa: PLR2004 - one point is no line
        return None
    return {
        "names": [each["id"] for each in rows],
        "pools": [each["pool_tokens"] for each in rows],
        "contexts": [each["context_len"] for each in rows],
    }
