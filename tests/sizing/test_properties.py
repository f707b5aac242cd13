"""The rule against a server that is simulated: what it would really allocate, printed with two decimals."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.build import GIB, launch, pool

from kvforensics.errors import PredictionRefusedError
from kvforensics.launches import Memory
from kvforensics.sizing import predict, reconcile, solve

BEFORE = st.floats(20, 190)
FRACTION = st.floats(0.5, 0.95).map(lambda f: round(f, 3))
CELL = st.integers(10_000, 330_000)
PAGE = st.sampled_from([1, 16, 64, 128])
DRIFT = st.floats(-0.02, 0.02)  # GiB between a printed and a measured figure


def served(before: float, weights: float, fraction: float, cell: int, page: int, drift: float = 0.0):
    """What a server with these numbers allocates and prints; the budget sees `drift` GiB that no line shows."""
    rest = fraction * before - weights + drift
    tokens = int(rest * GIB / cell) // page * page
    made = launch(fraction=fraction, page=page, tokens=max(tokens, 0), context=10**7)
    size = (tokens + page) * cell / GIB
    return replace(
        made,
        memory=Memory(round(before, 2), round(before - weights, 2), None),
        pools=(pool("target", tokens, size),),
    )


@settings(max_examples=60, deadline=None)
@given(BEFORE, FRACTION, FRACTION, CELL, PAGE, DRIFT, DRIFT, st.floats(0.05, 1))
def test_the_interval_holds_what_the_server_would_do(before, f, other, cell, page, d1, d2, share):
    weights = f * before - 1.0 - share * f * before
    assume(f != other)
    assume(other * before - weights > 1.0)
    base = served(before, weights, f, cell, page, d1)
    truth = served(before, weights, other, cell, page, d2).pool_tokens
    assert reconcile(base).closes
    said = predict(base, {"mem_fraction_static": other})
    assert said.low <= truth <= said.high
    assert said.low <= said.tokens <= said.high
    assert said.tokens % page == 0


@settings(max_examples=60, deadline=None)
@given(BEFORE, FRACTION, CELL, PAGE, st.floats(0.05, 1), st.integers(1, 500_000))
def test_the_least_fraction_is_the_least(before, f, cell, page, share, more):
    weights = f * before - 1.0 - share * f * before
    base = replace(served(before, weights, f, cell, page), free_gib=None)
    need = base.pool_tokens + more
    answer = solve(base, need)
    if answer.mem_fraction_static is None:
        assert answer.reason or answer.solutions
        return
    least = answer.mem_fraction_static
    assert 0 < least < 1
    assert round(least * 1000) == round(least * 1000, 9)
    assert predict(base, {"mem_fraction_static": least}).tokens >= need
    below = round(least - 0.001, 3)
    if below > f:
        assert predict(base, {"mem_fraction_static": below}).tokens < need


@settings(max_examples=60, deadline=None)
@given(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(allow_nan=True, allow_infinity=True),
    st.one_of(st.none(), st.floats(), st.integers(), st.text()),
    st.one_of(st.none(), st.integers(-5, 10**30)),
    st.one_of(st.none(), st.floats(), st.integers()),
)
def test_any_figures_never_crash(before, after, fraction, tokens, size):
    made = launch(settings={"mem_fraction_static": fraction, "max_total_tokens": tokens, "page_size": tokens})
    odd = replace(
        made,
        pool_tokens=tokens,
        memory=Memory(before, after, None),
        pools=(replace(made.pools[0], total_gib=size, tokens=tokens),),
    )
    reconcile(odd)
    for asked in ({"mem_fraction_static": 0.9}, {"max_total_tokens": 5}, {"context_length": 9}):
        try:
            predict(odd, asked)
        except PredictionRefusedError as refused:
            assert refused.reason_code  # noqa: PT017 a refusal is an answer, not a failure
    try:
        solve(odd, 100_000)
    except PredictionRefusedError as refused:
        assert refused.reason_code  # noqa: PT017
