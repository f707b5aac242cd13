"""Any bytes never crash a carrier, and where the bytes are cut changes nothing."""

from __future__ import annotations

import bz2
import gzip
import lzma
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvforensics.carriers.decompress import zstd
from kvforensics.carriers.registry import CARRIERS

SAMPLES = Path(__file__).parents[1] / "samples/journald-252"
NAMES = sorted({carrier.name for carrier in CARRIERS})
FILES = {
    "export": SAMPLES / "edge/export.export",
    "json": SAMPLES / "edge/json.json",
    "seq": SAMPLES / "edge/json-seq.json",
    "sse": SAMPLES / "edge/json-sse.json",
    "pretty": SAMPLES / "edge/json-pretty.json",
    "short": SAMPLES / "edge/short.txt",
    "catalog": SAMPLES / "edge/short-catalog.txt",
    "reverse": SAMPLES / "edge/short-reverse.txt",
    "dst": SAMPLES / "dst/short.txt",
    "hosts": SAMPLES / "two-hosts/short.txt",
    "verbose": SAMPLES / "incident/verbose.txt",
    "cat": SAMPLES / "incident/cat.txt",
}
DATA = {name: path.read_bytes()[:24_000] for name, path in FILES.items()}
PIECES = [
    b"__CURSOR=s=a\n",
    b"__REALTIME_TIMESTAMP=1796062994326621\n",
    b"MESSAGE=text\n",
    b"MESSAGE\n\x05\0\0\0\0\0\0\0a\n\nbc\n",
    b"MESSAGE\n\xff\xff\xff\xff\xff\xff\xff\xff",
    b'{"MESSAGE":"x","__CURSOR":"s=a","__REALTIME_TIMESTAMP":"17960629943266"}\n',
    b'{"MESSAGE":[1,2,300],"__CURSOR":null}\n',
    b'\x1e{"MESSAGE":null,"__CURSOR":"s"}\n',
    b"data: {}\n\n",
    b'{\n\t"MESSAGE" : "x",\n\t"__CURSOR" : "s"\n}\n',
    b"Nov 30 18:23:14 host python3[71]: [2026-11-30 18:23:14 TP0] x\n",
    b"Feb 29 18:23:14 host python3[71]: [2025-02-29 18:23:14 TP0] x\n",
    b"                                  below\n",
    b"-- Boot c25d6b27eea54a7086373de33c2eb0f5 --\n",
    b"-- Journal begins at Mon 9999-99-99 18:26:46 UTC, ends at Mon 2026-11-30 18:27:29 UTC. --\n",
    b"Mon 2026-11-30 18:23:14 CEST host a[1]: x\n",
    b"99999999999.999999 host a[1]: x\n",
    b"[99999999999999999999.999999] host a[1]: x\n",
    b"2026-99-30T18:23:14+9999 host a[1]: x\n",
    b"Mon 2026-11-30 18:23:14.000007 UTC [s=a0;i=1;b=b0;m=fffffffffffffff;t=fffffffffffffff;x=9]\n",
    b"    MESSAGE=[84B blob data]\n",
    b"\xff\xfe\x00\r\n",
    b"\xef\xbb\xbf",
    b"\x1f\x8b\x08\x00",
    b"\n",
    b"\n\n",
    b"\r",
    b"=",
]
chaos = st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=40)), max_size=30).map(b"".join)
relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


def cut(data, places):
    borders = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[begin:end] for begin, end in pairwise(borders)]


@pytest.mark.parametrize("name", NAMES)
@given(data=chaos)
@settings(relaxed, max_examples=40)
def test_any_bytes_with_every_carrier(read, name, data):
    found = read(data, carrier=name)
    assert found.source.records == found.frame.height
    assert (found.frame["line"] >= 1).all()


@given(data=chaos)
@settings(relaxed, max_examples=200)
def test_any_bytes_detected(read, data):
    found = read(data)
    assert sum(count for count, _ in found.damage().values()) >= found.frame["damage"].drop_nulls().len()


@given(data=chaos, places=st.lists(st.integers(0, 2000), max_size=20), block=st.integers(1, 300))
@settings(relaxed, max_examples=200)
def test_where_chaos_is_cut_changes_nothing(read, data, places, block):
    whole, pieces = read(data), read(cut(data, places), block_bytes=block)
    assert whole.rows() == pieces.rows()
    assert whole.damage() == pieces.damage()
    assert whole.source.lines == pieces.source.lines


@pytest.mark.parametrize("name", DATA)
@given(places=st.lists(st.integers(0, 30_000), max_size=30), block=st.integers(1, 20_000))
@settings(relaxed, max_examples=10)
def test_where_a_sample_is_cut_changes_nothing(read, name, places, block):
    data = DATA[name]
    whole, pieces = read(data), read(cut(data, places), block_bytes=block)
    assert whole.rows() == pieces.rows()
    assert whole.damage() == pieces.damage()
    assert whole.source.carrier == pieces.source.carrier


@pytest.mark.parametrize("name", DATA)
@given(begin=st.integers(0, 24_000), length=st.integers(0, 3000), other=st.integers(0, 24_000))
@settings(relaxed, max_examples=15)
def test_damaged_samples(read, name, begin, length, other):
    data = DATA[name]
    dropped = data[:begin] + data[begin + length :]
    moved = dropped[:other] + data[begin : begin + length] + dropped[other:]
    for damaged in (dropped, moved):
        found = read(damaged)
        assert found.source.records == found.frame.height


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, zstd.compress])
@given(
    cut_at=st.integers(0, 5000),
    flips=st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), max_size=3),
)
@settings(relaxed, max_examples=30)
def test_damaged_compressed_files(read, compress, cut_at, flips):
    data = bytearray(compress(DATA["json"]))
    for place, value in flips:
        data[place % len(data)] = value
    found = read(bytes(data[: max(6, cut_at % (len(data) + 1))]))
    assert found.source.records == found.frame.height
