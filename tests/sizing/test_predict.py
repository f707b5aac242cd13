import pytest
from msgspec.structs import replace
from tests.build import GIB, event, incident, launch, pool

from kvforensics.errors import PredictionRefusedError, UsageError
from kvforensics.sizing import REFUSALS, predict


def refused(made, settings) -> str:
    with pytest.raises(PredictionRefusedError) as error:
        predict(made, settings)
    assert error.value.reason_code in REFUSALS
    assert error.value.message
    return error.value.reason_code


class TestIncident:
    l2 = incident("L2", context=200000, free=9.61)

    @pytest.mark.parametrize(
        ("fraction", "tokens", "free"),
        [(0.88, 140364, 6.93), (0.90, 166517, 5.15), (0.92, 192671, 3.36), (0.93, 205748, 2.47)],
    )
    def test_the_table_of_the_incident(self, fraction, tokens, free):
        said = predict(self.l2, {"mem_fraction_static": fraction})
        assert said.tokens == pytest.approx(tokens, abs=5)
        assert said.free_gib == pytest.approx(free, abs=0.015)
        assert said.low < said.tokens < said.high
        assert said.longest_prompt_tokens == min(200000, said.tokens) - 7
        assert said.max_running_requests == 64

    def test_the_interval_is_about_one_percent(self):
        said = predict(self.l2, {"mem_fraction_static": 0.92})
        assert 700 < said.high - said.tokens < 1900
        assert said.high - said.tokens == said.tokens - said.low

    def test_real_pair_of_the_same_rule(self):
        # Devstral tp2 f .90 -> .92 gave 202,093 -> 214,107 with 22.91 GiB free before loading
        made = launch(
            before=22.91, weights=22.91 * 0.9 - 202093 * 40960 / GIB, fraction=0.9, cell=40960, kind="mha"
        )
        said = predict(made, {"mem_fraction_static": 0.92})
        assert said.tokens == pytest.approx(214107, rel=0.001)
        assert said.low <= 214107 <= said.high

    def test_a_lower_fraction_frees_memory(self):
        said = predict(self.l2, {"mem_fraction_static": 0.8})
        assert said.tokens < 101134
        assert said.free_gib > 9.61

    def test_more_than_is_free_is_said(self):
        said = predict(self.l2, {"mem_fraction_static": 0.99})
        assert said.free_gib < 0
        assert any("run out" in text for text in said.assumptions)

    def test_on_the_cpu_the_interval_is_wider(self):
        gpu = predict(self.l2, {"mem_fraction_static": 0.92})
        cpu = predict(replace(self.l2, device="cpu"), {"mem_fraction_static": 0.92})
        assert cpu.high - cpu.low > 2 * (gpu.high - gpu.low)

    def test_the_cpu_is_known_by_the_setting_too(self):
        gpu = predict(self.l2, {"mem_fraction_static": 0.92})
        values = {**self.l2.config.values, "device": "cpu"}
        quiet = replace(self.l2, device=None, config=replace(self.l2.config, values=values))
        assert predict(quiet, {"mem_fraction_static": 0.92}).high > gpu.high + 1000
        values = {**self.l2.config.values, "device": "cuda"}
        quiet = replace(self.l2, device=None, config=replace(self.l2.config, values=values))
        assert predict(quiet, {"mem_fraction_static": 0.92}).high == gpu.high


class TestOtherSettings:
    def test_a_context_moves_admission_only(self):
        said = predict(incident(), {"context_length": 200000})
        assert (said.tokens, said.low, said.high) == (101134, 101134, 101134)
        assert said.longest_prompt_tokens == 101127
        assert said.free_gib == 9.87

    def test_a_context_that_would_move_the_pool_is_refused(self):
        made = launch(settings={"attention_backend": "aiter"}, context=8192)
        assert refused(made, {"context_length": 16384}) == "context_moves_pool"
        assert predict(made, {"context_length": 4096}).longest_prompt_tokens == 4089
        made = launch(version="0.5.6", events=(event("load_end", model_type="Llama4ForCausalLM"),))
        assert refused(made, {"context_length": 16384}) == "context_moves_pool"

    def test_a_cap_below_the_pool_is_exact(self):
        said = predict(launch(page=64), {"max_total_tokens": 50010})
        assert (said.tokens, said.low, said.high) == (49984, 49984, 49984)

    def test_a_cap_above_the_pool_changes_nothing(self):
        made = launch()
        assert predict(made, {"max_total_tokens": 5_000_000}).tokens == made.pool_tokens

    def test_a_cap_limits_what_the_fraction_gives(self):
        said = predict(launch(), {"mem_fraction_static": 0.95, "max_total_tokens": 150000})
        assert said.tokens == 150000

    def test_the_fraction_under_a_binding_cap_is_masked(self):
        said = predict(launch(cap=50000), {"mem_fraction_static": 0.9})
        assert (said.tokens, said.low, said.high) == (50000, 50000, 50000)
        assert any("max_total_tokens" in text and "binds" in text for text in said.assumptions)

    def test_a_cap_lifted_within_what_memory_holds(self):
        assert predict(launch(cap=50000), {"max_total_tokens": 90000}).tokens == 90000

    def test_a_pool_that_prints_zero_still_tells_what_memory_surely_holds(self):
        tiny = launch(
            before=20.0,
            weights=0.0,
            fraction=0.85,
            cap=3000,
            kind="mha",
            pools=(pool("target", 3000, 0.0, "mha"),),
        )
        said = predict(tiny, {"max_total_tokens": 4096})
        assert (said.tokens, said.low, said.high) == (4096, 4096, 4096)
        assert refused(tiny, {"max_total_tokens": None}) == "cap_hides_profile"

    def test_a_cap_removed_gives_what_memory_holds(self):
        free = launch()
        said = predict(launch(cap=50000), {"max_total_tokens": None})
        assert said.low <= free.pool_tokens <= said.high

    def test_a_cap_that_hides_a_draft_model_is_refused(self):
        made = incident(cap=50000)
        assert refused(made, {"max_total_tokens": None}) == "cap_hides_profile"

    def test_running_requests_follow_the_clamp_of_the_release(self):
        made = launch(running=2048, settings={"max_running_requests": None}, context=200000)
        assert predict(made, {"context_length": 4096}).max_running_requests == 4096
        made = launch(
            version="0.5.14", running=50000, tokens=101134, settings={"max_running_requests": 50000}
        )
        assert predict(made, {"max_total_tokens": 40000}).max_running_requests == 20000


