"""A server whose every text is an attack on whoever shows it: markup, formulas, escapes, expressions."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
from msgspec.structs import replace

from kvforensics.analysis import Analysis, Coverage, Damaged, Service, Shape
from kvforensics.changes import Change
from kvforensics.findings.finding import Finding
from kvforensics.records import Origin, Origins, Place, Source
from kvforensics.sizing import reconcile
from kvforensics.verdicts.verdict import Effect, Effects, Verdict
from tests.build import START, event, launch

ATTACKS = (
    "<script>window.hit=1</script>",
    "</script><img src=x onerror=window.hit=1>",
    "<!--<script>",
    "datum.constructor.constructor('window.hit=1')()",
    "{{ 7*191 }}{% set x = 1 %}",
    "[click](javascript:window.hit=1) ![x](https://evil.example/x.png) | cell | **bold** `code`",
    "=cmd|' /C calc'!A0",
    "[red]bold[/red]",
    "\x1b[31mred\x1b]8;;https://evil.example\x07",
    "a\u2028b\u2029c\u202ed\u200be",
    "\n# heading\n- item\n",
    '" onmouseover="window.hit=1',
    "&lt;b&gt; $(reboot) $x^2$ ~~no~~ [^1]: note",
)
EVIL = " ".join(ATTACKS)
PATH = "logs/<script>window.hit=1</script>|=1+1|`x`.log"
SERVICE = "node</script><img src=x onerror=window.hit=1>/[red]=1+1`|.service"


def analysis() -> Analysis:
    """An analysis in which every text that could come out of a log is EVIL."""
    place = Place(PATH, 7, EVIL)
    said = event("exception", line=9, type=EVIL, message=EVIL)
    first, second = (
        launch(f"L{number}", context=context, settings={"served_model_name": EVIL, f"x{EVIL}": EVIL})
        for number, context in ((1, 32768), (2, 200000))
    )
    second = replace(
        second,
        started_at=START + timedelta(hours=2),
        ready_at=START + timedelta(hours=2, minutes=4),
        last_at=START + timedelta(hours=3),
        events=(replace(said, text=EVIL),),
        evidence={"config": place, "pool_tokens": Place(PATH, 9)},
    )
    first = replace(first, end="restarted", ended_at=second.started_at)
    unknown = Effect(None, None, "unknown")
    same = Effect(101134, 101134, "unchanged")
    verdict = Verdict(
        change=Change("L1", "L2", f"x{EVIL}", EVIL, [EVIL, {"k": EVIL}], requested=EVIL, evidence=(place,)),
        verdict="no_op_for_pool",
        reason_code="not_a_pool_input",
        reason=EVIL,
        advice=EVIL,
        effects=Effects(same, unknown, unknown, unknown),
        attribution="none",
    )
    finding = Finding("scheduler_crash", "error", EVIL, EVIL, EVIL, "L2", START, (place, Place(PATH, 9)))
    origins = Origins()
    origins.intern(Origin(host=EVIL, unit=EVIL, ident=EVIL, cmdline=EVIL))
    service = Service(
        id=SERVICE,
        host=EVIL,
        unit=EVIL,
        launches=(first, second),
        budgets={each.id: reconcile(each) for each in (first, second)},
        verdicts=(verdict,),
        findings=(finding,),
        trail=(replace(event("sudo_command", line=3, user=EVIL, command=EVIL), text=EVIL),),
    )
    return Analysis(
        sources=(Source(PATH, records=10, first_at=START, last_at=START),),
        coverage=Coverage(10, 8, 2, (Shape(EVIL, 2, place),), (Damaged("message_null", 1, place),)),
        services=(service,),
        origins=origins,
        samples=samples(SERVICE),
    )


def samples(service: str) -> pl.DataFrame:
    """A few buckets of load of the second launch, with a retraction among them."""
    at = [START + timedelta(hours=2, minutes=5 + minute) for minute in range(20)]
    return pl.DataFrame(
        {
            "source": [0] * 20,
            "service": [service] * 20,
            "launch": ["L2"] * 20,
            "slot_at": at,
            "first_at": at,
            "last_at": at,
            "first_line": list(range(20, 40)),
            "last_line": list(range(20, 40)),
            "usage_max": [minute / 20 for minute in range(20)],
            "usage_last": [minute / 20 for minute in range(20)],
            "running_max": list(range(20)),
            "running_last": list(range(20)),
            "queue_max": [0] * 20,
            "queue_last": [0] * 20,
            "retracted": [0] * 19 + [2],
            "first_retraction": [None] * 19 + [39],
            "first_retraction_at": [None] * 19 + at[-1:],
            **{name: [0] * 20 for name in ("refused_pool", "refused_context")},
            **{name: [0] * 20 for name in ("refused_pool_front", "refused_context_front")},
            **{name: [None] * 20 for name in ("first_refused_pool", "first_refused_context")},
            **{name: [None] * 20 for name in ("first_refused_pool_at", "first_refused_context_at")},
            **{name: [0] * 20 for name in ("new_tokens", "cached_tokens")},
            "gen_tps": [100.0] * 20,
            **{name: [None] * 20 for name in ("dp", "pp", "attn_cp", "moe_dp", "tp", "ep")},
        },
        schema_overrides={
            "source": pl.UInt32,
            "slot_at": pl.Datetime("us"),
            **{f"first_{name}": pl.Int64 for name in ("retraction", "refused_pool", "refused_context")},
            **{
                f"first_{name}_at": pl.Datetime("us")
                for name in ("retraction", "refused_pool", "refused_context")
            },
            **dict.fromkeys(("dp", "pp", "attn_cp", "moe_dp", "tp", "ep"), pl.Int32),
        },
    )
