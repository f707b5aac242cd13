"""Each sample line of a rare kind is read as that kind, with the fields that stand in it.

`expected/NAME.jsonl` holds what a person read in each line of `grammars/samples/NAME.txt`.
"""

import json
from pathlib import Path

import pytest

from kvforensics.parsing.grammar import load
from kvforensics.parsing.kinds import HOT, KNOWN, Kinds, Writer
from kvforensics.parsing.sources import folder

RARE = ("startup", "adjust", "trouble", "systemd", "foreign")
EXPECTED = Path(__file__).parent / "expected"


def sampled(name):
    """Return the samples of a grammar with the heads under which they stand."""
    found, head = [], ""
    for line in (folder() / "samples" / f"{name}.txt").read_text("utf-8").splitlines():
        if line.startswith("# "):
            head = line[2:]
        elif line:
            found.append((head, line))
    return found


def expected(name):
    return [json.loads(line) for line in (EXPECTED / f"{name}.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("name", RARE)
def test_every_sample_has_its_kind_and_fields(name):
    lines = [line for _, line in sampled(name)]
    assert lines == [entry["line"] for entry in expected(name)]
    grammar = load(name)
    for entry in expected(name):
        parsed = grammar.parse(entry["line"])
        assert parsed is not None, entry["line"]
        assert (parsed.kind, parsed.fields) == (entry["kind"], entry["fields"]), entry["line"]
        types = {key: type(value) for key, value in parsed.fields.items()}
        assert types == {key: type(value) for key, value in entry["fields"].items()}, entry["line"]


@pytest.mark.parametrize("name", RARE)
def test_every_sample_stands_under_its_kind_and_releases(name):
    for (head, line), entry in zip(sampled(name), expected(name), strict=True):
        kind, _, releases = head.partition(",")
        assert kind.split()[0] == entry["kind"], line
        assert releases.strip(), head


@pytest.mark.parametrize("name", RARE)
def test_every_kind_has_a_sample(name):
    assert {entry["kind"] for entry in expected(name)} == set(load(name).kinds)


def test_no_known_or_hot_kind_reads_a_line_of_another():
    """Layouts are learnt from these and are tried before Lark: they must not take what is another's."""
    kinds = Kinds()
    for name in (*RARE, HOT):
        for _, line in sampled(name):
            readers = [
                kind
                for grammar, kind in kinds.candidates(line, Writer.ANY)
                if grammar.tree(kind, line) is not None
            ]
            assert readers, line
            quiet = [kind for kind in readers[1:] if kind.startswith(KNOWN) or kind in load(HOT).kinds]
            assert readers[0].startswith(KNOWN) or not quiet, (line, readers)


@pytest.mark.parametrize("name", RARE)
def test_the_order_of_lines_does_not_matter(name):
    forwards, backwards = Kinds(), Kinds()
    lines = [line for _, line in sampled(name)]
    writer = Writer.SYSTEM if name == "systemd" else Writer.ANY
    ahead = {line: forwards.read(line, writer) for line in lines}
    behind = {line: backwards.read(line, writer) for line in reversed(lines)}
    assert ahead == behind
    assert {line: known.kind for line, known in ahead.items()} == {
        e["line"]: e["kind"] for e in expected(name)
    }


@pytest.mark.parametrize(
    "line",
    [
        "    return MemoryPoolConfig(max_total_num_tokens=max_total_num_tokens)",
        "RuntimeError: max_total_num_tokens=101134, max_prefill_tokens=16384, max_running_requests=64, context_len=200000",
        "TypeError: __init__() got server_args=ServerArgs(model_path='/m', context_length=4096)",
        "ValueError: The server is fired up and ready to roll!",
        "x KV Cache is allocated. #tokens: 5",
        "KV Cache is allocated. #tokens: five, KV size: 6.62 GB",
        "Load weight begin. avail mem=lots GB",
        "Memory pool end. avail mem=14.72 GB and more",
    ],
)
def test_what_looks_like_a_fact_but_is_none(line):
    known = Kinds().read(line, Writer.ANY)
    assert known is None or known.kind in {"exception", "known_continuation"}


def test_the_letters_of_other_scripts_are_no_digits():
    assert load("startup").parse("Memory pool end. avail mem=١٤.٧٢ GB") is None
    assert load("startup").parse("KV Cache is allocated. #tokens: १०, KV size: 6.62 GB") is None


def test_a_number_that_does_not_fit_is_null():
    parsed = load("startup").parse(f"KV Cache is allocated. #tokens: {'9' * 30}, KV size: 6.62 GB")
    assert parsed is not None
    assert parsed.fields["tokens"] is None
    assert parsed.fields["kv_gib"] == 6.62
