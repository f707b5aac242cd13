"""A launch of each of the 39 releases, in each shape that the release has, read from its lines alone."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kvforensics.analysis import analyse
from kvforensics.report.timeline_json import timeline
from tests.acceptance.server import RELEASES, Pool, Start, at_least, day, plain

DENSE, MLA = Pool(40_960), Pool(70_272, mla=True)
LONG = "Input length (150000 tokens) exceeds the maximum allowed length (101128 tokens). Use a shorter input or enable --allow-auto-truncate."


def read(tmp_path, start: Start) -> dict:
    path = tmp_path / "log"
    path.write_bytes(plain(start.lines(day())))
    document = json.loads(json.dumps(timeline(analyse([str(path)]))))
    assert len(document["services"]) == 1
    return document


def launch_of(document: dict) -> dict:
    (launch,) = document["services"][0]["launches"]
    return launch


def shapes(version: str) -> dict[str, Start]:
    """The shapes that a release can have, each as a start whose arithmetic closes."""
    base = Start(version=version, context=16384, cell=40_960, W=60.0, pools=[DENSE])
    found = {
        "dense tp8": base,
        "mla tp8": replace(base, cell=70_272, pools=[MLA]),
        "one gpu": replace(base, ranks=1),
    }
    if at_least(version, "0.3.4.post2"):
        found["dp0"] = replace(base, tags=(("DP", "0"),))
    if at_least(version, "0.4.6.post5"):
        found["pp"] = replace(base, tags=(("PP", "0"),))
    if at_least(version, "0.4.10.post2"):
        found["dp ep pp"] = replace(base, tags=(("DP", "0"), ("EP", "0"), ("PP", "0")))
    if at_least(version, "0.5.9"):
        found["all tags"] = replace(
            base, tags=(("DP", "0"), ("PP", "0"), ("ATTN_CP", "0"), ("MOE_DP", "0"), ("EP", "0"))
        )
    return found


CASES = [(version, name) for version in RELEASES for name in shapes(version)]


@pytest.mark.parametrize(("version", "name"), CASES)
def test_start(tmp_path, version, name):
    start = shapes(version)[name]
    document = read(tmp_path, start)
    launch = launch_of(document)
    assert document["coverage"]["unknown"] == 0, document["coverage"]["unknown_shapes"]
    assert launch["pool_tokens"] == start.T
    assert launch["context_len"] == 16384
    assert launch["max_running_requests"] == 64
    assert launch["longest_prompt_tokens"] == 16384 - (7 if at_least(version, "0.3.4.post2") else 2)
    assert launch["memory"]["before_load_gib"] == pytest.approx(start.P)
    assert launch["memory"]["after_load_gib"] == pytest.approx(start.P - start.W)
    oldest, newest = launch["version"]["from"], launch["version"]["to"]
    assert RELEASES.index(oldest) <= RELEASES.index(version) <= RELEASES.index(newest)
    assert (oldest, newest) == (version, version)
    (pool,) = start.pools
    if start.prints(pool):
        assert [(p["role"], p["kind"], p["ranks"]) for p in launch["pools"]] == [
            ("target", "mla" if pool.mla else "mha", start.ranks)
        ]
        assert launch["sizing"]["closes"] is True
    if at_least(version, "0.4.7.post1"):
        assert launch["free_gib"] == pytest.approx(start.free, abs=0.006)
    else:
        assert launch["free_gib"] is None


@pytest.mark.parametrize("version", RELEASES)
def test_not_enough_memory(tmp_path, version):
    value = ""
    if at_least(version, "0.5.3"):
        value = " Current value: self.server_args.mem_fraction_static=0.5"
    if at_least(version, "0.5.11"):
        value = " Current value: mem_fraction_static=0.5"
    head = "Scheduler hit an exception: Traceback (most recent call last):"
    if not at_least(version, "0.3.6.post3"):
        head = (
            "Exception in ModelTpServer:"
            if version.startswith("0.3.0")
            else "Traceback (most recent call last):"
        )
    lines = [
        head,
        '|  File "/x/model_runner.py", line 1, in init_memory_pool',
        f"|RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.{value}",
    ]
    start = Start(version=version, f=0.5, ranks=1, stop_before="pool", ready=False, extra={"load": lines})
    document = read(tmp_path, start)
    assert launch_of(document)["end"] == "failed_start"
    assert {"failed_start", "not_enough_memory"} <= {f["id"] for f in document["services"][0]["findings"]}


@pytest.mark.parametrize("version", [v for v in RELEASES if at_least(v, "0.4.1.post7")])
def test_refusal_of_a_long_prompt(tmp_path, version):
    rid = ", self.rid='cb3a6e33ec954b5bac773351b15c65f6'" if at_least(version, "0.4.7.post1") else ""
    start = Start(version=version, context=200_000, ranks=1, extra={"ready": [LONG + rid]})
    document = read(tmp_path, start)
    assert launch_of(document)["requests"]["rejected_too_long"] == 1
    assert "request_too_long_for_pool" in {f["id"] for f in document["services"][0]["findings"]}


@pytest.mark.parametrize("version", [v for v in RELEASES if at_least(v, "0.4.9.post6")])
def test_hybrid_swa(tmp_path, version):
    full, window, size = 500_000, 400_000, 20_480
    cell = size + round(size * window / full)
    start = Start(version=version, ranks=1, cell=cell, W=94 * 0.85 - (full * cell + 100) / 2**30, pools=[])
    word = "sliding" if at_least(version, "0.5.7") else "Sliding"
    lines = [f"Use {word} window memory pool. full_layer_tokens={start.T}, swa_layer_tokens={window}"]
    labelled = at_least(version, "0.5.17")
    parts = [("SWA", window), ("Full", start.T)]
    for name, tokens in reversed(parts) if labelled else parts:
        lines.append(
            start._pool_line(Pool(size, tokens=tokens), f"{name} KV Cache" if labelled else "KV Cache")
        )
    launch = launch_of(read(tmp_path, replace(start, extra={"before_pool": lines})))
    assert {(p["role"], p["tokens"]) for p in launch["pools"]} == {("full", start.T), ("swa", window)}
    assert launch["pool_tokens"] == start.T


@pytest.mark.parametrize("version", [v for v in RELEASES if at_least(v, "0.5.4")])
def test_state_slots_of_linear_attention(tmp_path, version):
    line = "Mamba Cache is allocated. max_mamba_cache_size: 480, conv_state size: 0.12GB, ssm_state size: 8.44GB "
    launch = launch_of(read(tmp_path, Start(version=version, ranks=1, extra={"before_pool": [line]})))
    assert ("mamba", 480) in {(p["role"], p["tokens"]) for p in launch["pools"]}


@pytest.mark.parametrize("version", [v for v in RELEASES if at_least(v, "0.4.5.post3")])
def test_draft_pool(tmp_path, version):
    start = Start(version=version, ranks=2, draft=Pool(3072), settings={"speculative_algorithm": "EAGLE"})
    launch = launch_of(read(tmp_path, start))
    assert {(p["role"], p["kind"], p["tokens"], p["ranks"]) for p in launch["pools"]} == {
        ("target", "mla", start.T, 2),
        ("draft", "mha", start.T, 2),
    }
