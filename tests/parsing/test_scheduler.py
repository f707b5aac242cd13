"""Every scheduler line of every release gives the fields that it prints, whoever reads it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.parsing.conftest import sample_lines

from kvforensics.parsing.grammar import load
from kvforensics.parsing.kinds import kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvforensics.events import EventBlock

# What SGLang prints before a value, and the column that holds it. Written down once more on purpose: the
# grammar must not be checked against itself.
COLUMNS = {
    "#running-req": "running",
    "#queue-req": "queue",
    "#token": "tokens",
    "token usage": "usage",
    "#full token": "full_tokens",
    "full token usage": "full_usage",
    "#swa token": "swa_tokens",
    "swa token usage": "swa_usage",
    "mamba num": "mamba_slots",
    "mamba usage": "mamba_usage",
    "#gpu token": "gpu_tokens",
    "gpu token usage": "gpu_usage",
    "#cpu token": "cpu_tokens",
    "cpu token usage": "cpu_usage",
    "#new-seq": "new_seqs",
    "#new-token": "new_tokens",
    "#cached-token": "cached_tokens",
    "cache hit rate": "cache_hit_percent",
    "#pending-token": "pending_tokens",
    "#replay-token": "replay_tokens",
    "gen throughput (token/s)": "gen_tps",
    "input throughput (token/s)": "input_tps",
    "cuda graph": "cuda_graph",
    "cpu graph": "cuda_graph",
    "npu graph": "cuda_graph",
    "musa graph": "cuda_graph",
    "accept len": "accept_len",
    "accept rate": "accept_rate",
    "cap len": "cap_len",
    "block accept len": "block_accept_len",
    "largest-len": "largest_len",
    "pre-allocated usage": "prealloc_usage",
    "#prealloc-req": "prealloc",
    "#transfer-req": "transfer",
    "#host-receive-req": "host_receive",
    "#retracted-req": "waiting_retracted",
    "waiting-image-req": "waiting_images",
    "#unbootstrapped-req": "unbootstrapped",
    "#transferring-req": "transferring",
    "#bootstrap-req": "bootstrap",
    "#inflight-req": "inflight",
    "#optimistic-req": "optimistic",
    "est. decode TFLOPS/s (per GPU)": "decode_tflops",
    "est. prefill TFLOPS/s (per GPU)": "prefill_tflops",
    "est. read BW (GB/s per GPU)": "read_gb_s",
    "est. write BW (GB/s per GPU)": "write_gb_s",
    "fwd occupancy": "fwd_occupancy_percent",
    "fwd+idle occupancy": "fwd_idle_occupancy_percent",
}
OF_A_FORK = {"tree budget"}


def expected(line: str) -> dict[str, object]:
    """Return the pairs of a line by plain string handling."""
    fields: dict[str, object] = {}
    mixed = re.search(r"\(mixed #running-req: (\d+)\)", line)
    if mixed:
        fields["running"] = int(mixed[1])
        line = line.replace(mixed[0], "")
    number = re.match(r"\w+ batch \[(\d+)\]", line)
    if number:
        fields["forward_iter"] = int(number[1])
    pairs = re.sub(r"^\w+ batch[^#]*?(\.|,) (?=#)", "", line).rstrip(", ")
    for pair in pairs.split(", "):
        key, _, value = pair.rpartition(": ")
        if key in OF_A_FORK:
            continue
        value = value.rstrip("% ")
        fields[COLUMNS[key]] = (
            value == "True" if value in ("True", "False") else float(value) if "." in value else int(value)
        )
    return fields


BATCHES = [line for line in sample_lines("scheduler") if line.startswith(("Prefill batch", "Decode batch"))]


def test_all_variants_are_there() -> None:
    assert len(BATCHES) >= 75
    assert sum(line.startswith("Prefill") for line in BATCHES) >= 35


@pytest.mark.parametrize("line", BATCHES)
def test_lark_reads_every_pair(line: str) -> None:
    parsed = load("scheduler").parse(line)
    assert parsed is not None
    assert parsed.kind == line.split(maxsplit=1)[0].lower()
    assert parsed.fields == expected(line)


def test_the_parser_reads_every_pair(parse: Callable[..., EventBlock]) -> None:
    block = parse(*(f"[2026-05-12 10:11:12 TP3] {line}" for line in BATCHES))
    assert block.unknown == 0
    rows = {}
    for kind, frame in block.hot.items():
        for row in frame.to_dicts():
            rows[row["line"]] = (kind, row)
    for number, line in enumerate(BATCHES, 1):
        kind, row = rows[number]
        assert kind == line.split()[0].lower()
        said = {
            name: value
            for name, value in row.items()
            if name in {*COLUMNS.values(), "forward_iter"} and value is not None
        }
        assert said == expected(line)
        assert (row["tp"], row["dp"]) == (3, None)


HEAD = "[2026-05-12 10:11:12 TP0] "
TOO_LONG = "Input length (150000 tokens) exceeds the maximum allowed length (101128 tokens). Use a shorter input or enable --allow-auto-truncate."
CONTEXT = "The input (250000 tokens) is longer than the model's context length (200000 tokens)."
REFUSALS = {
    TOO_LONG: ("pool", 150000, 101128, None, None),
    f"{TOO_LONG}, self.rid='9f8e'": ("pool", 150000, 101128, "9f8e", None),
    f"{TOO_LONG}, req.rid='9f8e'": ("pool", 150000, 101128, "9f8e", None),
    f"[http_server] Error: {TOO_LONG}": ("pool", 150000, 101128, None, "[http_server] Error: "),
    f"[http_server] Error: {CONTEXT}": ("context", 250000, 200000, None, "[http_server] Error: "),
    f"Error: {CONTEXT}": ("context", 250000, 200000, None, "Error: "),
    "Request 9f8e exceeds the maximum number of tokens: 150000 > 101134": (
        "pool",
        150000,
        101134,
        "9f8e",
        None,
    ),
    "Request 9f8e exceeds the unified FULL/SWA KV byte budget: full=1, swa=2": (
        "pool",
        None,
        None,
        "9f8e",
        None,
    ),
    "[http_server] Error: Requested token count exceeds the model's maximum context length of 200000 tokens. "
    "You requested a total of 210000 tokens: 190000 tokens from the input messages and 20000 tokens for the completion. "
    "Please reduce the number of tokens in the input messages or the completion to fit within the limit.": (
        "context",
        190000,
        200000,
        None,
        "[http_server] Error: ",
    ),
}


@pytest.mark.parametrize("line", REFUSALS)
def test_a_refusal_says_which_gate_and_which_layer(line: str, parse: Callable[..., EventBlock]) -> None:
    frame = parse(HEAD + line).hot["too_long"]
    assert frame.select("gate", "input_tokens", "limit_tokens", "rid", "layer").row(0) == REFUSALS[line]


@pytest.mark.parametrize(
    "line",
    [
        f"{CONTEXT} Truncating the input.",
        "Request length is longer than the KV cache pool size or the max context length. Truncated!!!",
    ],
)
def test_a_request_cut_short_is_no_refusal(line: str, parse: Callable[..., EventBlock]) -> None:
    assert list(parse(HEAD + line).hot) == ["input_truncated"]


def test_another_error_of_the_http_server_is_no_refusal_for_length(parse: Callable[..., EventBlock]) -> None:
    block = parse(f"{HEAD}[http_server] Error: temperature must be non-negative, got -1.0.")
    assert (block.hot, [event.kind for event in block.rare]) == ({}, ["request_error"])


RETRACTIONS = {
    "Decode out of memory happened. #retracted_reqs: 3, #new_token_ratio: 0.5234 -> 0.9012": (
        3,
        None,
        None,
        0.5234,
        0.9012,
    ),
    "KV cache pool is full. Retract requests. #retracted_reqs: 3, #aborted_retracted_reqs: 1, #new_token_ratio: 0.5234 -> 0.9012": (
        3,
        1,
        None,
        0.5234,
        0.9012,
    ),
    "KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_tokens_gained: 24310, #new_token_ratio: 0.5234 -> 0.9012": (
        3,
        None,
        24310,
        0.5234,
        0.9012,
    ),
    "Testing retraction. #retracted_reqs: 1, #new_tokens_gained: 512": (1, None, 512, None, None),
}


@pytest.mark.parametrize("line", RETRACTIONS)
def test_a_retraction_in_every_wording(line: str, parse: Callable[..., EventBlock]) -> None:
    frame = parse(HEAD + line).hot["retraction"]
    assert (
        frame.select("retracted", "aborted", "tokens_gained", "old_ratio", "new_ratio").row(0)
        == RETRACTIONS[line]
    )


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (
            '[2026-05-12 10:11:12] INFO:     127.0.0.1:41234 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
            200,
        ),
        ('INFO:     127.0.0.1:41234 - "POST /generate HTTP/1.1" 200 OK', 200),
        (
            '[2026-05-12 10:11:12] INFO:     10.1.2.3:55010 - "GET /health HTTP/1.1" 503 Service Unavailable',
            503,
        ),
        (
            '[2026-05-12 10:11:12] \x1b[32mINFO\x1b[0m:     127.0.0.1:1 - "\x1b[1mPOST / HTTP/1.1\x1b[0m" \x1b[31m404 Not Found\x1b[0m',
            404,
        ),
        ('[2026-05-12 10:11:12] INFO:      - "GET / HTTP/1.1" 499', 499),
    ],
)
def test_an_access_line_with_and_without_prefix_and_colours(
    line: str, status: int, parse: Callable[..., EventBlock]
) -> None:
    assert parse(line).hot["access"]["status"].to_list() == [status]


def test_a_number_beyond_64_bits_is_null_and_never_wraps(parse: Callable[..., EventBlock]) -> None:
    line = f"{HEAD}Decode batch, #running-req: {{}}, #token: 5, token usage: 0.20, #queue-req: 1"
    kinds.cache_clear()  # in a process that has learnt very many layouts a line as long as the last is unknown
    frame = parse(
        *(line.format(number) for number in (7, "1" * 20, 2**63 - 1, 2**63, "0" * 30 + "8", "9" * 5000))
    ).hot["decode"]
    assert frame["running"].to_list() == [7, None, 2**63 - 1, None, 8, None]
    assert frame["tokens"].to_list() == [5] * 6


@pytest.mark.parametrize("number", ["+7", "1e3", " 7", "7 ", "٧", "0x7", "", "7.5", "nan"])
def test_what_is_no_number_is_unknown(number: str, parse: Callable[..., EventBlock]) -> None:
    good = f"{HEAD}Decode batch, #running-req: 7, #token: 5, token usage: 0.20, #queue-req: 1"
    block = parse(good, good.replace("7,", f"{number},"))
    assert (block.understood, block.unknown) == (1, 1)
    assert block.hot["decode"].height == 1
