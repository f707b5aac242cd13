"""What happened, in three sentences, told from the verdicts that the analysis holds."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kvforensics.verdicts import verdict

_SHOWN = 3


def without_effect(service: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the changes of a service that were meant for memory and did nothing to the pool."""
    return [
        c for c in service["changes"] if verdict.is_idle(c["verdict"], c["reason_code"], derived=c["derived"])
    ]


def tell(service: dict[str, Any]) -> list[str]:
    """Return three sentences: the history, the edits that did nothing, what limits it now and what to do."""
    return [_history(service), _edits(service), _now(service)]


def number(value: float | None) -> str:
    """Return a figure with thousands separators, or a dash where the log does not tell."""
    return "–" if value is None else f"{value:,}"


def _history(service: dict[str, Any]) -> str:
    launches = service["launches"]
    failed = sum(launch["end"] == "failed_start" for launch in launches)
    died = sum(launch["end"] in ("crashed", "killed", "oom") for launch in launches)
    text = f"{service['id']} was started {_times(len(launches))}"
    start, end = launches[0]["started_at"], launches[-1]["last_at"] or launches[-1]["started_at"]
    if start and end:
        text += f" between {minute(start)} and {minute(end)} UTC"
    if failed:
        text += f"; {_count(failed, 'start')} failed"
    if died:
        text += f"; {_count(died, 'launch', 'launches')} died in service"
    return text + "."


def _edits(service: dict[str, Any]) -> str:
    judged = [c for c in service["changes"] if is_edit(c)]
    idle = without_effect(service)
    if not judged:
        return "No setting that concerns memory or admission changed between launches."
    if not idle:
        counts = Counter(change["verdict"] for change in judged)
        named = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in sorted(counts.items()))
        return f"No edit was without effect; the verdicts of {_count(len(judged), 'edit')}: {named}."
    named = ", ".join(f"{edit(c)} ({c['from']}→{c['to']})" for c in idle[:_SHOWN])
    more = f" and {len(idle) - _SHOWN} more" if len(idle) > _SHOWN else ""
    return f"{_count(len(idle), 'edit')} did nothing for the KV pool: {named}{more}."


def is_edit(change: dict[str, Any]) -> bool:
    """Tell whether a person changed it and it is a matter of memory."""
    return verdict.is_edit(change["reason_code"], derived=change["derived"])


def _now(service: dict[str, Any]) -> str:
    last = service["launches"][-1]
    launch = next((each for each in reversed(service["launches"]) if each["pool_tokens"]), None)
    said = []
    if last["end"] == "failed_start":
        said.append(f"The last start, {last['id']}, failed.")
    if launch is None:
        said.append("No launch logged a KV pool, so nothing can be said about capacity.")
    elif not (last["end"] == "failed_start" and launch is last):
        said.append(_limit(launch))
    steps = _next(service, last if launch is None else launch, last)
    said.append(f"Next: {steps}" if steps else "Nothing in the logs asks for another step.")
    return " ".join(said)


def _limit(launch: dict[str, Any]) -> str:
    """Say what limits a prompt at a launch that has a pool."""
    pool, context, longest = launch["pool_tokens"], launch["context_len"], launch["longest_prompt_tokens"]
    upto = "" if longest is None else f", so prompts end at {number(longest)} tokens"
    if context is None:
        return f"{launch['id']} has a pool of {number(pool)} tokens{upto}."
    if pool < context:
        return (
            f"In {launch['id']} the pool is the limit: it holds {number(pool)} tokens, fewer than the "
            f"context length of {number(context)}{upto}."
        )
    return (
        f"In {launch['id']} the context length of {number(context)} is the limit{upto}; the pool holds "
        f"{number(pool)}."
    )


def _next(service: dict[str, Any], launch: dict[str, Any], last: dict[str, Any]) -> str | None:
    """Return the advice that still holds: of the last launch, and of the last one that has a pool."""
    now = {launch["id"], last["id"], None}
    fixes = [
        finding["fix"]
        for severity in ("error", "warning")
        for finding in reversed(service["findings"])
        if finding["severity"] == severity and finding["launch"] in now and finding["fix"]
    ]
    advice = [c["advice"] for c in reversed(service["changes"]) if c["advice"] and c["to"] in now]
    return next(iter([*fixes, *advice]), None)


def edit(change: dict[str, Any]) -> str:
    """Return an edit as `context_length: 32768 → 200000`."""
    return f"{change['setting']}: {value(change['before'])} → {value(change['after'])}"


def value(setting: Any) -> str:
    """Return a setting's value as a person writes it."""
    return "not set" if setting is None else str(setting)


def minute(at: str) -> str:
    """Return `2026-05-20 14:03` from an ISO time."""
    return at[:16].replace("T", " ")


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def _count(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
