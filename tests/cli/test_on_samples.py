"""Every command on the sample logs, as a user would run it."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import polars as pl
import pytest

from kvforensics.report.schema import schema

LOGS = Path(__file__).parents[2] / "sample_logs"
INCIDENT = LOGS / "incident/incident.export"
PLAIN = LOGS / "plain-0.4.6/server.log"
CONTAINER = LOGS / "container-0.5.23/sglang-json.log"
DAMAGED = LOGS / "damaged/damaged.json"


def piped(data: bytes, *args: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "kvforensics", *args]
    return subprocess.run(command, input=data, capture_output=True, timeout=120, check=False)


class TestTimeline:
    def test_the_demo_tells_the_incident(self, kv):
        done = kv("demo")
        assert done.code == 0
        assert done.err == ""
        for said in ("no_op_for_pool  context_length  32768 → 200000", "101,134", "mem_fraction_static 0.926",
                     "2.8 GiB", "205,748", "theuser ran", "incident/incident.export:"):  # fmt: skip
            assert said in done.out, said
        assert str(LOGS) not in done.out

    def test_json_and_text_are_of_one_analysis(self, kv):
        document = kv("timeline", INCIDENT, "--format", "json").json
        jsonschema.validate(document, json.loads(schema("timeline")))
        [change] = [c for c in document["services"][0]["changes"] if c["setting"] == "context_length"]
        assert change["verdict"] == "no_op_for_pool"
        assert change["advice"] in " ".join(
            kv("timeline", INCIDENT, "--width", 1000).out.replace("┊", "").split()
        )

    def test_the_same_input_gives_the_same_bytes(self, kv):
        assert (
            kv("timeline", INCIDENT, "--format", "json").out
            == kv("timeline", INCIDENT, "--format", "json").out
        )
        assert kv("timeline", INCIDENT).out == kv("timeline", INCIDENT).out

    def test_standard_input_is_called_dash(self):
        done = piped(INCIDENT.read_bytes(), "timeline", "-", "--format", "json")
        document = json.loads(done.stdout)
        assert document["sources"][0]["path"] == "-"
        assert document["services"][0]["launches"][0]["evidence"]["config"]["path"] == "-"
        assert done.stderr == b""

    def test_compressed_input_is_read_as_what_it_holds(self, kv, tmp_path):
        path = tmp_path / "anything.bin"
        path.write_bytes(gzip.compress(INCIDENT.read_bytes()))
        document = kv("timeline", path, "--format", "json").json
        assert document["sources"][0]["carrier"] == "journal-export"
        assert len(document["services"][0]["launches"]) == 3

    def test_several_inputs_of_which_one_cannot_be_read(self, kv, tmp_path):
        missing = tmp_path / "missing.log"
        done = kv("timeline", INCIDENT, missing, "--format", "json")
        assert done.code == 0
        assert "missing.log" in done.err
        assert [
            d["first"]["path"] for d in done.json["coverage"]["damaged"] if d["kind"] == "unreadable"
        ] == [str(missing)]

    def test_a_folder_is_called_after_its_log_and_not_after_the_readme_beside_it(self, kv):
        document = kv("timeline", PLAIN.parent, "--format", "json").json
        assert [service["id"] for service in document["services"]] == [str(PLAIN)]
        assert len(document["sources"]) == 2

    def test_no_input_can_be_read(self, kv, tmp_path):
        done = kv("timeline", tmp_path / "a", tmp_path / "b")
        assert (done.code, done.out) == (3, "")
        assert {"a: " in line or "b: " in line for line in done.err.splitlines()} == {True}

    @pytest.mark.parametrize(("level", "code"), [("warning", 1), ("error", 0), ("no_op", 1)])
    def test_fail_on(self, kv, level, code):
        done = kv("timeline", INCIDENT, "--fail-on", level, "--format", "json")
        assert done.code == code
        assert done.json["services"]

    def test_fail_on_looks_at_all_levels_given(self, kv):
        assert kv("timeline", INCIDENT, "--fail-on", "error", "--fail-on", "no_op").code == 1
        assert kv("timeline", CONTAINER, "--fail-on", "error").code == 1
        assert kv("timeline", CONTAINER, "--fail-on", "no_op").code == 0

    def test_the_product_is_written_before_fail_on_ends_the_run(self, kv, tmp_path):
        target = tmp_path / "t.json"
        assert kv("timeline", INCIDENT, "--fail-on", "warning", "-o", target).code == 1
        assert json.loads(target.read_text())["is_problem"] is True

    def test_important_leaves_out_what_does_not_matter(self, kv):
        whole, short = kv("timeline", INCIDENT), kv("timeline", INCIDENT, "--important")
        assert "random_seed" in whole.out
        assert "random_seed" not in short.out
        assert "no_op_for_pool" in short.out
        document = kv("timeline", INCIDENT, "--important", "--format", "json").json
        severities = {f["severity"] for s in document["services"] for f in s["findings"]}
        assert severities <= {"warning", "error"}

    @pytest.mark.parametrize("unit", ["sglang-k26.service", "sglang-k26", "sglang-*"])
    def test_unit_chooses_by_name_or_glob(self, kv, unit):
        assert len(kv("timeline", INCIDENT, PLAIN, "--unit", unit, "--format", "json").json["services"]) == 1

    def test_no_launch_is_of_the_unit(self, kv):
        done = kv("timeline", INCIDENT, "--unit", "other")
        assert done.code == 4
        assert "of the unit or host asked for" in done.err

    def test_host_chooses(self, kv):
        assert (
            len(kv("timeline", INCIDENT, PLAIN, "--host", "k26-*", "--format", "json").json["services"]) == 1
        )
        assert kv("timeline", INCIDENT, "--host", "other").code == 4

    @pytest.mark.parametrize(
        ("words", "launches"),
        [
            (["--since", "2026-05-20 15:11:00"], ["L2", "L3"]),
            (["--until", "2026-05-20 15:00:00"], ["L1"]),
            (["--since", "2026-05-20 17:12:00 Europe/Berlin", "--until", "2026-05-20 17:30:00 Europe/Berlin"], ["L2"]),
            (["--since", "2026-05-20 17:12:00", "--tz", "Europe/Berlin"], ["L2", "L3"]),
        ],
    )  # fmt: skip
    def test_since_and_until_choose_launches_and_keep_their_verdicts(self, kv, words, launches):
        [service] = kv("timeline", INCIDENT, *words, "--format", "json").json["services"]
        assert [x["id"] for x in service["launches"]] == launches
        assert service["launches"][0]["pool_tokens"] is not None

    def test_carrier_is_what_one_says(self, kv):
        document = kv("timeline", PLAIN, "--carrier", "plain", "--format", "json").json
        assert document["sources"][0]["carrier"] == "plain"

    def test_colours_only_on_request_of_a_terminal(self, kv):
        assert "\x1b" not in kv("timeline", INCIDENT).out

    @pytest.mark.parametrize("width", [80, 120])
    def test_width(self, kv, width):
        lines = kv("timeline", INCIDENT, "--width", width).out.splitlines()
        assert max(map(len, lines)) == width

    def test_a_text_file_has_no_colours(self, kv, tmp_path, monkeypatch):
        monkeypatch.setenv("FORCE_COLOR", "1")
        target = tmp_path / "t.txt"
        assert kv("timeline", INCIDENT, "-o", target).out == ""
        assert "\x1b" not in target.read_text()
        assert "no_op_for_pool" in target.read_text()


class TestOtherViews:
    def test_launches(self, kv):
        text = kv("launches", INCIDENT, "--width", 80).out
        assert [line.split()[0] for line in text.splitlines() if line.startswith("L")] == ["L1", "L2", "L3"]
        document = kv("launches", INCIDENT, "--format", "json").json
        jsonschema.validate(document, json.loads(schema("launches")))
        assert [x["pool_tokens"] for x in document["services"][0]["launches"]] == [101134, 101134, 205748]

    def test_diff_compares_the_last_two_by_default(self, kv):
        document = kv("diff", INCIDENT, "--format", "json").json
        jsonschema.validate(document, json.loads(schema("diff")))
        assert (document["from"]["id"], document["to"]["id"]) == ("L2", "L3")
        assert "mem_fraction_static" in {row["setting"] for row in document["settings"]}
        assert {c["setting"]: c["verdict"] for c in document["changes"]}["mem_fraction_static"] == "effective"

    def test_diff_judges_a_pair_with_others_between_anew(self, kv):
        changes = kv("diff", INCIDENT, "--from", "L1", "--to", "L3", "--format", "json").json["changes"]
        judged = {c["setting"]: (c["from"], c["to"], c["verdict"]) for c in changes}
        assert judged["mem_fraction_static"] == ("L1", "L3", "effective")
        assert judged["context_length"] == ("L1", "L3", "no_op_for_pool")

    @pytest.mark.parametrize(
        ("words", "code"),
        [(["--from", "L9"], 2), (["--from", "L3", "--to", "L1"], 2), (["--service", "nosuch"], 2), (["--from", "L1"], 0)],
    )  # fmt: skip
    def test_diff_says_what_it_cannot_compare(self, kv, words, code):
        assert kv("diff", INCIDENT, *words).code == code

    def test_diff_of_several_services_needs_one(self, kv):
        done = kv("diff", INCIDENT, PLAIN)
        assert done.code == 2
        assert "--service" in done.err
        assert kv("diff", INCIDENT, PLAIN, "--service", "sglang-k26").code == 0
        assert kv("diff", INCIDENT, PLAIN, "--service", PLAIN).code == 0

    def test_coverage_adds_up_and_lists_damage(self, kv):
        document = kv("coverage", DAMAGED, "--format", "json").json
        jsonschema.validate(document, json.loads(schema("coverage")))
        counted = document["coverage"]
        assert counted["understood"] + counted["unknown"] == counted["records"]
        kinds = {row["kind"]: row["count"] for row in counted["damaged"]}
        assert kinds["message_null"] == 2
        assert kinds["rate_limited"] >= 1
        assert any("moon" in row["shape"] for row in counted["unknown_shapes"])
        assert "moon" in kv("coverage", DAMAGED).out

    def test_coverage_needs_no_launch(self, kv, tmp_path):
        path = tmp_path / "foreign.log"
        path.write_text("hello 1\nhello 2\n")
        done = kv("coverage", path)
        assert done.code == 0
        assert "2 × " in done.out


class TestWhatIf:
    def test_another_fraction(self, kv):
        document = kv(
            "whatif", INCIDENT, "--launch", "L2", "--set", "mem_fraction_static=0.92", "--format", "json"
        ).json
        jsonschema.validate(document, json.loads(schema("whatif")))
        assert document["set"] == {"mem_fraction_static": 0.92}
        assert document["launch"] == "L2"
        assert document["predicted_pool_tokens"] == pytest.approx(192671, rel=0.002)
        assert document["low"] <= 192671 <= document["high"]
        assert document["free_gib"] == pytest.approx(3.36, abs=0.05)
        assert document["refused"] is None

    def test_the_prediction_of_the_launch_that_followed_is_right(self, kv):
        asked = kv(
            "whatif", INCIDENT, "--launch", "L2", "--set", "mem-fraction-static=0.93", "--format", "json"
        ).json
        assert asked["low"] <= 205748 <= asked["high"]
        assert asked["free_gib"] == pytest.approx(2.46, abs=0.05)

    def test_a_context_to_reach(self, kv):
        done = kv("whatif", INCIDENT, "--launch", "L2", "--need-context", "200000", "--format", "json")
        jsonschema.validate(done.json, json.loads(schema("whatif")))
        assert done.json["mem_fraction_static"] == 0.926
        assert done.json["need"] == {"context": 200000}
        assert done.json["solutions"][0]["set"] == {"mem_fraction_static": 0.926}
        assert (
            "mem_fraction_static 0.926"
            in kv("whatif", INCIDENT, "--launch", "L2", "--need-context", "200000").out
        )

    def test_the_last_launch_with_a_pool_is_the_base(self, kv):
        assert (
            kv("whatif", INCIDENT, "--set", "mem_fraction_static=0.9", "--format", "json").json["launch"]
            == "L3"
        )

    def test_a_refusal_is_an_answer_with_code_5(self, kv):
        done = kv("whatif", INCIDENT, "--set", "tp_size=4", "--format", "json")
        assert done.code == 5
        assert done.json["refused"]["reason_code"] == "unsupported_setting"
        assert done.json["predicted_pool_tokens"] is None
        jsonschema.validate(done.json, json.loads(schema("whatif")))
        text = kv("whatif", INCIDENT, "--set", "tp_size=4")
        assert text.code == 5
        assert "no prediction" in text.out

    def test_a_value_that_no_server_takes_is_usage(self, kv):
        assert kv("whatif", INCIDENT, "--set", "mem_fraction_static=7").code == 2


class TestEvents:
    def test_json_lines(self, kv):
        lines = [json.loads(line) for line in kv("events", INCIDENT).out.splitlines()]
        validator = jsonschema.Draft202012Validator(json.loads(schema("events")))
        for line in lines:
            validator.validate(line)
        kinds = {line["kind"] for line in lines}
        assert {
            "server_args",
            "load_begin",
            "kv_pool",
            "summary",
            "ready",
            "decode",
            "prefill",
            "sudo_command",
        } <= kinds
        assert [line["line"] for line in lines] == sorted(line["line"] for line in lines)
        [pool, *_] = [line for line in lines if line["kind"] == "kv_pool"]
        assert (pool["fields"]["tokens"], pool["host"], pool["unit"]) == (
            101134,
            "k26-node1",
            "sglang-k26.service",
        )

    def test_kinds_and_files(self, kv, tmp_path):
        for ending in ("jsonl", "csv", "parquet"):
            assert kv("events", INCIDENT, "--kind", "kv_pool", "-o", tmp_path / f"e.{ending}").code == 0
        lines = (tmp_path / "e.jsonl").read_text().splitlines()
        rows = list(csv.DictReader((tmp_path / "e.csv").open()))
        frame = pl.read_parquet(tmp_path / "e.parquet")
        assert len(lines) == len(rows) == frame.height == 3 * 2 * 8
        assert frame.schema["at"] == pl.Datetime("us")
        assert json.loads(rows[0]["fields"])["tokens"] == json.loads(frame["fields"][0])["tokens"] == 101134

    def test_parquet_goes_into_a_pipe_as_well(self):
        done = piped(INCIDENT.read_bytes(), "events", "-", "--kind", "ready", "--format", "parquet")
        assert done.returncode == 0, done.stderr
        assert pl.read_parquet(io.BytesIO(done.stdout)).height == 3

    def test_filters(self, kv):
        every = kv("events", INCIDENT).out.splitlines()
        some = kv(
            "events", INCIDENT, "--since", "2026-05-20 15:41:00", "--unit", "sglang-k26"
        ).out.splitlines()
        assert 0 < len(some) < len(every)
        assert {json.loads(line)["unit"] for line in some} == {"sglang-k26.service"}

    def test_unreadable_inputs_are_named(self, kv, tmp_path):
        done = kv("events", tmp_path / "missing", INCIDENT, "--kind", "ready")
        assert (done.code, len(done.out.splitlines())) == (0, 3)
        assert "missing" in done.err
        assert kv("events", tmp_path / "missing").code == 3


SECRET = "sk-do-not-tell-4f9a"


@pytest.mark.parametrize("command", [
    ["timeline"], ["timeline", "--format", "json"], ["launches", "--format", "json"], ["diff"], ["diff", "--format", "json"],
    ["events"], ["events", "--format", "csv"], ["coverage"], ["coverage", "--format", "json"],
], ids=" ".join)  # fmt: skip
def test_no_command_tells_a_secret(kv, tmp_path, command):
    log = PLAIN.read_text().replace("api_key=None", f"api_key='{SECRET}'")
    log += f"--api-key {SECRET} and Authorization: Bearer {SECRET}\nAPI_KEY={SECRET} https://user:{SECRET}@host/\n"
    assert SECRET in log
    path = tmp_path / "server.log"
    path.write_text(log)
    done = kv(command[0], path, *command[1:])
    assert done.code == 0
    assert SECRET not in done.out + done.err


def test_a_terminal_is_never_steered_by_a_log(kv, tmp_path):
    evil = "\x1b]0;owned\x07\x1b[2J\u202e"
    log = PLAIN.read_text().replace("/models/Qwen2.5-32B-Instruct", f"/models/{evil}[red]x")
    path = tmp_path / "server.log"
    path.write_text(log + f"{evil} unknown line\n")
    for command in (
        ["timeline"],
        ["launches"],
        ["diff"],
        ["coverage"],
        ["timeline", "--format", "json"],
        ["events"],
    ):
        out = kv(command[0], path, *command[1:]).out
        assert not {"\x1b", "\x07", "\u202e"} & set(out), command
    assert "[red]x" in kv("timeline", path).out


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo terminal")
@pytest.mark.parametrize(("extra", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_a_terminal_gets_colours_unless_it_asks_for_none(extra, coloured):
    parent, child = os.openpty()
    env = {k: v for k, v in os.environ.items() if k not in {"NO_COLOR", "FORCE_COLOR"}}
    env |= {"TERM": "xterm-256color", "COLUMNS": "90", **extra}
    process = subprocess.Popen(
        [sys.executable, "-m", "kvforensics", "launches", str(INCIDENT)],
        stdout=child,
        stderr=subprocess.PIPE,
        env=env,
    )
    os.close(child)
    out = b""
    while True:
        try:
            piece = os.read(parent, 65536)
        except OSError:
            break
        if not piece:
            break
        out += piece
    assert process.wait(timeout=60) == 0
    assert b"no_op_for_pool" in out
    assert (b"\x1b[" in out) is coloured
