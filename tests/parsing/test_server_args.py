"""The settings line: every Python value, both forms, whole and cut anywhere."""

import ast
import json
import math
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kvforensics.parsing.server_args import START, Settings, read, read_config

LINES = [
    line.split("] ", 1)[1]
    for line in (Path(__file__).parents[1] / "samples" / "sglang-line-samples.txt")
    .read_text("utf-8")
    .splitlines()
    if "] server_args=" in line
]
JSON_KEYS = st.from_regex(r"[a-z_][a-z0-9_]{0,12}", fullmatch=True)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


def plain(value):
    return json.loads(json.dumps(value, default=sorted))


def python_says(line):
    """Return what Python itself makes of a line without objects."""
    tree = ast.parse(line.removeprefix(START), mode="eval").body
    if isinstance(tree, ast.Dict):
        return plain(ast.literal_eval(tree))
    return {keyword.arg: plain(ast.literal_eval(keyword.value)) for keyword in tree.keywords}


@pytest.mark.parametrize("line", LINES, ids=lambda line: str(len(line)))
def test_the_lines_of_eight_releases(line):
    known = read(line)
    assert known is not None
    assert not known.truncated
    assert known.form == ("dict" if line.startswith("server_args={") else "repr")
    assert dict(known.values) == python_says(line)
    assert known.values["context_length"] == 200000


@pytest.mark.parametrize("line", LINES, ids=lambda line: str(len(line)))
def test_a_line_cut_anywhere_keeps_its_whole_fields(line):
    whole = read(line)
    assert whole is not None
    previous = -1
    for cut in range(len(START) + 12, len(line), len(line) // 8 + 1):
        for end in ("", "…", "[2026-05-12 10:11:12 TP3] Memory pool end."):
            known = read(line[:cut] + end)
            assert known is not None
            assert known.truncated
            assert {name: whole.values[name] for name in known.values} == known.values
            assert list(known.values) == list(whole.values)[: len(known.values)]
        assert len(known.values) >= previous
        previous = len(known.values)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("None", None),
        ("True", True),
        ("-1", -1),
        ("9223372036854775807", 9223372036854775807),
        ("0.8313749999999999", 0.8313749999999999),
        ("1e-05", 1e-05),
        ("inf", "inf"),
        ("-inf", "-inf"),
        ("nan", "nan"),
        ("'a, b=1) c'", "a, b=1) c"),
        ('"it\'s"', "it's"),
        (r"'it\'s \"x\"\n\x41\u00e9\\'", 'it\'s "x"\nAé\\'),
        ("'a' 'b'", "ab"),
        ("b'x'", "b'x'"),
        ("[1, 2, 4]", [1, 2, 4]),
        ("[]", []),
        ("(1,)", [1]),
        ("()", []),
        ("{}", {}),
        ("{'a': {1: None}}", {"a": {"1": None}}),
        ("{'q_proj', 'k_proj'}", ["k_proj", "q_proj"]),
        ("set()", []),
        ("frozenset({'b', 'a'})", ["a", "b"]),
        ("<Mode.A: 'a>b'>", "<Mode.A: 'a>b'>"),
        ("<class 'x.Y'>", "<class 'x.Y'>"),
        ("<function <lambda> at 0x7f12>", "<function <lambda> at 0x7f12>"),
        ("<bound method A.f of <A object at 0x7f>>", "<bound method A.f of <A object at 0x7f>>"),
        ("PosixPath('/x')", "PosixPath('/x')"),
        ("torch.bfloat16", "torch.bfloat16"),
        ("{'x': <class 'y'>}", {"x": "<class 'y'>"}),
        (
            "CudaGraphConfig(decode=PhaseConfig(backend='full', max_bs=None), prefill=PhaseConfig(backend='eager'))",
            {"decode": {"backend": "full", "max_bs": None}, "prefill": {"backend": "eager"}},
        ),
        ("[LoRARef(lora_id='1', pinned=False)]", [{"lora_id": "1", "pinned": False}]),
        ("OrderedDict([('a', 1)])", "OrderedDict([('a', 1)])"),
    ],
)
def test_every_kind_of_value(text, value):
    for line in (
        f"server_args=ServerArgs(a=1, x={text}, z=2)",
        f"server_args={{'a': 1, 'x': {text}, 'z': 2}}",
    ):
        known = read(line)
        assert known is not None
        assert not known.truncated
        assert known.values == {"a": 1, "x": value, "z": 2}
        assert type(known.values["x"]) is type(value)


