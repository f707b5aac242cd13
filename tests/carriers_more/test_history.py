"""Inputs that hold the same records: counted once, and never one too few."""

import json
import random
from datetime import datetime, timedelta

import polars as pl
import pytest

from kvforensics.carriers import History, open_source, reading_order
from kvforensics.carriers import history as history_module
from kvforensics.options import Options
from kvforensics.records import Origins

INCIDENT = "journald-252/incident/"
START = datetime(2026, 5, 20, 14, 3, 11)


def together(*paths, order=None):
    """Read files as one history; return what is left of each, and its source."""
    paths = [str(path) for path in paths]
    origins = Origins()
    history = History(origins)
    left = {}
    for place in order or range(len(paths)):
        opened = open_source(paths[place], Options(), origins, place)
        frames = list(history.fresh(opened, opened.source))
        left[place] = (pl.concat(frames)["message"].to_list() if frames else [], opened.source)
    history.close()
    return [left[place] for place in range(len(paths))]


def kept(*paths, **options):
    return [len(messages) for messages, _ in together(*paths, **options)]


TEXTS = (
    "json-all.json", "json.json", "short.txt", "short-iso.txt", "short-iso-precise.txt", "short-precise.txt",
    "short-unix.txt", "short-full.txt", "with-unit.txt", "u.json.json", "u.short.txt", "cat.txt",
)  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_every_form_of_one_journal_is_the_same_history(samples, name):
    export = samples / INCIDENT / "export.export"
    (_, first), (left, second) = together(export, samples / INCIDENT / name)
    assert left == []
    assert second.repeated == second.records > 390
    assert first.repeated == 0


def test_the_export_of_a_unit_before_the_whole_journal(samples):
    unit = samples / INCIDENT / "u.short-iso-precise.txt"
    assert kept(unit, samples / INCIDENT / "short-iso-precise.txt") == [395, 36]


def test_what_knows_most_is_read_first(samples):
    paths = [samples / INCIDENT / name for name in ("cat.txt", "short.txt", "export.export")]
    paths = [str(path) for path in paths]
    assert reading_order(paths, Options()) == [2, 1, 0]
    assert reading_order(paths[:1], Options()) == [0]
    assert reading_order(["-", *paths], Options()) == [0, 3, 2, 1]
    assert reading_order([*paths, "/nowhere"], Options()) == [3, 2, 1, 0]


def test_docker_files_and_docker_logs(samples):
    folder = samples / "carriers"
    assert kept(folder / "docker-json-file.sglang-k26.log", folder / "docker-logs-t.sglang-k26.txt") == [
        188,
        0,
    ]


def test_a_copy_of_a_plain_file_and_different_servers(samples):
    real = samples / "sglang-real" / "0.5.11"
    runs = sorted(real.glob("s0*.log"))
    counts = kept(*runs, runs[1])
    assert counts[-1] == 0
    assert counts[:-1] == [path.read_bytes().count(b"\n") for path in runs]


def short(moment, pid, text, host="gpu01"):
    return f"{moment:%b %d %H:%M:%S} {host} python3[{pid}]: {text}\n"


def stamped(moment, text):
    return f"[{moment:%Y-%m-%d %H:%M:%S} TP0] {text}"


def journal_lines(count, *, seed=1, host="gpu01"):
    chosen = random.Random(seed)
    lines = []
    moment = START
    for _ in range(count):
        moment += timedelta(seconds=chosen.choice((0, 0, 1)))
        lines.append(short(moment, chosen.randrange(70, 73), stamped(moment, chosen.choice("abc")), host))
    return lines


def written(tmp_path, **files):
    paths = []
    for name, lines in files.items():
        paths.append(tmp_path / name)
        paths[-1].write_text("".join(lines))
    return paths


def test_equal_records_of_one_input_all_stay(tmp_path):
    (path,) = written(tmp_path, a=[short(START, 71, stamped(START, "same"))] * 7)
    assert kept(path) == [7]


def test_the_nth_of_equal_records_is_the_nth_in_the_other(tmp_path):
    before, same, after = (
        short(START + timedelta(seconds=second), 71, stamped(START, text))
        for second, text in ((0, "before"), (1, "same"), (2, "after"))
    )
    a, b = [before, *[same] * 3, after], [before, *[same] * 5, after]
    (_, _), (left, source) = together(*written(tmp_path, a=a, b=b))
    assert [text.rpartition(" ")[2] for text in left] == [
        "before",
        "same",
        "same",
        "after",
    ]  # edges prove nothing
    assert source.repeated == 3


