"""The whole pipeline on real logs: the launches of every sample."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from kvforensics.analysis import analyse
from kvforensics.errors import NoLaunchError, NothingReadableError, UsageError
from kvforensics.options import Options

SAMPLES = Path(__file__).parent / "samples"
REAL = SAMPLES / "sglang-real" / "0.5.11"
JOURNALD = SAMPLES / "journald-252"

# file: pool, max running, context, longest prompt, end, (refused, retracted); README of the samples
RUNS = {
    "00-smoke": (20000, 2500, 4096, 4089, "stopped", (1, 0)),
    "s01-base-ctx32k": (79969, 2048, 32768, 32761, "stopped", (1, 0)),
    "s02-ctx200k": (79288, 2048, 200000, 79281, "stopped", (1, 0)),
    "s03-mf006": (35493, 2048, 200000, 35486, "stopped", (0, 0)),
    "s04-mf018": (118659, 2048, 200000, 118652, "stopped", (0, 0)),
    "s05-mtt30000": (30000, 2048, 200000, 29993, "stopped", (0, 0)),
    "s06-mtt900000": (77404, 2048, 200000, 77397, "stopped", (0, 0)),
    "s10-mrr8": (77784, 8, 200000, 77777, "stopped", (0, 0)),
    "s17-ctx300k": (None, None, None, None, "failed_start", (0, 0)),
    "s18-mf0001": (None, None, None, None, "failed_start", (0, 0)),
    "s21-retract": (3000, 1500, 4096, 2993, "stopped", (0, 3)),
    "s22-kill-sched": (20000, 2500, 4096, 4089, "killed", (0, 0)),
    "s22f-term-main": (20000, 2500, 4096, 4089, "stopped", (0, 0)),
    "s23c-warning": (None, None, None, None, "running", (0, 0)),
    "s24b-dp2": (20000, 2500, 4096, 4089, "stopped", (0, 0)),
    "s26-toolong": (40000, 2048, 32768, 32761, "stopped", (1, 0)),
    "s30-steady": (12000, 2048, 4096, 4089, "stopped", (0, 0)),
}


def only(*paths: Path, **options):
    found = analyse([str(path) for path in paths], Options(**options))
    assert len(found.services) == 1, [service.id for service in found.services]
    return found.services[0]


@pytest.mark.parametrize("name", RUNS)
def test_real_runs(name):
    service = only(REAL / f"{name}.log")
    assert service.id == str(REAL / f"{name}.log")
    (launch,) = service.launches
    assert (
        launch.pool_tokens,
        launch.max_running_requests,
        launch.context_len,
        launch.longest_prompt_tokens,
        launch.end,
        (launch.requests.rejected_too_long, launch.requests.retractions),
    ) == RUNS[name]


def test_no_real_run_is_left_out():
    assert sorted(RUNS) == sorted(path.stem for path in REAL.glob("*.log"))


def test_a_real_run_in_full():
    (launch,) = only(REAL / "s02-ctx200k.log").launches
    assert launch.started_at == datetime(2026, 11, 30, 18, 37, 49)
    assert launch.ready_at == datetime(2026, 11, 30, 18, 38, 17)
    assert launch.ended_at == datetime(2026, 11, 30, 18, 38, 31)
    assert (launch.version.oldest, launch.version.newest) == ("0.5.11", "0.5.11")
    assert launch.config.values["context_length"] == 200000
    memory = launch.memory
    assert (memory.before_load_gib, memory.after_load_gib, memory.after_pool_gib) == (21.33, 21.18, 17.4)
    (pool,) = launch.pools
    assert (pool.role, pool.kind, pool.tokens, pool.k_gib, pool.v_gib, pool.total_gib) == (
        "target",
        "mha",
        79288,
        1.21,
        1.21,
        2.42,
    )
    assert (launch.free_gib, launch.device) == (17.39, "cpu")
    lines = (REAL / "s02-ctx200k.log").read_bytes().split(b"\n")
    assert b"max_total_num_tokens=79288" in lines[launch.evidence["pool_tokens"].line - 1]
    assert b"server_args=ServerArgs(" in lines[launch.evidence["config"].line - 1]


def test_nothing_is_claimed_of_a_log_at_warning_level():
    service = only(REAL / "s23c-warning.log")
    (launch,) = service.launches
    assert (launch.config.source, dict(launch.config.values), launch.complete_start) == ("none", {}, False)
    assert (service.verdicts, service.findings) == ((), ())


def test_a_context_above_the_models_own_dies_before_its_config():
    (launch,) = only(REAL / "s17-ctx300k.log").launches
    assert (launch.config.source, launch.complete_start) == ("none", True)
    asked = [event.fields for event in launch.events if event.kind == "context_rejected"]
    assert (asked[0]["asked"], asked[0]["derived"]) == (300000, 262144)


def test_two_dp_ranks():
    (launch,) = only(REAL / "s24b-dp2.log").launches
    assert [(pool.role, pool.tokens, pool.ranks) for pool in launch.pools] == [("target", 20000, 2)]
    assert (launch.memory.before_load_gib, launch.free_gib) == (19.18, 19.07)


def test_several_files_are_one_history_in_whatever_order():
    names = ("s01-base-ctx32k", "s02-ctx200k", "s17-ctx300k", "s30-steady")
    paths = [REAL / f"{name}.log" for name in names]
    one, other = only(*paths), only(*reversed(paths))
    assert one.id == other.id == str(paths[0])
    assert [launch.end for launch in one.launches] == ["stopped", "stopped", "failed_start", "stopped"]
    assert one.verdicts == other.verdicts
    assert one.findings == other.findings


INCIDENT = [
    ("restarted", 32768, 101134),
    ("restarted", 200000, 101134),
    ("stopped", 200000, 249371),
    ("running", 200000, 249371),
]
MODES = sorted(path.name for path in (JOURNALD / "incident").iterdir() if path.name != "json-seq.json")


@pytest.mark.parametrize("name", MODES)
def test_the_incident_in_every_mode_of_journalctl(name):
    service = only(JOURNALD / "incident" / name)
    assert [(launch.end, launch.context_len, launch.pool_tokens) for launch in service.launches] == INCIDENT
    assert service.unit == "sglang-k26.service"
    if name != "cat.txt":
        assert service.id == "k26-node1/sglang-k26.service"
    first, second, third, fourth = service.launches
    assert [launch.config.values["context_length"] for launch in service.launches] == [
        32768,
        200000,
        200000,
        200000,
    ]
    assert [launch.config.values["mem_fraction_static"] for launch in service.launches] == [
        0.85,
        0.85,
        0.92,
        0.92,
    ]
    assert second.requests.rejected_too_long == 1
    assert second.requests.retractions == 1
    assert [launch.longest_prompt_tokens for launch in service.launches] == [32761, 101127, 199993, 199993]
    assert all(
        launch.memory.before_load_gib == 93.28 and launch.memory.after_load_gib == 19.64
        for launch in service.launches
    )
    assert {pool.ranks for launch in service.launches for pool in launch.pools} == {8}
    assert [launch.downtime_s is None for launch in service.launches] == [True, False, False, False]
    assert first.started_at < first.ready_at < second.started_at
    assert third.ended_at < fourth.started_at


@pytest.mark.parametrize(
    ("name", "source"),
    [("json.json", "cmdline"), ("u.json.json", "cmdline"), ("json-all.json", "server_args")],
)
def test_the_config_that_journalctl_lost_is_taken_from_the_command_line(name, source):
    assert {launch.config.source for launch in only(JOURNALD / "incident" / name).launches} == {source}


def test_the_trail_of_the_incident():
    service = only(JOURNALD / "incident" / "export.export")
    commands = [event.fields["command"] for event in service.trail if event.kind == "sudo_command"]
    assert len(commands) == 6
    assert "200000" in commands[0]
    assert "restart" in commands[2]


def test_the_kv_line_of_a_model_with_latent_attention_is_its_drafts():
    (first, *_) = only(JOURNALD / "incident" / "export.export").launches
    assert [(pool.role, pool.kind, pool.total_gib) for pool in first.pools] == [("draft", "mha", 0.28)]


@pytest.mark.parametrize("name", ["short.txt", "short-iso.txt"])
def test_two_hosts_in_one_journal(name):
    found = analyse([str(JOURNALD / "two-hosts" / name)])
    assert [(service.id, len(service.launches)) for service in found.services] == [
        ("k26-node1/sglang-k26.service", 4),
        ("k26-node2/sglang-k26.service", 1),
    ]


EDGE = sorted(path.name for path in (JOURNALD / "edge").iterdir() if not path.name.startswith("locale"))


@pytest.mark.parametrize("name", EDGE)
def test_a_kill_by_the_kernel_before_readiness(name):
    found = analyse([str(JOURNALD / "edge" / name)])
    service = next(service for service in found.services if service.unit == "sglang-k26.service")
    assert [launch.end for launch in service.launches] == ["failed_start", "running"]
    kinds = [event.kind for event in service.launches[0].events]
    assert "kernel_oom_kill" in kinds
    assert "unit_oom_killed" in kinds
    first, second = service.launches
    assert first.started_at.replace(microsecond=0) == datetime(2025, 12, 31, 23, 58, 40)
    assert second.started_at.replace(microsecond=0) == datetime(2026, 1, 1, 0, 0, 23)


@pytest.mark.parametrize("name", sorted(path.name for path in (JOURNALD / "dst").iterdir()))
def test_the_hour_that_comes_twice(name):
    zone = "Europe/Berlin" if name.startswith("tz-") else "UTC"
    (launch,) = only(JOURNALD / "dst" / name, tz=zone).launches
    assert launch.started_at < launch.last_at
    assert (launch.end, launch.config.source) == ("running", "none")


CARRIERS = {
    "compose-v1-logs-t.txt": [("running", 101134, 32768)],
    "compose-v1-logs.txt": [("running", 101134, 32768)],
    "docker-json-file.sglang-k26.log": [("stopped", 101134, 200000), ("stopped", 101134, 200000)],
    "docker-logs-t.sglang-k26.txt": [("stopped", 101134, 200000), ("stopped", 101134, 200000)],
    "podman-k8s-file.sglang.log": [("stopped", 101134, 200000)],
    "rsyslog.fileformat.log": [("failed_start", 101134, None), ("running", None, None)],
    "rsyslog.rfc5424.log": [("failed_start", 101134, None), ("running", None, None)],
    "rsyslog.traditional.log": [("failed_start", 101134, None), ("running", None, None)],
    "slurm-1.srun-label.out": [("stopped", 101134, 200000)],
}


@pytest.mark.parametrize("name", CARRIERS)
def test_other_carriers(name):
    service = only(SAMPLES / "carriers" / name)
    assert [(launch.end, launch.pool_tokens, launch.context_len) for launch in service.launches] == CARRIERS[
        name
    ]


def test_the_tasks_of_a_slurm_job_are_one_server():
    (launch,) = only(SAMPLES / "carriers" / "slurm-1.srun-label.out").launches
    assert [(pool.role, pool.ranks) for pool in launch.pools] == [("draft", 8)]
    assert launch.config.source == "server_args"


def test_syslog_names_the_unit():
    service = only(SAMPLES / "carriers" / "rsyslog.traditional.log")
    assert (service.id, service.host) == ("vm/sglang-k26.service", "vm")
    assert service.launches[0].config.truncated


def facts(service):
    """Return what may not depend on how an input was cut or named.

    The last line of a traceback names the phase that its first line gave; a cut between them loses that.
    """

    def plain(launch):
        pools = tuple(replace(pool, place=None) for pool in launch.pools)
        requests = replace(
            launch.requests, first_retraction=None, first_refused_by_pool=None, first_refused_by_context=None
        )
        config = replace(launch.config, place=None)
        told = [
            (event.kind, {k: v for k, v in event.fields.items() if k != "phase"}) for event in launch.events
        ]
        return replace(launch, pools=pools, requests=requests, config=config, events=(), evidence={}), told

    judged = [
        (
            verdict.change.setting,
            verdict.change.before,
            verdict.change.after,
            verdict.verdict,
            verdict.effects,
        )
        for verdict in service.verdicts
    ]
    found = [(finding.id, finding.launch, finding.title) for finding in service.findings]
    return [plain(launch) for launch in service.launches], judged, found, service.budgets


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        (REAL / "s02-ctx200k.log", 80),
        (REAL / "s18-mf0001.log", 78),
        (REAL / "s21-retract.log", 25),
        (JOURNALD / "incident" / "cat.txt", 15),
        (JOURNALD / "incident" / "short-precise.txt", 15),
        (JOURNALD / "incident" / "short-monotonic.txt", 10),
        (JOURNALD / "two-hosts" / "short.txt", 10),
        (SAMPLES / "carriers" / "docker-json-file.sglang-k26.log", 15),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else str(value),
)
def test_cutting_an_input_in_two_changes_nothing(path, parts, tmp_path):
    lines = path.read_bytes().split(b"\n")
    whole = [facts(service) for service in analyse([str(path)]).services]
    first, second = tmp_path / "1.log", tmp_path / "2.log"
    for number in range(1, parts):
        cut = number * len(lines) // parts
        first.write_bytes(b"\n".join(lines[:cut]) + b"\n")
        second.write_bytes(b"\n".join(lines[cut:]))
        assert [facts(service) for service in analyse([str(first), str(second)]).services] == whole, cut
    assert [facts(service) for service in analyse([str(second), str(first)]).services] == whole


def test_the_same_input_gives_the_same_analysis():
    path = JOURNALD / "incident" / "export.export"
    one, other = analyse([str(path)]), analyse([str(path)])
    assert one.services == other.services
    assert one.coverage == other.coverage
    assert one.samples.equals(other.samples)


def test_coverage_adds_up():
    found = analyse([str(JOURNALD / "incident" / "json.json")])
    assert found.coverage.records == found.coverage.understood + found.coverage.unknown == 431
    assert [(damage.kind, damage.count) for damage in found.coverage.damaged] == [("message_null", 4)]
    shapes = [(-shape.count, shape.shape) for shape in found.coverage.unknown_shapes]
    assert shapes == sorted(shapes)


def test_samples_name_their_service_and_launch():
    found = analyse([str(JOURNALD / "incident" / "export.export")])
    rows = found.samples.group_by("service", "launch").len().sort("launch").rows()
    assert [row[:2] for row in rows] == [("k26-node1/sglang-k26.service", f"L{n}") for n in (1, 2, 3, 4)]
    assert found.samples["decodes"].sum() > 0


def test_one_unreadable_input_of_several(tmp_path):
    found = analyse([str(tmp_path / "missing.log"), str(REAL / "s01-base-ctx32k.log")])
    assert [(damage.kind, damage.first.path) for damage in found.coverage.damaged] == [
        ("unreadable", str(tmp_path / "missing.log"))
    ]
    assert len(found.services) == 1


def test_nothing_readable(tmp_path):
    with pytest.raises(NothingReadableError):
        analyse([str(tmp_path / "missing.log")])


@pytest.mark.parametrize("text", [b"", b"hello\nworld\n", b"  indented\n  text\n", b"\x00\xff\xfe\n" * 50])
def test_no_launch(text, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(text)
    with pytest.raises(NoLaunchError):
        analyse([str(path)])


def test_units_and_hosts_are_chosen_by_name_or_pattern():
    path = str(JOURNALD / "two-hosts" / "short.txt")
    for options in (
        {"hosts": ("k26-node2",)},
        {"hosts": ("*2",), "units": ("sglang-k26",)},
        {"units": ("sglang*",), "hosts": ("k26-node2",)},
    ):
        assert [service.host for service in analyse([path], Options(**options)).services] == ["k26-node2"]
    with pytest.raises(NoLaunchError):
        analyse([path], Options(units=("nginx",)))


def test_a_time_keeps_the_launches_that_ran_then():
    path = str(JOURNALD / "incident" / "export.export")
    (service,) = analyse(
        [path], Options(since=datetime(2026, 5, 20, 15, 20), until=datetime(2026, 5, 20, 16))
    ).services
    assert [launch.id for launch in service.launches] == ["L2", "L3"]
    assert {verdict.change.to_launch for verdict in service.verdicts} == {"L3"}
    assert service.launches[0].config.values["context_length"] == 200000
    with pytest.raises(NoLaunchError):
        analyse([path], Options(since=datetime(2026, 5, 20) + timedelta(days=9)))


def test_a_unit_file_handed_in_stands_in_for_a_lost_config(tmp_path):
    unit = tmp_path / "k26.service"
    unit.write_text(
        "[Service]\nExecStart=/usr/bin/python3 -m sglang.launch_server --model-path /m --context-length 4096\n"
    )
    (launch,) = only(REAL / "s23c-warning.log", config=str(unit)).launches
    assert (launch.config.source, launch.config.values["context_length"]) == ("unit_file", 4096)
    with pytest.raises(UsageError):
        analyse([str(REAL / "s23c-warning.log")], Options(config=str(tmp_path / "missing")))
