"""The contract from outside: log text in, the command line's JSON out."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.acceptance.server import Pool, Start, day, journal, plain


def run(*args: str, data: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "kvforensics", *args],
        input=data,
        capture_output=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def timeline(tmp_path):
    def go(data: bytes, *args: str, name: str = "log.txt") -> dict:
        path = tmp_path / name
        path.write_bytes(data)
        done = run("timeline", str(path), "--format", "json", *args)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    return go


def service(doc: dict) -> dict:
    assert len(doc["services"]) == 1
    return doc["services"][0]


def change(doc: dict, setting: str, to: str = "L2") -> dict:
    found = [c for c in service(doc)["changes"] if c["setting"] == setting and c["to"] == to]
    assert len(found) == 1, [(c["setting"], c["to"], c["verdict"]) for c in service(doc)["changes"]]
    return found[0]


def findings(doc: dict) -> set[str]:
    return {f["id"] for f in service(doc)["findings"]}


INCIDENT = Start(cell=77184, draft=Pool(3072), settings={"speculative_algorithm": "DFLASH"})


def two(first: Start, second: Start) -> bytes:
    return plain(first.lines(day(9)), second.lines(day(10)))


class TestIncident:
    def test_the_incident_from_a_journal(self, timeline):
        first = INCIDENT
        second = replace(first, context=200000)
        third = replace(second, f=0.93)
        doc = timeline(journal([s.lines(day(9 + i)) for i, s in enumerate((first, second, third))]))
        s = service(doc)
        assert s["id"] == "node1/sglang-k26.service"
        assert [x["end"] for x in s["launches"]] == ["restarted", "restarted", "running"]
        assert [x["pool_tokens"] for x in s["launches"]] == [first.T, first.T, third.T]
        c = change(doc, "context_length")
        assert (c["before"], c["after"], c["requested"]) == (32768, 200000, None)
        assert (c["verdict"], c["reason_code"], c["attribution"]) == (
            "no_op_for_pool",
            "not_a_pool_input",
            "sole",
        )
        assert c["effects"]["pool_tokens"] == {"before": first.T, "after": first.T, "outcome": "unchanged"}
        assert c["effects"]["longest_prompt_tokens"]["before"] == 32761
        assert c["effects"]["longest_prompt_tokens"]["after"] == first.T - 7
        f = change(doc, "mem_fraction_static", "L3")
        assert (f["verdict"], f["attribution"]) == ("effective", "sole")
        assert "context_exceeds_pool" in findings(doc)
        l1 = s["launches"][0]
        roles = {p["role"]: p for p in l1["pools"]}
        assert set(roles) == {"target", "draft"}
        assert roles["target"]["kind"] == "mla"
        assert roles["target"]["ranks"] == 8
        assert roles["draft"]["kind"] == "mha"
        assert l1["version"] == {"from": "0.5.11", "to": "0.5.11", "basis": "server_args fields"}
        assert l1["config_source"] == "server_args"
        assert l1["sizing"]["closes"] is False
        assert l1["sizing"]["why_not"] == "draft_priced_as_target"
        assert l1["sizing"]["closure_gib"] == pytest.approx(-0.36, abs=0.03)
        assert l1["sizing"]["binding"] == "memory"
        assert l1["bytes_per_token"] == pytest.approx(77184, rel=0.005)
        assert l1["memory"]["before_load_gib"] == 94.0
        assert l1["memory"]["after_load_gib"] == 21.37

    def test_whatif(self, tmp_path):
        path = tmp_path / "x"
        second = replace(INCIDENT, context=200000)
        path.write_bytes(two(INCIDENT, second))
        done = run("whatif", str(path), "--set", "mem_fraction_static=0.92", "--format", "json")
        doc = json.loads(done.stdout)
        assert doc["predicted_pool_tokens"] == pytest.approx(replace(second, f=0.92).T, rel=0.005)
        assert doc["low"] <= replace(second, f=0.92).T <= doc["high"]
        assert doc["launch"] == "L2"
        done = run("whatif", str(path), "--need-context", "200000", "--format", "json")
        doc = json.loads(done.stdout)
        assert doc["mem_fraction_static"] == pytest.approx(0.926, abs=0.0011)
        assert doc["need"] == {"context": 200000}
        assert doc["solutions"][0]["set"] == {"mem_fraction_static": doc["mem_fraction_static"]}

    def test_need_context_raises_the_context_too(self, tmp_path):
        path = tmp_path / "x"
        path.write_bytes(plain(INCIDENT.lines(day())))
        doc = json.loads(run("whatif", str(path), "--need-context", "200000", "--format", "json").stdout)
        assert doc["solutions"]
        assert all(s["set"]["context_length"] == 200000 for s in doc["solutions"])

    def test_whatif_refuses_a_tiny_pool(self, tmp_path):
        path = tmp_path / "x"
        path.write_bytes(plain(replace(INCIDENT, W=79.6).lines(day())))
        done = run("whatif", str(path), "--set", "mem_fraction_static=0.92", "--format", "json")
        assert done.returncode == 5
        assert json.loads(done.stdout)["refused"]["reason_code"]
        assert json.loads(done.stdout)["predicted_pool_tokens"] is None


PLAIN = Start()


class TestVerdicts:
    def test_context_above_the_pool_already_is_masked(self, timeline):
        doc = timeline(two(replace(PLAIN, context=150000), replace(PLAIN, context=250000)))
        c = change(doc, "context_length")
        assert (c["verdict"], c["reason_code"]) == ("no_op", "masked_by_pool")

    def test_fraction_under_a_binding_cap_is_masked(self, timeline):
        doc = timeline(two(replace(PLAIN, max_total=50000), replace(PLAIN, max_total=50000, f=0.88)))
        c = change(doc, "mem_fraction_static")
        assert (c["verdict"], c["reason_code"]) == ("no_op", "masked_by_max_total_tokens")
        assert service(doc)["launches"][1]["sizing"]["binding"] == "max_total_tokens"
        assert service(doc)["launches"][1]["bytes_per_token"] is None

    def test_cap_above_the_profile_is_clamped(self, timeline):
        second = replace(PLAIN, max_total=900000, extra={})
        line = f"max_total_tokens=900000 is larger than the profiled value {PLAIN.profiled}. Use the profiled value instead."
        second.extra["before_pool"] = [line]
        doc = timeline(two(replace(PLAIN, max_total=30000, extra={}), second))
        c = change(doc, "max_total_tokens")
        assert c["verdict"] == "clamped"
        assert c["requested"] == 900000
        assert (c["before"], c["after"]) == (30000, PLAIN.profiled)
        assert "max_total_tokens_above_profile" in findings(doc)

    def test_a_lowered_cap_is_effective(self, timeline):
        doc = timeline(two(PLAIN, replace(PLAIN, max_total=50000)))
        c = change(doc, "max_total_tokens")
        assert c["verdict"] == "effective"
        assert c["effects"]["pool_tokens"]["outcome"] == "moved"

    def test_running_above_the_table_is_clamped(self, timeline):
        doc = timeline(two(PLAIN, replace(PLAIN, running=8192, running_effective=2048)))
        c = change(doc, "max_running_requests")
        assert c["verdict"] == "clamped"
        assert (c["before"], c["after"], c["requested"]) == (64, 2048, 8192)

    def test_running_requests_are_effective_for_concurrency(self, timeline):
        doc = timeline(two(PLAIN, replace(PLAIN, running=128)))
        c = change(doc, "max_running_requests")
        assert c["verdict"] == "effective"
        assert c["effects"]["pool_tokens"]["outcome"] == "unchanged"

    def test_two_inputs_are_confounded(self, timeline):
        second = replace(
            PLAIN, f=0.9, cell=35136, pools=[Pool(35136, mla=True)], settings={"kv_cache_dtype": "fp8_e4m3"}
        )
        doc = timeline(two(PLAIN, second))
        for setting in ("mem_fraction_static", "kv_cache_dtype"):
            c = change(doc, setting)
            assert (c["verdict"], c["attribution"]) == ("confounded", "shared")

    def test_a_cap_that_does_not_bind_leaves_the_fraction_the_credit(self, timeline):
        first = replace(PLAIN, max_total=5_000_000, extra={})
        first.extra["before_pool"] = [
            f"max_total_tokens=5000000 is larger than the profiled value {PLAIN.profiled}. Use the profiled value instead."
        ]
        second = replace(PLAIN, f=0.9, max_total=6_000_000, extra={})
        second.extra["before_pool"] = [
            f"max_total_tokens=6000000 is larger than the profiled value {second.profiled}. Use the profiled value instead."
        ]
        doc = timeline(two(first, second))
        assert change(doc, "mem_fraction_static")["verdict"] == "effective"

    @pytest.mark.parametrize(
        ("setting", "a", "b"), [("random_seed", 1, 2), ("port", 30000, 30001), ("log_level", "info", "debug")]
    )
    def test_innocent_settings(self, timeline, setting, a, b):
        doc = timeline(two(replace(PLAIN, settings={setting: a}), replace(PLAIN, settings={setting: b})))
        c = change(doc, setting)
        assert (c["verdict"], c["reason_code"]) == ("no_op", "not_a_memory_setting")

    def test_chunk_with_an_explicit_fraction(self, timeline):
        doc = timeline(two(PLAIN, replace(PLAIN, settings={"chunked_prefill_size": 4096})))
        assert change(doc, "chunked_prefill_size")["verdict"] == "no_op_for_pool"

    def test_lowered_fraction_is_effective(self, timeline):
        doc = timeline(two(PLAIN, replace(PLAIN, f=0.82)))
        assert change(doc, "mem_fraction_static")["verdict"] == "effective"

    def test_fp8_is_effective(self, timeline):
        second = replace(
            PLAIN, cell=35136, pools=[Pool(35136, mla=True)], settings={"kv_cache_dtype": "fp8_e4m3"}
        )
        assert change(timeline(two(PLAIN, second)), "kv_cache_dtype")["verdict"] == "effective"

    def test_context_took_no_part_where_the_fraction_moved_the_pool(self, timeline):
        doc = timeline(two(PLAIN, replace(PLAIN, f=0.9, context=200000)))
        assert change(doc, "mem_fraction_static")["verdict"] == "effective"
        assert change(doc, "context_length")["verdict"] == "no_op_for_pool"

    def test_free_memory_explains_the_pool(self, timeline):
        second = replace(PLAIN, P=88.0, context=65536)
        doc = timeline(two(PLAIN, second))
        c = change(doc, "context_length")
        assert c["verdict"] == "no_op_for_pool"
        assert "free_memory_differs" in findings(doc)
        assert "pool_moved_unexplained" not in findings(doc)

    def test_a_pool_that_nobody_explains(self, timeline):
        doc = timeline(two(PLAIN, replace(PLAIN, W=70.0, settings={"log_level": "debug"})))
        assert change(doc, "log_level")["verdict"] == "no_op"
        assert "pool_moved_unexplained" in findings(doc)

    def test_same_settings_no_changes(self, timeline):
        assert service(timeline(two(PLAIN, PLAIN)))["changes"] == []

    def test_an_upgrade_renames_are_no_change(self, timeline):
        doc = timeline(two(PLAIN, replace(PLAIN, version="0.5.14")))
        assert [c["setting"] for c in service(doc)["changes"]] == []
        assert [x["version"]["from"] for x in service(doc)["launches"]] == ["0.5.11", "0.5.14"]


class TestFailedStarts:
    def failed(self, **kwargs):
        start = replace(PLAIN, stop_before="pool", ready=False, **kwargs)
        start.extra = {
            "load": [
                "Scheduler hit an exception: Traceback (most recent call last):",
                '|  File "/x/scheduler.py", line 3000, in run_scheduler_process',
                "|    raise RuntimeError(",
                f"|RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. Current value: mem_fraction_static={start.f}",
                "|",
            ]
        }
        return start

    def test_good_failed_good(self, timeline):
        third = replace(PLAIN, f=0.88)
        doc = timeline(plain(PLAIN.lines(day(9)), self.failed(f=0.7).lines(day(10)), third.lines(day(11))))
        s = service(doc)
        assert [x["end"] for x in s["launches"]][1:] == ["failed_start", "running"]
        assert change(doc, "mem_fraction_static", "L2")["verdict"] == "adverse"
        back = change(doc, "mem_fraction_static", "L3")
        assert back["verdict"] == "effective"
        assert back["effects"]["pool_tokens"]["baseline"] == "L1"
        assert {"failed_start", "not_enough_memory"} <= findings(doc)

    def test_config_of_a_failed_start_is_kept(self, timeline):
        doc = timeline(plain(self.failed(f=0.7).lines(day(9))))
        launch = service(doc)["launches"][0]
        assert launch["pool_tokens"] is None
        assert launch["config"]["mem_fraction_static"] == 0.7
        assert launch["ready_at"] is None


class TestEnds:
    def test_killed(self, timeline):
        doc = timeline(journal([PLAIN.lines(day(9))], stop=["kill"]))
        assert service(doc)["launches"][0]["end"] == "killed"

    def test_unknown_where_another_follows(self, timeline):
        doc = timeline(two(PLAIN, PLAIN))
        assert [x["end"] for x in service(doc)["launches"]] == ["unknown", "running"]

    def test_oom_at_runtime(self, timeline):
        second = replace(PLAIN, f=0.95, extra={})
        second.extra["ready"] = [
            "Scheduler hit an exception: Traceback (most recent call last):",
            '|  File "/x/scheduler.py", line 1, in event_loop',
            "|torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 94.97 GiB of which 1.12 GiB is free.",
            "|",
        ]
        doc = timeline(two(replace(PLAIN, extra={}), second))
        assert service(doc)["launches"][1]["end"] == "oom"
        assert "oom_at_runtime" in findings(doc)
        assert change(doc, "mem_fraction_static")["verdict"] == "adverse"


class TestRequests:
    def test_refusals_count_once_over_layers(self, timeline):
        start = replace(PLAIN, context=200000, extra={})
        text = f"Input length (150000 tokens) exceeds the maximum allowed length ({start.T - 6} tokens). Use a shorter input or enable --allow-auto-truncate."
        start.extra["ready"] = [
            f"{text}, self.rid='cb3a6e33ec954b5bac773351b15c65f6'",
            f"|[2026-05-20 10:00:00] [http_server] Error: {text}",
            "KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_tokens_gained: 8192, #new_token_ratio: 0.5234 -> 0.9012",
            "Decode batch, #running-req: 7, #token: 20227, token usage: 0.93, cuda graph: True, gen throughput (token/s): 199.94, #queue-req: 2",
        ]
        doc = timeline(plain(start.lines(day())))
        r = service(doc)["launches"][0]["requests"]
        assert r["rejected_too_long"] == 1
        assert r["retractions"] == 3
        assert (r["peak_token_usage"], r["peak_running"], r["peak_queue"]) == (0.93, 7, 2)
        assert {"request_too_long_for_pool", "retractions", "context_exceeds_pool"} <= findings(doc)


class TestSecrets:
    def test_no_secret_leaves(self, tmp_path):
        path = tmp_path / "x"
        secret = "sk-verySecret-1234567890abcdef"
        path.write_bytes(
            plain(
                replace(PLAIN, settings={"api_key": secret, "ssl_keyfile_password": "hunter2pass"}).lines(
                    day()
                )
            )
        )
        for command in (
            ["timeline"],
            ["launches"],
            ["coverage"],
            ["events", "--format", "jsonl"],
            ["timeline", "--format", "json"],
        ):
            done = run(command[0], str(path), *command[1:])
            for stream in (done.stdout, done.stderr):
                assert secret.encode() not in stream
                assert b"hunter2pass" not in stream
        doc = json.loads(run("timeline", str(path), "--format", "json").stdout)
        assert service(doc)["launches"][0]["config"]["api_key"] == "<redacted>"
        assert "secret_in_log" in findings(doc)


class TestServices:
    def test_two_hosts_are_two_services(self, tmp_path):
        a, b = tmp_path / "a", tmp_path / "b"
        a.write_bytes(journal([PLAIN.lines(day(9))], host="n1"))
        b.write_bytes(journal([PLAIN.lines(day(9))], host="n2"))
        doc = json.loads(run("timeline", str(a), str(b), "--format", "json").stdout)
        assert sorted(s["id"] for s in doc["services"]) == ["n1/sglang-k26.service", "n2/sglang-k26.service"]

    def test_several_plain_files_are_one_service_in_time_order(self, tmp_path):
        a, b = tmp_path / "a.log", tmp_path / "b.log"
        a.write_bytes(plain(replace(PLAIN, context=65536).lines(day(10))))
        b.write_bytes(plain(PLAIN.lines(day(9))))
        doc = json.loads(run("timeline", str(a), str(b), "--format", "json").stdout)
        s = service(doc)
        assert s["id"] == str(b)
        assert [x["context_len"] for x in s["launches"]] == [32768, 65536]

    def test_stdin(self):
        done = run("timeline", "-", "--format", "json", data=plain(PLAIN.lines(day())))
        assert json.loads(done.stdout)["sources"][0]["path"] == "-"

    def test_stale_unit_from_the_trail(self, timeline):
        second = PLAIN
        edit = day(9, 50)
        trail = [
            (
                edit,
                "sudo",
                "   eve : TTY=pts/1 ; PWD=/home/eve ; USER=root ; COMMAND=/usr/bin/sed -i 's/--context-length 32768/--context-length 200000/' /etc/systemd/system/sglang-k26.service",
            ),
            (
                edit + timedelta(seconds=20),
                "sudo",
                "   eve : TTY=pts/1 ; PWD=/home/eve ; USER=root ; COMMAND=/usr/bin/systemctl restart sglang-k26",
            ),
        ]
        doc = timeline(journal([PLAIN.lines(day(9)), second.lines(day(10))], trail=trail))
        assert "stale_unit" in findings(doc)


class TestExitCodes:
    def test_codes(self, tmp_path):
        assert run("timeline", str(tmp_path / "missing")).returncode == 3
        empty = tmp_path / "empty"
        empty.write_bytes(b"")
        assert run("timeline", str(empty)).returncode == 4
        other = tmp_path / "other"
        other.write_bytes(b"hello\nworld\n")
        assert run("timeline", str(other)).returncode == 4
        assert run("timeline", "--nonsense").returncode == 2
        log = tmp_path / "log"
        log.write_bytes(two(PLAIN, replace(PLAIN, context=65536)))
        assert run("timeline", str(log), "--fail-on", "no_op").returncode == 1
        assert run("timeline", str(log)).returncode == 0

    def test_not_a_memory_setting_never_meets_fail_on_no_op(self, tmp_path):
        log = tmp_path / "log"
        log.write_bytes(two(PLAIN, replace(PLAIN, settings={"log_level": "debug"})))
        assert run("timeline", str(log), "--fail-on", "no_op").returncode == 0


@pytest.mark.parametrize(
    "version",
    [
        "0.4.3.post4",
        "0.4.6.post5",
        "0.4.9.post6",
        "0.5.1",
        "0.5.6",
        "0.5.9",
        "0.5.11",
        "0.5.13",
        "0.5.14",
        "0.5.17",
        "0.5.19",
        "0.5.23",
    ],
)
@pytest.mark.parametrize("mla", [True, False])
def test_each_release(timeline, version, mla):
    start = replace(Start(version=version, context=16384), pools=[Pool(70272, mla=mla)], draft=None)
    if mla and version == "0.4.3.post4":
        pytest.skip("MLA pools print nothing before 0.4.5")
    launch = service(timeline(plain(start.lines(day()))))["launches"][0]
    assert launch["pool_tokens"] == start.T
    assert launch["context_len"] == 16384
    assert launch["max_running_requests"] == 64
    assert launch["longest_prompt_tokens"] == 16384 - 7
    assert [(p["role"], p["kind"], p["tokens"], p["ranks"]) for p in launch["pools"]] == [
        ("target", "mla" if mla else "mha", start.T, 8)
    ]
    assert launch["memory"]["before_load_gib"] == 94.0
    assert launch["sizing"]["closes"] is True
    assert launch["version"]["from"] <= version or launch["version"]["from"] is None
    if version not in ("0.4.3.post4", "0.4.6.post5"):
        assert launch["free_gib"] == pytest.approx(start.free, abs=0.006)
