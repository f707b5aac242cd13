from __future__ import annotations

import pytest

from kvforensics.events import Event
from kvforensics.knowledge import issues_of, known_issues, release_key, signs, signs_in
from kvforensics.knowledge.history import all_names


def event(kind: str, text: str | None = None, **fields):
    return Event(kind, fields, source=0, line=1, origin=0, text=text)


def ids(*events: Event, lines: tuple[str, ...] = ()) -> list[str]:
    return [sign.id for sign in signs_in(events, lines)]


@pytest.mark.parametrize("one", signs(), ids=lambda one: one.id)
def test_each_sign_tells_something(one):
    assert one.since or one.until or one.prefix
    for release in (one.since, one.until):
        assert release is None or release_key(release) is not None
    if one.since and one.until:
        assert release_key(one.since) <= release_key(one.until)
    if one.kind == "line":
        assert one.text
        assert not one.has


def test_ids_are_unique():
    assert len({one.id for one in signs()}) == len(signs())


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"avail_gib": 1.0, "dtype": "torch.bfloat16"}, "load_end_no_usage"),
        ({"avail_gib": 1.0, "dtype": "torch.bfloat16", "mem_usage_gib": 1.0}, "load_end_usage"),
        (
            {"avail_gib": 1.0, "dtype": "torch.bfloat16", "mem_usage_gib": 1.0, "elapsed_s": 1.0},
            "load_end_elapsed_dtype",
        ),
        ({"avail_gib": 1.0, "mem_usage_gib": 1.0, "elapsed_s": 1.0, "quant": None}, "load_end_elapsed"),
    ],
)
def test_load_end(fields, expected):
    assert ids(event("load_end", **fields)) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[2025-01-01 00:00:00 DP0 PP1 TP2 EP3] x", ["rank_dp_pp_tp", "rank_ep"]),
        ("[2025-01-01 00:00:00 DP0 TP2 EP3 PP1] x", ["rank_tp_pp", "rank_ep"]),
        (
            "[2025-01-01 00:00:00 PP0 ATTN_CP1 MOE_DP0 TP2] x",
            ["rank_dp_pp_tp", "rank_attn_cp", "rank_moe_dp"],
        ),
        ("[2025-01-01 00:00:00 TP0] [PP0", []),
        ("a bar 50% [00:01<00:02][2025-01-01 00:00:00 PP0 TP1] x", ["rank_dp_pp_tp"]),
        ("no prefix PP0 TP1", []),
    ],
)
def test_rank_tags(text, expected):
    assert ids(event("init_begin", text)) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Decode batch. #running-req: 7, #token: 1, token usage: 0.20, gen throughput (token/s): 1.9, #queue-req: 2", {"batch_dot", "decode_without_graph"}),
        ("Decode batch [1234], #running-req: 7, #token: 1, token usage: 0.20, cuda graph: True, gen throughput (token/s): 1, #queue-req: 2, ", {"batch_number", "decode_graph"}),
        ("Decode batch, #running-req: 7, #token: 1, token usage: 0.20, cuda graph: True, gen throughput (token/s): 1, #queue-req: 2, ", {"batch_comma", "decode_graph", "decode_comma_at_end"}),
        ("Decode batch, #running-req: 7, #token: 1, token usage: 0.20, cuda graph: True, gen throughput (token/s): 1, #queue-req: 2", {"batch_comma", "decode_graph"}),
        ("Prefill batch, #new-seq: 1, #queue-req: 2, input throughput (token/s): 121.58, cuda graph: False", {"batch_comma", "prefill_throughput_first"}),
        ("Prefill batch, #new-seq: 1, #queue-req: 2, #pending-token: 4096, cuda graph: False, input throughput (token/s): 119.50", {"batch_comma", "prefill_graph_first", "prefill_pending"}),
        ("KV cache pool is full. Retract requests. #retracted_reqs: 1", {"pool_full_retracts"}),
        ("something else", set()),
    ],
)  # fmt: skip
def test_lines(line, expected):
    assert set(ids(lines=(line,))) == expected


def test_an_event_without_text_shows_no_textual_sign():
    assert ids(event("summary", None, pool_tokens=1)) == []


def test_known_issues():
    assert {one.id for one in issues_of("0.5.11")} >= {
        "draft_pool_unbudgeted",
        "page_unschedulable",
        "draft_priced_as_target",
    }
    assert "page_unschedulable" not in {one.id for one in issues_of("0.5.12")}
    for one in known_issues():
        assert set(one.settings) <= all_names()
        assert one.source
        assert one.fix.endswith(".")
