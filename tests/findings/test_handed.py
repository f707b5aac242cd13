"""A unit file handed in that is not what runs."""

from pathlib import Path

import pytest

from kvforensics.analysis import analyse
from kvforensics.options import Options

INCIDENT = Path(__file__).parents[1] / "samples" / "journald-252" / "incident"
UNIT = "[Service]\nExecStart=/usr/bin/python3 -m sglang.launch_server --model-path /models/Kimi-K2.6 {}\n"


def stale(tmp_path, flags, log="export.export"):
    unit = tmp_path / "sglang-k26.service"
    unit.write_text(UNIT.format(flags))
    (service,) = analyse([str(INCIDENT / log)], Options(config=str(unit))).services
    return [(f.launch, f.title) for f in service.findings if f.id == "stale_unit"]


@pytest.mark.parametrize("log", ["export.export", "short.txt"])
def test_what_stands_otherwise_in_the_file(tmp_path, log):
    found = stale(tmp_path, "--context-length 262144 --mem-fraction-static 0.92", log)
    assert found == [("L4", "The file asks for context_length 262144, L4 runs with 200000")]


def test_a_file_that_is_what_runs(tmp_path):
    assert stale(tmp_path, "--context-length 200000 --mem-fraction-static 0.92 --tp 8") == []
