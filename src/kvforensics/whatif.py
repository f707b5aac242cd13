"""What would have been: a launch's pool under other settings, or the settings that reach a context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from kvforensics.errors import PredictionRefusedError, UsageError
from kvforensics.selection import launch as launch_of
from kvforensics.sizing import Answer, Prediction, predict, solve
from kvforensics.sizing.facts import first_event, positive

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvforensics.analysis import Service
    from kvforensics.launches import Launch


class WhatIf(Struct, frozen=True):
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
    limit = _model_limit(service, base)
    if limit is not None and context > limit:
        reason = f"the model's own context limit is {limit:,} tokens: a start that asked for more was refused"
        return WhatIf(service.id, base, need_context=context, answer=Answer(reason=reason))
    try:
        return WhatIf(service.id, base, need_context=context, answer=solve(base, context))
    except PredictionRefusedError as refusal:
        return WhatIf(service.id, base, need_context=context, refused=refusal)


def _model_limit(service: Service, base: Launch) -> int | None:
    """Return the model's own context limit where a start of the same model was refused over it."""
    model = base.config.values.get("model_path")
    limits = []
    for one in service.launches:
        event = first_event(one, "context_rejected")
        limit = positive(event.fields.get("derived")) if event is not None else None
        if limit is not None and one.config.values.get("model_path", model) == model:
            limits.append(int(limit))
    return min(limits, default=None)


def _base(service: Service, name: str | None) -> Launch:
    if name is not None:
        return launch_of(service, name)
    for one in reversed(service.launches):
        if one.pool_tokens is not None:
            return one
    if not service.launches:
        raise UsageError(f"{service.id} has no launch")
    return service.launches[-1]
