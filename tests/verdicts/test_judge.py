import pytest
from msgspec.structs import replace
from tests.build import MLA, event, failed, incident, launch, pool

from kvforensics.changes import Change, diff
from kvforensics.sizing import reconcile
from kvforensics.verdicts import judge_pair, reason_codes


def judged(*launches, changes=None):
    """Verdicts of the last pair, by setting."""
    launches = [replace(one, id=f"L{i + 1}") for i, one in enumerate(launches)]
    budgets = {one.id: reconcile(one) for one in launches}
    found = judge_pair(
        launches[:-1], launches[-1], diff(launches[-2], launches[-1]) if changes is None else changes, budgets
    )
    for verdict in found:
        assert verdict.reason_code in reason_codes()
        assert verdict.reason
        assert verdict.attribution in ("sole", "shared", "none")
    return {v.change.setting: v for v in found}


class TestIncident:
    verdict = judged(incident(), incident(context=200000, free=9.61))["context_length"]

    def test_the_verdict(self):
        v = self.verdict
        assert (v.verdict, v.reason_code, v.attribution) == ("no_op_for_pool", "not_a_pool_input", "sole")

    def test_the_effects(self):
        e = self.verdict.effects
        assert (e.pool_tokens.before, e.pool_tokens.after, e.pool_tokens.outcome) == (
            101134,
            101134,
            "unchanged",
        )
        longest = e.longest_prompt_tokens
        assert (longest.before, longest.after, longest.outcome) == (32761, 101127, "moved")
        assert e.max_running_requests.outcome == "unchanged"
        assert (e.free_gib.before, e.free_gib.after, e.free_gib.outcome) == (9.87, 9.61, "moved")

    def test_the_words(self):
        assert "101,134" in self.verdict.reason
        assert "32,761 to 101,127" in self.verdict.reason
        assert "mem_fraction_static 0.926" in self.verdict.advice
        assert "2.8 GiB" in self.verdict.advice

    def test_the_fix_is_effective(self):
        v = judged(incident(context=200000), incident(context=200000, fraction=0.93))["mem_fraction_static"]
        assert (v.verdict, v.reason_code, v.attribution) == ("effective", "moved_pool", "sole")
        assert v.advice is None


class TestNoise:
    def test_a_difference_that_identical_launches_show(self):
        old, new = launch(), launch(context=65536, tokens=launch().pool_tokens - 600)
        v = judged(old, new)["context_length"]
        assert (v.verdict, v.effects.pool_tokens.outcome) == ("no_op_for_pool", "within_noise")

    @pytest.mark.parametrize(("device", "outcome"), [("gpu", "moved"), ("cpu", "within_noise")])
    def test_the_cpu_is_noisier(self, device, outcome):
        t = launch().pool_tokens
        old, new = launch(device=device), launch(device=device, context=65536, tokens=t - 1500)
        assert judged(old, new)["context_length"].effects.pool_tokens.outcome == outcome

    @pytest.mark.parametrize(("share", "outcome"), [(0.99, "within_noise"), (0.989, "moved")])
    def test_one_percent_without_memory_lines(self, share, outcome):
        old = launch(before=None, tokens=100000, pools=())
        new = launch(before=None, tokens=int(100000 * share), pools=(), context=65536)
        assert judged(old, new)["context_length"].effects.pool_tokens.outcome == outcome

    @pytest.mark.parametrize(
        ("free", "outcome"), [(9.87, "unchanged"), (9.77, "within_noise"), (9.76, "moved"), (None, "unknown")]
    )
    def test_free_memory(self, free, outcome):
        v = judged(launch(), launch(context=65536, free=free))["context_length"]
        assert v.effects.free_gib.outcome == outcome

    @pytest.mark.parametrize(("free", "outcome"), [(9.57, "within_noise"), (9.56, "moved")])
    def test_free_memory_on_the_cpu(self, free, outcome):
        v = judged(launch(device="cpu"), launch(device="cpu", context=65536, free=free))["context_length"]
        assert v.effects.free_gib.outcome == outcome

    def test_the_longest_prompt_follows_the_pool_where_the_pool_limits(self):
        t = launch().pool_tokens
        old, new = launch(context=200000), launch(context=300000, tokens=t - 600)
        e = judged(old, new)["context_length"].effects
        assert e.longest_prompt_tokens.outcome == "within_noise"


