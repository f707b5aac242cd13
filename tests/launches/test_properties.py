"""Whatever the events are: nothing is lost, nothing is counted twice, nothing fails."""

from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvforensics.launches.kinds import HOST_WIDE, START_FAILURES, TERMINAL, UNIT_END, UNIT_START
from tests.launches.log import UNIT, Log, histories
from tests.launches.test_order import facts

KINDS = sorted(
    {"server_args", "init_begin", "load_begin", "load_end", "kv_pool", "swa_split", "mamba_pool", "pool_end"}
    | {
        "summary",
        "ready",
        "decode",
        "retraction",
        "too_long",
        "note",
        "watchdog_timeout",
        "host_pool",
        "dsv4_sizing",
    }
    | TERMINAL
    | START_FAILURES
    | UNIT_START
    | UNIT_END
    | HOST_WIDE
)
VALUES = st.sampled_from([None, 0, 1, 9, 101134, -9, -15, 0.5, "x", "9/KILL", True])
NAMES = [
    "tokens",
    "avail_gib",
    "k_gib",
    "v_gib",
    "kv_gib",
    "full_tokens",
    "swa_tokens",
    "slots",
    "pool_tokens",
    "context_len",
    "exit_code",
    "status",
    "code",
    "result",
    "pid",
    "process",
    "command",
    "job_type",
    "job_id",
    "invocation",
    "label",
    "state",
    "type",
    "host_gb",
]
NUMBERS = {
    "tokens",
    "avail_gib",
    "k_gib",
    "v_gib",
    "kv_gib",
    "full_tokens",
    "swa_tokens",
    "slots",
    "pool_tokens",
    "context_len",
    "host_gb",
}
LINES = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=3),
        st.sampled_from([0, 0.5, 1, 20, 3000, -100]),
        st.sampled_from([None, 0, 1]),
        st.sampled_from([None, 100, 101, 200]),
        st.sampled_from([None, "i1", "i2"]),
    ),
    max_size=40,
)


def log_of(lines, **origin) -> Log:
    log = Log("a.log", **origin)
    for kind, fields, after, rank, pid, invocation in lines:
        sane = {
            k: v
            for k, v in fields.items()
            if k not in NUMBERS or (isinstance(v, int | float) and not isinstance(v, bool))
        }
        if kind in ("decode", "retraction", "too_long"):
            sane = {"usage": 0.5, "retracted": 1, "gate": "pool_input"}
        if kind == "server_args":
            sane = {"values": {"a": fields.get("pid")}, "form": "repr"}
        if kind.startswith("unit_") and origin:
            log.systemd(kind, after=after, **sane)
        else:
            named = {"pid": pid, "invocation": invocation} if origin else {}
            log.write(kind, after=after, rank=rank, origin=named, **sane)
    return log


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(LINES, st.sampled_from([{}, {"host": "n1", "ident": "python3"}, {"host": "n1", "unit": UNIT}]))
def test_every_event_is_told_once(lines, origin):
    log = log_of(lines, **origin)
    found = histories(log)
    told = Counter()
    for history in found:
        assert [launch.id for launch in history.launches] == [
            f"L{n + 1}" for n in range(len(history.launches))
        ]
        mine = [*history.trail, *(event for launch in history.launches for event in launch.events)]
        told.update((event.line, event.kind) for event in mine if event.kind not in HOST_WIDE)
        assert len({(event.line, event.kind) for event in mine}) == len(mine)
        for launch in history.launches:
            assert (launch.end == "running") <= (launch is history.launches[-1])
            assert launch.end in {
                "running",
                "stopped",
                "restarted",
                "crashed",
                "killed",
                "oom",
                "failed_start",
                "unknown",
            }
    assert all(count == 1 for count in told.values())


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(LINES, st.integers(1, 8))
def test_blocks_do_not_show(lines, blocks):
    log = log_of(lines, host="n1", unit=UNIT)
    assert [facts(history) for history in histories(log, blocks=blocks)] == [
        facts(history) for history in histories(log)
    ]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(LINES, min_size=2, max_size=3), st.randoms())
def test_the_order_of_inputs_does_not_show(parts, shuffle):
    logs = [log_of(lines, host="n1", unit=UNIT) for lines in parts]
    for number, log in enumerate(logs):
        log.source.path = f"{number}.log"
    other = list(logs)
    shuffle.shuffle(other)
    assert [facts(history) for history in histories(*logs)] == [
        facts(history) for history in histories(*other)
    ]
