"""Every rendered line of 39 releases, through the whole parser: understood, with the events a person read in it.

The lines are `tests/samples/sglang-line-samples.txt`; `expected/facts.jsonl` says what stands in each of
its sections. Prefill and Decode lines have their columns tested in `tests/parsing`; here they are counted.
"""

import json
from pathlib import Path

import polars as pl
import pytest

from kvforensics.parsing import Parser
from kvforensics.records import RECORD_SCHEMA, Origin, Origins, Source

TESTS = Path(__file__).parents[1]
EXPECTED = [
    json.loads(line)
    for line in (TESTS / "grammars" / "expected" / "facts.jsonl").read_text("utf-8").splitlines()
]
CARRIERS = ("envelope: journald", "envelope: docker")  # these prefixes are taken off by carriers


def sections():
    """Return the sections of the file with their lines; blank lines end a record and are dropped."""
    found: dict[str, list[str]] = {}
    text = (TESTS / "samples" / "sglang-line-samples.txt").read_text("utf-8")
    for line in text.splitlines()[2:]:
        if line.startswith("# "):
            found[head := line[2:]] = []
        elif line.strip():
            found[head].append(line)
    return {head: lines for head, lines in found.items() if not head.startswith(CARRIERS)}


def read(lines):
    origins = Origins()
    origins.intern(Origin())
    data = {name: [None] * len(lines) for name in RECORD_SCHEMA} | {
        "source": [0] * len(lines),
        "origin": [0] * len(lines),
        "line": list(range(1, len(lines) + 1)),
        "message": lines,
    }
    return Parser(0, Source("facts"), origins).feed(pl.DataFrame(data, schema=RECORD_SCHEMA))


def told(block):
    """Return what a block says in the form of the expectations."""
    events = []
    for event in block.rare:
        fields = dict(event.fields)
        if event.kind == "server_args":
            fields = {**fields, "values": len(fields["values"])}
        ranks = {name: rank for name, rank in event.ranks._asdict().items() if rank is not None}
        events.append([event.line, event.kind, fields, ranks])
    return {"events": events, "hot": {kind: frame.height for kind, frame in sorted(block.hot.items())}}


def test_the_expectations_are_of_all_sections():
    assert [entry["section"] for entry in EXPECTED] == list(sections())


@pytest.mark.parametrize("entry", EXPECTED, ids=lambda entry: entry["section"][:60])
def test_a_section(entry):
    lines = sections()[entry["section"]]
    block = read(lines)
    assert not block.shapes
    assert (block.records, block.understood, block.unknown) == (len(lines), len(lines), 0)
    assert told(block) == {"events": entry["events"], "hot": entry["hot"]}
