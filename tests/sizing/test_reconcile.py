import pytest
from msgspec.structs import replace
from tests.build import MLA, event, incident, launch, pool

from kvforensics.launches import Launch, Memory
from kvforensics.sizing import WHY_NOT, reconcile


class TestIncident:
    def test_every_figure_of_the_contracts_example(self):
        budget = reconcile(incident())
        assert incident().pool_tokens == 101134
        assert budget.rest_gib == pytest.approx(7.27, abs=1e-4)
        assert budget.pools_gib == pytest.approx(6.90, abs=1e-4)
        assert budget.closure_gib == pytest.approx(-0.37, abs=1e-4)
        assert budget.closes is False
        assert budget.why_not == "draft_priced_as_target"
        assert budget.predicted_tokens == 106559
        assert budget.residual_percent == 5.4
        assert budget.error_percent == 0.4
        assert budget.binding == "memory"
        assert budget.bytes_per_token == pytest.approx(77184, rel=1e-4)

    def test_a_fork_of_the_algorithm_is_judged_by_its_arithmetic(self):
        assert reconcile(incident(settings={"speculative_algorithm": "DDTREE"})).why_not == (
            "draft_priced_as_target"
        )

    def test_the_rule_is_not_used_outside_its_releases(self):
        assert reconcile(incident(version="0.5.18")).why_not == "unknown"
        assert reconcile(incident(version=("0.5.9", "0.5.23"))).why_not == "unknown"

    def test_a_gap_that_no_layer_count_makes_stays_unknown(self):
        budget = reconcile(incident(weights=70.0, tokens=101134))
        assert budget.why_not == "draft_priced_as_target"  # 2.6 of 6.6 GiB: 25 draft layers could do it
        budget = reconcile(incident(weights=65.0, tokens=101134))
        assert (budget.why_not, budget.binding, budget.bytes_per_token) == ("unknown", "unknown", None)


class TestClosing:
    def test_a_plain_budget_closes(self):
        budget = reconcile(launch())
        assert budget.closes is True
        assert budget.why_not is None
        assert budget.binding == "memory"
        assert budget.bytes_per_token == pytest.approx(MLA, rel=0.001)
        assert abs(budget.residual_percent) <= budget.error_percent

    @pytest.mark.parametrize(("gap", "closes"), [(0.1, True), (-0.1, True), (0.11, False), (-0.11, False)])
    def test_the_limit_is_a_tenth_of_a_gib(self, gap, closes):
        made = launch()
        made = replace(made, pools=(pool("target", made.pool_tokens, 7.27 + gap),))
        assert reconcile(made).closes is closes

    def test_pages_floor_the_prediction(self):
        budget = reconcile(launch(page=64))
        assert budget.predicted_tokens % 64 == 0
        assert budget.closes is True

    def test_a_multimodal_reservation_leaves_the_budget_first(self):
        made = launch(version="0.5.20", weights=74.63, events=(event("mm_reserved", reserved_gib=1.5),))
        assert reconcile(made).rest_gib == pytest.approx(0.85 * 94 - 74.63 - 1.5, abs=1e-4)

    def test_full_and_sliding_window_pools_share_the_budget(self):
        made = launch(cell=82691, before=93.6, weights=60.0)
        t = made.pool_tokens
        full, swa = pool("full", t, t * 50000 / 2**30), pool("swa", int(t * 0.8), t * 32691 / 2**30)
        budget = reconcile(replace(made, pools=(full, swa)))
        assert budget.closes is True
        assert budget.bytes_per_token == pytest.approx(82691, rel=0.001)
        assert budget.predicted_tokens == pytest.approx(t, rel=0.005)

    def test_a_state_pool_has_no_prediction(self):
        made = launch(before=94.0, weights=40.52)
        made = replace(
            made, pool_tokens=316000, pools=(pool("target", 316000, 20.74), pool("mamba", 300, 18.68))
        )
        budget = reconcile(made)
        assert (budget.closes, budget.predicted_tokens, budget.residual_percent) == (True, None, None)
        paid = (0.85 * 94.0 - 40.52 - 18.68) * 2**30 / 316000  # what is left for tokens after the state slots
        assert budget.bytes_per_token == pytest.approx(paid, rel=1e-4)

    def test_host_memory_is_no_part_of_it(self):
        made = launch()
        budget = reconcile(replace(made, pools=(*made.pools, pool("host", None, 100.0, "other"))))
        assert budget.closes is True


