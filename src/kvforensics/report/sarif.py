"""SARIF 2.1.0 of the findings and of edits without effect, for code scanning in CI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvforensics.report import story
from kvforensics.report.plain import dumps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvforensics.report.plain import JSON

_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def sarif(document: JSON, release: str) -> str:
    """Return a SARIF log with one result a finding, and one an edit that did nothing for the pool."""
    results = [result for service in document["services"] for result in _results(service)]
    rules = {result["ruleId"] for result in results}
    driver = {"name": "kvforensics", "version": release, "rules": [{"id": rule} for rule in sorted(rules)]}
    return dumps(
        {
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}],
        }
    )


def _results(service: JSON) -> Iterator[dict[str, Any]]:
    for finding in service["findings"]:
        text = " ".join(filter(None, [finding["title"] + ".", finding["detail"], finding["fix"]]))
        where = f"{service['id']}/{finding['launch'] or '-'}"
        yield _result(finding["id"], _LEVELS[finding["severity"]], text, where, finding["evidence"])
    for change in story.without_effect(service):
        edit = f"{change['setting']}: {change['before']} -> {change['after']}."
        text = f"{edit} {change['reason']} {change['advice'] or ''}"
        where = f"{service['id']}/{change['to']}/{change['setting']}"
        yield _result("edit_without_effect", "warning", text.strip(), where, change["evidence"])


def _result(rule: str, level: str, text: str, where: str, evidence: list[JSON]) -> dict[str, Any]:
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": text},
        "partialFingerprints": {"kvforensics/v1": f"{rule}:{where}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(place["path"])},
                    "region": {"startLine": place["line"]},
                },
                "logicalLocations": [{"fullyQualifiedName": where}],
            }
            for place in evidence[:10]
        ],
    }


def _uri(path: str) -> str:
    from urllib.parse import quote  # noqa: PLC0415

    return quote("stdin" if path == "-" else path, safe="/!")
