"""Verdicts that an adversary found wrong or untested: one log a sentence of the contract, read in process."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kvforensics.analysis import analyse
from kvforensics.report.timeline_json import timeline as document
from tests.acceptance.server import Pool, Start, day, journal, plain
from tests.acceptance.test_contract import change, findings

PLAIN = Start()


def start(**fields) -> Start:
    """Return the plain server with other fields; nothing is shared with another start."""
    return replace(
        PLAIN, settings=dict(fields.pop("settings", {})), extra=dict(fields.pop("extra", {})), **fields
    )


FP8 = {"cell": 35136, "pools": [Pool(35136, mla=True)], "settings": {"kv_cache_dtype": "fp8_e4m3"}}


@pytest.fixture
def read(tmp_path):
    """Return the timeline of a log."""

    def go(data: bytes) -> dict:
        path = tmp_path / "log"
        path.write_bytes(data)
        return document(analyse([str(path)]))

    return go


@pytest.fixture
def history(read):
    """Return the timeline of several starts, one an hour."""

    def go(*starts: Start) -> dict:
        return read(plain(*(one.lines(day(8 + i)) for i, one in enumerate(starts))))

    return go


class TestWhoMovedThePool:
    def test_a_cap_dropped_and_a_fraction_raised_are_confounded(self, history):
        """Alone, dropping the cap gives less than the pool shows: the fraction had its part."""
        doc = history(start(max_total=60000), start(f=0.9))
        for setting in ("max_total_tokens", "mem_fraction_static"):
            c = change(doc, setting)
            assert (c["verdict"], c["attribution"]) == ("confounded", "shared")

    def test_an_input_that_no_rule_prices_gets_no_credit_beside_another(self, history):
        doc = history(start(), start(f=0.8501, **FP8))
        assert {change(doc, s)["verdict"] for s in ("kv_cache_dtype", "mem_fraction_static")} == {
            "confounded"
        }

    def test_a_cap_that_binds_before_and_after_masks_the_dtype(self, history):
        doc = history(start(max_total=60000), start(max_total=50000, **FP8))
        assert change(doc, "max_total_tokens")["verdict"] == "effective"
        c = change(doc, "kv_cache_dtype")
        assert (c["verdict"], c["reason_code"]) == ("no_op", "masked_by_max_total_tokens")

    def test_no_setting_gets_the_credit_where_free_memory_explains_the_pool(self, history):
        doc = history(start(), start(P=93.0, context=65536))
        c = change(doc, "context_length")
        assert (c["verdict"], c["attribution"]) == ("no_op_for_pool", "none")
        assert c["effects"]["free_gib"]["outcome"] == "moved"
        assert "free_memory_differs" in findings(doc)

    def test_free_memory_that_undoes_a_fraction_leaves_it_open(self, history):
        doc = history(start(), start(f=0.85 * 94 / 96, P=96.0))
        c = change(doc, "mem_fraction_static")
        assert c["effects"]["pool_tokens"]["outcome"] in ("unchanged", "within_noise")
        assert (c["verdict"], c["reason_code"]) == ("confounded", "free_memory_differs")


class TestStartsWithoutSettings:
    """An edit is not lost because the start between died before it printed its settings."""

    def died(self, *last: str) -> list:
        lines = ["Traceback (most recent call last):", '  File "/x/launch_server.py", line 1, in <module>']
        return [(day(10), -1, text) for text in (*lines, *last, "")]

    def test_an_import_error_between(self, read):
        between = self.died("ImportError: libcudart.so.13: cannot open shared object file")
        doc = read(journal([start().lines(day(9)), between, start(f=0.88).lines(day(11))]))
        launches = doc["services"][0]["launches"]
        assert [(x["end"], x["config_source"]) for x in launches][1] == ("failed_start", "none")
        c = change(doc, "mem_fraction_static", "L3")
        assert (c["from"], c["before"], c["after"]) == ("L1", 0.85, 0.88)
        assert (c["verdict"], c["attribution"]) == ("effective", "sole")
        assert c["effects"]["pool_tokens"]["baseline"] == "L1"

    def test_a_context_refused_between_hides_no_other_edit(self, read):
        between = self.died(
            "ValueError: User-specified context_length (300000) is greater than the derived context_length "
            "(262144). This may lead to incorrect model outputs or CUDA errors."
        )
        doc = read(journal([start().lines(day(9)), between, start(f=0.88).lines(day(11))]))
        assert change(doc, "context_length", "L2")["verdict"] == "adverse"
        assert (
            change(doc, "context_length", "L3")["from"],
            change(doc, "context_length", "L3")["after"],
        ) == (
            "L2",
            32768,
        )
        assert change(doc, "mem_fraction_static", "L3")["verdict"] == "effective"


class TestUpgrades:
    @pytest.mark.parametrize(
        ("older", "newer"), [("0.5.11", "0.5.23"), ("0.5.22", "0.5.23"), ("0.5.23", "0.5.23")]
    )
    @pytest.mark.parametrize("rewritten", [False, True])
    def test_attention_groups_written_either_way_are_no_change(self, history, older, newer, rewritten):
        asked = {"dp_size": 2, "enable_dp_attention": True, "chunked_prefill_size": 4096}
        as_run = {"dp_size": 1, "enable_dp_attention": False, "attn_dp_size": 2, "chunked_prefill_size": 4096}
        first = start(version=older, running_effective=32, settings=asked)
        second = start(version=newer, running_effective=32, settings=as_run if rewritten else asked)
        assert history(first, second)["services"][0]["changes"] == []


def cut(lines: list, name: str) -> list:
    """Return the lines of a start whose settings line ends before a setting."""
    return [
        (at, rank, text[: text.index(f"{name}=")] if "server_args" in text else text)
        for at, rank, text in lines
    ]


class TestCutSettings:
    def test_a_hidden_setting_may_have_moved_the_pool(self, read):
        """The cache type is shown, the fraction is not; both changed."""
        second = cut(start(f=0.88, **FP8).lines(day(10)), "mem_fraction_static")
        doc = read(plain(start().lines(day(9)), second))
        c = change(doc, "kv_cache_dtype")
        assert (c["verdict"], c["reason_code"], c["attribution"]) == ("unproven", "config_truncated", "none")

    def test_a_hidden_cap_may_have_held_the_pool(self, read):
        first = start(max_total=60000).lines(day(9))
        doc = read(plain(first, cut(start(f=0.88).lines(day(10)), "max_total_tokens")))
        assert change(doc, "mem_fraction_static")["verdict"] == "unproven"

    def test_a_fraction_that_the_rule_confirms_is_proven(self, read):
        second = cut(start(f=0.88).lines(day(10)), "speculative_algorithm")
        doc = read(plain(start().lines(day(9)), second))
        assert change(doc, "mem_fraction_static")["verdict"] == "effective"

    def test_a_context_is_no_input_whatever_is_hidden(self, read):
        second = cut(start(context=65536).lines(day(10)), "mem_fraction_static")
        doc = read(plain(start().lines(day(9)), second))
        assert change(doc, "context_length")["verdict"] == "no_op_for_pool"
        assert "mem_fraction_static" not in {c["setting"] for c in doc["services"][0]["changes"]}


def stateful(hour: int, slots: int, **fields) -> list:
    """Return the lines of a server whose budget is shared with `slots` state slots of 18 MiB."""
    gib = slots * 18 / 1024
    one = start(W=60 + gib, **fields)
    lines = []
    for at, rank, text in one.lines(day(hour)):
        if "KV Cache is allocated" in text:
            tag = text.partition("] ")[0]
            said = f"max_mamba_cache_size: {slots}, conv_state size: 0.00GB, ssm_state size: {gib:.2f}GB "
            lines.append((at, rank, f"{tag}] Mamba Cache is allocated. {said}"))
        after = f"avail mem={one.P - one.W:.2f} GB, mem"
        lines.append((at, rank, text.replace(after, f"avail mem={one.P - 60:.2f} GB, mem")))
    return lines


class TestStatePools:
    def test_fewer_slots_than_the_engine_chose_is_no_harm(self, read):
        """The setting was absent before: it was lowered against what the engine had filled in."""
        second = stateful(10, 240, settings={"max_mamba_cache_size": 240})
        doc = read(plain(stateful(9, 480), second))
        c = change(doc, "max_mamba_cache_size")
        assert c["effects"]["pool_tokens"]["after"] > c["effects"]["pool_tokens"]["before"]
        assert c["verdict"] == "effective"

    def test_requests_are_no_rival_where_a_ratio_splits(self, read):
        doc = read(plain(stateful(9, 480), stateful(10, 480, f=0.88, running=32)))
        assert change(doc, "mem_fraction_static")["verdict"] == "effective"
        c = change(doc, "max_running_requests")
        assert (c["verdict"], c["reason_code"]) == ("effective", "moved_max_running_requests")


def journal_with(commands: list[str], *starts: Start) -> bytes:
    """Return a journal whose main processes have these command lines."""
    data = journal([one.lines(day(8 + i)) for i, one in enumerate(starts)])
    for i, command in enumerate(commands):
        pid = f"_PID={1000 + 100 * i}\n"
        words = f"_CMDLINE=/usr/bin/python3 -m sglang.launch_server --model-path /models/m --tp-size 8 {command}\n"
        data = data.replace(pid.encode(), (pid + words).encode())
    return data


class TestAsked:
    def test_a_page_size_that_the_backend_replaced(self, read):
        forced = start(page=64, settings={"attention_backend": "flashmla"})
        doc = read(journal_with(["", "--page-size 1 --attention-backend flashmla"], start(), forced))
        c = change(doc, "page_size")
        assert (c["before"], c["after"], c["requested"], c["verdict"]) == (1, 64, 1, "overridden")

    def test_a_flag_put_behind_the_old_one_applied(self, read):
        twice = "--context-length 32768 --context-length 65536"
        doc = read(journal_with(["--context-length 32768", twice], start(), start(context=65536)))
        c = change(doc, "context_length")
        assert (c["before"], c["after"], c["requested"]) == (32768, 65536, 32768)
        assert c["verdict"] == "no_op_for_pool"


class TestCrashes:
    def test_an_exception_that_the_server_outlived_is_no_crash(self, history):
        decode = (
            "Decode batch. #running-req: 1, #token: 10, token usage: 0.10, gen throughput (token/s): 1.0, "
            "#queue-req: 0"
        )
        trace = [
            "|ERROR:    Exception in ASGI application",
            "|Traceback (most recent call last):",
            '|  File "/x/httptools_impl.py", line 409, in run_asgi',
            "|ValueError: something in a request",
            "|",
        ]
        doc = history(start(extra={"ready": [*trace, decode]}))
        assert doc["services"][0]["launches"][0]["end"] == "running"
        assert "scheduler_crash" not in findings(doc)
        assert doc["is_problem"] is False
