"""More of the contract's small print, from outside."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.acceptance.server import GIB, Pool, Start, day, journal, plain
from tests.acceptance.test_contract import INCIDENT, PLAIN, change, findings, run, service, timeline, two

__all__ = ["timeline"]


def doc_of(tmp_path, **files: bytes) -> dict:
    paths = []
    for name, data in files.items():
        path = tmp_path / name
        path.write_bytes(data)
        paths.append(str(path))
    done = run("timeline", *paths, "--format", "json")
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


class TestHybrids:
    def swa(self, version="0.5.11", full=500_000, window=400_000, **kwargs) -> Start:
        full_bytes, swa_bytes = 20_480, 20_480
        cell = full_bytes + round(swa_bytes * window / full)
        start = Start(version=version, cell=cell, W=94 * 0.85 - (full * cell + 100) / GIB, **kwargs)
        labelled = version >= "0.5.17"
        sub = [("SWA", window, swa_bytes), ("Full", start.T, full_bytes)]
        lines = [f"Use sliding window memory pool. full_layer_tokens={start.T}, swa_layer_tokens={window}"]
        for name, tokens, size in reversed(sub) if labelled else sub:
            label = f"{name} KV Cache" if labelled else "KV Cache"
            lines.append(start._pool_line(Pool(size, tokens=tokens), label))
        total = sum((t + 1) * b for _, t, b in sub) / GIB
        lines.append(f"SWAKVPool mem usage: {total:.2f} GB, swa size: {window}, full size: {start.T}")
        return replace(start, pools=[], extra={"before_pool": lines})

    @pytest.mark.parametrize("version", ["0.5.11", "0.5.17"])
    def test_swa_roles(self, timeline, version):
        start = self.swa(version)
        launch = service(timeline(plain(start.lines(day()))))["launches"][0]
        assert {(p["role"], p["tokens"]) for p in launch["pools"]} == {("full", start.T), ("swa", 400_000)}
        assert launch["pool_tokens"] == start.T

    def test_mamba_slots(self, timeline):
        start = replace(
            PLAIN,
            extra={
                "before_pool": [
                    "Mamba Cache is allocated. max_mamba_cache_size: 480, conv_state size: 0.12GB, ssm_state size: 8.44GB "
                ]
            },
        )
        launch = service(timeline(plain(start.lines(day()))))["launches"][0]
        mamba = next(p for p in launch["pools"] if p["role"] == "mamba")
        assert (mamba["kind"], mamba["tokens"]) == ("mamba", 480)
        assert mamba["total_gib"] == pytest.approx(8.56)
        assert launch["sizing"]["predicted_tokens"] is None


class TestDraft:
    @pytest.mark.parametrize("version", ["0.5.11", "0.5.14"])
    def test_draft_and_target(self, timeline, version):
        start = Start(
            version=version, cell=77184, draft=Pool(3072), settings={"speculative_algorithm": "DFLASH"}
        )
        launch = service(timeline(plain(start.lines(day()))))["launches"][0]
        assert {(p["role"], p["kind"], p["tokens"]) for p in launch["pools"]} == {
            ("target", "mla", start.T),
            ("draft", "mha", start.T),
        }

    def test_unbudgeted_eagle_draft(self, timeline):
        start = Start(
            draft=Pool(9000), settings={"speculative_algorithm": "EAGLE", "speculative_num_steps": 3}
        )
        doc = timeline(plain(start.lines(day())))
        assert "draft_pool_unbudgeted" in findings(doc)
        sizing = service(doc)["launches"][0]["sizing"]
        assert sizing["closes"] is False
        assert sizing["closure_gib"] > 0.1
        assert sizing["binding"] == "memory"

    def test_speculative_settings_count_as_one_change(self, timeline):
        on = {
            "speculative_algorithm": "DFLASH",
            "speculative_num_draft_tokens": 8,
            "speculative_draft_model_path": "/d",
        }
        second = replace(PLAIN, cell=77184, draft=Pool(3072), settings=on)
        doc = timeline(two(PLAIN, second))
        switch = change(doc, "speculative_algorithm")
        assert switch["verdict"] == "adverse" or switch["verdict"] == "effective"
        assert switch["attribution"] == "sole"
        assert all(c["verdict"] != "confounded" for c in service(doc)["changes"])


class TestConfigSources:
    def record(self, message, **more):
        base = {
            "__CURSOR": "s=1;i=1", "__REALTIME_TIMESTAMP": "1779267600000000", "_HOSTNAME": "n1",
            "_SYSTEMD_UNIT": "sglang.service", "_SYSTEMD_INVOCATION_ID": "a" * 32, "_PID": "5", "SYSLOG_IDENTIFIER": "python3",
            "_CMDLINE": "/usr/bin/python3 -m sglang.launch_server --model-path /m --context-length 200000 --mem-fraction-static 0.85 --api-key sk-abcdef123456",
        }  # fmt: skip
        return json.dumps({**base, "MESSAGE": message, **more})

    def test_null_message_falls_back_to_the_command_line(self, tmp_path):
        lines = [self.record(None)]
        for when, rank, text in PLAIN.lines(day())[1:]:
            micros = str(int((when - day()).total_seconds() * 1e6) + 1779267600000000)
            more = {} if rank < 0 else {"_CMDLINE": "sglang::scheduler"}
            lines.append(self.record(text, __REALTIME_TIMESTAMP=micros, _PID=str(6 + rank), **more))
        doc = doc_of(tmp_path, j=("\n".join(lines) + "\n").encode())
        launch = service(doc)["launches"][0]
        assert launch["config_source"] == "cmdline"
        assert launch["config"]["context_length"] == 200000
        assert launch["config"]["api_key"] == "<redacted>"
        assert "config_line_lost" in findings(doc)
        assert [d["kind"] for d in doc["coverage"]["damaged"]] == ["message_null"]

    def test_truncated_settings_line(self, timeline):
        lines = PLAIN.lines(day())
        when, rank, text = lines[0]
        doc = timeline(plain([(when, rank, text[:3000]), *lines[1:]]))
        launch = service(doc)["launches"][0]
        assert (launch["config_source"], launch["config_truncated"]) == ("server_args", True)
        assert {"truncated_repr"} == {d["kind"] for d in doc["coverage"]["damaged"]}
        assert "config_line_lost" in findings(doc)

    def test_head_of_a_rotated_log_is_judged_by_nothing(self, timeline):
        tail = [row for row in PLAIN.lines(day(8)) if "Load" not in row[2]][-3:]
        decode = "Decode batch, #running-req: 7, #token: 20227, token usage: 0.20, cuda graph: True, gen throughput (token/s): 199.94, #queue-req: 2"
        head = [(day(8, 30), 0, f"[2026-05-20 08:30:00 TP0] {decode}")]
        doc = timeline(plain(head, PLAIN.lines(day(9))))
        s = service(doc)
        assert [x["config_source"] for x in s["launches"]] == ["none", "server_args"]
        assert s["changes"] == []
        assert tail


class TestEndsMore:
    def test_sigterm_only_is_stopped(self, timeline):
        start = replace(
            PLAIN,
            extra={
                "ready": ["SIGTERM received. signum=None frame=None. Draining requests and shutting down..."]
            },
        )
        assert service(timeline(plain(start.lines(day()))))["launches"][0]["end"] == "stopped"

    def test_crash_then_systemd_restart_is_crashed(self, tmp_path):
        first = replace(
            PLAIN,
            extra={
                "ready": [
                    "Scheduler hit an exception: Traceback (most recent call last):",
                    '|  File "/x.py", line 1, in f',
                    "|AssertionError: boom",
                    "|",
                ]
            },
        )
        doc = doc_of(tmp_path, e=journal([first.lines(day(9)), PLAIN.lines(day(10))]))
        assert service(doc)["launches"][0]["end"] == "crashed"
        assert "scheduler_crash" in findings(doc)

    def test_downtime(self, tmp_path):
        doc = doc_of(tmp_path, e=journal([PLAIN.lines(day(9)), PLAIN.lines(day(10))]))
        one, other = service(doc)["launches"]
        assert other["downtime_s"] == pytest.approx(
            (stamp(other["ready_at"]) - stamp(one["ended_at"])).total_seconds()
        )


def stamp(text):
    from datetime import datetime

    return datetime.fromisoformat(text)


class TestInputs:
    def test_compressed_input_says_the_same(self, tmp_path):
        data = two(INCIDENT, replace(INCIDENT, context=200000))
        one = doc_of(tmp_path, a=data)
        other = doc_of(tmp_path, b=gzip.compress(data))
        strip = json.dumps(one["services"]).replace(str(tmp_path / "a"), "X")
        assert json.dumps(other["services"]).replace(str(tmp_path / "b"), "X") == strip

    def test_a_log_cut_in_two_says_the_same(self, tmp_path):
        data = two(INCIDENT, replace(INCIDENT, context=200000))
        lines = data.splitlines(keepends=True)
        whole = service(doc_of(tmp_path, whole=data))
        for cut in (1, 20, len(lines) // 2, len(lines) - 3):
            parts = doc_of(tmp_path, p1=b"".join(lines[:cut]), p2=b"".join(lines[cut:]))
            for name in ("launches", "changes", "findings"):
                clean = [{k: v for k, v in x.items() if k != "evidence"} for x in service(parts)[name]]
                assert clean == [{k: v for k, v in x.items() if k != "evidence"} for x in whole[name]]

    def test_same_bytes_whatever_the_order_of_sets(self, tmp_path, monkeypatch):
        path = tmp_path / "x"
        path.write_bytes(two(INCIDENT, replace(INCIDENT, context=200000)))
        made = set()
        for seed in ("1", "2"):
            monkeypatch.setenv("PYTHONHASHSEED", seed)
            made.add(run("timeline", str(path), "--format", "json").stdout)
        assert len(made) == 1
        assert b"no_op_for_pool" in made.pop()

    def test_one_unreadable_input_is_a_warning(self, tmp_path):
        path = tmp_path / "x"
        path.write_bytes(plain(PLAIN.lines(day())))
        done = run("timeline", str(path), str(tmp_path / "none"), "--format", "json")
        assert done.returncode == 0
        assert "none" in done.stderr.decode()
        assert "unreadable" in {d["kind"] for d in json.loads(done.stdout)["coverage"]["damaged"]}

    def test_zone_of_inner_times(self, tmp_path):
        path = tmp_path / "x"
        path.write_bytes(plain(PLAIN.lines(day(9))))
        doc = json.loads(run("timeline", str(path), "--tz", "Europe/Berlin", "--format", "json").stdout)
        assert service(doc)["launches"][0]["started_at"] == "2026-05-20T07:00:08.000000Z"
        assert doc["sources"][0]["time_basis"] == "inner"

    def test_ranks_out_of_order_split_nothing(self, timeline):
        lines = PLAIN.lines(day())
        late = [row for row in lines if row[1] == 7 and "Memory pool end" in row[2]]
        moved = [row for row in lines if row not in late] + late
        launches = service(timeline(plain(moved)))["launches"]
        assert len(launches) == 1
        assert launches[0]["pools"][0]["ranks"] == 8

    def test_minimum_over_ranks(self, timeline):
        lines = [
            (w, r, t.replace("avail mem=94.00 GB", f"avail mem={94.0 + r / 10:.2f} GB"))
            for w, r, t in PLAIN.lines(day())
        ]
        assert service(timeline(plain(lines)))["launches"][0]["memory"]["before_load_gib"] == 94.0


class TestMemory:
    def test_memory_left_idle(self, timeline):
        start = replace(PLAIN, max_total=20000)
        assert "memory_left_idle" not in findings(timeline(plain(replace(PLAIN).lines(day()))))
        idle = replace(start, W=40.0)
        assert "memory_left_idle" in findings(timeline(plain(idle.lines(day()))))

    def test_dp_division_is_no_change(self, timeline):
        one = replace(
            PLAIN, settings={"dp_size": 2, "enable_dp_attention": True}, running=64, running_effective=32
        )
        doc = timeline(two(one, one))
        assert service(doc)["changes"] == []

    def test_gap_between_requested_and_applied_is_not_told_twice(self, timeline):
        one = replace(PLAIN, running=8192, running_effective=2048)
        doc = timeline(two(one, one))
        assert service(doc)["changes"] == []

    def test_derived_fraction(self, tmp_path):
        first = replace(PLAIN, f=0.85)
        second = replace(PLAIN, f=0.83, settings={"chunked_prefill_size": 16384})
        command = "/usr/bin/python3 -m sglang.launch_server --model-path /models/m --tp-size 8 --context-length 32768 --max-running-requests 64 --chunked-prefill-size {}"
        data = journal([first.lines(day(9)), second.lines(day(10))])
        for i, chunk in enumerate((8192, 16384)):
            pid = f"_PID={1000 + 100 * i}\n".encode()
            data = data.replace(pid, pid + f"_CMDLINE={command.format(chunk)}\n".encode())
        doc = doc_of(tmp_path, e=data)
        f = change(doc, "mem_fraction_static")
        assert f["derived"] is True
        cause = change(doc, "chunked_prefill_size")
        assert f["verdict"] == cause["verdict"]
        assert cause["verdict"] in ("effective", "adverse")
        assert cause["attribution"] == "sole"


def test_clock_step_back_keeps_the_order(tmp_path):
    first, second = PLAIN.lines(day(9)), replace(PLAIN, context=65536).lines(day(9) - timedelta(minutes=30))
    doc = doc_of(tmp_path, log=plain(first, second))
    assert [x["context_len"] for x in service(doc)["launches"]] == [32768, 65536]
