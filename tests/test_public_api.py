"""The names that others import."""

import subprocess
import sys
from pathlib import Path

import pytest

import kvforensics

REAL = Path(__file__).parent / "samples" / "sglang-real" / "0.5.11"


def test_importing_the_package_loads_neither_polars_nor_lark():
    code = "import sys, kvforensics; print(sorted({'polars', 'lark'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", kvforensics.__all__)
def test_every_public_name_is_there(name):
    assert getattr(kvforensics, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError):
        _ = kvforensics.nothing


def test_open_logs_yields_the_events_of_all_inputs():
    batches = list(kvforensics.open_logs([str(REAL / "s02-ctx200k.log")]))
    kinds = [event.kind for batch in batches for event in batch.block.rare]
    assert "server_args" in kinds
    assert "summary" in kinds


def test_open_logs_tells_what_it_left_out(tmp_path):
    told = []
    options = kvforensics.Options(warn=told.append)
    found = list(kvforensics.open_logs([str(tmp_path / "missing"), str(REAL / "s17-ctx300k.log")], options))
    assert found
    assert len(told) == 1
    assert "missing" in told[0]


def test_an_analysis_in_three_lines():
    found = kvforensics.analyse([str(REAL / "s01-base-ctx32k.log"), str(REAL / "s02-ctx200k.log")])
    (verdict,) = found.services[0].verdicts
    assert (verdict.change.setting, verdict.verdict) == ("context_length", "no_op_for_pool")
