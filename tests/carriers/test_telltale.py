"""What no carrier is loaded for, no carrier knows."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvforensics.carriers.carrier import HEAD_LINES, Head
from kvforensics.carriers.decompress import Loss, decompressed
from kvforensics.carriers.detection import by_name, detect
from kvforensics.carriers.envelopes import ENVELOPES
from kvforensics.carriers.registry import CARRIERS
from kvforensics.carriers.telltale import may_be_carried

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for folder in ("tests/samples", "sample_logs")
    for path in (ROOT / folder).rglob("*")
    if path.is_file()
)
PLAIN = b'[2026-05-12 10:11:12 TP0] Load weight begin. avail mem=94.00 GB\nINFO:     127.0.0.1:4 - "GET / HTTP/1.1" 200 OK\n'
PIECES = st.sampled_from(
    [b"2026-05-12", b"T", b" ", b"  ", b"10:11:12", b".000001", b".123456789", b"Z", b"+02:00", b"+0200", b"May 12", b"May  2",
     b"12 10:11:12", b"Mon", b"f\xc3\xa9vr.", b"5", b"1\xe6\x9c\x88", b"1796062994.326621", b"[", b"]", b"{", b"}", b'"', b": ", b":", b",",
     b"=", b"|", b"@", b"/", b"<30>", b"<", b">", b"(", b")", b"- ", b"host", b"a[1]: x", b"stdout", b"stderr", b"F", b"P", b"pod/a/b",
     b"rank0", b"default1", b"pid=7", b"ip=1.2.3.4", b"sglang-1", b"__CURSOR=s", b"__REALTIME_TIMESTAMP=1", b"MESSAGE=x", b'"log"',
     b'"message":"x"', b'"time":1', b'"_BOOT_ID":', b"Script started on ", b"Attaching to ", b"```", b"data: ", b"srun: ", b"\x1e",
     b"\x1b[1m", b"\t", b"\r", b"\xef\xbb\xbf", b"\xe2\x96\x91\xe2\x96\x91 ", b"-- Boot", b"1 ", b"UTC", b"[s=a0;i=1]", b"GET / 200",
     b"x exited with code 1", b"        below", b"0%|   | 0/3 [00:00<?]", b"Decode batch."]
)  # fmt: skip
LINES = st.lists(PIECES, max_size=9).map(b"".join)


def scores(head):
    return {type(carrier).__name__: carrier.score(head) for carrier in (*CARRIERS[:-1], *ENVELOPES)}


def holds(data):
    head = Head.of(data)
    if not may_be_carried(head):
        assert not any(scores(head).values()), head.lines


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_sample(path):
    data = b"".join(decompressed(iter([path.read_bytes()[: 1 << 20]]), Loss()))
    for begin in range(0, min(len(data), 200_000), 20_000):
        holds(data[begin : begin + 20_000])


@settings(max_examples=1500, deadline=None)
@given(st.lists(LINES, min_size=1, max_size=6).map(b"\n".join))
def test_lines_that_are_put_together(data):
    holds(data)


@settings(max_examples=300, deadline=None)
@given(st.lists(LINES, min_size=1, max_size=3).map(b"\n".join), st.integers(1, 4))
def test_lines_among_plain_ones(data, times):
    holds(PLAIN * times + data + b"\n" + PLAIN)


@pytest.mark.parametrize(
    "data",
    [
        PLAIN,
        b"\rMulti-thread loading shards:   0% Completed | 0/1 [00:00<?, ?it/s]\n",
        b"  0%|          | 0/35 [00:00<?, ?it/s]\nLoading safetensors checkpoint shards:   0% Completed | 0/64\n",
        b'Traceback (most recent call last):\n  File "/a.py", line 1, in f\n    raise X\nValueError: x\n',
        b"2026-05-12 10:11:12,123 INFO 77 [TP0 a.py:1] x\nWARNING:sglang.srt.server_args:x\n",
    ],
)  # fmt: skip
def test_what_servers_print_is_told_at_a_glance(data):
    head = Head.of(data)
    assert not may_be_carried(head)
    assert detect(head).name == "plain"
    assert not any(scores(head).values())


def test_an_indented_quotation_is_looked_at():
    indented = Head.of(b"".join(b"    " + line for line in PLAIN.splitlines(keepends=True) * 3))
    assert may_be_carried(indented)


def test_lines_behind_very_many_empty_ones_are_looked_at():
    assert may_be_carried(
        Head.of(PLAIN + b"\n" * 4 * HEAD_LINES + b'{"log":"x","time":"2026-05-12T10:11:12Z"}\n' * 900)
    )


@pytest.mark.parametrize("name", sorted({carrier.name for carrier in CARRIERS}))
def test_carriers_are_found_by_name(name):
    assert by_name(name).name == name