class TestRefusals:
    fraction = {"mem_fraction_static": 0.92}  # noqa: RUF012

    def test_a_tiny_budget(self):
        assert refused(incident(weights=79.6), self.fraction) == "budget_too_small"

    def test_an_unexplained_budget(self):
        assert refused(launch(tokens=80000), self.fraction) == "budget_unexplained"

    def test_an_unknown_release_where_it_matters(self):
        assert refused(incident(version=(None, None)), self.fraction) == "version_unknown"
        assert predict(launch(version=(None, None)), self.fraction).tokens > 0

    def test_no_memory_lines(self):
        assert refused(launch(before=None, tokens=101134), self.fraction) == "memory_lines_missing"

    def test_no_pool_lines(self):
        assert refused(replace(launch(), pools=()), self.fraction) == "pool_lines_missing"

    def test_no_fraction(self):
        assert refused(launch(settings={"mem_fraction_static": None}), self.fraction) == "fraction_unknown"

    def test_no_pool(self):
        assert refused(replace(launch(), pool_tokens=None), self.fraction) == "no_pool"

    def test_a_state_pool(self):
        made = launch()
        assert (
            refused(replace(made, pools=(*made.pools, pool("mamba", 9, 1.0))), self.fraction) == "state_pool"
        )

    def test_a_sliding_window_pool_sized_from_requests(self):
        made = launch(version="0.5.14", settings={"disable_radix_cache": True})
        made = replace(made, pools=(replace(made.pools[0], role="full"), pool("swa", 9000, 0.05)))
        assert refused(made, self.fraction) == "swa_cap_mode"
        radix = replace(made, config=launch().config)
        assert predict(radix, self.fraction).tokens > made.pool_tokens
        values = {**made.config.values, "max_running_requests": None}
        by_ratio = replace(made, config=replace(made.config, values=values))
        assert predict(by_ratio, self.fraction).tokens > made.pool_tokens
        older = replace(made, version=launch(version="0.5.13").version)
        assert predict(older, self.fraction).tokens > made.pool_tokens

    def test_pools_of_another_kind(self):
        assert refused(launch(events=(event("dsv4_sizing"),)), self.fraction) == "special_pool"
        assert refused(launch(settings={"dcp_size": 2}), self.fraction) == "special_pool"

    def test_a_start_that_would_fail(self):
        assert refused(launch(), {"mem_fraction_static": 0.775}) == "start_would_fail"

    def test_other_settings(self):
        assert refused(launch(), {"kv_cache_dtype": "fp8_e4m3"}) == "unsupported_setting"

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("mem_fraction_static", 1.5),
            ("mem_fraction_static", 0),
            ("mem_fraction_static", "x"),
            ("mem_fraction_static", None),
            ("mem_fraction_static", True),
            ("context_length", 0),
            ("context_length", 1.5),
            ("max_total_tokens", -5),
        ],
    )
    def test_values_that_no_server_takes(self, name, value):
        with pytest.raises(UsageError):
            predict(launch(), {name: value})

    def test_eagle_slots_cost_the_budget_nothing(self):
        settings = {
            "speculative_algorithm": "EAGLE",
            "speculative_num_steps": 3,
            "speculative_eagle_topk": 1,
            "speculative_num_draft_tokens": 4,
        }
        profiled, addend = launch().pool_tokens, 384 * 7 + 100
        made = launch(version="0.5.4", settings=settings, running=384, tokens=profiled + addend, draft=1152)
        said = predict(made, self.fraction)
        truth = launch(fraction=0.92).pool_tokens + addend
        assert said.tokens == pytest.approx(truth, rel=1e-3)
