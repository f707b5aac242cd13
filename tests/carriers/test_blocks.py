from __future__ import annotations

import pytest

from kvforensics.carriers.blocks import Blocks, cut_text
from kvforensics.records import Source


def blocks_of(*pieces, block_bytes=64, line_bytes=32):
    source = Source("input")
    return list(Blocks(list(pieces), source, block_bytes=block_bytes, line_bytes=line_bytes)), source


def texts(blocks):
    return [text for block in blocks for text in block.text()]


def kinds(block):
    damage = block.damage()
    return [None] * block.height if damage is None else damage.to_list()


def test_lines_end_at_newline_only():
    line = "a\x0bb\x0cc\x1cd\x85e\u2028f\x00g\rh"
    blocks, source = blocks_of(f"{line}\nlast".encode())
    assert texts(blocks) == [line, "last"]
    assert source.lines == 2


def test_crlf_loses_one_cr():
    blocks, _ = blocks_of(b"one\r\ntwo\r\r\n\r\n")
    assert texts(blocks) == ["one", "two\r", ""]


def test_a_block_is_cut_at_its_last_newline():
    blocks, source = blocks_of(b"a" * 20 + b"\n", b"b" * 20 + b"\n", b"c" * 30, b"d\nrest", block_bytes=50)
    assert [block.data for block in blocks] == [b"a" * 20 + b"\n" + b"b" * 20 + b"\n", b"c" * 30 + b"d\nrest"]
    assert [(block.line, block.height) for block in blocks] == [(1, 2), (3, 2)]
    assert source.lines == 4


def test_bad_bytes_are_replaced_and_said_line_by_line():
    blocks, _ = blocks_of(b"good\nbad \xff\xfe\ngood \xe6\xbc\xa2\n")
    assert texts(blocks) == ["good", "bad \ufffd\ufffd", "good 漢"]
    assert blocks[0].damage().to_list() == [None, "invalid_utf8", None]


def test_a_replacement_character_that_was_written_is_no_damage():
    blocks, _ = blocks_of("was \ufffd there\n".encode())
    assert blocks[0].damage() is None


@pytest.mark.parametrize("size", [1, 7, 40, 1000])
@pytest.mark.parametrize("cut", [1, 3, 16, 100])
def test_long_lines_keep_their_beginning(size, cut):
    data = b"short\n" + b"x" * size + b"\nafter\n" + b"y" * size
    blocks, source = blocks_of(*(data[at : at + cut] for at in range(0, len(data), cut)), block_bytes=16)
    assert texts(blocks) == ["short", "x" * min(size, 32), "after", "y" * min(size, 32)]
    numbered = [number for block in blocks for number in block.numbers()]
    assert numbered == [1, 2, 3, 4]
    assert source.lines == 4
    damage = [kind for block in blocks for kind in kinds(block)]
    kind = "too_long_line" if size > 32 else None
    assert damage == [None, kind, None, kind]


def test_a_long_line_is_not_cut_inside_a_character():
    blocks, _ = blocks_of(("é" * 40).encode() + b"\n")
    assert texts(blocks) == ["é" * 16]
    blocks, _ = blocks_of(b"x" + ("漢" * 40).encode() + b"\n")
    assert texts(blocks) == ["x" + "漢" * 10]


def test_a_40_mb_line_stays_within_bounds():
    piece = b"z" * (1 << 20)
    source = Source("input")
    stream = (data for data in [b"before\n", *[piece] * 40, b"\nafter\n"])
    blocks = list(Blocks(stream, source))
    assert source.lines == 3
    assert max(len(block.data) for block in blocks) <= 10 << 20
    assert [len(text) for text in texts(blocks)] == [6, 1 << 20, 5]


def test_chunks_count_lines_like_blocks():
    for data in (b"", b"a", b"a\n", b"a\nb", b"\n\n"):
        source, other = Source("input"), Source("input")
        assert b"".join(Blocks([data], source).chunks()) == data
        list(Blocks([data], other))
        assert source.lines == other.lines


@pytest.mark.parametrize("length", range(8))
def test_cut_text_keeps_whole_characters(length):
    data = "aé漢😀".encode()
    kept = cut_text(data, length)
    assert data.startswith(kept)
    assert len(kept) <= length
    kept.decode()
