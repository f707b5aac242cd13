"""What is kept of the inputs while they are read."""

from datetime import datetime, timedelta
from functools import cache

import pytest

from kvforensics import intake as module
from kvforensics.carriers import open_source
from kvforensics.errors import NothingReadableError
from kvforensics.events import Event, EventBlock, ShapeCount
from kvforensics.intake import KIND_KEPT, SAME_KEPT, Floods, Intake, read
from kvforensics.options import Options
from kvforensics.parsing import Parser
from kvforensics.parsing import kinds as kinds_module
from kvforensics.parsing import parser as parser_module
from kvforensics.parsing.kinds import Kinds
from kvforensics.records import Origin, Origins
from tests.perf.generate import write

START = datetime(2026, 5, 20, 9, 0)


def floods(origin: Origin | None = None) -> Floods:
    origins = Origins()
    origins.intern(origin or Origin())
    return Floods(origins)


def event(kind, line, **fields):
    return Event(kind, fields, 0, line, 0, START + timedelta(seconds=line))


def run(stream, found):
    kept = [out for one in stream for out in found.take(one)]
    return kept + found.close()


def test_what_is_rare_is_kept_whole():
    stream = [event("exception", line, message=str(line)) for line in range(50)]
    assert run(stream, floods()) == stream


def test_a_flood_is_its_first_events_and_its_last_with_a_count():
    stream = [event("health_failed", line, message="x") for line in range(1, 1001)]
    kept = run(stream, floods())
    assert [one.line for one in kept] == [*range(1, SAME_KEPT + 1), 1000]
    assert kept[-1].fields == {"message": "x", "repeated": 1000 - SAME_KEPT - 1}
    assert len(kept) + kept[-1].fields["repeated"] == 1000


def test_a_flood_of_different_events_of_one_kind():
    stream = [event("exception", line, message=str(line)) for line in range(1, 5001)]
    kept = run(stream, floods())
    assert len(kept) == KIND_KEPT + 1
    assert kept[-1].line == 5000
    assert len(kept) + kept[-1].fields["repeated"] == 5000


def test_a_new_start_counts_anew_and_comes_after_what_was_held():
    noise = [event("health_failed", line, message="x") for line in range(1, 101)]
    stream = [*noise, event("server_args", 101, values={}), event("health_failed", 102, message="x")]
    kept = run(stream, floods())
    assert [one.line for one in kept[-3:]] == [100, 101, 102]


def test_starts_are_never_a_flood():
    stream = [event("unit_started", line, unit="a.service") for line in range(1, 301)]
    assert run(stream, floods()) == stream


def test_starts_of_others_do_not_keep_a_flood_alive():
    origins = Origins()
    server, manager = (
        origins.intern(Origin("n1", "sglang.service")),
        origins.intern(Origin("n1", "init.scope")),
    )
    found = Floods(origins)
    stream = []
    for line in range(1, 2001):
        stream.append(Event("health_failed", {"message": "x"}, 0, 2 * line, server))
        stream.append(Event("unit_started", {"unit": f"job-{line}.service"}, 0, 2 * line + 1, manager))
    kept = run(stream, found)
    failed = [one for one in kept if one.kind == "health_failed"]
    assert len(failed) == SAME_KEPT + 2
    assert len(failed) + sum(one.fields.get("repeated", 0) for one in failed) == 2000
    assert len([one for one in kept if one.kind == "unit_started"]) == 2000


def test_shapes_are_bounded(monkeypatch):
    monkeypatch.setattr(module, "MOST_SHAPES", 3)
    found = Intake()
    for number in range(6):
        block = EventBlock(
            records=1, unknown=1, shapes={f"s{number}": ShapeCount(f"s{number}", 2, 0, number)}
        )
        found.add(block, floods())
    assert {name: shape.count for name, shape in found.shapes.items()} == {
        "s0": 2,
        "s1": 2,
        "s2": 2,
        module.OTHER_SHAPES: 6,
    }
    assert (found.records, found.unknown) == (6, 6)


def test_shapes_add_up_over_blocks():
    found = Intake()
    for line in (4, 9):
        found.add(EventBlock(shapes={"s": ShapeCount("s", 2, 0, line)}), floods())
    assert (found.shapes["s"].count, found.shapes["s"].first_line) == (4, 4)


