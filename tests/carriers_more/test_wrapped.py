import textwrap

import pytest

from . import wrap
from .reading import read


def folded(server_log, column):
    return [piece for line in server_log for piece in wrap.pieces(line, column)]


def at_words(server_log, column):
    made = []
    for line in server_log:
        made += textwrap.wrap(line.decode(), column, break_long_words=False, break_on_hyphens=False) or [""]
    return [line.encode() for line in made]


def stamped(lines):
    return [line for line in lines if line.startswith("[20")]


@pytest.mark.parametrize("column", [80, 100, 120, 200])
@pytest.mark.parametrize("around", [None, wrap.quoted, wrap.indented, wrap.docker_text])
def test_folded_at_a_column(server_log, column, around):
    lines = folded(server_log, column)
    reading = read(lines if around is None else around(lines))
    assert "wrapped" in reading.source.layers
    wanted = stamped([line.decode() for line in server_log])
    found = set(stamped(reading.messages))
    missing = [line for line in wanted if line not in found]
    assert not [line for line in missing if "server_args=" in line]
    assert len(missing) <= 1  # a line that is as long as the column and is followed by unstamped text


@pytest.mark.parametrize("column", [200, 300])
def test_wrapped_at_words(server_log, column):
    """A word of the real line is longer than 100 columns, so that narrower ones are not wrapped at words."""
    reading = read(at_words(server_log, column))
    assert "wrapped" in reading.source.layers
    (found,) = [message for message in reading.messages if "server_args=" in message]
    (wanted,) = [line.decode() for line in server_log if b"server_args=" in line]
    assert found == wanted


def test_line_numbers_and_unwrapped_logs(server_log):
    reading = read(folded(server_log, 100))
    row = next(row for row, message in enumerate(reading.messages) if "server_args=" in message)
    lines = folded(server_log, 100)
    assert lines[reading.column("line")[row] - 1].startswith(b"[2026-11-30 18:37:50] server_args=")
    assert read(server_log).source.layers == ()
    cut = [line[:300] for line in server_log]  # cut lines are no wrapped lines
    assert read(cut).source.layers == ()


TEXT = (
    wrap.docker_text,
    wrap.kubectl,
    wrap.compose_v2,
    wrap.syslog_iso,
    wrap.syslog_5424,
    wrap.journal_short,
    wrap.cri,
    wrap.ray,
)


@pytest.mark.parametrize("column", [80, 120, 200])
@pytest.mark.parametrize("inside", TEXT)
def test_carriers_whose_lines_somebody_folded(server_log, inside, column):
    """The pieces are no lines of the carrier any more, the lines put together are."""
    whole = read(inside(server_log))
    reading = read(folded(inside(server_log), column))
    assert reading.source.layers[0] == "wrapped"
    wanted = [text for text in stamped(whole.messages) if not text.endswith(" ")]
    found = set(stamped(reading.messages))
    assert not [text for text in wanted if "server_args=" in text and text not in found]
    assert len([text for text in wanted if text not in found]) <= 2  # as long as the column


def test_coloured_lines_begin_records(server_log):
    access = b'\x1b[32mINFO\x1b[0m:     127.0.0.1:51234 - "GET /health HTTP/1.1" 200 OK'
    reading = read(at_words([part for line in server_log for part in (line, access)], 200))
    assert "wrapped" in reading.source.layers
    assert [text for text in reading.messages if "GET /health" in text] == [access.decode()] * len(server_log)
