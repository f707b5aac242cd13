"""What would have been: a launch's pool under other settings, or the settings that reach a context."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kvforensics.errors import PredictionRefusedError, UsageError
from kvforensics.selection import launch as launch_of
from kvforensics.sizing import Answer, Prediction, predict, solve

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvforensics.analysis import Service
    from kvforensics.launches import Launch


@dataclass(frozen=True, slots=True)
class WhatIf:
    """An answer about one launch: a prediction, solutions, or the reason why there is neither."""

    service: str
    base: Launch
    set: Mapping[str, Any] = field(default_factory=dict)
    need_context: int | None = None
    prediction: Prediction | None = None
    answer: Answer | None = None
    refused: PredictionRefusedError | None = None


def what_if(service: Service, settings: Mapping[str, Any], launch: str | None = None) -> WhatIf:
    """Predict a launch (by default the last with a pool) under other settings.

    Raises UsageError for settings that no server takes; a refusal of the rule is part of the answer.
    """
    base = _base(service, launch)
    try:
        return WhatIf(service.id, base, settings, prediction=predict(base, settings))
    except PredictionRefusedError as refusal:
        return WhatIf(service.id, base, settings, refused=refusal)


def reach(service: Service, context: int, launch: str | None = None) -> WhatIf:
    """Find settings under which a launch's pool and context length are at least `context` tokens."""
    base = _base(service, launch)
    try:
        return WhatIf(service.id, base, need_context=context, answer=solve(base, context))
    except PredictionRefusedError as refusal:
        return WhatIf(service.id, base, need_context=context, refused=refusal)


def _base(service: Service, name: str | None) -> Launch:
    if name is not None:
        return launch_of(service, name)
    for one in reversed(service.launches):
        if one.pool_tokens is not None:
            return one
    if not service.launches:
        raise UsageError(f"{service.id} has no launch")
    return service.launches[-1]