def test_an_unreadable_input_is_damage(tmp_path):
    good = tmp_path / "good.log"
    good.write_text("hello\n")
    found = read([str(tmp_path / "missing"), str(good)], Options())
    assert [source.path for source in found.sources] == [str(tmp_path / "missing"), str(good)]
    assert list(found.sources[0].damaged) == ["unreadable"]
    assert found.sources[1].damaged == {}


def test_nothing_readable(tmp_path):
    with pytest.raises(NothingReadableError) as caught:
        read([str(tmp_path / "missing")], Options())
    assert str(tmp_path / "missing") in str(caught.value)


def test_an_empty_folder(tmp_path):
    with pytest.raises(NothingReadableError):
        read([str(tmp_path)], Options())


def test_systemds_words_about_others_are_dropped_when_there_are_many(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_EVENTS", 50)
    monkeypatch.setattr("kvforensics.launches.services.NEWEST_KEPT", 10)
    lines = ["May 20 14:03:00 n1 systemd[1]: Started sglang-k26.service - SGLang."]
    lines += [
        "May 20 14:03:11 n1 python3[1440]: [2026-05-20 14:03:11] server_args=ServerArgs(model_path='/m', tp_size=1)"
    ]
    lines += [
        f"May 20 15:{n // 60:02d}:{n % 60:02d} n1 systemd[1]: Started job-{n}.service - Job."
        for n in range(3000)
    ]
    log = tmp_path / "journal.txt"
    log.write_text("\n".join(lines) + "\n")
    found = read([str(log)], Options())
    assert [one.kind for one in found.events][:2] == ["unit_started", "server_args"]
    assert found.events[0].fields["unit"] == "sglang-k26.service"
    assert len(found.events) < 3000
    assert found.understood == 3002


@pytest.mark.parametrize(
    ("quiet", "pieces"),
    [(0, [1000, 4000]), (500, [1000, 4500]), (3000, [1000, 2000, 4000, 1000]), (20_000, [1000, 2000, 4000, 8000, 10_000])],
)  # fmt: skip
def test_layouts_are_learnt_from_a_few_lines_before_the_rest_is_read(tmp_path, monkeypatch, quiet, pieces):
    decode = "[2026-05-20 08:03:05 TP0] Decode batch. #running-req: 1, #token: {}, token usage: 0.01, gen throughput (token/s): 9.00, #queue-req: 0, \n"
    log = tmp_path / "server.log"
    log.write_text("nothing\n" * quiet + "".join(decode.format(n) for n in range(5000)))
    monkeypatch.setattr(kinds_module, "kinds", cache(Kinds))
    monkeypatch.setattr(parser_module, "kinds", kinds_module.kinds)
    heights = []
    prepare = Parser.prepare
    monkeypatch.setattr(
        Parser, "prepare", lambda self, frame: heights.append(frame.height) or prepare(self, frame)
    )
    found = read([str(log)], Options())
    assert heights == pieces
    assert (found.records, found.understood) == (quiet + 5000, 5000)


@pytest.mark.parametrize("height", [5, 40, 10_000])
def test_blocks_in_threads_give_what_blocks_one_by_one_give(height, tmp_path, monkeypatch):
    log = tmp_path / "busy.log"
    with log.open("w") as stream:
        write(stream, 120_000, launches=3)
    intakes = []
    for threads in (True, False):
        monkeypatch.setattr(module, "FIRST_RECORDS", height)
        intake = Intake()
        opened = open_source(str(log), Options(), intake.origins, 0)
        intake.sources.append(opened.source)
        parser, held = Parser(0, opened.source, intake.origins), Floods(intake.origins)
        frames = (frame[at : at + height] for frame in opened for at in range(0, frame.height, height))
        module.take_in(frames, parser, held, intake, threads=threads)
        intake.add(parser.close(), held)
        intake.events += held.close()
        intakes.append(intake)
    one, other = intakes
    assert one.samples.frame().height
    assert one.samples.frame().equals(other.samples.frame())
    assert one.samples.records().equals(other.samples.records())
    for name in ("events", "sources", "shapes", "records", "understood", "unknown"):
        assert getattr(one, name) == getattr(other, name)