class TestCaps:
    def test_a_cap_that_binds(self):
        budget = reconcile(launch(cap=50000))
        assert (budget.binding, budget.why_not, budget.closes) == ("max_total_tokens", "cap_binds", False)
        assert (budget.bytes_per_token, budget.predicted_tokens, budget.residual_percent) == (
            None,
            None,
            None,
        )

    def test_a_cap_above_the_profile_does_not(self):
        made = launch(cap=900000, events=(event("cap_above_profile", requested=900000, profiled=111088),))
        assert reconcile(made).binding == "memory"

    def test_an_effective_value_equal_to_the_pool_is_no_cap_where_the_line_says_so(self):
        t = launch().pool_tokens
        made = launch(cap=t, events=(event("cap_above_profile", requested=900000, profiled=t),))
        assert reconcile(made).binding == "memory"

    def test_a_cap_is_floored_to_a_page(self):
        assert reconcile(launch(cap=50010, page=64)).binding == "max_total_tokens"

    def test_the_smallest_stage_of_a_pipeline(self):
        made = launch(settings={"pp_size": 2}, tokens=80000)
        assert (reconcile(made).binding, reconcile(made).why_not) == ("pp_min", "pp_minimum")
        assert reconcile(made).bytes_per_token is None


class TestWhyNot:
    def test_eagle_drafts_stand_outside_up_to_0_5_13(self):
        made = launch(draft=3072, settings={"speculative_algorithm": "EAGLE"}, version="0.5.9")
        budget = reconcile(made)
        assert (budget.why_not, budget.binding) == ("draft_pool_unbudgeted", "memory")
        assert budget.closure_gib > 0.1
        assert budget.predicted_tokens < made.pool_tokens

    def test_and_inside_from_0_5_14(self):
        made = launch(
            cell=MLA + 3072,
            shown=MLA,
            draft=3072,
            settings={"speculative_algorithm": "EAGLE"},
            version="0.5.14",
        )
        assert reconcile(made).closes is True
        wrong = launch(draft=3072, settings={"speculative_algorithm": "EAGLE"}, version="0.5.14")
        assert reconcile(wrong).why_not == "unknown"

    def test_slots_for_drafts_up_to_0_5_6(self):
        settings = {
            "speculative_algorithm": "EAGLE",
            "speculative_num_steps": 3,
            "speculative_eagle_topk": 1,
            "speculative_num_draft_tokens": 4,
        }
        profiled = launch().pool_tokens
        addend = 384 * 7 + 100
        made = launch(
            version="0.5.4", settings=settings, running=384, tokens=profiled + addend, shown=MLA, draft=1152
        )
        assert reconcile(made).why_not == "eagle_slots_added"

    @pytest.mark.parametrize("lacking", ["speculative_num_steps", "speculative_eagle_topk", "running"])
    def test_slots_are_not_guessed(self, lacking):
        settings = {
            "speculative_algorithm": "EAGLE",
            "speculative_num_steps": 3,
            "speculative_eagle_topk": 1,
            "speculative_num_draft_tokens": 4,
        }
        running = None if lacking == "running" else 384
        settings.pop(lacking, None)
        tokens = launch().pool_tokens + 384 * 7 + 100
        made = launch(version="0.5.4", settings=settings, running=running, tokens=tokens, shown=MLA)
        assert reconcile(made).why_not == "unknown"

    def test_dsa_fp8_is_stored_wider_than_budgeted(self):
        settings = {"kv_cache_dtype": "fp8_e4m3", "nsa_prefill_backend": "flashmla_sparse"}
        made = launch(cell=43188, shown=48068, settings=settings)
        assert reconcile(made).why_not == "dsa_fp8_layout"
        assert reconcile(launch(cell=43188, shown=48068, settings=settings, version="0.5.17")).why_not == (
            "unknown"
        )

    def test_a_fraction_that_the_engine_multiplied_in_silence(self):
        shown = launch(version="0.5.1", fraction=0.8, before=94.0, weights=52.0, context=32768)
        silent = launch(version="0.5.1", fraction=0.8 * 0.85, before=94.0, weights=52.0, context=32768)
        made = replace(silent, config=shown.config)
        budget = reconcile(made)
        assert (budget.why_not, budget.closes) == ("fraction_scaled", False)
        assert reconcile(replace(made, context_len=8192)).why_not == "unknown"

    def test_an_announced_fraction_is_the_one_that_applied(self):
        made = launch(
            version="0.4.6",
            fraction=0.855,
            settings={"mem_fraction_static": 0.95},
            events=(event("adjust__mem_fraction_static", value=0.855, old=None),),
        )
        assert reconcile(made).closes is True

    def test_a_draft_line_alone_cannot_be_the_whole(self):
        made = incident(pools=(pool("draft", 101134, 0.28, "mha"),))
        assert reconcile(made).why_not == "pool_lines_missing"
        made = incident(pools=(pool("target", 101134, 0.28, "mha"),))
        assert reconcile(made).why_not == "pool_lines_missing"

    def test_adapters_and_late_quantisation(self):
        made = launch(tokens=80000, settings={"enable_lora": True})
        assert reconcile(made).why_not == "adapters_after_load"
        made = launch(tokens=140000, settings={"torchao_config": "int4wo-128"})
        assert reconcile(made).why_not == "adapters_after_load"

    def test_post_capture_sizing_reads_another_figure(self):
        made = launch(tokens=80000, version="0.5.20", events=(event("kv_pool", state="Post-capture"),))
        assert reconcile(made).why_not == "sized_after_capture"

    def test_the_list_is_closed_and_documented(self):
        assert all(text for text in WHY_NOT.values())
        assert {"draft_priced_as_target", "unknown"} <= set(WHY_NOT)


