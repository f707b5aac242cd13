"""The JSON of `whatif` (schema `kvforensics.whatif/1`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.report.plain import JSON, plain

if TYPE_CHECKING:
    from kvforensics.whatif import WhatIf


def whatif(asked: WhatIf) -> JSON:
    """Return a prediction with its 95 % interval, or solutions; figures are null where refused."""
    refused = asked.refused
    document: JSON = {
        "schema": "kvforensics.whatif/1",
        "service": plain(asked.service),
        "launch": asked.base.id,
        "refused": None
        if refused is None
        else {"reason_code": refused.reason_code, "reason": plain(refused.message)},
    }
    return document | (_prediction(asked) if asked.need_context is None else _answer(asked))


def _prediction(asked: WhatIf) -> JSON:
    held = asked.prediction
    return {
        "set": plain(asked.set),
        "predicted_pool_tokens": held.tokens if held else None,
        "low": held.low if held else None,
        "high": held.high if held else None,
        "longest_prompt_tokens": held.longest_prompt_tokens if held else None,
        "max_running_requests": held.max_running_requests if held else None,
        "free_gib": held.free_gib if held else None,
        "assumptions": plain(held.assumptions if held else ()),
    }


def _answer(asked: WhatIf) -> JSON:
    answer = asked.answer
    return {
        "need": {"context": asked.need_context},
        "reason": plain(answer.reason) if answer else None,
        "mem_fraction_static": answer.mem_fraction_static if answer else None,
        "solutions": [
            {
                "set": plain(one.set),
                "predicted_pool_tokens": one.predicted_pool_tokens,
                "low": one.low,
                "high": one.high,
                "free_gib": one.free_gib,
                "risk": plain(one.risk),
            }
            for one in (answer.solutions if answer else ())
        ],
        "assumptions": plain(answer.assumptions if answer else ()),
    }
