"""Every file of real container, syslog and Slurm output: counts before values."""

import polars as pl
import pytest

from .reading import read_path

WHOLE = 11_201  # bytes of the server_args line of these samples
CUT = 8061  # of it, behind rsyslog's limit of 8 KiB a message

FILES = {
    # file: carrier, layers, lines, records, server_args lines and their length, first time
    "compose-v1-logs-t.txt": ("compose", ("docker-text",), 87, 87, [11_200], "2026-11-30T18:38:03.137592"),
    "compose-v1-logs.txt": ("compose", (), 86, 86, [11_200], None),
    "docker-json-file.sglang-k26.log": (
        "docker-json",
        (),
        188,
        188,
        [WHOLE, WHOLE],
        "2026-11-30T18:36:13.254397",
    ),
    "docker-logs-t.sglang-k26.txt": (
        "docker-text",
        (),
        188,
        188,
        [WHOLE, WHOLE],
        "2026-11-30T18:36:13.254397",
    ),
    "podman-k8s-file.sglang.log": ("cri", (), 87, 83, [WHOLE], "2026-11-30T18:39:49.320682"),
    "rsyslog.fileformat.log": ("syslog", (), 17, 17, [CUT], "2026-11-30T18:40:17.464112"),
    "rsyslog.rfc5424.log": ("syslog", (), 17, 17, [CUT], "2026-11-30T18:40:17.464112"),
    "rsyslog.traditional.log": ("journal-short", (), 17, 17, [CUT], "2026-11-30T18:40:17"),
    "slurm-1.srun-label.out": ("slurm", (), 113, 103, [WHOLE], None),
}


@pytest.mark.parametrize("name", FILES)
def test_counts(samples, name):
    carrier, layers, lines, records, server_args, first_at = FILES[name]
    reading = read_path(samples / "carriers" / name)
    source = reading.source
    assert (source.carrier, source.layers) == (carrier, layers)
    assert (source.lines, source.records, reading.frame.height) == (lines, records, records)
    found = reading.frame.filter(pl.col("message").str.contains("server_args=", literal=True))["message"]
    assert [len(message) for message in found] == server_args
    assert [message.endswith(")") for message in found] == [size != CUT for size in server_args]
    assert (source.first_at and source.first_at.isoformat()) == first_at
    assert source.time_basis == ("carrier" if first_at else "none")


def test_the_lines_of_a_sample_are_those_of_the_file(samples):
    reading = read_path(samples / "carriers" / "podman-k8s-file.sglang.log")
    assert reading.column("line")[:3] == [1, 3, 4]  # the first record took two lines


def test_both_streams_of_a_container(samples):
    reading = read_path(samples / "carriers" / "docker-json-file.sglang-k26.log")
    streams = [reading.origin(row).stream for row in range(reading.frame.height)]
    assert {"stdout", "stderr"} == set(streams)
    assert "Uvicorn running" in reading.messages[streams.index("stdout") + 3]


def test_syslog_escapes_are_decoded(samples):
    for name in ("rsyslog.fileformat.log", "rsyslog.rfc5424.log"):
        messages = read_path(samples / "carriers" / name).messages
        assert messages[2].startswith("\x1b[32mINFO\x1b[0m:     Uvicorn running")
        assert messages[3].startswith("\rCapturing batches:   0%")
        assert messages[4] == "tab\there"
        assert messages[6] == "multi\nline message"
        assert messages[8] == ""
        assert messages[9] == "  leading spaces"
        assert messages[5].startswith("unicode ▊ 漢")


def test_syslog_origins(samples):
    reading = read_path(samples / "carriers" / "rsyslog.rfc5424.log")
    assert {reading.origin(row).host for row in range(17)} == {"vm"}
    assert (reading.origin(0).ident, reading.origin(0).pid) == ("python3", 1440)
    assert (reading.origin(10).ident, reading.origin(10).pid) == ("sudo", None)
    assert reading.messages[10].startswith(" theuser : TTY=pts/0 ;")


def test_compose_containers(samples):
    reading = read_path(samples / "carriers" / "compose-v1-logs-t.txt")
    containers = [reading.origin(row).container for row in range(reading.frame.height)]
    assert containers[0] is None
    assert reading.messages[0] == "Attaching to comp_router_1, comp_sglang_1"
    assert containers[1] == "router_1"
    assert containers[-1] == "sglang_1"


def test_slurm_tasks(samples):
    reading = read_path(samples / "carriers" / "slurm-1.srun-label.out")
    row = next(row for row, message in enumerate(reading.messages) if "server_args=" in message)
    assert reading.origin(row).ident == "task 0"
    noise = [message for message in reading.messages if message.startswith(("srun:", "slurmstepd-"))]
    assert noise
    assert "slurmstepd-vm: error: *** STEP 1.4 ON vm CANCELLED AT 2026-11-30T18:41:12 ***" in reading.messages


def test_only_syslogs_bad_byte_is_damage(samples):
    damage = {name: read_path(samples / "carriers" / name).source.damaged.keys() for name in FILES}
    assert damage == {name: {"invalid_utf8"} if name.startswith("rsyslog") else set() for name in FILES}
