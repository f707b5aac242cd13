from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.build import MLA, failed, launch

from kvforensics.launches import Memory
from kvforensics.sizing import reconcile
from kvforensics.verdicts.effects import baseline, effects, kept, noise

FIGURES = st.builds(
    lambda tokens, running, free, before, end: replace(
        launch(tokens=tokens, running=running, free=free, end=end),
        pool_tokens=tokens,
        memory=Memory(before, before),
    ),
    st.none() | st.integers(1, 10**6),
    st.none() | st.integers(1, 100),
    st.none() | st.floats(0, 90),
    st.none() | st.floats(1, 90),
    st.sampled_from(["failed_start", "stopped"]),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(FIGURES, min_size=1, max_size=8), FIGURES)
def test_a_handful_of_launches_gives_the_same_effects(earlier, newer):
    earlier = [replace(one, id=f"L{i + 1}") for i, one in enumerate(earlier)]
    few: tuple = ()
    for one in earlier:
        few = kept((*few, one))
    assert len(few) <= 6
    budgets = {one.id: reconcile(one) for one in earlier}
    assert effects(newer, few, budgets) == effects(newer, earlier, budgets)


def test_noise_is_printing_error_a_page_and_drift():
    old, new = launch(page=64), launch("L2", page=64)
    budgets = {one.id: reconcile(one) for one in (old, new)}
    expected = (0.05 + 0.005 + 0.005 * 0.15) * 2**30 / budgets["L1"].bytes_per_token + 64
    assert noise(old, new, budgets).tokens == expected
    assert noise(old, new, budgets).free_gib == 0.1


def test_noise_under_a_cap_takes_the_bytes_of_the_pool_s_line():
    old, new = launch(cap=50000), launch("L2", cap=50000)
    budgets = {one.id: reconcile(one) for one in (old, new)}
    assert abs(noise(old, new, budgets).cell - MLA) < MLA * 0.01


def test_the_baseline_is_the_last_launch_unless_it_failed():
    good, bad = launch(), failed("L2")
    dark = replace(launch("L3"), pool_tokens=None)
    assert baseline([good, bad], "pool_tokens") is good
    assert baseline([good, dark], "pool_tokens") is dark  # nothing is measured past a launch that ran unseen
    assert baseline([bad], "pool_tokens") is bad
    assert baseline([], "pool_tokens") is None
