"""No secret survives, whatever surrounds it; nothing else is touched."""

import itertools
import json
import re
import string

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kvforensics.redaction import (
    REDACTED,
    REFERENCE,
    found_secret,
    needs_redaction,
    redact,
    redact_argv,
    redact_expr,
    redact_pieces,
    redact_series,
    redact_values,
)
from kvforensics.secret_names import is_secret_name

SECRET_NAMES = [
    "api_key",
    "admin_api_key",
    "ssl_keyfile_password",
    "hf_token",
    "client_secret",
    "accessToken",
    "x-api-key",
]
VARIABLES = [
    "HF_TOKEN",
    "OPENAI_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "DB_PASSWORD",
    "SECRET",
    "WANDB_API_KEY",
    "GITHUB_TOKEN",
]
FLAGS = [
    "--api-key",
    "--admin-api-key",
    "--ssl-keyfile-password",
    "--api-k",
    "--api-",
    "--admin",
    "--hf-token",
    "--token",
]
HARMLESS = [
    "[2026-05-12 10:11:12 TP0] Decode batch, #running-req: 7, #token: 20227, token usage: 0.20, gen throughput (token/s): 9.9",
    "[2026-05-12 10:11:12 TP0] Decode batch, #full token: 20227, full token usage: 0.20, #swa token: 5056, swa token usage: 0.25",
    "[2026-05-12 10:11:12 TP0] Prefill batch, #new-seq: 1, #new-token: 512, #cached-token: 128, #pending-token: 4096",
    '[2026-05-12 10:11:12] INFO:     127.0.0.1:41234 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
    "DFLASH draft runner ready. mask_token=<|MASK|>, mask_token_id=163838, mask_token_id_override=None",
    "max_total_num_tokens=101134, chunked_prefill_size=8192, max_prefill_tokens=16384",
    "server_args=ServerArgs(tokenizer_path='/m', api_key=None, admin_api_key=None, ssl_keyfile='/k.pem', api_key='')",
    '{"api_key": null, "max_tokens": 5, "admin_api_key": ""}',
    "usage: launch_server.py [--api-key API_KEY] [--admin-api-key ADMIN_API_KEY]",
    " theuser : TTY=pts/0 ; PWD=/home/theuser ; USER=root ; COMMAND=/usr/bin/systemctl restart sglang",
    "hf_overrides='{}', hf_chat_template_name=None, risk-free, task-parallel, hf_transformers_utils",
    "http://127.0.0.1:30000/v1/models@main and ssh://git@example.org/x",
    "Bearer token is missing; set --api-key to require one",
    "api_keys=[], api_key=(), cmd=" + b"systemctl restart sglang".hex().upper(),
    "--ssl-keyfile /etc/key.pem --ssl-certfile /etc/cert.pem",
    "api_key=<redacted>, admin_api_key='<redacted>', HF_TOKEN=****",
]

# Two marks that stand nowhere else: neither the head nor the tail of a secret may be seen.
printable = st.text(
    alphabet=string.ascii_letters + string.digits + "!#$%()*+,-./:;<=>?@[]^_`{|}~ \\'\"é漢", max_size=40
).map("Zq7{}Zq8".format)
word = st.text(alphabet=string.ascii_letters + string.digits + "!#$%()*+,-./:;=?@[]^_{}~é", max_size=30).map(
    "Zq7{}Zq8".format
)
around = st.text(max_size=30).filter(lambda t: "'" not in t and '"' not in t and "\\" not in t)


def hides(text: str) -> None:
    assert needs_redaction(text)
    hidden = redact(text)
    assert REDACTED in hidden
    assert "Zq7" not in hidden
    assert "Zq8" not in hidden
    assert redact(hidden) == hidden
    assert found_secret(text)


@given(st.sampled_from(SECRET_NAMES), printable, around, st.booleans())
@example("api_key", "Zq7it'sZq8", "", False)
@example("api_key", "Zq7both ' and \"Zq8", "", False)
@example("api_key", "Zq7back\\slash Zq8\\", "", False)
def test_a_repr(name, secret, text, dictionary):
    field = f"{name!r}: {secret!r}" if dictionary else f"{name}={secret!r}"
    line = f"server_args=X({text} a=1, {field}, context_length=32768)"
    hides(line)
    assert redact(line).endswith(", context_length=32768)")


@given(st.sampled_from(SECRET_NAMES), printable, st.integers(1, 3))
def test_json_at_any_depth(name, secret, depth):
    text = json.dumps({"a": 1, name: secret, "context_length": 32768}, ensure_ascii=False)
    for _ in range(depth - 1):
        text = json.dumps({"log": text}, ensure_ascii=False)
    hides(text)
    assert "32768" in redact(text)


@given(st.sampled_from(SECRET_NAMES), printable)
def test_a_repr_inside_json(name, secret):
    hides(json.dumps({"log": f"args: {{{name!r}: {secret!r}, 'context_length': 32768}}"}, ensure_ascii=False))


