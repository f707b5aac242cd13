from __future__ import annotations

import csv as csv_module
import io
import json
from datetime import datetime

import jsonschema
import polars as pl
import pytest

from kvforensics.events import BASE_SCHEMA, Event, EventBlock, Ranks
from kvforensics.records import Origin, Origins, Source
from kvforensics.report.event_rows import ROW_SCHEMA, csv, frame, json_line, rows
from kvforensics.report.schema import schema


@pytest.fixture
def table():
    origins = Origins()
    server = origins.intern(Origin("node1", "sglang.service", pid=7))
    evil = origins.intern(Origin("=cmd|' /C calc'!A0", None, container="box"))
    rare = [
        Event("ready", {}, 0, 30, server, at=datetime(2026, 5, 20, 14, 7, 4), cursor="s=1", text="[…] ready"),
        Event(
            "sudo_command",
            {"command": "a\x1b[31m", "odd": {float("inf")}},
            0,
            10,
            evil,
            text="=1+1\x1b]0;x\x07",
        ),
        Event("load_begin", {"avail_gib": 94.0}, 0, 20, server, ranks=Ranks(tp=3)),
    ]
    hot = pl.DataFrame(
        {
            "source": [0],
            "line": [25],
            "at": [datetime(2026, 5, 20, 14, 6)],
            "origin": [server],
            "tp": [0],
            "running": [4],
            "usage": [0.5],
            "accept_len": [None],
        },
        schema={
            **{k: BASE_SCHEMA[k] for k in ("source", "line", "at", "origin", "tp")},
            "running": pl.Int64(),
            "usage": pl.Float64(),
            "accept_len": pl.Float64(),
        },
    ).with_columns(
        *(
            pl.lit(None, BASE_SCHEMA[k]).alias(k)
            for k in BASE_SCHEMA
            if k not in ("source", "line", "at", "origin", "tp")
        )
    )
    return list(rows(EventBlock(rare=rare, hot={"decode": hot}), [Source("a.log")], origins))


def test_rows_stand_in_the_order_of_their_lines(table):
    assert [(row["line"], row["kind"]) for row in table] == [
        (10, "sudo_command"),
        (20, "load_begin"),
        (25, "decode"),
        (30, "ready"),
    ]
    assert table[2]["fields"] == {"running": 4, "usage": 0.5}
    assert (table[2]["host"], table[2]["unit"], table[2]["pid"]) == ("node1", "sglang.service", 7)
    assert table[0]["unit"] == "box"


def test_json_lines_fit_the_schema_and_steer_nothing(table):
    validator = jsonschema.Draft202012Validator(json.loads(schema("events")))
    for row in table:
        line = json_line(row)
        assert line.count("\n") == 1
        assert all(" " <= c < "\x7f" for c in line[:-1])
        validator.validate(json.loads(line))
    assert json.loads(json_line(table[1]))["tp"] == 3
    assert "tp" not in json.loads(json_line(table[0]))
    assert json.loads(json_line(table[0]))["fields"]["odd"] == ["inf"]


def test_frames_are_typed_and_parquet_gives_them_back(table, tmp_path):
    made = frame(table)
    assert made.schema == ROW_SCHEMA
    made.write_parquet(tmp_path / "e.parquet")
    assert pl.read_parquet(tmp_path / "e.parquet").equals(made)
    assert json.loads(made["fields"][1]) == {"avail_gib": 94.0}


def test_csv_cells_are_no_formulas_and_steer_nothing(table):
    text = csv(frame(table), header=True)
    assert "\x1b" not in text
    [first, *_] = csv_module.DictReader(io.StringIO(text))
    assert first["host"].startswith("'=")
    assert first["text"] == r"'=1+1\x1b]0;x\x07"
    assert list(csv_module.DictReader(io.StringIO(text)))[3]["at"] == "2026-05-20T14:07:04.000000Z"
    assert not csv(frame(table), header=False).startswith("kind,")


def test_no_rows_are_an_empty_table():
    assert frame([]).schema == ROW_SCHEMA
    assert csv(frame([]), header=True).startswith("kind,at,path,line,cursor")
