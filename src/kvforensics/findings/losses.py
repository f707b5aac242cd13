"""Findings about the log itself: what is missing in it, what stands there twice, what should not be in it."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kvforensics.findings.scene import Finding, Place, Scene, finding
from kvforensics.redaction import REDACTED
from kvforensics.sizing.facts import first_event

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvforensics.events import Event
    from kvforensics.launches import Launch

_LOST = ("message_null", "message_binary", "split_lost", "too_long_line", "blob_data")  # not a cut line
_LATER = frozenset(
    {
        "init_begin",
        "init_end",
        "load_begin",
        "load_end",
        "kv_pool",
        "pool_end",
        "summary",
        "ready",
        "oom_cuda",
    }
)
_GAP = timedelta(hours=1)
_DEEPEST = 6


def of_launch(scene: Scene, launch: Launch) -> Iterator[Finding]:
    """Yield what is missing from one launch's lines."""
    yield from _config(scene, launch)
    yield from _secrets(scene, launch)


def of_service(scene: Scene) -> Iterator[Finding]:
    """Yield what is missing from a service's log as a whole, and what it holds again."""
    yield from _suppressed(scene)
    yield from _gaps(scene)
    yield from _copies(scene)


def _config(scene: Scene, launch: Launch) -> Iterator[Finding]:
    if launch.config.truncated:
        event = first_event(launch, "server_args")
        yield finding(
            "config_line_lost",
            launch,
            "The settings line is cut off",
            f"{len(launch.config.values)} settings are known; what stood after the cut is not, and no "
            "change of it is claimed.",
            "Read the journal with its whole fields (-o export or -o json -a); journald cuts at LineMax.",
            at=event.at if event else launch.started_at,
            evidence=scene.places(event) or scene.evidence(launch, "config"),
        )
        return
    if launch.config.source == "server_args" or not launch.complete_start or not _got_past(launch):
        return
    lost = _damage(scene, launch)
    if lost is None:
        return
    kind, place = lost
    known = {"cmdline": "the command line", "unit_file": "the unit file"}.get(launch.config.source)
    yield finding(
        "config_line_lost",
        launch,
        "The settings line is lost",
        f"The carrier lost messages ({kind}), the settings line among them. "
        + (
            f"Settings are taken from {known}; defaults are assumed for the rest."
            if known
            else "No setting is known."
        ),
        "Read the journal with its whole fields (-o export or -o json -a).",
        at=launch.started_at,
        evidence=(place,),
    )


def _got_past(launch: Launch) -> bool:
    """Whether a later line proves that the settings line was printed."""
    return launch.ready_at is not None or any(e.kind in _LATER for e in launch.events)


def _damage(scene: Scene, launch: Launch) -> tuple[str, Place] | None:
    """Return the first damage of a launch's inputs that could have eaten its settings line."""
    for number in dict.fromkeys(e.source for e in launch.events):
        if not 0 <= number < len(scene.sources):
            continue
        source = scene.sources[number]
        for kind in _LOST:
            found = source.damaged.get(kind)
            if found is not None:
                return kind, Place(source.path, found.first_line)
    return None


def _secrets(scene: Scene, launch: Launch) -> Iterator[Finding]:
    logged = launch.config.source != "unit_file"  # what the user handed in stands in no log
    names = sorted({name for name, value in launch.config.values.items() if logged and _holds(value)})
    requested = launch.config.requested if logged else {}
    asked = sorted({name for name, value in requested.items() if _holds(value)} - set(names))
    others = [e for e in launch.events if e.kind != "server_args" and _tells(e)]
    if not names and not asked and not others:
        return
    said = ", ".join([*names, *asked]) or "a line"
    yield finding(
        "secret_in_log",
        launch,
        f"A secret stands in the log: {said}",
        "It is redacted in every output of this tool; the log itself still holds it.",
        "Rotate the secret, keep the log private, and give the secret by a file or the environment.",
        at=launch.started_at,
        evidence=(*(scene.evidence(launch, "config") if names or asked else ()), *scene.places(*others[:3])),
    )


def _holds(value: Any, depth: int = 0) -> bool:
    """Whether a value is a redacted secret, or has one inside."""
    if isinstance(value, str):
        return REDACTED in value
    if depth >= _DEEPEST:
        return False
    if isinstance(value, dict):
        return any(_holds(one, depth + 1) for one in value.values())
    return isinstance(value, list | tuple) and any(_holds(one, depth + 1) for one in value)


def _tells(event: Event) -> bool:
    return event.text is not None and REDACTED in event.text


def _suppressed(scene: Scene) -> Iterator[Finding]:
    for launch, event in _everywhere(scene, "suppressed"):
        count = event.fields.get("count")
        yield finding(
            "rate_limited",
            launch,
            f"The journal dropped {count:,} messages"
            if isinstance(count, int)
            else "The journal dropped messages",
            "Scheduler lines, refusals and even start-up lines may be missing here: counts are lower bounds.",
            "Set LogRateLimitIntervalSec=0 in the unit's [Service] section.",
            at=event.at,
            evidence=scene.places(event),
        )


def _gaps(scene: Scene) -> Iterator[Finding]:
    for launch, event in _everywhere(scene, "log_gap"):
        yield finding(
            "time_gap",
            launch,
            "The log says that messages are missing",
            event.text[:200] if event.text else "Messages are missing here.",
            None,
            at=event.at,
            evidence=scene.places(event),
        )
    launches = scene.history.launches
    for before, after in pairwise(launches):
        if before.end != "unknown" or before.last_at is None or after.started_at is None:
            continue
        silent = after.started_at - before.last_at
        if silent <= _GAP:
            continue
        yield finding(
            "time_gap",
            after,
            f"Nothing is logged for {_long(silent)} before {after.id}",
            f"How {before.id} ended is not in the log.",
            None,
            at=before.last_at,
            evidence=scene.evidence(after, "config"),
        )


def _copies(scene: Scene) -> Iterator[Finding]:
    for launch in scene.history.launches:
        again = [event for name, event in scene.history.copies if name == launch.id]
        if again:
            yield finding(
                "launch_repeated",
                launch,
                f"{launch.id} stands in the log {'twice' if len(again) == 1 else f'{len(again) + 1} times'}",
                "The same lines at the same times come again further down; they are counted once.",
                None,
                at=launch.started_at,
                evidence=scene.places(*again[:3]),
            )


def _everywhere(scene: Scene, kind: str) -> Iterator[tuple[Launch | None, Event]]:
    seen = set()
    for launch in scene.history.launches:
        for event in launch.events:
            if event.kind == kind and (event.source, event.line) not in seen:
                seen.add((event.source, event.line))
                yield launch, event
    for event in scene.history.trail:
        if event.kind == kind and (event.source, event.line) not in seen:
            seen.add((event.source, event.line))
            yield _running_at(scene, event), event


def _running_at(scene: Scene, event: Event) -> Launch | None:
    """Return the launch that ran when a line of the trail was written."""
    for launch in reversed(scene.history.launches):
        if event.at is not None and launch.started_at is not None and launch.started_at <= event.at:
            return launch
    return None


def _long(silent: timedelta) -> str:
    hours = silent.total_seconds() / 3600
    return f"{hours:.1f} hours" if hours < 48 else f"{hours / 24:.1f} days"  # noqa: PLR2004 two days
