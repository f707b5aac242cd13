"""Free memory, the minimum over ranks."""

from tests.launches.log import Log, only

POOL = {"label": "KV Cache", "state": "is allocated", "tokens": 5, "kv_gib": 1.0}


def memory(log: Log):
    found = only(log).launches[0].memory
    return found.before_load_gib, found.after_load_gib, found.after_pool_gib


def test_the_minimum_over_ranks():
    log = Log().write("server_args", values={"a": 1}, form="repr")
    for rank in (0, 1):
        log.write("load_begin", rank=rank, avail_gib=93.36 - 0.08 * rank)
        log.write("load_end", rank=rank, avail_gib=19.72 - 0.08 * rank)
        log.write("kv_pool", rank=rank, **POOL).write("pool_end", rank=rank, avail_gib=11.51 + rank)
    assert memory(log) == (93.28, 19.64, 11.51)


def test_up_to_0_5_13_a_is_after_the_targets_weights():
    log = (
        Log().write("load_begin", avail_gib=94.0).write("load_end", avail_gib=21.37).write("kv_pool", **POOL)
    )
    log.write("pool_end", avail_gib=14.2).write("load_begin", avail_gib=14.1).write(
        "load_end", avail_gib=13.0
    )
    log.write("kv_pool", **POOL).write("pool_end", avail_gib=12.7)
    assert memory(log) == (94.0, 21.37, 12.7)


def test_from_0_5_14_a_is_after_the_drafts_weights():
    log = Log().write("load_begin", avail_gib=94.0).write("load_end", avail_gib=21.37)
    log.write("load_begin", avail_gib=21.3).write("load_end", avail_gib=20.1)
    log.write("kv_pool", **POOL).write("kv_pool", **POOL).write("pool_end", avail_gib=12.7)
    assert memory(log) == (94.0, 20.1, 12.7)


def test_a_start_without_pool_lines():
    log = Log().write("load_begin", avail_gib=94.0).write("load_end", avail_gib=21.37)
    log.write("load_begin", avail_gib=21.3).write("load_end", avail_gib=20.1)
    assert memory(log) == (94.0, 21.37, None)


def test_what_no_line_says_is_unknown():
    log = Log().write("server_args", values={"a": 1}, form="repr").write("load_end", avail_gib=None)
    assert memory(log) == (None, None, None)


def test_the_summarys_figures():
    log = Log().write("server_args", values={"a": 1}, form="repr")
    for rank, free in ((0, 9.87), (1, 9.61)):
        log.write(
            "summary",
            rank=rank,
            pool_tokens=20000,
            context_len=4096,
            max_running_requests=64,
            free_gib=free,
            device="cpu",
        )
    found = only(log).launches[0]
    assert (found.pool_tokens, found.context_len, found.max_running_requests) == (20000, 4096, 64)
    assert (found.free_gib, found.device) == (9.61, "cpu")
