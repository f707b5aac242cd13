"""The timelines of all samples, as last reviewed by eye. `python tools/make_goldens.py` draws them again."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).parents[1]
_spec = importlib.util.spec_from_file_location("make_goldens", ROOT / "tools/make_goldens.py")
goldens = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(goldens)
SAMPLES = goldens.samples()
SCHEMA = json.loads(files("kvforensics.report").joinpath("schemas/timeline-v1.json").read_text("utf-8"))
HINT = "run tools/make_goldens.py and read the diff"


@pytest.fixture(autouse=True)
def stay_here():
    here = Path.cwd()
    yield
    os.chdir(here)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_gives_the_reviewed_timeline(name):
    document, text = goldens.documents(SAMPLES[name])
    assert text == (goldens.GOLDEN / f"{name}.txt").read_text("utf-8"), HINT
    assert document == (goldens.GOLDEN / f"{name}.json").read_text("utf-8"), HINT
    made = json.loads(document)
    if "exit_code" not in made:
        jsonschema.validate(made, SCHEMA)
        assert made["coverage"]["understood"] + made["coverage"]["unknown"] == made["coverage"]["records"]


def test_there_is_no_golden_without_its_sample():
    names = {path.stem for path in goldens.GOLDEN.iterdir() if path.suffix in {".json", ".txt"}}
    assert names == set(SAMPLES)


def test_the_picture_of_the_readme_is_true():
    picture = goldens.picture()
    assert picture == goldens.PICTURE.read_text("utf-8"), HINT
    assert "no_op_for_pool" in picture
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", picture)  # it loads nothing from anywhere


def test_the_closed_lists_of_the_docs_are_those_of_the_code():
    page = goldens.TABLES.read_text("utf-8")
    assert goldens.tables(page) == page, HINT


def test_the_incident_is_told_alike_whatever_carried_it():
    told = {}
    for name in ("incident.export", "incident.json", "incident.txt"):
        document = json.loads((goldens.GOLDEN / f"sample_logs--incident--{name}.json").read_text("utf-8"))
        [service] = document["services"]
        told[name] = (
            [(x["pool_tokens"], x["context_len"], x["free_gib"], x["end"]) for x in service["launches"]],
            [(c["setting"], c["verdict"], c["reason_code"], c["attribution"]) for c in service["changes"]],
            [(f["id"], f["launch"]) for f in service["findings"]],
        )
    assert told["incident.export"] == told["incident.json"] == told["incident.txt"]