@pytest.mark.parametrize(("begin", "end"), [(0, 400), (100, 250), (100, 190)])
def test_overlapping_exports_are_joined(tmp_path, begin, end):
    lines = journal_lines(400)
    firsts = [n for n in range(401) if n in {0, 400} or lines[n][:15] != lines[n - 1][:15]]
    begin = max(n for n in firsts if n <= begin)  # --since and --until cut at whole seconds
    end = min(n for n in firsts if n >= end)
    (first, _), (second, _) = together(*written(tmp_path, a=lines[:end], b=lines[begin:]))
    assert len(first) + len(second) == 400


def test_a_rotated_series_cut_within_a_second_keeps_every_record(tmp_path):
    texts = [stamped(START + timedelta(seconds=n // 4), "same") for n in range(400)]
    lines = [short(START + timedelta(seconds=n // 4), 71, text) for n, text in enumerate(texts)]
    assert kept(*written(tmp_path, a=lines[:202], b=lines[202:])) == [202, 198]
    plain = [f"{text}\n" for text in texts]
    assert kept(*written(tmp_path, a=plain[:202], b=plain[202:])) == [202, 198]
    flood = [f"{stamped(START, 'same')}\n"] * 400
    assert kept(*written(tmp_path, a=flood[:202], b=flood[202:])) == [202, 198]


def test_hosts_and_pids_that_differ_are_different_records(tmp_path):
    lines = journal_lines(200)
    other = journal_lines(200, host="gpu02")
    assert kept(*written(tmp_path, a=lines, b=other)) == [200, 200]
    moved = [line.replace("python3[7", "python3[9") for line in lines]
    assert kept(*written(tmp_path, a=lines, b=moved)) == [200, 200]


def test_replicas_that_start_alike_are_two_servers(tmp_path):
    ranks = [
        f"[2026-05-20 14:03:{second:02} TP{rank}] Init torch distributed begin.\n"
        for second in (1, 2)
        for rank in range(8)
    ]
    own = ["[2026-05-20 14:03:09] server_args=ServerArgs(port=%d)\n"]
    a, b = ([*ranks, own[0] % port, *ranks] for port in (30000, 30001))
    assert kept(*written(tmp_path, a=a, b=b)) == [33, 33]


def test_a_long_run_without_a_name_is_the_same_log(tmp_path):
    lines = [
        f"[2026-05-20 14:{n // 60:02}:{n % 60:02} TP0] Decode batch, #running-req: {n}\n" for n in range(600)
    ]
    later = [f"[2026-05-20 15:{n:02}:00 TP0] Decode batch, #running-req: {n}\n" for n in range(40)]
    assert kept(*written(tmp_path, a=lines, b=lines[200:] + later)) == [600, 40]
    assert kept(*written(tmp_path, a=lines, b=lines[595:] + later)) == [600, 45]  # five prove nothing


def test_records_without_any_time_are_never_the_same(tmp_path):
    assert kept(*written(tmp_path, a=["no time\n"] * 100, b=["no time\n"] * 100)) == [100, 100]


@pytest.mark.parametrize("held", [0, 1, 3, 200_000])
def test_memory_files_and_blocks_change_nothing(tmp_path, monkeypatch, held):
    lines = journal_lines(3000)
    paths = written(tmp_path, a=lines[:2000], b=lines[500:])
    whole = kept(*paths)
    monkeypatch.setattr(history_module, "MEMORY_BYTES", 0)
    assert kept(*paths) == whole
    origins = Origins()
    history = History(origins)
    counts = []
    for place, path in enumerate(paths):
        opened = open_source(str(path), Options(), origins, place)
        opened.blocks.block_bytes = 1000 + held
        counts.append(sum(frame.height for frame in history.fresh(opened, opened.source)))
    history.close()
    assert counts == whole


def test_every_record_of_two_halves_is_kept_exactly_once(tmp_path):
    """Whatever two inputs share, their union has each record as often as the one that has it most often."""
    chosen = random.Random(7)
    first, last = (short(START + timedelta(hours=hours), 71, stamped(START, "edge")) for hours in (-1, 1))
    for round_ in range(20):
        lines = journal_lines(300, seed=round_)
        a = [first, *(line for line in lines if chosen.random() < 0.7), last]
        b = [line for line in lines if chosen.random() < 0.7]
        wanted = sum(max(a.count(line), b.count(line)) for line in {*a, *b})
        assert sum(kept(*written(tmp_path, a=a, b=b))) == wanted


def entry(number, moment, pid, text, ident="python3"):
    micros = (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    fields = {
        "__CURSOR": f"s=1;i={number:x}",
        "__REALTIME_TIMESTAMP": str(micros),
        "_HOSTNAME": "gpu01",
        "_SYSTEMD_UNIT": "sglang.service",
        "SYSLOG_IDENTIFIER": ident,
        "_PID": str(pid),
        "MESSAGE": text,
    }
    return json.dumps(fields) + "\n"


def relayed(moment, pid, text, ident="python3", host="gpu01"):
    """Write a record as rsyslog's default file does, cut at 8 KiB."""
    head = f"{moment:%Y-%m-%dT%H:%M:%S.%f}+00:00 {host} {ident}{'' if pid is None else f'[{pid}]'}: "
    return (head + text.replace("\x1b", "#033"))[:8192] + "\n"


def both(count, lag, *, seed=3):
    """Records of a journal, and rsyslog's file of the same, each stamped `lag()` later."""
    chosen = random.Random(seed)
    moment, journal, file = START, [], []
    for number in range(count):
        moment += timedelta(microseconds=chosen.choice((0, 900, 400_000)))
        pid, text = chosen.randrange(70, 73), stamped(moment, chosen.choice("ab"))
        journal.append(entry(number, moment, pid, text))
        file.append(relayed(moment + lag(chosen), pid, text))
    return journal, file


def milliseconds(chosen):
    return timedelta(microseconds=chosen.randrange(40, 30_000))


def second_and_more(chosen):
    return timedelta(microseconds=1_200_000 + chosen.randrange(900))


@pytest.mark.parametrize("lag", [milliseconds, second_and_more])
def test_the_file_that_rsyslog_wrote_of_a_journal(tmp_path, lag):
    journal, file = both(400, lag)
    paths = written(tmp_path, a=journal, b=file)
    (_, _), (left, source) = together(*paths)
    assert (left, source.repeated) == ([], 400)
    old = [relayed(START - timedelta(hours=2), 70, stamped(START, str(n))) for n in range(30)]
    assert kept(*written(tmp_path, a=journal, c=old + file)) == [400, 30]


def test_a_host_with_and_without_its_domain(tmp_path):
    journal, file = both(100, milliseconds)
    named = [line.replace(" gpu01 ", " gpu01.example.org ") for line in file]
    assert kept(*written(tmp_path, a=journal, b=named)) == [100, 0]
    addresses = [line.replace(" gpu01 ", f" {host} ") for host in ("10.0.0.1", "10.0.0.2") for line in file]
    assert kept(*written(tmp_path, a=addresses[:100], b=addresses[100:])) == [100, 100]


def test_a_settings_line_that_syslog_cut_and_a_record_without_its_process(tmp_path):
    journal, file = both(100, milliseconds)
    long = "server_args=ServerArgs(" + "port=30000, " * 1000 + ")"
    sudo = "  alice : PWD=/root ; USER=root ; COMMAND=/usr/bin/systemctl restart sglang"
    moment = START + timedelta(seconds=5)
    journal.insert(50, entry(900, moment, 70, long))
    journal.insert(51, entry(901, moment, 4242, sudo, "sudo"))
    file.insert(50, relayed(moment + timedelta(milliseconds=3), 70, long))
    file.insert(51, relayed(moment + timedelta(milliseconds=4), None, sudo, "sudo"))
    (whole, _), (left, _) = together(*written(tmp_path, a=journal, b=file))
    assert long in whole
    assert left == []


def test_what_rsyslog_alone_has_stays(tmp_path):
    """A record of the journal stands for one of the file, and only for one of its host and process."""
    journal, file = both(300, milliseconds)
    middle = START + timedelta(seconds=20)
    journal += [entry(500, middle, 70, "GET /health")]
    file += [relayed(middle + timedelta(milliseconds=n), 70, "GET /health") for n in (1, 2, 3)]
    file += [relayed(middle, 99, "GET /health"), relayed(middle, 70, "GET /health", host="gpu02")]
    file += [relayed(middle + timedelta(seconds=3), 70, "GET /health")]
    journal.sort(key=lambda line: json.loads(line)["__REALTIME_TIMESTAMP"])
    file.sort()
    (_, _), (left, source) = together(*written(tmp_path, a=journal, b=file))
    assert (source.repeated, left) == (301, ["GET /health"] * 5)


def test_blocks_of_any_size_pair_alike(tmp_path):
    journal, file = both(600, second_and_more)
    paths = written(tmp_path, a=journal, b=file)
    for size in (700, 5000, 1 << 20):
        origins = Origins()
        history = History(origins)
        counts = []
        for place, path in enumerate(paths):
            opened = open_source(str(path), Options(), origins, place)
            opened.blocks.block_bytes = size
            counts.append(sum(frame.height for frame in history.fresh(opened, opened.source)))
        history.close()
        assert counts == [600, 0]


def test_a_journal_and_a_file_that_meet_within_a_second_keep_every_record(tmp_path):
    at = [START + timedelta(milliseconds=100 * n) for n in range(60)]
    journal = [entry(n, moment, 70, "GET /health") for n, moment in enumerate(at[:30])]
    file = [relayed(moment, 70, "GET /health") for moment in at[30:]]
    assert kept(*written(tmp_path, a=journal, b=file)) == [30, 30]
