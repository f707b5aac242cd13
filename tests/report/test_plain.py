from __future__ import annotations

import json
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvforensics.report.plain import dumps, instant, plain


class Opaque:
    def __repr__(self) -> str:
        return "<Opaque 'x'>"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, None),
        (True, True),
        (1.5, 1.5),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
        (float("nan"), "nan"),
        ({"b", "a"}, ["a", "b"]),
        (frozenset({2, 10, 1}), [1, 10, 2]),
        ((1, (2,)), [1, [2]]),
        ({1: "x", None: "y", "k": {float("nan")}}, {"1": "x", "None": "y", "k": ["nan"]}),
        (Opaque(), "<Opaque 'x'>"),
        (b"\xff", "b'\\xff'"),
        ("\ud800", "\ufffd"),
        (datetime(2026, 5, 20, 14, 3), "2026-05-20T14:03:00.000000Z"),
    ],
)
def test_every_value_of_a_log_has_one_strict_json_form(value, said):
    assert plain(value) == said


def test_an_integer_too_long_for_decimal_is_said_in_hexadecimal():
    assert plain(1 << 20000) == hex(1 << 20000)


def test_times_carry_microseconds_and_z():
    assert instant(datetime(2026, 5, 20, 14, 3, 0, 7)) == "2026-05-20T14:03:00.000007Z"
    assert instant(None) is None


def test_no_control_character_leaves_unescaped():
    out = dumps(plain({"k\x1b": "\x00\x1b[31m\x7f\x9b\u202e\u2028"}))
    assert out.endswith("}\n")
    assert all(" " <= c < "\x7f" for c in out.replace("\n", ""))


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters()), st.binary()
)
hashables = st.one_of(st.integers(), st.text(), st.floats())
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner), st.tuples(inner), st.dictionaries(hashables, inner), st.frozensets(hashables)
    ),
    max_leaves=20,
)


@given(values)
def test_any_value_is_strict_json_and_steady(value):
    def refuse(constant):
        raise AssertionError(constant)

    out = dumps(plain(value))
    assert json.loads(out, parse_constant=refuse) == plain(value)
    assert out == dumps(plain(value))
