"""Every line that SGLang itself wrote in the samples is understood: start-up, scheduler, trouble."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kvforensics.options import Options
from kvforensics.survey import survey

ROOT = Path(__file__).parents[1]
FILES = sorted(
    path
    for folder in ("tests/samples", "sample_logs")
    for path in (ROOT / folder).rglob("*")
    if path.is_file() and path.name != "README.md"
)
# What is not SGLang's: the list's comments and its lines of journalctl, and what was written to try carriers out.
OTHERS = re.compile(
    r"# |<no message>|at <n> UTC|from a container|no identifier|(first|last) line of the year|same line repeated"
    r"|err <n>|hello from|context_length=<n>\)$|.*\[brackets\]|bad . utf|multi|tab\s|unicode |router |x{40}|no label"
    r"|batch host|-- |.*looks like a prefix|.*(clock step|step's realtime)|ends in a newline|several values|.*timeQuality"
    r"|May <n> <n> gpu<n> systemd|GPU <n>: the moon|Decode \ufffd"
)
SGLANG = re.compile(
    r"server_args|#token|avail|KV |cuda graph|batch|Load weight|Memory pool|max_total|Scheduler|fired up",
    re.IGNORECASE,
)


def unknown(path):
    return [shape.shape for shape in survey([str(path)], Options()).coverage.unknown_shapes]


@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-2:]))
def test_every_line_of_sglang_is_understood(path):
    assert [shape for shape in unknown(path) if not OTHERS.match(shape)] == []


def test_the_exceptions_let_nothing_of_sglang_through(tmp_path):
    lines = (ROOT / "tests/samples/sglang-line-samples.txt").read_text().splitlines()
    own = [line for line in lines if line and not line.startswith("#") and SGLANG.search(line)]
    assert len(own) > 100
    assert [line for line in own if OTHERS.match(line)] == []
    changed = tmp_path / "x.log"
    changed.write_text("[2026-05-20 08:00:00 TP0] Decode flock, #running-req: 1\n")
    assert [shape for shape in unknown(changed) if not OTHERS.match(shape)] != []
