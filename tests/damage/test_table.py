"""Every kind of damage of docs/damage.md: what is still told, and what is said about the loss."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import re
import threading
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from kvforensics import analyse
from kvforensics.carriers import decompress
from kvforensics.errors import NoLaunchError, NothingReadableError
from kvforensics.report.timeline_json import timeline

from .incident import (
    BASE,
    BEGIN,
    DECODE,
    HOUR,
    WIDE,
    damage,
    docker,
    findings,
    journal,
    launches,
    plain,
    read,
    rows,
    short,
    texts,
    verdicts,
)  # fmt: skip

RIGHT = {"context_length": "no_op_for_pool"}


def is_right(doc):
    """The incident, whole: two launches, the right pool, the right verdict."""
    assert [launch["pool_tokens"] for launch in launches(doc)] == [BASE.T, WIDE.T]
    assert [launch["context_len"] for launch in launches(doc)] == [32768, 200000]
    assert verdicts(doc) == RIGHT


def of_settings(row):
    return "server_args=" in row[3]


class TestMessages:
    def test_null(self, tmp_path):
        doc = read(tmp_path, journal(lambda row, r: {**r, "MESSAGE": None} if of_settings(row) else r))
        is_right(doc)
        assert [launch["config_source"] for launch in launches(doc)] == ["cmdline", "cmdline"]
        assert damage(doc) == {"message_null": 2}
        assert "config_line_lost" in findings(doc)

    def test_blob(self, tmp_path):
        data = short(lambda: [(*row[:3], "[9.5K blob data]") if of_settings(row) else row for row in rows()])
        doc = read(tmp_path, data)
        assert [launch["pool_tokens"] for launch in launches(doc)] == [BASE.T, WIDE.T]
        assert [launch["config_source"] for launch in launches(doc)] == ["none", "none"]
        assert verdicts(doc) == {}
        assert damage(doc) == {"blob_data": 2}
        assert "config_line_lost" in findings(doc)

    def test_binary(self, tmp_path):
        def change(row, record):
            return (
                {**record, "MESSAGE": [*b"caf\xe9 ", *row[3].encode()]}
                if "Load weight begin" in row[3]
                else record
            )

        doc = read(tmp_path, journal(change))
        is_right(doc)
        assert damage(doc) == {"message_binary": 4}

    def test_truncated_repr(self, tmp_path):
        lines = [line[:3000] if "server_args=" in line else line for line in texts()]
        doc = read(tmp_path, plain(lines))
        is_right(doc)
        assert [launch["config_truncated"] for launch in launches(doc)] == [True, True]
        assert damage(doc) == {"truncated_repr": 2}
        assert doc["coverage"]["damaged"][0]["first"]["line"] == 1
        assert "config_line_lost" in findings(doc)

    def test_split(self, tmp_path):
        long = "x" * 40_000
        lines = docker([*texts(starts=(BASE,)), long, *texts(starts=(WIDE,), begin=BEGIN + HOUR)]).splitlines(
            keepends=True
        )
        at = next(n for n, line in enumerate(lines) if b"xxx" in line) + 1
        doc = read(tmp_path, b"".join(lines[:at] + lines[at + 2 :]))
        is_right(doc)
        assert damage(doc) == {"split_lost": 1}

    def test_broken_json(self, tmp_path):
        lines = docker(texts()).splitlines(keepends=True)
        doc = read(tmp_path, b"".join([*lines[:5], lines[5][:60] + b"\n", *lines[6:]]))
        is_right(doc)
        assert damage(doc) == {"split_lost": 1}

    def test_record_cut_off(self, tmp_path):
        data = journal()
        doc = read(tmp_path, data[:-200])
        assert verdicts(doc) == RIGHT
        assert damage(doc) == {"truncated_file": 1}

    def test_too_long_line(self, tmp_path):
        lines = texts()
        doc = read(tmp_path, plain([*lines[:4], "y" * (40 << 20), *lines[4:]]))
        is_right(doc)
        assert damage(doc) == {"too_long_line": 1}


class TestLines:
    def test_interleaved(self, tmp_path):
        """Two ranks write at once: one's bytes stand inside the other's line."""
        lines = texts()
        pools = [n for n, line in enumerate(lines) if "KV Cache is allocated" in line]
        one, two = lines[pools[0]], lines[pools[1]]
        lines[pools[0]], lines[pools[1]] = one[:60] + two, one[60:]
        doc = read(tmp_path, plain(lines))
        is_right(doc)
        assert sum(shape["count"] for shape in doc["coverage"]["unknown_shapes"]) >= 1

    @pytest.mark.parametrize("columns", [80, 132, 200])
    @pytest.mark.parametrize("mark", ["", ">", "…"])
    def test_lost_columns(self, tmp_path, columns, mark):
        """A pager or a terminal cuts every line at its width; nothing is made out of what is left."""
        cut = columns - len(mark)
        doc = read(tmp_path, plain([line if len(line) <= columns else line[:cut] + mark for line in texts()]))
        for launch, start in zip(launches(doc), (BASE, WIDE), strict=True):
            assert launch["config_truncated"]
            assert launch["pool_tokens"] in (None, start.T)
            assert launch["context_len"] in (None, start.context)
            assert launch["free_gib"] in (None, round(start.free, 2))
        assert set(verdicts(doc).values()) <= {"no_op_for_pool", "unproven"}
        assert damage(doc) == {"truncated_repr": 2}
        assert "config_line_lost" in findings(doc)

    @pytest.mark.parametrize("cut", range(1, 46, 4))
    def test_cut_numbers(self, tmp_path, cut):
        """A line that stops within its last number gives no smaller number."""
        lines = texts()
        last = max(n for n, line in enumerate(lines) if "context_len=" in line)
        doc = read(tmp_path, plain([*lines[:last], lines[last][:-cut], *lines[last + 1 :]]))
        assert launches(doc)[1]["context_len"] in (None, WIDE.context)
        assert set(verdicts(doc).values()) <= {"no_op_for_pool", "unproven"}

    def test_duplicated_ranks(self, tmp_path):
        """A shipper delivers at least once: every line may come twice."""
        doc = read(tmp_path, plain(line for line in texts() for _ in range(2)))
        is_right(doc)
        assert [pool["ranks"] for pool in launches(doc)[0]["pools"]] == [2]

    def test_log_twice(self, tmp_path):
        lines = texts()
        doc = read(tmp_path, plain([*lines, *lines]))
        is_right(doc)
        assert "launch_repeated" in findings(doc)
        is_right(read(tmp_path, plain([*lines[:-4], *lines])))
        assert "launch_repeated" not in findings(read(tmp_path, plain(lines)))


class TestGaps:
    def test_rate_limited(self, tmp_path):
        said = "Suppressed 4711 messages from sglang.service"

        def change(row, record):
            return {**record, "MESSAGE": said, "_SYSTEMD_UNIT": "systemd-journald.service", "SYSLOG_IDENTIFIER": "systemd-journald", "_CMDLINE": "", "_PID": "7", "MESSAGE_ID": "a596d6fe7bfa4994828e72309e95d61e",
                    "_SYSTEMD_INVOCATION_ID": "f" * 32} if row[3].endswith("TP1] Init torch distributed begin.") else record  # fmt: skip

        doc = read(tmp_path, journal(change))
        is_right(doc)
        assert damage(doc) == {"rate_limited": 2}
        assert "rate_limited" in findings(doc)

    def test_rate_limited_in_text(self, tmp_path):
        said = b"May 20 08:00:09 node1 systemd-journald[7]: Suppressed 4711 messages from sglang.service\n"
        lines = short().splitlines(keepends=True)
        doc = read(tmp_path, b"".join([lines[0], said, *lines[1:]]))
        is_right(doc)
        assert damage(doc) == {"rate_limited": 1}
        assert "rate_limited" in findings(doc)

    def test_gap(self, tmp_path):
        """A day is missing: how the first launch ended is not known, and that is said."""
        doc = read(tmp_path, plain(texts(step=timedelta(days=1))))
        is_right(doc)
        assert launches(doc)[0]["end"] == "unknown"
        assert "time_gap" in findings(doc)

    def test_head_is_missing(self, tmp_path):
        lines = texts()
        doc = read(tmp_path, plain(lines[8:]))
        assert launches(doc)[0]["config_source"] == "none"
        assert launches(doc)[0]["pool_tokens"] == BASE.T
        assert verdicts(doc) == {}


class TestClocks:
    def test_reversed(self, tmp_path):
        lines = journal().splitlines(keepends=True)
        is_right(read(tmp_path, b"".join(reversed(lines))))

    @pytest.mark.parametrize("step", [-7200, 7200, 86400 * 30])
    def test_step(self, tmp_path, step):
        """The clock is set back, or forward, in the middle of the second launch."""
        made = rows()
        half = len(made) * 3 // 4
        lines = [
            at_another_time(text, timedelta(seconds=step)) if n >= half else text
            for n, (*_, text) in enumerate(made)
        ]
        doc = read(tmp_path, plain(lines))
        is_right(doc)
        assert len(launches(doc)) == 2

    def test_step_back_between_launches(self, tmp_path):
        """The second launch has earlier times than the first: the order of the input decides."""
        is_right(read(tmp_path, plain(texts(step=timedelta(hours=-3)))))

    @pytest.mark.parametrize("begin", [datetime(2026, 10, 25, 2, 58), datetime(2026, 3, 29, 1, 58)])
    def test_dst(self, tmp_path, begin):
        """Local times: an hour comes twice, or not at all, while the first launch starts."""
        change = datetime(2026, 10, 25, 3) if begin.month == 10 else datetime(2026, 3, 29, 2)
        shift = timedelta(hours=-1 if begin.month == 10 else 1)
        lines = [
            at_another_time(text, shift) if at >= change else text for _, at, _, text in rows(begin=begin)
        ]
        doc = read(tmp_path, plain(lines), tz="Europe/Berlin")
        is_right(doc)
        first = launches(doc)[0]
        started, ready = (datetime.fromisoformat(first[name]) for name in ("started_at", "ready_at"))
        assert timedelta(0) < ready - started < timedelta(minutes=10)

    def test_new_year(self, tmp_path):
        """Times without a year that pass New Year; a line's own date tells it."""
        doc = read(tmp_path, short(lambda: rows(begin=datetime(2026, 12, 31, 23, 30))))
        is_right(doc)
        assert [launch["started_at"][:4] for launch in launches(doc)] == ["2026", "2027"]


