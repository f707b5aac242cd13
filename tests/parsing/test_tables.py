"""Tables say what the grammars' texts say, and count only for those."""

from __future__ import annotations

import msgspec
import pytest
from lark import UnexpectedInput
from tests.parsing.conftest import sample_lines

from kvforensics.parsing import compiling, tables
from kvforensics.parsing.compiling import Compilation
from kvforensics.parsing.grammar import Grammar
from kvforensics.parsing.sources import KIND, SETTINGS, folder, names, text_of

TEXT = '%import .common (INT)\nkind: a | b\nopens: b\na: "x " n\nb: "y " n " " word\nn: INT\nword: "big" | "small"\n'


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder for tables beside a fresh grammar `small`, and none of the compiler."""
    monkeypatch.setattr(tables, "path_of", lambda name: tmp_path / f"{name}.json")

    def refuse(*_: object) -> None:
        pytest.fail("the text was compiled")

    (tmp_path / "small.json").write_bytes(tables.made("small", TEXT, KIND).text())
    monkeypatch.setattr(compiling, "Compilation", refuse)
    return tmp_path


def test_the_kept_tables_are_those_of_the_grammars():
    kept = {path.stem: path.read_bytes() for path in (folder() / "tables").glob("*.json")}
    made = {name: table.text() for name, table in tables.all_made().items()}
    assert kept.keys() == made.keys()
    stale = sorted(name for name in kept if kept[name] != made[name])
    assert not stale, "run `python tools/make_tables.py`"


@pytest.mark.parametrize("name", names())
def test_a_parser_of_a_table_reads_as_the_text_s(name):
    table, by_text = tables.find(name, text_of(name), KIND), Compilation(name, text_of(name), KIND)
    assert table is not None
    for kind in table.kinds:
        stored, fresh = Grammar(name, text_of(name)), by_text.parser(kind)
        for line in sample_lines(name):
            tree = stored.tree(kind, line)
            try:
                expected = fresh.parse(line)
            except UnexpectedInput:
                expected = None
            assert tree == expected, (kind, line)


@pytest.mark.usefixtures("place")
def test_a_table_stands_for_its_text():
    small = Grammar("small", TEXT)
    assert small.kinds == ("a", "b")
    assert small.opens == {"b"}
    assert small.parse("y 7 big") == ("b", {"n": 7, "word": "big"})
    assert small.parse("y 7 tall") is None
    assert small.regex("b") == "(?:y (?:(?:[0-9]+)) (?:big|small))"


@pytest.mark.parametrize(
    "changed",
    [
        lambda text: text.replace(b'"key":"', b'"key":"0'),
        lambda text: text[:-20],
        lambda _: b"",
        lambda _: b'{"key": 5}',
        lambda _: b"\x80\x04cposix\nsystem\n",
    ],
)
def test_a_table_that_does_not_count_is_left_alone(place, changed):
    path = place / "small.json"
    path.write_bytes(changed(path.read_bytes()))
    assert tables.find("small", TEXT, KIND) is None


def test_an_edited_grammar_is_compiled_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "path_of", lambda name: tmp_path / f"{name}.json")
    (tmp_path / "small.json").write_bytes(tables.made("small", TEXT, KIND).text())
    edited = Grammar("small", TEXT.replace("big", "huge"))
    assert edited.parse("y 7 huge") == ("b", {"n": 7, "word": "huge"})


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("what", ["lark", "terminals", "roots"])
def test_a_table_counts_for_one_lark_its_imports_and_its_roots(monkeypatch, what):
    assert tables.find("small", TEXT, KIND) is not None
    if what == "lark":
        monkeypatch.setattr(tables.lark, "__version__", "9.9")
    if what == "terminals":
        monkeypatch.setattr(tables, "text_of", lambda name: f"// {name}")
    assert tables.find("small", TEXT, "opens" if what == "roots" else KIND) is None


def test_the_settings_parser_comes_from_its_table(monkeypatch):
    expected = tables.made_whole(SETTINGS)
    monkeypatch.setattr(tables, "Lark", lambda *_, **__: pytest.fail("the text was compiled"))
    parser = tables.parser(SETTINGS)
    assert parser.parse("ServerArgs(a=[1, 'b'])") == expected.parser("start").parse("ServerArgs(a=[1, 'b'])")


def test_a_table_is_plain_json():
    assert msgspec.json.decode(tables.made("small", TEXT, KIND).text())["kinds"] == ["a", "b"]
