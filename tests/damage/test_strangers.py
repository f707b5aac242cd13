"""Logs that are not only SGLang's own: forks, other engines, a site's formatter, JSON lines, settings handed in."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from kvforensics import analyse
from kvforensics.errors import NoLaunchError
from kvforensics.options import Options
from kvforensics.report.timeline_json import timeline

from .incident import BASE, WIDE, findings, launches, plain, read, rows, short, texts, verdicts

VLLM = [
    "INFO 05-20 08:00:11 [api_server.py:1090] vLLM API server version 0.8.5",
    "INFO 05-20 08:01:12 [kv_cache_utils.py:634] GPU KV cache size: 7,777 tokens",
]
COMMAND = (
    "python3 -m sglang.launch_server --model-path /models/m --context-length {} --mem-fraction-static 0.85"
)


def test_a_forks_settings_are_diffed_and_its_lines_counted(tmp_path):
    starts = [replace(BASE, settings={"ddtree_budget": budget, "vendor_flag": "x"}) for budget in (16, 32)]
    lines = texts(starts=starts)
    lines.insert(9, "[2026-05-20 08:03:04 TP0] DDTREE: tree budget 16, topk 4")
    doc = read(tmp_path, plain(lines))
    (change,) = doc["services"][0]["changes"]
    assert (change["setting"], change["before"], change["after"]) == ("ddtree_budget", 16, 32)
    assert launches(doc)[0]["config"]["vendor_flag"] == "x"
    assert [shape["shape"] for shape in doc["coverage"]["unknown_shapes"]] == [
        "DDTREE: tree budget <n>, topk <n>"
    ]


def test_a_sites_formatter(tmp_path):
    def site(line):
        found = re.match(r"\[([0-9-]+ [0-9:]+)(?: TP(\d+))?\] (.*)", line)
        return f"{found[1]},123 INFO 4242 [DP0 TP{found[2] or 0} scheduler.py:221] {found[3]}"

    doc = read(tmp_path, plain(map(site, texts())))
    assert [launch["pool_tokens"] for launch in launches(doc)] == [BASE.T, WIDE.T]
    assert verdicts(doc) == {"context_length": "no_op_for_pool"}
    assert doc["coverage"]["unknown"] == 0


def test_another_engine_alone_is_no_launch(tmp_path):
    with pytest.raises(NoLaunchError):
        read(tmp_path, plain(VLLM))


def test_another_engine_beside_changes_nothing(tmp_path):
    doc = read(tmp_path, plain([*VLLM, *texts(), *VLLM]))
    assert [launch["pool_tokens"] for launch in launches(doc)] == [BASE.T, WIDE.T]
    assert [launch["engine"] for launch in launches(doc)] == ["sglang", "sglang"]


def test_json_lines_are_understood(tmp_path):
    lines = [
        '{"timestamp": "2026-05-20T08:10:00.000000", "event": "request.received", "rid": "r", "obj": {"text": "hi"}}'
    ]
    doc = read(tmp_path, plain([*texts(), *lines]))
    assert verdicts(doc) == {"context_length": "no_op_for_pool"}
    assert doc["coverage"]["records"] == len(texts()) + 1


UNIT = "[Service]\nEnvironment=CTX={}\nExecStart=" + COMMAND.format("${{CTX}}") + "\n"
HANDED = {
    "command.txt": COMMAND + "\n",
    "sglang.service": UNIT,
    "cat.txt": "# /etc/systemd/system/sglang.service\n[Service]\nExecStart=/bin/true\n\n"
    "# /etc/systemd/system/sglang.service.d/override.conf\n[Service]\nExecStart=\nExecStart=" + COMMAND + "\n",
    "show.txt": "Id=sglang.service\nExecStart={{ path=/usr/bin/python3 ; argv[]=" + COMMAND + " ; ignore_errors=no ; start_time=[n/a] ; stop_time=[n/a] ; pid=0 ; code=(null) ; status=0/0 }}\n",
    "inspect.json": '[{{"Id": "a", "Name": "/sglang", "Config": {{"Entrypoint": null, "Cmd": ' + json.dumps(COMMAND.split()) + "}}}}]",
    "compose.yaml": "services:\n  sglang:\n    image: sglang\n    command: " + COMMAND + "\n",
    "pod.yaml": "kind: Pod\napiVersion: v1\nmetadata: {{name: s}}\nspec:\n  containers:\n  - name: s\n    command: " + json.dumps(COMMAND.split()) + "\n",
}  # fmt: skip


@pytest.mark.parametrize("name", HANDED)
def test_settings_handed_in(tmp_path, name):
    """Where the settings line is lost they are taken; where it is not, a difference is `stale_unit`."""
    config, log = tmp_path / name, tmp_path / "server.log"
    found = {}
    for asked in (200_000, 1000):
        config.write_text(HANDED[name].format(asked))
        log.write_bytes(short())
        found[asked] = timeline(analyse([str(log)], Options(config=str(config))))
    assert "stale_unit" not in findings(found[200_000])
    assert "stale_unit" in findings(found[1000])
    assert launches(found[1000])[1]["config"]["context_length"] == 200_000
    config.write_text(HANDED[name].format(200_000))
    log.write_bytes(
        short(lambda: [(*row[:3], "[9.5K blob data]") if "server_args=" in row[3] else row for row in rows()])
    )
    lost = launches(timeline(analyse([str(log)], Options(config=str(config)))))[1]
    assert (lost["config_source"], lost["config"]["context_length"]) == ("unit_file", 200_000)