class TestBytes:
    @pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-32"])
    def test_byte_order_mark(self, tmp_path, encoding):
        doc = read(tmp_path, plain(texts()).decode().encode(encoding))
        is_right(doc)
        assert damage(doc) == {}

    def test_latin_1(self, tmp_path):
        lines = [line.replace("/models/m", "/models/m\xfcll") for line in texts()]
        doc = read(tmp_path, "\n".join(lines).encode("latin-1"))
        is_right(doc)
        assert damage(doc) == {"invalid_utf8": 2}

    @pytest.mark.parametrize("end", [b"\r\n", b"\r\r\n"])
    def test_crlf(self, tmp_path, end):
        doc = read(tmp_path, plain(texts()).replace(b"\n", end))
        is_right(doc)
        assert damage(doc) == {}

    @pytest.mark.parametrize(
        "data", [b"", b"\n\n", bytes(range(256)) * 40, random.Random(1).randbytes(20_000)]
    )
    def test_empty_and_binary(self, tmp_path, data):
        with pytest.raises(NoLaunchError, match="no SGLang launch"):
            read(tmp_path, data)
        (tmp_path / "good.log").write_bytes(plain(texts()))
        is_right(timeline(analyse([str(tmp_path)])))


def zstd(data):
    return decompress.zstd.compress(data)


