from __future__ import annotations

import codecs
import os
import threading

import pytest

from kvforensics.carriers import open_source
from kvforensics.carriers.bytestream import utf8
from kvforensics.errors import InputError
from kvforensics.options import Options
from kvforensics.records import Origins

TEXT = "[2026-11-30 18:00:00 TP0] é 漢 😀\nnext\r\n"


@pytest.mark.parametrize(
    ("bom", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
@pytest.mark.parametrize("step", [1, 3, 1000])
def test_byte_order_marks(bom, encoding, step):
    data = bom + TEXT.encode(encoding)
    pieces = [data[at : at + step] for at in range(0, len(data), step)]
    assert b"".join(utf8(pieces)).decode() == TEXT


def test_utf16_with_half_a_character_at_the_end():
    data = codecs.BOM_UTF16_LE + "ab".encode("utf-16-le") + b"\x00"
    assert b"".join(utf8([data])).decode() == "ab\ufffd"


def test_without_a_mark_nothing_changes():
    for data in (b"", b"a", b"\xff", b"\x00a\x00b"):
        assert b"".join(utf8([data])) == data


@pytest.mark.parametrize("name", ["absent", "nul\0name", "", "x" * 5000])
def test_what_cannot_be_opened_is_an_input_error(tmp_path, name):
    with pytest.raises(InputError) as caught:
        open_source(str(tmp_path / name) if name else "", Options(), Origins(), 0)
    assert caught.value.where is not None


def test_a_directory_is_no_file(tmp_path):
    with pytest.raises(InputError, match="directory"):
        open_source(str(tmp_path), Options(), Origins(), 0)


def test_a_symlink_loop_is_an_input_error(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(InputError):
        open_source(str(tmp_path / "a"), Options(), Origins(), 0)


def test_a_fifo_is_read_to_its_end(tmp_path, read):
    path = tmp_path / "fifo"
    os.mkfifo(path)

    def write():
        with path.open("wb") as file:
            for number in range(5):
                file.write(b"[2026-11-30 18:00:0%d TP0] line\n" % number)
                file.flush()

    writer = threading.Thread(target=write)
    writer.start()
    found = read(path)
    writer.join()
    assert found.source.records == 5


def test_standard_input(monkeypatch, read):
    reader, writer = os.pipe()
    os.write(writer, b"one\ntwo")
    os.close(writer)
    with os.fdopen(reader, "r") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        found = read("-")
    assert (found.source.path, found.source.bytes, found.messages()) == ("-", 7, ["one", "two"])


def test_a_file_that_grows_while_it_is_read(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"one\n" * 10)
    opened = open_source(str(path), Options(), Origins(), 0)
    with path.open("ab") as file:
        file.write(b"more\n")
    assert sum(frame.height for frame in opened) in {10, 11}


def test_a_file_that_vanishes_while_it_is_read(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"one\n" * 10)
    opened = open_source(str(path), Options(), Origins(), 0)
    path.unlink()
    assert sum(frame.height for frame in opened) == 10