@given(st.sampled_from(SECRET_NAMES), printable, st.data())
def test_a_truncated_secret(name, secret, data):
    whole = f"server_args=X(a=1, {name}={secret!r}, b=2)"
    start = whole.index(f"{name}=") + len(name) + 2
    cut = whole[: data.draw(st.integers(start + 1, start + len(repr(secret)) - 2))]
    assert redact(cut) == whole[:start] + REDACTED


@given(
    st.sampled_from(FLAGS),
    word,
    st.sampled_from(["{f} {s}", "{f}={s}", "{f}='{s} x'", '{f} "{s}"', '"{f}", "{s}"', '"{f}" "{s}"']),
)
def test_a_flag(flag, secret, form):
    argv = f"python3 -m sglang.launch_server {form.format(f=flag, s=secret)} --context-length 200000"
    hides(argv)
    references = re.finditer(r"\$(?:\{[^}]*\}?|\([^()]*\)?)", secret)
    unclosed = form in {"{f} {s}", "{f}={s}"} and any(each.end() == len(secret) for each in references)
    assert redact_argv(argv).endswith(REDACTED if unclosed else "--context-length 200000")


@pytest.mark.parametrize(("secret", "end"), [("Zq7$(Zq8", ")"), ("Zq7${Zq8", "}"), ("Zq7`Zq8", "`")])
def test_a_secret_whose_end_nobody_knows_takes_what_follows(secret, end):
    argv = f"python3 -m sglang.launch_server --api-key {secret} --context-length 200000"
    assert redact_argv(argv) == f"python3 -m sglang.launch_server --api-key {REDACTED}"
    assert redact_argv(argv.replace(secret, secret + end)).endswith("--context-length 200000")


@given(
    st.sampled_from(VARIABLES),
    word,
    st.sampled_from(
        [
            "{v}={s}",
            'Environment="{v}={s} x" B=1',
            "export {v}={s}",
            "{v}: '{s}'",
            "name: {v}\n    value: {s}",
            '"name": "{v}", "value": "{s}"',
        ]
    ),
)
def test_an_environment_line(variable, secret, form):
    hides(form.format(v=variable, s=secret))


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("https://user:pa@ss@host/x?token=abc&y=1", f"https://{REDACTED}@host/x?token={REDACTED}&y=1"),
        (
            '"GET /v1/models?api_key=abc&x=1 HTTP/1.1" 200',
            f'"GET /v1/models?api_key={REDACTED}&x=1 HTTP/1.1" 200',
        ),
        ("Authorization: Basic Zm9vOmJhcg==", f"Authorization: {REDACTED}"),
        ("-H 'Authorization: Bearer abc.def' http://x", f"-H 'Authorization: {REDACTED}' http://x"),
        ("sent Bearer abcdef123 to", f"sent Bearer {REDACTED} to"),
        ("key sk-proj-abc_DEF-123 used", f"key {REDACTED} used"),
        ("login hf_abcdefGHIJ0123 ok", f"login {REDACTED} ok"),
        ("got eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", f"got {REDACTED}"),
        (
            "sed -i 's/--api-key old/--api-key new/' /etc/u",
            f"sed -i 's/--api-key {REDACTED}--api-key {REDACTED}' /etc/u",
        ),
        ("_key='rest of it', admin_api_key=None", f"_key='{REDACTED}', admin_api_key=None"),
        ("(b'x-api-key', b'abc')", f"(b'x-api-key', b'{REDACTED}')"),
        (
            "-----BEGIN PRIVATE KEY-----\nMIIE\nabc\n-----END PRIVATE KEY-----",
            f"-----BEGIN PRIVATE KEY-----{REDACTED}-----END PRIVATE KEY-----",
        ),
        ("api_keys=['abc', 'd]ef'], b=1", f"api_keys=[{REDACTED}], b=1"),
        ('"authorization": ["Basic Zm9v", "x"], "b": 1', f'"authorization": [{REDACTED}], "b": 1'),
        ("cmd=" + b"serve --api-key abc".hex().upper() + " exe=x", f"cmd={REDACTED} exe=x"),
        (b"HF_TOKEN=abcdef serve".hex(), REDACTED),
        ("python3 --api-key\0abc\0--tp\x008", f"python3 --api-key\0{REDACTED}\0--tp\x008"),
    ],
)
def test_other_spellings(text, hidden):
    assert redact(text) == hidden
    assert redact(hidden) == hidden
    assert found_secret(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text):
    assert redact(text) == text
    assert not found_secret(text)


@pytest.mark.parametrize(
    "text",
    [
        "--api-key ${API_KEY}",
        "    api_key=server_args.api_key,",
        "HF_TOKEN=$TOKEN",
        "--api-key '$KEY' --port 1",
        '["--api-key", "$(API_KEY)"]',
        "--api-key $(cat /run/secrets/key) --tp 8",
        "--api-key `cat /run/key`",
        "API_KEY=${KEY:?is missing}",
        "API_KEY=$$KEY",
        'curl -H "Authorization: Bearer $TOKEN" x',
        "https://user:${PASS}@host/",
        "sed -i 's/--api-key .*/--api-key ${NEW}/' /etc/systemd/system/sglang.service",
    ],
)
def test_a_reference_is_hidden_but_no_finding(text):
    hidden = redact(text)
    assert REFERENCE in hidden
    assert REDACTED not in hidden
    assert redact(hidden) == hidden
    assert not found_secret(text)