class TestUnknown:
    def test_an_empty_launch(self):
        budget = reconcile(Launch("L1", config=launch().config))
        assert (budget.rest_gib, budget.closes, budget.binding) == (None, None, "unknown")

    def test_no_pool_lines(self):
        budget = reconcile(replace(launch(), pools=()))
        assert (budget.pools_gib, budget.closes, budget.why_not) == (None, None, None)
        assert (budget.binding, budget.predicted_tokens) == ("memory", None)

    def test_one_pool_without_a_size_leaves_the_sum_unknown(self):
        made = launch()
        assert reconcile(replace(made, pools=(*made.pools, pool("draft", 5, None)))).pools_gib is None

    @pytest.mark.parametrize("value", ["0.85", None, True, float("nan"), float("inf"), -1, 10**400, 2.5])
    def test_a_fraction_that_is_no_fraction(self, value):
        made = launch(settings={"mem_fraction_static": value})
        assert reconcile(made).rest_gib is None

    @pytest.mark.parametrize("size", [1e308, float("inf"), float("nan"), -5.0])
    def test_memory_that_no_machine_has(self, size):
        made = launch()
        hostile = replace(
            made, memory=Memory(size, size, None), pools=(replace(made.pools[0], total_gib=size),)
        )
        budget = reconcile(hostile)
        assert (budget.rest_gib, budget.pools_gib) == (None, None)

    def test_tiny_pools_that_print_zero(self):
        made = launch(weights=0.0, cap=20000, pools=(pool("target", 20000, 0.0, "mha"),), kind="mha")
        budget = reconcile(made)
        assert (budget.binding, budget.predicted_tokens, budget.error_percent) == (
            "max_total_tokens",
            None,
            None,
        )
