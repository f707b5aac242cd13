"""A file that the user handed in asks for something else than what the last launch runs with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvforensics.findings.scene import Finding, Scene, finding
from kvforensics.settings import UNKNOWN, name_in, same
from kvforensics.settings.command_line import CONFIG_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvforensics.launches import Launch

_NOT_COMPARED = {CONFIG_FILE, "model_path", "tokenizer_path"}  # paths may be links, or mounts of a container


def stale_file(scene: Scene) -> Iterator[Finding]:
    """Yield the settings that stand otherwise in the file than in the launch that runs now.

    A value that the engine changed by itself after the start is the engine's, not the file's.
    """
    launch = scene.history.launches[-1] if scene.history.launches else None
    if (
        launch is None
        or launch.config.handed is None
        or launch.config.source not in ("server_args", "cmdline")
    ):
        return
    for setting, wanted in launch.config.handed.items():
        ran = _ran_with(launch, setting)
        if setting in _NOT_COMPARED or ran is UNKNOWN or same(setting, ran, wanted):
            continue
        yield finding(
            "stale_unit",
            launch,
            f"The file asks for {setting} {wanted}, {launch.id} runs with {ran}",
            "The running process was started from another version of the file, or something overrides it.",
            "systemctl daemon-reload, then restart; `systemctl cat` shows what the unit really reads.",
            at=launch.started_at,
            evidence=scene.evidence(launch, "config"),
        )


def _ran_with(launch: Launch, setting: str) -> Any:
    """Return what the launch was started with; unknown where only the engine's own value is."""
    asked = name_in(setting, launch.config.requested)
    if asked in launch.config.requested:
        return launch.config.requested[asked]
    name = name_in(setting, launch.config.values)
    changed = any(event.kind == f"adjust__{name}" for event in launch.events)
    return UNKNOWN if changed or name not in launch.config.values else launch.config.values[name]
