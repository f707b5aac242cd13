"""An edit that never arrived: the trail shows it, and the next start runs with the old value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kvforensics.changes import diff
from kvforensics.config_sources.edits import edits_from_sudo
from kvforensics.findings.scene import Finding, Scene, finding
from kvforensics.knowledge.knobs import is_drawn
from kvforensics.settings import UNKNOWN, name_in, same
from kvforensics.sizing.facts import last_event
from kvforensics.verdicts.decision import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvforensics.config_sources.edit import Edit
    from kvforensics.events import Event
    from kvforensics.launches import Launch

_COMMANDS = ("sudo_command", "sudo_continued", "audit_command")


class _Pending(Struct):
    """An edit that waits for the start that should have it."""

    event: Event
    before: dict[str, Any]
    after: dict[str, Any]  # empty where the command does not show what was written
    path: str | None = None
    reloaded: bool = False


def stale_units(scene: Scene) -> Iterator[Finding]:
    """Yield starts that ran with a value that an edit before them had replaced.

    An edit whose new value stands in the command is compared with it. Of one that hides it (an editor),
    only this is said: that no daemon-reload followed, and that no setting differs from the start before.
    Only the first start after an edit counts.
    """
    waiting: list[_Pending] = []
    before: Launch | None = None
    for moment in _moments(scene):
        if isinstance(moment, tuple):
            event, edit = moment
            _take(scene, waiting, event, edit)
            continue
        for edited in waiting:
            yield from (
                _compare(scene, moment, edited) if edited.after else _hidden(scene, before, moment, edited)
            )
        waiting, before = [], moment
    yield from _said_by_systemd(scene)


def _said_by_systemd(scene: Scene) -> Iterator[Finding]:
    """Yield a server that runs on though systemd read a unit file without its command line.

    `Current command vanished from the unit file` is what systemd says at the reload; a restart cures it.
    """
    last = scene.history.launches[-1] if scene.history.launches else None
    event = last_event(last, "unit_file_changed") if last is not None else None
    if last is None or event is None or last.end != "running":
        return
    yield finding(
        "stale_unit",
        last,
        f"The unit file was changed, and {last.id} still runs the old command line",
        "systemd read a unit file that no longer holds the command of the running process.",
        "Restart the service when the new settings shall apply.",
        at=event.at,
        evidence=scene.places(event),
    )


def _moments(scene: Scene) -> list[tuple[Event, Edit] | Launch]:
    """Return edits and starts in the order of time; what has no time is left out."""
    commands = {
        (e.source, e.line): e
        for e in (*scene.history.trail, *(e for launch in scene.history.launches for e in launch.events))
        if e.kind in _COMMANDS
    }
    found: list[tuple[Any, int, tuple[Event, Edit] | Launch]] = []
    for event in commands.values():
        command = event.fields.get("command")
        if event.at is None or not isinstance(command, str):
            continue
        found.extend((event.at, 0, (event, edit)) for edit in edits_from_sudo(command))
    found.extend((one.started_at, 1, one) for one in scene.history.launches if one.started_at is not None)
    return [moment for _, _, moment in sorted(found, key=lambda row: row[:2])]


def _take(scene: Scene, waiting: list[_Pending], event: Event, edit: Edit) -> None:
    if edit.action == "daemon_reload":
        for one in waiting:
            one.reloaded = True
    if edit.action == "edit" and _is_mine(scene, edit) and (edit.after or edit.unit is not None):
        settings = {name for name, _ in edit.after}
        waiting[:] = [one for one in waiting if not settings & one.after.keys()]
        waiting.append(_Pending(event, dict(edit.before), dict(edit.after), edit.path))


def _is_mine(scene: Scene, edit: Edit) -> bool:
    """Whether an edit is of this service's unit, or of a file that names no unit."""
    return edit.unit is None or scene.history.unit is None or edit.unit == scene.history.unit


def _compare(scene: Scene, launch: Launch, edit: _Pending) -> Iterator[Finding]:
    if launch.config.source in ("none", "partial"):
        return
    for setting, wanted in edit.after.items():
        ran = _ran_with(launch, setting)
        if ran is UNKNOWN or same(setting, ran, wanted):
            continue
        old = edit.before.get(setting, UNKNOWN)
        if old is not UNKNOWN and not same(setting, ran, old):
            continue  # neither the old nor the new value: something else set it
        missing = "" if edit.reloaded else " No daemon-reload stands between the edit and the start."
        yield finding(
            "stale_unit",
            launch,
            f"{setting} was edited to {shown(wanted)}, and {launch.id} started with {shown(ran)}",
            f"The edit did not reach the process.{missing}",
            "systemctl daemon-reload, then restart; then compare the settings line with the unit file."
            if not edit.reloaded
            else "The edited file is not the one that the unit reads, the text to replace was not there, or "
            "a drop-in or an environment file wins: `systemctl cat` shows what runs.",
            at=edit.event.at,
            evidence=(*scene.places(edit.event), *scene.evidence(launch, "config")),
        )


def _hidden(scene: Scene, before: Launch | None, launch: Launch, edit: _Pending) -> Iterator[Finding]:
    """Yield an edit in an editor that nothing of the next start shows, where systemd was not told of it."""
    if before is None or edit.reloaded or "none" in (before.config.source, launch.config.source):
        return
    if any(not is_drawn(change.setting) for change in diff(before, launch)):
        return
    yield finding(
        "stale_unit",
        launch,
        f"{edit.path or 'The unit'} was edited, and {launch.id} started with the same settings",
        "No daemon-reload stands between the edit and the start, so systemd may have started the old unit. "
        "What was written is not in the log.",
        "systemctl daemon-reload, then restart; then compare the settings line with the unit file.",
        at=edit.event.at,
        evidence=(*scene.places(edit.event), *scene.evidence(launch, "config")),
        severity="info",
    )


def _ran_with(launch: Launch, setting: str) -> Any:
    """Return what a launch was asked to run with, where the log tells."""
    for values in (launch.config.requested, launch.config.values):
        name = name_in(setting, values)
        if name in values:
            return values[name]
    return UNKNOWN