class TestRealCpuPair:
    """Two real 0.5.11 servers: only the context length was edited, and the free memory drifted."""

    old = launch(
        before=21.63, weights=0.12, fraction=0.12, device="cpu", tokens=79969, context=32768, running=2048,
        free=18.89, pools=(pool("target", 79969, 2.44, "mha"),), settings={"tp_size": 1},
    )  # fmt: skip
    new = launch(
        before=21.33, weights=0.15, fraction=0.12, device="cpu", tokens=79288, context=200000, running=2048,
        free=17.39, pools=(pool("target", 79288, 2.42, "mha"),), settings={"tp_size": 1},
    )  # fmt: skip

    def test_no_op_for_the_pool(self):
        v = judged(self.old, self.new)["context_length"]
        assert (v.verdict, v.effects.pool_tokens.outcome) == ("no_op_for_pool", "within_noise")
        assert v.attribution == "sole"


class TestFreeMemory:
    def test_it_explains_the_pool_and_nobody_gets_the_credit(self):
        v = judged(launch(), launch(before=92.0, context=65536))["context_length"]
        assert v.effects.pool_tokens.outcome == "moved"
        assert (v.verdict, v.attribution) == ("no_op_for_pool", "none")

    def test_an_input_beside_it_cannot_be_told(self):
        old = launch(settings={"quantization": None})
        v = judged(old, launch(before=92.0, settings={"quantization": "fp8"}))["quantization"]
        assert (v.verdict, v.reason_code, v.attribution) == ("confounded", "free_memory_differs", "none")

    def test_not_where_a_cap_sizes_the_pool(self):
        t = launch().pool_tokens
        fallen = launch(before=93.5)
        v = judged(launch(), launch(before=93.5, cap=fallen.pool_tokens))["max_total_tokens"]
        assert t - fallen.pool_tokens > 5000
        assert (v.verdict, v.attribution) == ("effective", "sole")

    def test_a_fraction_raised_against_falling_memory(self):
        v = judged(launch(), launch(before=90.0, fraction=0.87))["mem_fraction_static"]
        assert v.effects.pool_tokens.after < v.effects.pool_tokens.before
        assert (v.verdict, v.reason_code) == ("confounded", "free_memory_differs")

    def test_a_fraction_with_memory_that_helps_is_credited_by_the_rule(self):
        v = judged(launch(), launch(before=94.5, fraction=0.9))["mem_fraction_static"]
        assert (v.verdict, v.attribution) == ("effective", "sole")

    def test_weights_that_changed_are_not_free_memory(self):
        v = judged(launch(), launch(weights=70.0, settings={"log_level": "debug"}))["log_level"]
        assert (v.verdict, v.reason_code, v.attribution) == ("no_op", "not_a_memory_setting", "none")


class TestFraction:
    def test_raised_and_lowered(self):
        assert judged(launch(), launch(fraction=0.9))["mem_fraction_static"].verdict == "effective"
        assert judged(launch(), launch(fraction=0.82))["mem_fraction_static"].verdict == "effective"

    def test_too_small_to_see(self):
        v = judged(launch(), launch(fraction=0.8501))["mem_fraction_static"]
        assert (v.verdict, v.reason_code) == ("no_op", "within_noise")

    def test_masked_by_a_cap(self):
        v = judged(launch(cap=50000), launch(cap=50000, fraction=0.9))["mem_fraction_static"]
        assert (v.verdict, v.reason_code) == ("no_op", "masked_by_max_total_tokens")
        assert "max_total_tokens" in v.advice

    def test_lowered_under_a_cap_is_masked_too(self):
        v = judged(launch(cap=20000), launch(cap=20000, fraction=0.83))["mem_fraction_static"]
        assert (v.verdict, v.reason_code) == ("no_op", "masked_by_max_total_tokens")

    def test_a_remainder_that_the_rule_cannot_give(self):
        v = judged(launch(), launch(fraction=0.9, weights=68.0))["mem_fraction_static"]
        assert (v.verdict, v.reason_code) == ("confounded", "rule_leaves_remainder")

    def test_real_pair_on_the_cpu(self):
        old = launch(
            before=21.59, weights=0.17, fraction=0.06, device="cpu", tokens=35493, free=18.94,
            pools=(pool("target", 35493, 1.08, "mha"),),
        )  # fmt: skip
        new = launch(
            before=21.55, weights=0.18, fraction=0.18, device="cpu", tokens=118659, free=16.33,
            pools=(pool("target", 118659, 3.62, "mha"),),
        )  # fmt: skip
        v = judged(old, new)["mem_fraction_static"]
        assert (v.verdict, v.attribution) == ("effective", "sole")


