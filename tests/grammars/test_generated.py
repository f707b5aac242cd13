"""Lines that a grammar itself generates, and damaged ones: nothing crashes, and types are what the text says."""

import json
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark
from lark import Token

from kvforensics.parsing.grammar import load
from kvforensics.parsing.kinds import Kinds, Writer, samples
from kvforensics.parsing.sources import text_of
from kvforensics.parsing.tables import compiled
from kvforensics.parsing.values import BOOLEANS, FLOATS, INTEGERS

RARE = ("startup", "adjust", "trouble", "systemd", "foreign")
MUTANTS = st.sampled_from(
    [
        "",
        " ",
        "\t",
        "\r",
        "\0",
        "é",
        "٣",
        "-",
        "1e5",
        "9" * 25,
        "None",
        "nan",
        '"',
        "'",
        "(",
        "=",
        ", ",
        "\x1b[1m",
    ]
)
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@cache
def token_texts(name):
    """Return texts of each terminal, taken from the samples: what looks around cannot be generated alone."""
    grammar, found = load(name), {}
    for line in samples(name):
        parsed = grammar.parse(line)
        tree = grammar.tree(parsed.kind, line)
        for token in tree.scan_values(lambda value: isinstance(value, Token)):
            found.setdefault(token.type, set()).add(str(token))
    return {terminal: sorted(texts) for terminal, texts in found.items()}


@cache
def lines_of(name, kind):
    """Return lines that the grammar generates for a kind."""
    parser = compiled(name, text_of(name), "kind").parser(
        kind
    )  # of the text: one from a table has no grammar
    texts = token_texts(name)
    explicit = {
        terminal.name: st.sampled_from(texts.get(terminal.name, ["x"]))
        for terminal in parser.terminals
        if "(?" in str(terminal.pattern.value) or r"\b" in str(terminal.pattern.value)
    }
    return from_lark(parser, start=kind, explicit=explicit)


@st.composite
def generated(draw, name):
    kind = draw(st.sampled_from(load(name).kinds))
    return kind, draw(lines_of(name, kind))


@st.composite
def damaged(draw, name):
    line = draw(st.sampled_from(samples(name)) | generated(name).map(lambda pair: pair[1]))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(line)))
        end = min(len(line), start + draw(st.integers(0, 6)))
        line = line[:start] + draw(MUTANTS) + line[end:]
    return line


def means_its_text(terminal, text, value):
    """Return whether a typed value says what its text says."""
    if terminal in INTEGERS:
        return value is None if abs(int(text)) >= 2**63 else (type(value) is int and value == int(text))
    if terminal in FLOATS:
        return value is None or (type(value) is float and value == float(text))
    if terminal in BOOLEANS:
        return value is (text == "True")
    if terminal == "SCALAR":
        return value is None or isinstance(value, (int, float, bool)) or value == text
    return value == text


def holds(name, line):
    """Check everything that is promised of any line."""
    grammar = load(name)
    for writer in Writer:
        known = Kinds().read(line, writer) if writer is Writer.ANY else KINDS.read(line, writer)
        if known is not None:
            json.dumps(dict(known.fields), allow_nan=False)
            assert all("\n" not in str(value) for value in known.fields.values())
    parsed = grammar.parse(line)
    if parsed is None:
        return
    tree = grammar.tree(parsed.kind, line)
    columns = grammar.columns[parsed.kind]
    seen = set()
    for column, token in grammar.slots(tree):
        assert line[token.start_pos : token.end_pos] == token
        if column not in seen:
            assert means_its_text(columns[column], str(token), parsed.fields[column]), (column, token)
        seen.add(column)
    assert set(parsed.fields) == seen


KINDS = Kinds()


@pytest.mark.parametrize("name", RARE)
@QUICK
@given(data=st.data())
def test_lines_of_the_grammar(name, data):
    kind, line = data.draw(generated(name))
    holds(name, line)
    tree = load(name).tree(kind, line)
    if tree is not None:
        assert "".join(tree.scan_values(lambda value: isinstance(value, Token))) == line


@pytest.mark.parametrize("name", RARE)
@QUICK
@given(data=st.data())
def test_damaged_lines(name, data):
    holds(name, data.draw(damaged(name)))


@pytest.mark.parametrize("name", RARE)
def test_samples_are_read_token_by_token(name):
    """No letter of a line is lost between the constants and the columns."""
    grammar = load(name)
    for line in samples(name):
        parsed = grammar.parse(line)
        tree = grammar.tree(parsed.kind, line)
        assert "".join(tree.scan_values(lambda value: isinstance(value, Token))) == line
