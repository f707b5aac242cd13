"""Years of launches on one page: what repeats is said once, with the launches that it holds for."""

from __future__ import annotations

from typing import Any

from kvforensics.report import story

_FEW = 4  # ranges of launches that are named


def findings_by_id(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return findings of one kind together: the last one whole, the others as launches and times.

    Errors come first, then warnings, then notes; within these the order of the document.
    """
    groups: dict[str, list[dict[str, Any]]] = {}
    for finding in findings:
        groups.setdefault(finding["id"], []).append(finding)
    order = ("error", "warning", "info")
    made = [{"shown": group[-1], "others": group[:-1]} for group in groups.values()]
    return sorted(made, key=lambda group: order.index(group["shown"]["severity"]))


def settings_by_value(launches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return every setting with its values and the launches of each; settings that vary come first.

    Rows have `name`, `value`, `launches` (in words), `of` (the numbers of these launches) and `varies`.
    """
    told: dict[str, dict[str, list[int]]] = {}
    for number, launch in enumerate(launches):
        for name, setting in launch["config"].items():
            told.setdefault(name, {}).setdefault(story.value(setting), []).append(number)
    rows = [
        {
            "name": name,
            "value": value,
            "launches": named(numbers, [launch["id"] for launch in launches]),
            "of": "" if len(numbers) == len(launches) else " ".join(map(str, numbers)),
            "varies": len(numbers) < len(launches),
        }
        for name, values in told.items()
        for value, numbers in values.items()
    ]
    return sorted(rows, key=lambda row: (not row["varies"], row["name"]))


def named(numbers: list[int], names: list[str]) -> str:
    """Return launches as `L1, L3–L9`; a long list is cut and counted."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    if len(numbers) == len(names) > 1:
        return "all"
    said = [names[a] if a == b else f"{names[a]}–{names[b]}" for a, b in ranges[:_FEW]]
    more = sum(b - a + 1 for a, b in ranges[_FEW:])
    return ", ".join(said) + (f" and {more} more" if more else "")