@given(st.dictionaries(JSON_KEYS, VALUES, max_size=5))
@example({"a": "\ud800", "b": "'\"\\"})
def test_what_python_prints_is_read_back(values):
    expected = {key: value for key, value in values.items() if "key" not in key and "token" not in key}
    fields = ", ".join(f"{name}={value!r}" for name, value in expected.items())
    for line in (f"server_args=ServerArgs({fields})", f"server_args={expected!r}"):
        known = read(line)
        assert known is not None
        assert not known.truncated
        read_back = json.dumps(known.values, allow_nan=False).encode("utf-8", "strict")
        if "\\ud" not in json.dumps(expected):
            assert json.loads(read_back) == plain(expected)


@given(
    st.text(max_size=300),
    st.sampled_from(
        ["server_args=", "server_args=ServerArgs(", "server_args={", "server_args=ServerArgs(a="]
    ),
)
def test_any_text_is_taken(text, head):
    known = read(head + text)
    assert known is None or (json.dumps(known.values, allow_nan=False) and isinstance(known.truncated, bool))


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("server_args=", {}),
        ("server_args=Server", {}),
        ("server_args=ServerArgs(", {}),
        ("server_args=ServerArgs(a=12", {}),
        ("server_args=ServerArgs(a=12,", {"a": 12}),
        ("server_args=ServerArgs(a='x'", {"a": "x"}),
        ("server_args=ServerArgs(a=None", {"a": None}),
        ("server_args=ServerArgs(a=Non", {}),
        ("server_args=ServerArgs(a=1, b=[1, 2", {"a": 1}),
        ("server_args=ServerArgs(a=1, b=[1, 2]", {"a": 1, "b": [1, 2]}),
        ("server_args=ServerArgs(a=1, b=C(x='y'", {"a": 1}),
        ("server_args={'a': 1, 'b': {'c': 2}, 'd", {"a": 1, "b": {"c": 2}}),
        ("server_args=ServerArgs(a=" + "[" * 20_000, {}),
        ("server_args=ServerArgs(a=1, b='" + "x" * 1_000_000, {"a": 1}),
    ],
)
def test_what_was_whole_before_the_cut(line, values):
    assert read(line) == Settings(values, "dict" if "={" in line else "repr", truncated=True)


def test_what_follows_the_closing_bracket_is_not_missed():
    assert read("server_args=ServerArgs(a=1) and more") == Settings({"a": 1}, "repr", truncated=False)


@pytest.mark.parametrize(
    "text",
    [
        "TypeError: server_args=ServerArgs(a=1)",
        "  server_args=ServerArgs(a=1)",
        "get_global_server_args()=ServerArgs(a=1)",
        "server_args=prepare",
        "server_args = prepare_server_args(sys.argv[1:])",
        "",
    ],
)
def test_what_is_no_settings_line(text):
    assert read(text) is None


def test_secrets_are_redacted():
    known = read(
        "server_args=ServerArgs(api_key='abc', admin_api_key=None, x={'password': 'def'}, y='hf_abcdefGH12345')"
    )
    assert known is not None
    assert known.values == {
        "api_key": "<redacted>",
        "admin_api_key": None,
        "x": {"password": "<redacted>"},
        "y": "<redacted>",
    }


def test_a_change_at_run_time():
    changed = read_config("{'attention_backend': 'fa3', 'pp_max_micro_batch_size': 32}")
    assert changed is not None
    assert changed.values == {"attention_backend": "fa3", "pp_max_micro_batch_size": 32}
    again = read_config("ServerArgs(model_path='/m', tokenizer_path='/m')")
    assert again is not None
    assert again.values == {"model_path": "/m", "tokenizer_path": "/m"}
    assert read_config("nothing of the kind") is None


def test_deep_nesting_is_given_as_text():
    known = read("server_args=ServerArgs(a=" + "[" * 300 + "]" * 300 + ", b=1)")
    assert known is not None
    assert known.values["b"] == 1
    assert math.isclose(json.dumps(known.values["a"]).count("["), 300)
