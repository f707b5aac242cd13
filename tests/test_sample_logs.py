"""The files under sample_logs/ are what their generator writes, and the journal is one that journalctl would print."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOGS = ROOT / "sample_logs"
REMOTE = next(
    (path for path in ("/lib/systemd/systemd-journal-remote", "/usr/lib/systemd/systemd-journal-remote") if Path(path).exists()),
    None,
)  # fmt: skip


@pytest.fixture(scope="module")
def made() -> dict[str, bytes]:
    spec = importlib.util.spec_from_file_location("make_sample_logs", ROOT / "tools/make_sample_logs.py")
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module.files()


def test_the_files_are_the_generator_s_output(made):
    on_disk = {
        str(path.relative_to(LOGS)): path.read_bytes()
        for path in LOGS.rglob("*")
        if path.is_file() and path.name != "README.md"
    }
    assert on_disk.keys() == made.keys()
    for name, data in made.items():
        assert on_disk[name] == data, f"{name}: run python3 tools/make_sample_logs.py"


def test_every_folder_says_how_it_was_made():
    assert all((folder / "README.md").exists() for folder in LOGS.iterdir() if folder.is_dir())


@pytest.mark.parametrize(
    ("context", "fraction", "pool", "free"),
    [(32768, 0.85, 101134, 9.87), (200000, 0.85, 101134, 9.61), (200000, 0.93, 205748, 2.46)],
)
def test_the_incident_closes(made, context, fraction, pool, free):
    text = made["incident/incident.txt"].decode()
    assert (
        f"max_total_num_tokens={pool}, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=64, "
        f"context_len={context}, available_gpu_mem={free:.2f} GB"
    ) in text
    rest = 21.37 - 94.0 * (1 - fraction)
    assert pool == pytest.approx(rest * 2**30 / 77184, rel=0.001)


def without_cursor(record: dict) -> dict:
    return {name: value for name, value in record.items() if name != "__CURSOR"}


@pytest.mark.skipif(
    REMOTE is None or shutil.which("journalctl") is None, reason="needs systemd-journal-remote"
)
def test_journalctl_prints_the_same(tmp_path):
    journal = tmp_path / "incident.journal"
    export = (LOGS / "incident/incident.export").read_bytes()
    subprocess.run([REMOTE, f"--output={journal}", "-"], input=export, check=True, capture_output=True)
    env = {**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8", "SYSTEMD_COLORS": "0"}

    def printed(*mode: str) -> bytes:
        command = ["journalctl", "--no-pager", f"--file={journal}", *mode]
        return subprocess.run(command, env=env, check=True, capture_output=True).stdout

    assert printed("-o", "short") == (LOGS / "incident/incident.txt").read_bytes()
    real = [without_cursor(json.loads(line)) for line in printed("-o", "json", "-a").splitlines()]
    ours = [
        without_cursor(json.loads(line))
        for line in (LOGS / "incident/incident.json").read_bytes().splitlines()
    ]
    assert real == ours
    cursors = re.compile(rb"^__CURSOR=.*\n", re.MULTILINE)
    assert sorted(cursors.sub(b"", printed("-o", "export")).split(b"\n")) == sorted(
        cursors.sub(b"", export).split(b"\n")
    )