class TestFiles:
    @pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, zstd, bz2.compress])
    def test_truncated_compressed(self, tmp_path, compress):
        noise = [f"[2026-05-20 12:00:00 TP0] {random.Random(n).randbytes(60).hex()}" for n in range(30_000)]
        packed = compress(plain([*texts(), *noise]))
        doc = read(tmp_path, packed[: len(packed) * 3 // 4])
        is_right(doc)
        assert damage(doc) == {"truncated_file": 1}

    def test_bomb(self, tmp_path, monkeypatch):
        monkeypatch.setattr(decompress, "BOMB_BYTES", 8 << 20)
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb") as writer:
            writer.write(plain(texts()))
            for _ in range(64):
                writer.write(bytes(1 << 20))
        doc = read(tmp_path, packed.getvalue())
        assert verdicts(doc) == RIGHT
        assert damage(doc)["truncated_file"] == 1

    def test_fifo(self, tmp_path):
        path = tmp_path / "pipe"
        os.mkfifo(path)
        writer = threading.Thread(target=lambda: path.write_bytes(plain(texts())))
        writer.start()
        is_right(timeline(analyse([str(path)])))
        writer.join()

    def test_symlink_loop(self, tmp_path):
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder/again").symlink_to(tmp_path)
        (tmp_path / "folder/server.log").write_bytes(plain(texts()))
        is_right(timeline(analyse([str(tmp_path)])))
        with pytest.raises(NothingReadableError):
            analyse([str(tmp_path / "loop")])

    def test_grows(self, tmp_path):
        path = tmp_path / "server.log"
        path.write_bytes(plain(texts()))
        grown = []

        def progress(*_):
            if len(grown) < 3:
                grown.append(1)
                with path.open("ab") as file:
                    file.write(f"[2026-05-20 12:00:00 TP0] {DECODE}\n".encode())

        from kvforensics.options import Options

        doc = timeline(analyse([str(path)], Options(progress=progress)))
        is_right(doc)
        assert doc["coverage"]["records"] == len(texts()) + 3

    def test_vanishes(self, tmp_path):
        """A file that is deleted while it is read is read to its end; one that is gone before is said."""
        paths = [tmp_path / name for name in ("a.log", "b.log")]
        paths[0].write_bytes(plain(texts()))
        paths[1].write_bytes(plain(texts(begin=BEGIN + timedelta(days=1))))

        def progress(*_):
            for one in paths:
                one.unlink(missing_ok=True)

        from kvforensics.options import Options

        doc = timeline(analyse([str(path) for path in paths], Options(progress=progress)))
        assert verdicts(doc) == RIGHT
        assert damage(doc) == {"unreadable": 1}

    def test_unreadable(self, tmp_path):
        path = tmp_path / "a.log"
        path.write_bytes(plain(texts()))
        doc = timeline(analyse([str(path), str(tmp_path / "missing.log")]))
        is_right(doc)
        assert damage(doc) == {"unreadable": 1}


def test_many_shapes(tmp_path):
    """Lines that are all of another shape: counted, and told apart only up to a bound."""
    names = [
        f"[2026-05-20 12:00:00 TP0] {' '.join(word(n * 7 + k) for k in range(3))}" for n in range(30_000)
    ]
    doc = read(tmp_path, plain([*texts(), *names]))
    is_right(doc)
    assert doc["coverage"]["unknown"] == 30_000
    assert len(doc["coverage"]["unknown_shapes"]) <= 500


def word(number):
    letters = "abcdefghijklmnopqrstuvwxyz"
    return "".join(letters[number // 26**place % 26] for place in range(4))


def at_another_time(text, step):
    stamp = re.match(r"\[([-0-9]+ [0-9:]+)", text)
    return f"[{datetime.fromisoformat(stamp[1]) + step}{text[len(stamp[0]) :]}"


def test_the_table_names_a_test_for_each_kind():
    page = Path(__file__).parents[2].joinpath("docs/damage.md").read_text()
    named = re.findall(r"`(test_[a-z0-9_]+)`", page)
    own = set(re.findall(r"def (test_[a-z0-9_]+)\(", Path(__file__).read_text()))
    assert own - {"test_the_table_names_a_test_for_each_kind"} == set(named)
