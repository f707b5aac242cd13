"""A small analysis made by hand: one service, an edit without effect, an edit that worked."""

from __future__ import annotations

from datetime import datetime

import pytest

from kvforensics.analysis import Analysis, Coverage, Damaged, Service, Shape
from kvforensics.changes import Change
from kvforensics.events import Event
from kvforensics.findings.finding import Finding
from kvforensics.launches import Config, Launch, Memory, Pool, Requests, VersionRange
from kvforensics.records import Origins, Place, Source
from kvforensics.sizing.budget import Budget
from kvforensics.verdicts.verdict import Effect, Effects, Verdict

PATH = "incident.export"


def at(clock: str) -> datetime:
    return datetime.fromisoformat(f"2026-05-20T{clock}")


def same(value) -> Effect:
    return Effect(value, value, "unchanged")


def moved(before, after) -> Effect:
    return Effect(before, after, "moved")


def launch(number: int, context: int, fraction: float, pool: int, free: float, times, **more) -> Launch:
    started, ready, ended = times
    values = {
        "model_path": "/models/Kimi-K2.6",
        "tp_size": 8,
        "context_length": context,
        "mem_fraction_static": fraction,
        "random_seed": number,
    }
    return Launch(
        id=f"L{number}",
        config=Config(values, source="server_args", place=Place(PATH, number * 100)),
        started_at=at(started),
        ready_at=at(ready),
        ended_at=at(ended) if ended else None,
        last_at=at(ended or "16:00:00"),
        end="restarted" if ended else "running",
        version=VersionRange("0.5.11", "0.5.11", "server_args fields"),
        device="gpu",
        pool_tokens=pool,
        context_len=context,
        max_running_requests=64,
        longest_prompt_tokens=min(context, pool) - 7,
        free_gib=free,
        memory=Memory(94.0, 21.37, free + 1.5),
        pools=(
            Pool("target", "mla", pool, total_gib=6.62, ranks=8),
            Pool("draft", "mha", pool, 0.14, 0.14, 0.28, ranks=8),
        ),
        evidence={
            "config": Place(PATH, number * 100),
            "pool_tokens": Place(PATH, number * 100 + 60, "s=1;i=2"),
        },
        **more,
    )


@pytest.fixture
def incident() -> Analysis:
    first = launch(1, 32768, 0.85, 101134, 9.87, ("14:03:00", "14:07:04", "15:10:30.1"))
    second = launch(
        2,
        200000,
        0.85,
        101134,
        9.11,
        ("15:10:30.3", "15:14:34", "15:41:14"),
        requests=Requests(1, 2, 0.93, 12, 4),
        downtime_s=243.9,
    )
    third = launch(3, 200000, 0.93, 205748, 2.72, ("15:41:14.2", "15:45:18", None), downtime_s=244.0)
    no_op = Verdict(
        Change("L1", "L2", "context_length", 32768, 200000, evidence=(Place(PATH, 200),)),
        "no_op_for_pool",
        "not_a_pool_input",
        "The pool is sized from free memory and mem_fraction_static; context_length only limits what is let in.",
        "needs mem_fraction_static 0.926; leaves about 2.8 GiB",
        Effects(same(101134), moved(32761, 101127), same(64), moved(9.87, 9.11)),
        "sole",
    )
    seed = Verdict(
        Change("L1", "L2", "random_seed", 1, 2, evidence=(Place(PATH, 200),)),
        "no_op",
        "not_a_memory_setting",
        "The setting has no part in memory.",
        None,
        no_op.effects,
        "none",
    )
    worked = Verdict(
        Change("L2", "L3", "mem_fraction_static", 0.85, 0.93, evidence=(Place(PATH, 300),)),
        "effective",
        "moved_pool",
        "A share of 0.08 of 94.0 GiB more went to the pools.",
        None,
        Effects(moved(101134, 205748), moved(101127, 199993), same(64), moved(9.11, 2.72)),
        "sole",
    )
    findings = (
        Finding(
            "context_exceeds_pool",
            "warning",
            "The context is longer than the pool",
            "A prompt between 101,128 and 199,999 tokens is refused although the context allows it.",
            "Raise mem_fraction_static to 0.926, or lower context_length to 101134.",
            "L2",
            at("15:14:30"),
            (Place(PATH, 260),),
        ),
        Finding("draft_pool_unbudgeted", "info", "The draft pool is priced as target", "…", None, "L1"),
    )
    sudo = Event(
        "sudo_command",
        {"user": "theuser", "cwd": "/home/theuser", "command": "/usr/bin/systemctl restart sglang-k26"},
        source=0,
        line=190,
        origin=0,
        at=at("15:10:26"),
        text=" theuser : TTY=pts/0 ; COMMAND=/usr/bin/systemctl restart sglang-k26",
    )
    service = Service(
        "k26-node1/sglang-k26.service",
        "k26-node1",
        "sglang-k26.service",
        (first, second, third),
        {"L1": Budget(7.27, 6.90, -0.37, False, "draft_priced_as_target", 106559, 5.4, 0.4, "memory", 77184)},
        (no_op, seed, worked),
        findings,
        (sudo,),
    )
    source = Source(
        PATH,
        "journal-export",
        bytes=1234,
        lines=400,
        records=390,
        first_at=at("14:00:00"),
        last_at=at("16:00:00"),
        time_basis="carrier",
    )
    coverage = Coverage(
        390,
        388,
        2,
        (Shape("Foo bar <n>", 2, Place(PATH, 12)),),
        (Damaged("message_null", 1, Place(PATH, 3)),),
    )
    return Analysis((source,), coverage, (service,), Origins())
