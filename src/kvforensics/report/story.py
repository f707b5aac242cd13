"""What happened, in three sentences, told from the verdicts that the analysis holds."""

from __future__ import annotations

from typing import Any

NO_OPS = ("no_op_for_pool", "no_op")
_SHOWN = 3


def without_effect(service: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the changes of a service that were meant for memory and did nothing to the pool."""
    return [
        change
        for change in service["changes"]
        if change["verdict"] in NO_OPS and change["reason_code"] != "not_a_memory_setting"
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
    judged = [c for c in service["changes"] if c["reason_code"] != "not_a_memory_setting"]
    idle = without_effect(service)
    if not judged:
        return "No setting that concerns memory or admission changed between launches."
    if not idle:
        moved = [c for c in judged if c["verdict"] == "effective"]
        names = (
            ", ".join(f"{c['setting']} ({c['from']}→{c['to']})" for c in moved[:_SHOWN]) or "none was proven"
        )
        return f"No edit was without effect; effective: {names}."
    named = ", ".join(f"{edit(c)} ({c['from']}→{c['to']})" for c in idle[:_SHOWN])
    more = f" and {len(idle) - _SHOWN} more" if len(idle) > _SHOWN else ""
    return f"{_count(len(idle), 'edit')} did nothing for the KV pool: {named}{more}."


def _now(service: dict[str, Any]) -> str:
    launch = next((each for each in reversed(service["launches"]) if each["pool_tokens"]), None)
    if launch is None:
        return "No launch logged a KV pool, so nothing can be said about capacity."
    pool, context = number(launch["pool_tokens"]), number(launch["context_len"])
    longest = number(launch["longest_prompt_tokens"])
    text = (
        f"{launch['id']} holds {pool} tokens under a context length of {context} "
        f"and admits prompts up to {longest} tokens"
    )
    advice = next((c["advice"] for c in reversed(without_effect(service)) if c["advice"]), None)
    fixes = [f["fix"] for f in service["findings"] if f["fix"] and f["launch"] == launch["id"]]
    fix = fixes[-1] if fixes else None
    step = advice if launch["id"] == _last_to(service) and advice else fix
    return f"{text}. {step}" if step else f"{text}."


def _last_to(service: dict[str, Any]) -> str | None:
    idle = without_effect(service)
    return idle[-1]["to"] if idle else None


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
