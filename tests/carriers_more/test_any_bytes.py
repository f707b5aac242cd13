"""Any bytes, in any pieces: no carrier fails, none hangs, and the cuts change nothing."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvforensics.carriers.registry import CARRIERS

from . import wrap
from .reading import read

NAMES = sorted({carrier.name for carrier in CARRIERS})
SLOW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
PARTS = st.sampled_from(
    [b"\n", b"\r\n", b"\r", b"{", b"}", b"[", b'"', b"\\", b"\x00", b"\xff", b"\xe2\x96", b"\x1b[31m", b" | ", b": ",
     b'{"log":"', b'{"log":"a\\n","stream":"stderr","time":"2026-05-20T14:03:11.1Z"}', b"2026-05-20T14:03:11.123456789Z ",
     b"stderr P ", b"stdout F ", b"sglang-1  | ", b" 3: ", b"<30>1 ", b"gpu01 python3[71]: ", b"[pod/a/b] ", b"#033",
     b"> ", b"(A pid=1) ", b"[rank0]: ", b"[2026-05-20 14:03:11 TP0] x", b"x" * 1024, b"y" * 16384, b'{"events": [',
     b'{"timestamp": 1, "message": "m"}', b'{"resourceLogs": [{}]}', b"MESSAGE=x\n\n", b"__CURSOR=a\n", b"May 20 14:03:11 "]
)  # fmt: skip


def same(one, other):
    drop = ["origin"]
    assert one.frame.drop(drop, strict=False).equals(other.frame.drop(drop, strict=False))
    assert [one.origin(row) for row in range(one.frame.height)] == [
        other.origin(row) for row in range(other.frame.height)
    ]
    assert (one.source.carrier, one.source.layers) == (other.source.carrier, other.source.layers)
    assert one.source.lines == other.source.lines
    assert {kind: damage.count for kind, damage in one.source.damaged.items()} == {
        kind: damage.count for kind, damage in other.source.damaged.items()
    }


def in_pieces(data, chosen, **options):
    cuts = sorted(chosen.randrange(len(data) + 1) for _ in range(chosen.randrange(20)))
    return read(data, cuts=cuts, block_bytes=chosen.choice((1, 100, 4000)), **options)


@SLOW
@given(
    data=st.one_of(
        st.binary(max_size=300), st.lists(st.one_of(PARTS, st.binary(max_size=8)), max_size=40).map(b"".join)
    ),
    carrier=st.sampled_from([None, *NAMES]),
    seed=st.integers(0, 1 << 30),
)
def test_any_bytes(data, carrier, seed):
    whole = read(data, carrier=carrier)
    assert whole.source.records == whole.frame.height
    same(whole, in_pieces(data, random.Random(seed), carrier=carrier))


def damaged(data, chosen):
    made = bytearray(data)
    for _ in range(chosen.randrange(1, 12)):
        at = chosen.randrange(len(made) + 1)
        other = chosen.randrange(len(made) + 1)
        match chosen.randrange(6):
            case 0:
                made[at : at + 1] = bytes([chosen.randrange(256)])
            case 1:
                del made[at : at + chosen.randrange(1, 300)]
            case 2:
                made[at:at] = chosen.randbytes(chosen.randrange(1, 20))
            case 3:
                made[at:at] = made[other : other + chosen.randrange(1, 2000)]
            case 4:
                made[at:at] = b"\n"
            case _:
                end = made.find(b"\n", at)
                del made[end : end + (end >= 0)]
    return bytes(made)


@pytest.mark.parametrize("seed", range(60))
def test_damaged_logs(server_log, seed):
    chosen = random.Random(seed)
    lines = list(server_log[chosen.randrange(20) : 20 + chosen.randrange(59)])
    for carrier in chosen.choices(wrap.ALL, k=chosen.randrange(1, 4)):
        lines = carrier(lines)
    if seed % 4 == 0:
        lines = [piece for line in lines for piece in wrap.pieces(line, 90)]
    data = damaged(b"\n".join(lines) + b"\n", chosen)
    whole = read(data)
    same(whole, in_pieces(data, chosen))


def test_hostile_names_do_not_fill_memory(monkeypatch):
    from kvforensics.carriers import prefixed

    monkeypatch.setattr(prefixed, "_MOST_ORIGINS", 100)
    reading = read([b"name%d-1  | x" % number for number in range(5000)])
    assert reading.messages == ["x"] * 5000
    assert len(reading.origins) < 300


def test_long_lines_are_cut_and_said(server_log):
    reading = read([*wrap.docker_text(server_log), b"2026-05-20T14:03:11.123456789Z " + b"x" * (3 << 20)])
    assert len(reading.messages[-1]) <= 1 << 20
    assert "too_long_line" in reading.source.damaged
