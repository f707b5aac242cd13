from __future__ import annotations

import io
import json

import jsonschema
import pytest
from rich.cells import cell_len

from kvforensics.knowledge.describe import describe
from kvforensics.report import parts_json
from kvforensics.report.plain import dumps
from kvforensics.report.schema import NAMES, schema
from kvforensics.report.terminal import coverage, diff, knobs, launches
from kvforensics.report.terminal.page import Page


def drawn(draw, *args, width=80, **more) -> str:
    stream = io.StringIO()
    draw(*args, Page.on(stream, width=width, color=False), **more)
    return stream.getvalue()


@pytest.mark.parametrize("width", [80, 160])
def test_the_table_of_launches_fits_and_tells(incident, width):
    text = drawn(launches.draw, incident, width=width)
    assert max(cell_len(line.rstrip()) for line in text.splitlines()) <= width
    [row] = [line for line in text.splitlines() if line.startswith("L2")]
    for said in ("2026-05-20 15:10", "4m 04s", "restarted", "0.5.11", "101,134", "200,000", "64", "9.11"):
        assert said in row, said
    assert "✘ no_op_for_pool context_length 32768 → 200000" in text
    assert "random_seed" not in text


def test_two_launches_side_by_side(incident):
    [service] = incident.services
    older, newer = service.launches[:2]
    text = drawn(diff.draw, service, older, newer, service.verdicts[:2])
    assert "L1 → L2" in text
    assert [line.split() for line in text.splitlines() if line.startswith("context_length")] == [
        ["context_length", "32768", "200000"]
    ]
    assert [line.split() for line in text.splitlines() if line.startswith("headroom")] == [
        ["headroom", "9.87", "GiB", "9.11", "GiB"]
    ]
    assert "no_op_for_pool" in text
    assert "2 settings differ" in text


def test_every_unknown_shape_is_listed_where_all_are_wanted(incident):
    assert "2 × Foo bar <n>  first incident.export:12" in drawn(coverage.draw_coverage, incident, most=None)
    assert "… and 1 more" in drawn(coverage.draw_coverage, incident, most=0)


def test_knobs_at_length_and_in_a_table():
    text = drawn(knobs.draw_one, describe("context_length"))
    assert "Often taken for a setting of the pool" in text
    assert "not_a_pool_input" in text
    table = drawn(knobs.draw_all, [describe("context_length"), describe("port")])
    assert "context_length *" in table
    assert "port" not in table


@pytest.mark.parametrize("name", NAMES)
def test_every_schema_is_one(name):
    jsonschema.Draft202012Validator.check_schema(json.loads(schema(name)))


def test_parts_fit_their_schemas(incident):
    [service] = incident.services
    made = {
        "launches": parts_json.launches(incident),
        "coverage": parts_json.coverage(incident),
        "diff": parts_json.diff(service, *service.launches[:2], service.verdicts[:2]),
    }
    for name, document in made.items():
        jsonschema.validate(json.loads(dumps(document)), json.loads(schema(name)))
    assert made["diff"]["settings"] == [
        {"setting": "context_length", "before": 32768, "after": 200000},
        {"setting": "random_seed", "before": 1, "after": 2},
    ]
