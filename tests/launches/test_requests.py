"""Requests are counted once."""

from kvforensics.events import Ranks
from tests.launches.log import Log, only


def requests(log: Log):
    return only(log).launches[0].requests


def test_what_was_never_printed_is_unknown():
    found = requests(Log().start())
    assert (found.rejected_too_long, found.retractions) == (0, 0)
    assert (found.peak_token_usage, found.peak_running, found.peak_queue) == (None, None, None)


def test_peaks():
    log = Log().start()
    log.write("decode", rank=0, usage=0.21, running=4, queue=0).write(
        "decode", rank=0, usage=0.93, running=12, queue=4
    )
    log.write("prefill", rank=0, usage=0.5, running=3, queue=9, new_tokens=100, cached_tokens=0)
    found = requests(log)
    assert (found.peak_token_usage, found.peak_running, found.peak_queue) == (0.93, 12, 9)


def test_the_peak_of_a_hybrid_is_the_largest_over_its_pools():
    log = Log().start().write("decode", rank=0, full_usage=0.3, swa_usage=0.8, mamba_usage=0.1, running=1)
    assert requests(log).peak_token_usage == 0.8


def test_retractions_count_requests():
    log = Log().start().write("retraction", rank=0, retracted=3).write("retraction", rank=0, retracted=1)
    found = requests(log)
    assert found.retractions == 4
    assert found.first_retraction.line == len(log.lines) - 1
    assert found.first_retraction_at == log.lines[-2][3]


def test_what_several_ranks_print_counts_once_and_dp_groups_add_up():
    log = Log().start()
    for rank in (Ranks(dp=0, tp=0), Ranks(dp=0, tp=1), Ranks(dp=1, tp=4)):
        log.write("retraction", rank=rank, retracted=2)
    assert requests(log).retractions == 4


def test_a_refusal_that_two_layers_print_counts_once():
    log = Log().start()
    log.write(
        "too_long", rank=0, gate="pool_input", layer=None, rid="a", input_tokens=150000, limit_tokens=101128
    )
    log.write(
        "too_long",
        gate="pool_input",
        layer="[http_server] Error: ",
        rid=None,
        input_tokens=150000,
        limit_tokens=101128,
    )
    found = requests(log)
    assert (found.rejected_too_long, found.refused_by_pool, found.refused_by_context) == (1, 1, 0)
    assert found.first_refused_by_pool.line == len(log.lines) - 1
    assert found.first_refused_by_context is None


def test_two_refusals_by_the_context_and_one_by_the_pool():
    log = Log().start()
    for gate in ("context_input", "context_total", "pool_input"):
        log.write("too_long", gate=gate, layer="[http_server] Error: ", input_tokens=5, limit_tokens=4)
    found = requests(log)
    assert (found.rejected_too_long, found.refused_by_pool, found.refused_by_context) == (3, 1, 2)


def test_each_launch_has_its_own():
    log = (
        Log()
        .start()
        .write("retraction", rank=0, retracted=3)
        .start()
        .write("retraction", rank=0, retracted=1)
    )
    assert [launch.requests.retractions for launch in only(log).launches] == [3, 1]