@given(
    st.lists(
        st.sampled_from(
            [
                *HARMLESS,
                "api_key='abc'",
                "HF_TOKEN=abc",
                "x",
                "'",
                '"',
                "\\",
                "--api-key",
                "token",
                "=",
                ":",
                "sk-",
                "hf_",
                " ",
                "\n",
            ]
        ),
        max_size=8,
    )
)
def test_the_cheap_test_misses_nothing_and_redaction_is_idempotent(parts):
    text = "".join(parts)
    hidden = redact(text)
    assert redact(hidden) == hidden
    if hidden != text:
        assert needs_redaction(text)
        assert redact_series(pl.Series([text])).item() == hidden


@given(st.text(max_size=200))
def test_any_text_is_taken(text):
    assert isinstance(redact(text), str)


def test_a_column_keeps_nulls_and_order():
    frame = pl.DataFrame({"message": ["a", None, "api_key='x'", "HF_TOKEN=y b", "#token: 5"]})
    expected = ["a", None, f"api_key='{REDACTED}'", f"HF_TOKEN={REDACTED} b", "#token: 5"]
    assert frame.select(redact_expr(pl.col("message")))["message"].to_list() == expected
    assert redact_series(frame["message"]).to_list() == expected


@given(st.lists(st.integers(0, 60), max_size=4))
def test_pieces_of_one_text(cuts):
    whole = "server_args=X(a=1, api_key='sup3rs3cret', b=2, hf_token='other5ecret')"
    places = [0, *sorted(cuts), len(whole)]
    pieces = [whole[a:b] for a, b in itertools.pairwise(places)]
    hidden = redact_pieces(pieces)
    assert len(hidden) == len(pieces)
    assert "".join(hidden) == redact(whole)


def test_values():
    values = {
        "api_key": "abc",
        "admin_api_key": None,
        "ssl_keyfile_password": "",
        "context_length": 32768,
        "nested": {"password": 1234, "list": [{"secret": "x"}, "--api-key", "abc", "HF_TOKEN=abc"]},
        "json_model_override_args": '{"api_key": "abc"}',
        "env": {"name": "HF_TOKEN", "value": "abc"},
        "max_total_tokens": 5,
        "secret": {"a": ["b", None]},
    }
    assert redact_values(values) == {
        "api_key": REDACTED,
        "admin_api_key": None,
        "ssl_keyfile_password": "",
        "context_length": 32768,
        "nested": {
            "password": REDACTED,
            "list": [{"secret": REDACTED}, "--api-key", REDACTED, f"HF_TOKEN={REDACTED}"],
        },
        "json_model_override_args": f'{{"api_key": "{REDACTED}"}}',
        "env": {"name": "HF_TOKEN", "value": REDACTED},
        "max_total_tokens": 5,
        "secret": {"a": [REDACTED, None]},
    }


@pytest.mark.parametrize(
    "name",
    [
        "tokenizer_path",
        "max_total_tokens",
        "skip_tokenizer_init",
        "mask_token_id",
        "ssl_keyfile",
        "PWD",
        "keyfile",
        "num_tokens",
        "bucket_inter_token_latency",
        "API_KEY_FILE",
    ],
)
def test_names_that_hold_no_secret(name):
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *SECRET_NAMES,
        *VARIABLES,
        *FLAGS,
        "Authorization",
        "apiKey",
        "--api-ke",
        "--ssl-keyfile-p",
        "watermark_key",
    ],
)
def test_names_that_hold_one(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "text",
    [
        "--api-key $(echo Zq7 Zq8)",
        "--api-key `printf %s Zq7 Zq8`",
        "--api-key ${KEY:-Zq7Zq8}",
        "--api-key ${KEY:-Zq7 Zq8}",
        "--api-key x$Zq7Zq8",
        "Authorization: Bearer Zq7Zq8",
        "http://user:Zq7$Zq8@host/",
    ],
)
def test_what_only_looks_like_a_reference(text):
    hides(text)
    assert found_secret(text)


def test_a_secret_with_both_quotes_in_a_repr_inside_json():
    secret = "Zq7'\"Zq8"
    text = json.dumps({"log": f"args: {{'api_key': {secret!r}, 'tp': 8}}"})
    hides(text)


def test_settings_that_are_references():
    values = {"api_key": "${KEY}", "env": {"HF_TOKEN": "$(TOKEN)"}, "admin_api_key": "x"}
    assert redact_values(values) == {
        "api_key": REFERENCE,
        "env": {"HF_TOKEN": REFERENCE},
        "admin_api_key": REDACTED,
    }