class TestSeveralInputs:
    def test_two_are_confounded(self):
        new = launch(fraction=0.9, cell=MLA // 2, settings={"kv_cache_dtype": "fp8_e4m3"})
        found = judged(launch(), new)
        for setting in ("mem_fraction_static", "kv_cache_dtype"):
            v = found[setting]
            assert (v.verdict, v.reason_code, v.attribution) == (
                "confounded",
                "several_inputs_changed",
                "shared",
            )

    def test_opposite_signs_are_too(self):
        new = launch(fraction=0.82, cell=MLA // 2, settings={"kv_cache_dtype": "fp8_e4m3"})
        assert {v.verdict for v in judged(launch(), new).values()} == {"confounded"}

    def test_even_where_they_cancel(self):
        old = launch()
        new = launch(
            fraction=0.82, cell=MLA // 2, settings={"kv_cache_dtype": "fp8_e4m3"}, tokens=old.pool_tokens
        )
        assert {v.verdict for v in judged(old, new).values()} == {"confounded"}

    def test_the_rule_separates_a_cap_that_did_not_bind(self):
        old = launch(
            cap=5_000_000, events=(event("cap_above_profile", requested=5_000_000, profiled=111088),)
        )
        new = launch(
            cap=6_000_000,
            fraction=0.9,
            events=(
                event("cap_above_profile", requested=6_000_000, profiled=launch(fraction=0.9).pool_tokens),
            ),
        )
        assert judged(old, new)["mem_fraction_static"].verdict == "effective"

    def test_a_cap_lowered_and_a_fraction_under_it(self):
        found = judged(launch(), launch(cap=50000, fraction=0.9))
        assert found["max_total_tokens"].verdict == "effective"
        assert found["mem_fraction_static"].reason_code == "masked_by_max_total_tokens"

    def test_the_context_took_no_part(self):
        found = judged(launch(), launch(fraction=0.9, context=200000))
        assert found["mem_fraction_static"].verdict == "effective"
        v = found["context_length"]
        assert (v.verdict, v.reason_code, v.attribution) == ("no_op_for_pool", "took_no_part", "none")
        assert "mem_fraction_static" in v.reason

    def test_a_release_is_a_rival(self):
        v = judged(launch(), launch(fraction=0.9, version="0.5.14"))["mem_fraction_static"]
        assert (v.verdict, v.reason_code) == ("confounded", "version_changed")


class TestCaps:
    def test_lowered(self):
        v = judged(launch(), launch(cap=50000, free=11.0))["max_total_tokens"]
        assert (v.verdict, v.attribution) == ("effective", "sole")
        assert "free" in v.reason

    def test_raised_within_memory(self):
        assert judged(launch(cap=50000), launch(cap=90000))["max_total_tokens"].verdict == "effective"

    def test_a_small_step_of_a_binding_cap_is_exact(self):
        v = judged(launch(cap=50000), launch(cap=50100))["max_total_tokens"]
        assert (v.verdict, v.effects.pool_tokens.outcome) == ("effective", "within_noise")

    def test_above_what_memory_holds(self):
        profiled = launch().pool_tokens
        new = launch(cap=900000, events=(event("cap_above_profile", requested=900000, profiled=profiled),))
        v = judged(launch(cap=30000), new)["max_total_tokens"]
        assert (v.verdict, v.reason_code, v.attribution) == ("clamped", "clamped_to_profiled", "sole")
        assert (v.change.before, v.change.after, v.change.requested) == (30000, profiled, 900000)


class TestContext:
    def test_above_the_pool_already(self):
        v = judged(launch(context=150000), launch(context=250000))["context_length"]
        assert (v.verdict, v.reason_code) == ("no_op", "masked_by_pool")

    def test_not_where_the_pool_grew_past_the_old_context(self):
        v = judged(launch(context=120000), launch(context=250000, fraction=0.95))["context_length"]
        assert v.verdict == "no_op_for_pool"

    def test_lowered(self):
        v = judged(launch(), launch(context=16384, free=10.1))["context_length"]
        assert (v.verdict, v.attribution) == ("no_op_for_pool", "sole")

    def test_no_pool_line(self):
        v = judged(launch(), replace(launch(context=65536), pool_tokens=None, pools=()))["context_length"]
        assert (v.verdict, v.reason_code) == ("unproven", "pool_not_logged")


class TestConcurrency:
    def test_moved(self):
        v = judged(launch(), launch(running=128))["max_running_requests"]
        assert (v.verdict, v.reason_code) == ("effective", "moved_max_running_requests")
        assert v.effects.pool_tokens.outcome == "unchanged"

    def test_cut_by_the_request_table(self):
        new = replace(launch(running=8192), max_running_requests=2048)
        v = judged(launch(), new)["max_running_requests"]
        assert (v.verdict, v.change.after, v.change.requested) == ("clamped", 2048, 8192)


class TestInnocents:
    @pytest.mark.parametrize(
        ("setting", "old", "new"),
        [
            ("random_seed", 1, 2),
            ("port", 30000, 30001),
            ("log_level", "info", "debug"),
            ("schedule_policy", "fcfs", "lpm"),
            ("a_fork_s_own_flag", 1, 2),
        ],
    )
    def test_folded(self, setting, old, new):
        v = judged(launch(settings={setting: old}), launch(settings={setting: new}))[setting]
        assert (v.verdict, v.reason_code, v.attribution) == ("no_op", "not_a_memory_setting", "none")

    def test_also_where_the_pool_moved(self):
        old, new = launch(settings={"port": 1}), launch(fraction=0.9, settings={"port": 2})
        assert judged(old, new)["port"].reason_code == "not_a_memory_setting"


class TestChunk:
    def test_explicit_fraction(self):
        v = judged(launch(), launch(settings={"chunked_prefill_size": 4096}))["chunked_prefill_size"]
        assert (v.verdict, v.reason_code) == ("no_op_for_pool", "not_a_pool_input")

    def test_a_fraction_that_the_engine_derives_takes_the_verdict_of_its_cause(self):
        asked = {"chunked_prefill_size": 8192}
        old = launch(fraction=0.806, requested=asked)
        new = launch(
            fraction=0.825,
            settings={"chunked_prefill_size": 4096},
            requested={"chunked_prefill_size": 4096},
        )
        found = judged(old, new)
        assert found["mem_fraction_static"].change.derived is True
        assert found["chunked_prefill_size"].verdict == "effective"
        assert found["mem_fraction_static"].verdict == "effective"
        assert found["mem_fraction_static"].reason_code == "derived_from_another_setting"

    def test_a_fraction_that_the_engine_derived_from_nothing_here_stands_for_itself(self):
        asked = {"model_path": "/m"}
        found = judged(launch(fraction=0.806, requested=asked), launch(fraction=0.825, requested=asked))
        v = found["mem_fraction_static"]
        assert v.change.derived is True
        assert (v.verdict, v.reason_code, v.attribution) == ("effective", "moved_pool", "sole")

    def test_a_fraction_that_may_be_derived_leaves_it_open(self):
        new = launch(fraction=0.875, settings={"chunked_prefill_size": 4096})
        v = judged(launch(fraction=0.856), new)["chunked_prefill_size"]
        assert (v.verdict, v.reason_code) == ("unproven", "fraction_may_be_derived")

    def test_a_typed_fraction_does_not(self):
        new = launch(fraction=0.9, settings={"chunked_prefill_size": 4096})
        assert judged(launch(), new)["chunked_prefill_size"].verdict == "no_op_for_pool"


class TestAiter:
    def test_a_fraction_times_0_85_is_the_engine_s_without_any_command_line(self):
        same = {"settings": {"attention_backend": "aiter"}, "before": 192.0, "weights": 90.0}
        found = judged(
            launch(context=8192, fraction=0.88, **same), launch(context=16384, fraction=0.748, **same)
        )
        assert (found["context_length"].verdict, found["context_length"].reason_code) == (
            "adverse",
            "aiter_cuts_fraction",
        )
        assert found["mem_fraction_static"].reason_code == "derived_from_another_setting"

    def test_another_fraction_leaves_it_open(self):
        same = {"settings": {"attention_backend": "aiter"}, "before": 192.0, "weights": 90.0}
        found = judged(
            launch(context=8192, fraction=0.88, **same), launch(context=16384, fraction=0.8, **same)
        )
        assert {v.verdict for v in found.values()} == {"confounded"}


class TestSpeculation:
    def test_settings_of_one_feature_count_as_one(self):
        new = launch(
            cell=MLA + 3072,
            shown=MLA,
            draft=3072,
            version="0.5.14",
            settings={
                "speculative_algorithm": "EAGLE",
                "speculative_num_steps": 3,
                "speculative_num_draft_tokens": 4,
            },
        )
        old = launch(
            version="0.5.14",
            settings={
                "speculative_algorithm": None, "speculative_num_steps": None, "speculative_num_draft_tokens": None,
            },
        )  # fmt: skip
        found = judged(old, new)
        assert found["speculative_algorithm"].verdict == "effective"
        for setting in ("speculative_num_steps", "speculative_num_draft_tokens"):
            assert found[setting].reason_code == "judged_with_switch"
            assert found[setting].verdict == "effective"
            assert "speculative_algorithm" in found[setting].reason


NOT_ENOUGH = event("not_enough_memory", mem_fraction_static=0.7)


class TestFailedStarts:
    def test_good_failed_good(self):
        bad = failed("L2", NOT_ENOUGH, fraction=0.7)
        v = judged(launch(), bad)["mem_fraction_static"]
        assert (v.verdict, v.reason_code, v.attribution) == ("adverse", "start_failed_for_memory", "sole")
        v = judged(launch(), bad, launch(fraction=0.88))["mem_fraction_static"]
        assert v.verdict == "effective"
        assert v.effects.pool_tokens.baseline == "L1"
        assert v.effects.free_gib.baseline == "L1"

    def test_back_to_what_it_was_cures_it(self):
        v = judged(launch(), failed("L2", NOT_ENOUGH, fraction=0.7), launch())["mem_fraction_static"]
        assert (v.verdict, v.reason_code) == ("effective", "start_recovered")

    def test_without_a_good_launch_only_the_line_can_tell(self):
        v = judged(failed("L1", NOT_ENOUGH, fraction=0.7), launch())["mem_fraction_static"]
        assert (v.verdict, v.reason_code) == ("effective", "start_recovered")
        v = judged(failed("L1", NOT_ENOUGH, fraction=0.7), launch(context=65536, fraction=0.7, weights=60.0))
        assert (v["context_length"].verdict, v["context_length"].reason_code) == (
            "unproven",
            "no_good_launch_before",
        )

    def test_the_right_way_and_not_far_enough(self):
        bad, worse = failed("L2", NOT_ENOUGH, fraction=0.7), failed("L3", NOT_ENOUGH, fraction=0.71)
        v = judged(launch(), bad, worse)["mem_fraction_static"]
        assert (v.verdict, v.reason_code) == ("unproven", "not_enough_to_start")

    def test_two_that_could_each_have_cured_it_share_the_credit(self):
        events = (event("load_end"), event("pool_end"), event("oom_cuda"))
        bad = failed("L2", *events, fraction=0.97, running=256)
        found = judged(launch(), bad)
        assert {(v.verdict, v.attribution) for v in found.values()} == {("adverse", "shared")}
        found = judged(launch(), bad, launch())
        assert {(v.verdict, v.reason_code, v.attribution) for v in found.values()} == {
            ("effective", "start_recovered", "shared")
        }

    def test_a_failed_start_that_had_a_pool_is_measured_itself(self):
        events = (event("load_end"), event("pool_end"), event("oom_cuda"))
        bad = replace(failed("L2", *events, fraction=0.97), pool_tokens=launch(fraction=0.97).pool_tokens)
        v = judged(launch(), bad, launch(fraction=0.9))["mem_fraction_static"]
        assert (v.verdict, v.reason_code) == ("effective", "moved_pool")
        assert v.effects.pool_tokens.baseline is None
        assert v.effects.free_gib.baseline == "L1"

    def test_a_value_back_without_a_trial(self):
        bad = failed(
            "L2", event("context_rejected", asked=300000, derived=262144), context=300000, running=128
        )
        v = judged(launch(), bad, launch())
        assert v["context_length"].reason_code == "start_recovered"
        assert (v["max_running_requests"].verdict, v["max_running_requests"].reason_code) == (
            "unproven",
            "reverted_before_it_ran",
        )

    def test_a_context_that_the_model_refuses(self):
        bad = failed("L2", event("context_rejected", asked=300000, derived=262144), context=300000)
        v = judged(launch(), bad)["context_length"]
        assert (v.verdict, v.reason_code) == ("adverse", "rejected_above_model_limit")
        assert "262,144" in v.advice

    def test_another_cause_leaves_it_unproven(self):
        bad = failed("L2", event("exception", type="ImportError", message="no module"), context=65536)
        v = judged(launch(), bad)["context_length"]
        assert (v.verdict, v.reason_code) == ("unproven", "start_failed_for_another_cause")

    def test_out_of_memory_while_graphs_are_captured(self):
        bad = failed(
            "L2", event("load_end"), event("pool_end"), event("oom_cuda", tried_gib=2.0), fraction=0.95
        )
        v = judged(launch(), bad)["mem_fraction_static"]
        assert (v.verdict, v.reason_code) == ("adverse", "start_failed_for_memory")
        assert "graph capture" in v.reason

    def test_a_feature_edited_together_is_one_suspect(self):
        events = (event("load_end"), event("pool_end"), event("oom_cuda", tried_gib=2.0))
        off = {
            "speculative_algorithm": None,
            "speculative_num_draft_tokens": None,
            "speculative_num_steps": None,
        }
        on = {"speculative_algorithm": "EAGLE", "speculative_num_draft_tokens": 4, "speculative_num_steps": 3}
        found = judged(launch(settings=off), failed("L2", *events, settings=on))
        assert {(v.verdict, v.attribution) for v in found.values()} == {("adverse", "sole")}
        assert found["speculative_num_steps"].reason_code == "judged_with_switch"

    def test_a_derived_fraction_alone_is_accused_alone(self):
        events = (event("load_end"), event("pool_end"), event("oom_cuda", tried_gib=2.0))
        asked = {"model_path": "/m"}
        v = judged(
            launch(fraction=0.806, requested=asked), failed("L2", *events, fraction=0.925, requested=asked)
        )
        v = v["mem_fraction_static"]
        assert v.change.derived is True
        assert (v.verdict, v.attribution) == ("adverse", "sole")

    def test_out_of_memory_while_loading_is_not_the_fraction_s_doing(self):
        bad = failed("L2", event("load_begin"), event("oom_cuda", tried_gib=2.0), fraction=0.95)
        assert judged(launch(), bad)["mem_fraction_static"].verdict == "unproven"

    def test_a_refused_flag(self):
        bad = failed(
            "L2", event("usage_error", message="argument --port: invalid int value"), settings={"port": 5}
        )
        v = judged(launch(settings={"port": 4}), bad)["port"]
        assert (v.verdict, v.reason_code) == ("adverse", "start_refused_setting")

    def test_an_innocent_setting_of_a_failed_start(self):
        bad = failed("L2", NOT_ENOUGH, fraction=0.7, settings={"port": 5})
        assert judged(launch(settings={"port": 4}), bad)["port"].reason_code == "not_a_memory_setting"


class TestOom:
    def test_headroom_lost_and_an_oom_after(self):
        new = launch(fraction=0.95, free=1.0, end="oom", events=(event("ready"), event("oom_cuda")))
        v = judged(launch(), new)["mem_fraction_static"]
        assert (v.verdict, v.reason_code, v.attribution) == ("adverse", "headroom_lost_then_oom", "sole")

    def test_two_that_took_it_share_the_blame(self):
        new = launch(
            running=512, free=8.0, end="oom", settings={"enable_torch_compile": True},
            events=(event("ready"), event("oom_cuda")),
        )  # fmt: skip
        found = judged(launch(settings={"enable_torch_compile": False}), new)
        assert {(v.verdict, v.attribution) for v in found.values()} == {("adverse", "shared")}

    def test_the_fraction_is_blamed_before_others(self):
        new = launch(
            fraction=0.95, running=512, free=1.0, end="oom", events=(event("ready"), event("oom_cuda"))
        )
        found = judged(launch(), new)
        assert (found["mem_fraction_static"].verdict, found["mem_fraction_static"].attribution) == (
            "adverse",
            "sole",
        )
        assert found["max_running_requests"].verdict == "effective"

    def test_not_where_headroom_grew(self):
        new = launch(fraction=0.8, free=12.0, end="oom", events=(event("ready"), event("oom_cuda")))
        assert judged(launch(), new)["mem_fraction_static"].verdict == "effective"

    def test_the_kernel_s_killer_is_about_host_memory(self):
        new = launch(fraction=0.95, free=1.0, end="oom", events=(event("ready"), event("kernel_oom_kill")))
        assert judged(launch(), new)["mem_fraction_static"].verdict == "effective"


class TestOverridden:
    def test_the_asked_value_never_applied(self):
        new = launch(requested={"mem_fraction_static": 0.9}, settings={"mem_fraction_static": 0.85})
        v = judged(launch(), new)["mem_fraction_static"]
        assert (v.verdict, v.change.requested) == ("overridden", 0.9)

    def test_a_setting_that_the_engine_never_fills(self):
        new = launch(requested={"context_length": 65536}, context=32768)
        v = judged(launch(), new)["context_length"]
        assert (v.verdict, v.reason_code) == ("overridden", "overridden_by_later_flag")

    def test_a_value_that_the_engine_fills_by_itself(self):
        old = launch(settings={"hicache_ratio": 2.0, "enable_hierarchical_cache": True, "hicache_size": 0})
        new = replace(old, config=replace(old.config, requested={"hicache_ratio": 4.0}))
        v = judged(old, new)["hicache_ratio"]
        assert (v.verdict, v.reason_code, v.change.requested) == ("overridden", "overridden_by_engine", 4.0)

    def test_an_old_flag_left_before_the_new_one_is_no_loss(self):
        new = launch(context=65536, requested={"context_length": 32768})
        new = replace(new, config=replace(new.config, given_twice=frozenset({"context_length"})))
        v = judged(launch(), new)["context_length"]
        assert (v.verdict, v.reason_code) == ("no_op_for_pool", "not_a_pool_input")

    def test_a_value_given_once_and_replaced_never_applied(self):
        new = launch(page=64, requested={"page_size": 1})
        v = judged(launch(), new)["page_size"]
        assert (v.verdict, v.reason_code) == ("overridden", "overridden_by_engine")

    def test_a_new_flag_before_the_old_one_is_lost(self):
        new = launch(requested={"context_length": 200000})
        v = judged(launch(), new)["context_length"]
        assert (v.verdict, v.change.requested, v.change.after) == ("overridden", 200000, 32768)

    def test_a_context_that_the_engine_reports_shorter(self):
        new = replace(launch(context=200000), context_len=131072)
        v = judged(launch(), new)["context_length"]
        assert (v.verdict, v.reason_code) == ("clamped", "clamped_by_model_limit")
        assert (v.change.before, v.change.after, v.change.requested) == (32768, 131072, 200000)


def test_no_changes_no_verdicts():
    assert judge_pair([launch()], launch("L2"), [], {}) == []


def test_hostile_values_crash_nothing():
    odd = [float("nan"), float("inf"), 10**400, "x" * 10000, [1], {"a": 1}, True, b"x", -1, "٣"]
    old, new = launch(), launch("L2")
    budgets = {"L1": reconcile(old), "L2": reconcile(new)}
    settings = ("mem_fraction_static", "max_total_tokens", "context_length", "tp_size", "kv_cache_dtype", "x")
    for setting in settings:
        for before in odd:
            for after in odd:
                changes = [Change("L1", "L2", setting, before, after, requested=after)]
                assert len(judge_pair([old], new, changes, budgets)) == 1


class TestBackend:
    """A setting whose rule moves the pool only sometimes."""

    def test_no_move_at_all(self):
        old = launch(settings={"attention_backend": "fa3"})
        v = judged(old, launch(settings={"attention_backend": "triton"}))["attention_backend"]
        assert (v.verdict, v.reason_code) == ("no_op", "no_effect_seen")

    def test_a_move_that_identical_launches_show_too(self):
        old = launch(settings={"attention_backend": "fa3"})
        new = launch(settings={"attention_backend": "triton"}, tokens=old.pool_tokens - 300)
        v = judged(old, new)["attention_backend"]
        assert (v.verdict, v.reason_code) == ("no_op", "within_noise")

    def test_a_move_that_nothing_else_explains(self):
        old = launch(settings={"attention_backend": "fa3"})
        new = launch(settings={"attention_backend": "triton"}, tokens=old.pool_tokens - 9000)
        v = judged(old, new)["attention_backend"]
        assert (v.verdict, v.attribution) == ("effective", "sole")


class TestHeadroom:
    def test_moved_by_a_setting_of_its_own(self):
        old, new = launch(settings={"enable_torch_compile": False}), launch(free=9.0)
        new = replace(
            new, config=replace(new.config, values={**new.config.values, "enable_torch_compile": True})
        )
        v = judged(old, new)["enable_torch_compile"]
        assert (v.verdict, v.reason_code, v.attribution) == ("effective", "moved_headroom", "sole")

    def test_a_pool_that_moved_takes_the_memory_itself(self):
        old = launch(settings={"enable_torch_compile": False})
        new = launch(settings={"enable_torch_compile": True}, fraction=0.9, free=5.0)
        v = judged(old, new)["enable_torch_compile"]
        assert (v.verdict, v.reason_code) == ("no_op", "nothing_moved")

    def test_the_other_way_than_the_rule_is_no_effect(self):
        old = launch(settings={"enable_torch_compile": False})
        v = judged(old, launch(settings={"enable_torch_compile": True}, free=11.0))["enable_torch_compile"]
        assert (v.verdict, v.reason_code) == ("no_op", "nothing_moved")

    def test_two_that_could_each_have_taken_it(self):
        old = launch(settings={"enable_torch_compile": False}, running=64)
        new = launch(settings={"enable_torch_compile": True}, running=128, free=9.0)
        found = judged(old, new)
        v = found["enable_torch_compile"]
        assert (v.verdict, v.reason_code, v.attribution) == ("confounded", "headroom_shared", "shared")
        assert found["max_running_requests"].verdict == "effective"

    def test_nothing_logged_of_it(self):
        old = launch(settings={"enable_torch_compile": False}, free=None)
        v = judged(old, launch(settings={"enable_torch_compile": True}, free=None))["enable_torch_compile"]
        assert (v.verdict, v.reason_code) == ("unproven", "figure_not_logged")
