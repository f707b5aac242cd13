from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from itertools import pairwise

import pytest

from kvforensics.carriers import decompress
from kvforensics.carriers.decompress import Loss, decompressed, zstd

TEXT = b"".join(
    b"[2026-11-30 18:00:%02d TP0] line %d\n" % (number % 60, number * 7919 % 9973) for number in range(4000)
)
COMPRESSORS = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "zst": zstd.compress,
    "bz2": bz2.compress,
}
kinds = pytest.mark.parametrize("compress", COMPRESSORS.values(), ids=COMPRESSORS)


def plain(data, step=1000):
    loss = Loss()
    pieces = (data[at : at + step] for at in range(0, len(data), step))
    return b"".join(decompressed(pieces, loss)), loss.reason


@kinds
@pytest.mark.parametrize("step", [1, 3, 1000, 1 << 20])
def test_whole_file(compress, step):
    assert plain(compress(TEXT), step) == (TEXT, None)


@kinds
def test_several_members_and_padding(compress):
    assert plain(compress(TEXT) + compress(b"") + compress(b"more\n")) == (TEXT + b"more\n", None)
    assert plain(compress(TEXT) + b"\0" * 64) == (TEXT, None)


@kinds
def test_truncated_file_gives_what_was_readable(compress):
    data = compress(TEXT)
    lengths = []
    for cut in (len(data) - 1, len(data) // 2, 20):
        text, reason = plain(data[:cut])
        assert TEXT.startswith(text)
        assert reason == "truncated"
        lengths.append(len(text))
    assert lengths == sorted(lengths, reverse=True)
    if compress not in (bz2.compress, zstd.compress):  # their blocks are whole or nothing
        assert lengths[1] > len(TEXT) // 3


def test_truncated_gzip_gives_every_decodable_byte():
    data = gzip.compress(TEXT)
    reference = zlib.decompressobj(wbits=31)
    assert plain(data[:5000])[0] == reference.decompress(data[:5000])


def test_truncated_zstd_of_several_blocks_gives_the_whole_blocks():
    text = b"".join(b"%d\n" % (number * 2654435761 % 4294967291) for number in range(100_000))
    data = zstd.compress(text)
    found, reason = plain(data[: len(data) * 3 // 4])
    assert reason == "truncated"
    assert len(found) >= 128 << 10
    assert text.startswith(found)


@kinds
def test_broken_in_the_middle(compress):
    data = bytearray(compress(TEXT))
    data[len(data) // 2 : len(data) // 2 + 40] = b"\xaa" * 40
    text, reason = plain(bytes(data))
    assert reason in {"corrupt", "truncated"}
    assert len(text) <= len(TEXT)


@kinds
def test_garbage_after_the_end_is_said(compress):
    text, reason = plain(compress(TEXT) + b"this is no member")
    assert text == TEXT
    assert reason == "corrupt"


def test_plain_text_passes():
    for data in (b"", b"a", b"BZ is no magic", TEXT):
        assert plain(data) == (data, None)


def test_layers():
    data = gzip.compress(zstd.compress(lzma.compress(TEXT)))
    assert plain(data) == (TEXT, None)
    deeper = gzip.compress(data)
    assert plain(deeper)[0].startswith(b"\xfd7zXZ")


def test_zstd_with_a_skippable_frame_first():
    skippable = bytes.fromhex("502a4d18") + (4).to_bytes(4, "little") + b"abcd"
    assert plain(skippable + zstd.compress(TEXT)) == (TEXT, None)


def test_a_bomb_is_stopped_in_small_pieces(monkeypatch):
    monkeypatch.setattr(decompress, "BOMB_BYTES", 8 << 20)
    data = gzip.compress(bytes(64 << 20))
    loss = Loss()
    sizes = [len(piece) for piece in decompressed([data], loss)]
    assert loss.reason == "decompression bomb"
    assert max(sizes) <= decompress.OUTPUT_BYTES
    assert sum(sizes) <= decompress.BOMB_RATIO * len(data) + decompress.OUTPUT_BYTES < 64 << 20


def test_a_large_log_is_no_bomb(monkeypatch):
    monkeypatch.setattr(decompress, "BOMB_BYTES", 1 << 20)
    text = TEXT * 40
    assert plain(gzip.compress(text), 1 << 16) == (text, None)


def test_a_huge_window_is_refused_not_allocated():
    window = zstd.CompressionParameter.window_log
    compressor = zstd.ZstdCompressor(options={window: 30})
    data = compressor.compress(TEXT) + compressor.flush()
    assert plain(data) == (b"", "corrupt")


def test_pieces_come_in_order():
    loss = Loss()
    pieces = list(decompressed([gzip.compress(b"%d\n" % number) for number in range(50)], loss))
    numbers = [int(line) for line in b"".join(pieces).split()]
    assert all(second - first == 1 for first, second in pairwise(numbers))
