"""All kinds together: which grammar may read a line, what is remembered, what is given up."""

from __future__ import annotations

import pytest
from lark import Lark

from kvforensics.parsing import kinds as module
from kvforensics.parsing.kinds import Kinds, Writer, samples

LOAD = "Load weight begin. avail mem=94.10 GB"
EXITED = "sglang.service: Main process exited, code=killed, status=9/KILL"


@pytest.mark.parametrize(
    ("text", "writer", "kind"),
    [
        (LOAD, Writer.SERVER, "load_begin"),
        (LOAD, Writer.ANY, "load_begin"),
        (LOAD, Writer.SYSTEM, None),
        (EXITED, Writer.SERVER, None),
        (EXITED, Writer.ANY, "unit_main_exited"),
        (EXITED, Writer.SYSTEM, "unit_main_exited"),
        ("server_args=ServerArgs(tp_size=8)", Writer.SERVER, "server_args"),
        ("server_args=ServerArgs(tp_size=8)", Writer.SYSTEM, None),
        ("what is this", Writer.ANY, None),
        ("", Writer.ANY, None),
    ],
)
def test_who_writes_decides_which_grammars_read(text: str, writer: Writer, kind: str | None) -> None:
    known = Kinds().read(text, writer)
    assert (known.kind if known else None) == kind


@pytest.mark.parametrize(
    ("ident", "writer"),
    [
        ("systemd", Writer.SYSTEM),
        ("systemd-coredump", Writer.SYSTEM),
        ("kernel", Writer.SYSTEM),
        ("sudo", Writer.SYSTEM),
        ("python3", Writer.ANY),
        ("sglang", Writer.ANY),
        (None, Writer.ANY),
    ],
)
def test_a_writer_by_its_identifier(ident: str | None, writer: Writer) -> None:
    assert Writer.of(ident) is writer


def test_the_same_text_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Kinds()
    assert known.read(LOAD, Writer.SERVER) is not None
    monkeypatch.setattr(Kinds, "_by_lark", None)
    assert known.read(LOAD, Writer.SERVER) is not None


def test_a_kind_that_fails_on_a_shape_is_not_asked_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    parse = Lark.parse
    monkeypatch.setattr(
        Lark, "parse", lambda self, text, **options: asked.append(text) or parse(self, text, **options)
    )
    known = Kinds()
    for number in range(100):
        assert known.read(f"Decode batch, #running-req: {number}, #token: +{number}", Writer.SERVER) is None
    assert 0 < len(asked) <= module._FAILURES
    assert known.read("Decode batch, #running-req: 1, #token: 5", Writer.SERVER) is not None


def test_in_a_flood_of_failures_only_events_are_still_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SHAPES", 5)
    known = Kinds()
    for letter in "abcdefgh":
        known.read(f"Decode batch, {letter}", Writer.SERVER)
    assert known.read("Decode batch, #running-req: 1", Writer.SERVER) is None, "given up"
    assert known.read(LOAD, Writer.SERVER) is not None


def test_beyond_a_bound_the_samples_are_learnt_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LAYOUTS", 3)
    known = Kinds()
    keys = [f"Decode batch, #running-req: 1, key {letter}: 2" for letter in "abcdefgh"]
    for text in keys:
        assert known.read(text, Writer.SERVER) is not None, "read all the same"
    assert known.layout_of(keys[0]) is not None
    assert known.layout_of(keys[-1]) is None
    decodes = [text for text in samples("scheduler") if text.startswith("Decode batch")]
    assert all(known.layout_of(text) is not None for text in decodes)


def test_a_known_lines_layout_gives_way_to_events_of_other_grammars() -> None:
    known = Kinds()
    for text in samples("foreign"):
        known.read(text, Writer.ANY)
    layouts = [layout for bucket in known._layouts.values() for layout in bucket]
    assert layouts
    fresh = Kinds()
    for name in known.grammars:
        for text in samples(name):
            said, again = known.read(text, Writer.ANY), fresh.read(text, Writer.ANY)
            assert (said and said.kind) == (again and again.kind), text
