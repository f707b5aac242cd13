"""A prediction, or the settings that reach a context, for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.report.terminal.figures import clock, count, gib, setting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kvforensics.report.terminal.page import Page
    from kvforensics.sizing import Answer, Prediction
    from kvforensics.whatif import WhatIf


def draw(asked: WhatIf, page: Page) -> None:
    """Draw the base, what was asked, and the answer or the refusal."""
    base, bare = asked.base, page.text()
    page.write(page.text((asked.service, "bold"), (f"  {base.id} of {clock(base.started_at)} UTC", "dim")))
    page.items(
        [
            page.text(("pool ", "dim"), count(base.pool_tokens)),
            page.text(("context ", "dim"), count(base.context_len)),
            page.text(
                ("mem_fraction_static ", "dim"), setting(base.config.values.get("mem_fraction_static"))
            ),
            page.text(("headroom ", "dim"), gib(base.free_gib)),
        ],
        rail=bare,
    )
    page.write()
    if asked.refused is not None:
        page.prose(page.text(("no prediction: ", "bold yellow"), asked.refused.message), rail=bare, hang=2)
    elif asked.prediction is not None:
        _draw_prediction(asked, asked.prediction, page)
    elif asked.answer is not None:
        _draw_answer(asked, asked.answer, page)


def _draw_prediction(asked: WhatIf, held: Prediction, page: Page) -> None:
    page.write(page.text(("with ", "dim"), (_words(asked.set), "bold")))
    before = asked.base
    rows = [
        ("pool", f"{count(before.pool_tokens)} → {count(held.tokens)} tokens"),
        ("95 % interval", f"{count(held.low)} to {count(held.high)}"),
        (
            "longest prompt",
            f"{count(before.longest_prompt_tokens)} → {count(held.longest_prompt_tokens)} tokens",
        ),
        ("running at most", f"{count(before.max_running_requests)} → {count(held.max_running_requests)}"),
        ("headroom", f"{gib(before.free_gib)} → {gib(held.free_gib)}"),
    ]
    for name, said in rows:
        page.prose(page.text((f"{name:<17}", "dim"), said), rail=page.text(), indent=2, hang=17)
    _draw_assumptions(held.assumptions, page)


def _draw_answer(asked: WhatIf, answer: Answer, page: Page) -> None:
    bare = page.text()
    page.write(page.text(("to hold a context of ", "dim"), (f"{count(asked.need_context)} tokens", "bold")))
    if answer.reason:
        page.prose(page.text((answer.reason, "yellow")), rail=bare, indent=2)
    for one in answer.solutions:
        page.prose(
            page.text(("→ set ", "bold green"), (_words(one.set), "bold green")), rail=bare, indent=2, hang=2
        )
        page.prose(
            page.text(f"a pool of {count(one.predicted_pool_tokens)} tokens; leaves {gib(one.free_gib)}"),
            rail=bare, indent=4,
        )  # fmt: skip
        if one.risk:
            page.prose(page.text((one.risk, "dim")), rail=bare, indent=4)
    _draw_assumptions(answer.assumptions, page)


def _draw_assumptions(assumptions: Sequence[str], page: Page) -> None:
    for said in assumptions:
        page.prose(page.text((f"· {said}", "dim")), rail=page.text(), indent=2, hang=2)


def _words(settings: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {setting(value)}" for name, value in settings.items())
