"""What counts as a change, sentence by sentence of the contract's small print."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from kvforensics.changes import Change, diff
from kvforensics.events import Event
from kvforensics.knowledge import default, fields, releases
from kvforensics.launches import Config, Launch, VersionRange
from kvforensics.records import Place

SAMPLE = {"0.5.11": {"mem_fraction_static": 0.85, "context_length": 32768, "tp_size": 8, "random_seed": 7}}


def whole(version: str, **values: Any) -> dict[str, Any]:
    """Every setting of a release at its default, then the values given."""
    known = {name: default(name, version) for name in fields(version)}
    known["model_path"] = "/models/k"
    return {**dict(sorted(known.items())), **values}


def event(kind: str, **values: Any) -> Event:
    return Event(kind, values, source=0, line=1, origin=0)


def launch(number: int = 1, version: str = "0.5.11", *, part: bool = False, **kwargs: Any) -> Launch:
    """A launch of `version`; `config` holds settings put over the defaults, `part` keeps only those."""
    put = kwargs.pop("config", {})
    source = kwargs.pop("source", "server_args")
    settings = put if part else whole(version, **put)
    return Launch(
        id=f"L{number}",
        config=Config(
            settings,
            source,
            truncated=kwargs.pop("truncated", False),
            requested=kwargs.pop("requested", {}),
            place=Place("log", number * 10),
        ),
        version=VersionRange(version, version, "server_args fields"),
        **kwargs,
    )


def names(changes: list[Change]) -> list[str]:
    return [change.setting for change in changes]


def one(changes: list[Change], setting: str) -> Change:
    found = [change for change in changes if change.setting == setting]
    assert len(found) == 1, changes
    return found[0]


class TestEffectiveValues:
    def test_the_incident(self):
        older = launch(1, config={"context_length": 32768})
        newer = launch(2, config={"context_length": 200000}, context_len=200000)
        assert diff(older, newer) == [
            Change("L1", "L2", "context_length", 32768, 200000, evidence=(Place("log", 20), Place("log", 10)))
        ]

    def test_same_settings_no_changes(self):
        assert diff(launch(1), launch(2)) == []

    @pytest.mark.parametrize(
        ("setting", "before", "after"),
        [
            ("watchdog_timeout", 300, 300.0),
            ("cuda_graph_bs", [1, 2, 4], [4, 2, 1]),
            ("cuda_graph_bs", [1, 2, 4], (1, 2, 4)),
            ("lora_target_modules", ["q_proj", "k_proj"], ["k_proj", "q_proj"]),
            ("kv_cache_dtype", "bf16", "bfloat16"),
            ("speculative_algorithm", "NEXTN", "EAGLE"),
            ("custom_sigquit_handler", "<function f at 0x7f01>", "<function f at 0x7f99>"),
            ("json_model_override_args", '{"a": 1, "b": 2}', '{"b": 2, "a": 1}'),
            ("dtype", "half", "float16"),
            ("moe_a2a_backend", None, "none"),
        ],
    )
    def test_spellings_of_one_value(self, setting, before, after):
        assert diff(launch(1, config={setting: before}), launch(2, config={setting: after})) == []

    @pytest.mark.parametrize(
        ("setting", "before", "after"),
        [
            ("mem_fraction_static", 0.85, 0.851),
            ("disable_radix_cache", False, True),
            ("kv_cache_dtype", "auto", "fp8_e4m3"),
            ("page_size", 1, 64),
            ("page_size", 1, True),
            ("mm_process_config", {"a": 1}, {"a": 2}),
            ("default_chat_template_kwargs", [1, 2], [2, 1]),
            ("max_total_tokens", None, 0),
        ],
    )
    def test_values_that_differ(self, setting, before, after):
        found = diff(launch(1, config={setting: before}), launch(2, config={setting: after}))
        assert [(c.setting, c.before, c.after) for c in found] == [(setting, before, after)]

    @pytest.mark.parametrize(
        ("setting", "before", "after"),
        [("random_seed", 1, 2), ("port", 30000, 30001), ("log_level", "info", "debug"), ("nccl_port", 1, 2)],
    )
    def test_innocent_settings_are_changes_too(self, setting, before, after):
        found = diff(launch(1, config={setting: before}), launch(2, config={setting: after}))
        assert [(c.setting, c.derived) for c in found] == [(setting, False)]

    def test_a_drawn_port_is_noise_where_the_command_line_proves_it(self):
        asked = {"model_path": "/m"}
        found = diff(
            launch(1, config={"nccl_port": 11, "random_seed": 1}, requested=asked),
            launch(2, config={"nccl_port": 12, "random_seed": 2}, requested=asked),
        )
        assert [(c.setting, c.derived) for c in found] == [("random_seed", False)]

    def test_a_given_port_is_a_change(self):
        found = diff(
            launch(1, config={"nccl_port": 11}, requested={"nccl_port": 11}),
            launch(2, config={"nccl_port": 12}, requested={"nccl_port": 12}),
        )
        assert names(found) == ["nccl_port"]

    def test_private_markers_are_none(self):
        marker = "_radix_eviction_policy_explicitly_set"
        assert (
            diff(launch(1, "0.5.20", config={marker: False}), launch(2, "0.5.20", config={marker: True}))
            == []
        )

    def test_a_fork_s_own_setting_is_diffed_like_any_other(self):
        found = diff(
            launch(1, config={"speculative_ddtree_budget": 8}),
            launch(2, config={"speculative_ddtree_budget": 16}),
        )
        assert [(c.setting, c.before, c.after) for c in found] == [("speculative_ddtree_budget", 8, 16)]


class TestReleases:
    @pytest.mark.parametrize(
        ("old", "new", "older_name", "newer_name"),
        [
            ("0.5.12", "0.5.13", "nsa_prefill_backend", "dsa_prefill_backend"),
            ("0.5.13", "0.5.14", "cuda_graph_max_bs", "cuda_graph_max_bs_decode"),
            ("0.5.13", "0.5.14", "mamba_scheduler_strategy", "mamba_radix_cache_strategy"),
            (
                "0.5.11",
                "0.5.12",
                "speculative_dflash_draft_window_size",
                "speculative_draft_window_size",
            ),
            ("0.5.3", "0.5.4", "max_micro_batch_size", "pp_max_micro_batch_size"),
            ("0.5.15", "0.5.16", "grpc_http_sidecar_port", "smg_http_sidecar_port"),
            ("0.5.9", "0.5.10", "stream_output", "incremental_streaming_output"),
        ],
    )
    def test_a_rename_is_no_change_in_either_direction(self, old, new, older_name, newer_name):
        older = launch(1, old, config={older_name: "x"})
        newer = launch(2, new, config={newer_name: "x"})
        assert diff(older, newer) == []
        assert diff(newer, older) == []

    def test_a_renamed_setting_that_changes_has_the_newer_name(self):
        older = launch(1, "0.5.13", config={"cuda_graph_max_bs": 160})
        newer = launch(2, "0.5.14", config={"cuda_graph_max_bs_decode": 80})
        found = one(diff(older, newer), "cuda_graph_max_bs_decode")
        assert (found.before, found.after) == (160, 80)
        back = one(diff(newer, older), "cuda_graph_max_bs")
        assert (back.before, back.after) == (80, 160)

    def test_opposites(self):
        older = launch(1, "0.3.0", config={"enable_mla": True})
        assert diff(older, launch(2, "0.3.2", config={"disable_mla": False})) == []
        found = diff(older, launch(2, "0.3.2", config={"disable_mla": True}))
        assert [(c.setting, c.before, c.after) for c in found] == [("disable_mla", False, True)]

    @pytest.mark.parametrize(
        ("old", "new"), [("0.5.11", "0.5.23"), ("0.4.2.post4", "0.4.3.post4"), ("0.5.23", "0.3.0")]
    )
    def test_defaults_that_moved_are_no_changes(self, old, new):
        assert diff(launch(1, old), launch(2, new)) == []

    def test_a_setting_that_only_the_newer_release_has(self):
        older = launch(1, "0.5.11")
        at_default = launch(2, "0.5.14", config={"prefill_only_disable_kv_cache": False})
        assert diff(older, at_default) == []
        found = diff(older, launch(2, "0.5.14", config={"prefill_only_disable_kv_cache": True}))
        assert [(c.setting, c.before, c.after) for c in found] == [
            ("prefill_only_disable_kv_cache", None, True)
        ]

    def test_a_setting_that_only_the_older_release_has(self):
        older = launch(1, "0.5.10", config={"enable_double_sparsity": True})
        found = diff(older, launch(2, "0.5.11"))
        assert [(c.setting, c.before, c.after) for c in found] == [("enable_double_sparsity", True, None)]
        assert diff(launch(1, "0.5.10"), launch(2, "0.5.11")) == []

    def test_what_the_engine_fills_in_is_not_the_person_s(self):
        older = launch(1, "0.5.13", config={"cuda_graph_max_bs": 160})
        newer = launch(2, "0.5.14", config={"cuda_graph_config": {"decode": {"backend": "full"}}})
        assert diff(older, newer) == []

    def test_dp_attention_written_the_new_way(self):
        older = launch(1, "0.5.11", config={"dp_size": 8, "enable_dp_attention": True})
        newer = launch(2, "0.5.23", config={"attn_dp_size": 8, "dp_size": 1, "enable_dp_attention": False})
        assert diff(older, newer) == []
        assert diff(newer, older) == []
        half = launch(2, "0.5.23", config={"attn_dp_size": 4, "dp_size": 1, "enable_dp_attention": False})
        found = diff(older, half)
        assert [(c.setting, c.before, c.after) for c in found] == [("attn_dp_size", 8, 4)]

    def test_replicas_are_not_dp_attention(self):
        older = launch(1, "0.5.11", config={"dp_size": 2})
        newer = launch(2, "0.5.23", config={"dp_size": 2, "attn_dp_size": 1})
        assert diff(older, newer) == []


class TestRequested:
    def test_asked_but_cut_by_the_engine(self):
        older = launch(1, config={"mem_fraction_static": 0.85}, requested={"mem_fraction_static": 0.85})
        newer = launch(2, config={"mem_fraction_static": 0.765}, requested={"mem_fraction_static": 0.9})
        found = one(diff(older, newer), "mem_fraction_static")
        assert (found.before, found.after, found.requested, found.derived) == (0.85, 0.765, 0.9, False)

    def test_reported_even_when_before_is_after(self):
        older = launch(1, config={"context_length": 32768}, requested={"context_length": 32768})
        newer = launch(2, config={"context_length": 32768}, requested={"context_length": 200000})
        found = one(diff(older, newer), "context_length")
        assert (found.before, found.after, found.requested) == (32768, 32768, 200000)

    def test_the_same_cut_is_not_reported_again(self):
        asked = {"context_length": 200000}
        older = launch(1, config={"context_length": 32768}, requested=asked)
        newer = launch(2, config={"context_length": 32768}, requested=asked)
        assert diff(older, newer) == []

    def test_left_to_the_engine_is_no_cut(self):
        asked = {"kv_cache_dtype": "auto", "model_path": "org/model"}
        older = launch(1, config={"kv_cache_dtype": "fp8_e4m3"}, requested={"kv_cache_dtype": "fp8_e4m3"})
        newer = launch(2, config={"kv_cache_dtype": "fp8_e4m3"}, requested=asked)
        assert diff(older, newer) == []

    def test_cap_above_the_profile(self):
        older = launch(1, config={"max_total_tokens": 30000}, pool_tokens=30000)
        cut = (event("server_args"), event("cap_above_profile", requested=900000, profiled=77404))
        newer = launch(2, config={"max_total_tokens": 900000}, pool_tokens=77404, events=cut)
        found = one(diff(older, newer), "max_total_tokens")
        assert (found.before, found.after, found.requested) == (30000, 77404, 900000)

    def test_the_same_cap_cut_to_another_profile_is_not_reported_again(self):
        def capped(number: int, asked: int, profiled: int) -> Launch:
            cut = (event("cap_above_profile", requested=asked, profiled=profiled),)
            return launch(number, config={"max_total_tokens": asked}, events=cut)

        assert diff(capped(1, 900000, 77404), capped(2, 900000, 77784)) == []
        found = one(diff(capped(1, 900000, 77404), capped(2, 950000, 77404)), "max_total_tokens")
        assert (found.before, found.after, found.requested) == (77404, 77404, 950000)

    def test_less_than_a_page_is_no_cut(self):
        older = launch(1, config={"max_total_tokens": 10000, "page_size": 64})
        cut = (event("cap_above_profile", requested=10030, profiled=10000),)
        newer = launch(2, config={"max_total_tokens": 10000, "page_size": 64}, events=cut)
        assert diff(older, newer) == []

    def test_running_requests_above_the_table(self):
        older = launch(1, config={"max_running_requests": 64}, max_running_requests=64)
        newer = launch(2, config={"max_running_requests": 8192}, max_running_requests=2048)
        found = one(diff(older, newer), "max_running_requests")
        assert (found.before, found.after, found.requested) == (64, 2048, 8192)

    def test_running_requests_left_to_the_engine(self):
        older = launch(1, max_running_requests=2048)
        assert diff(older, launch(2, max_running_requests=4096)) == []

    def test_chunks_turned_off_in_the_scheduler(self):
        older = launch(1, config={"chunked_prefill_size": 8192})
        newer = launch(
            2,
            config={"chunked_prefill_size": 8192},
            events=(event("server_args"), event("summary", chunked_prefill_size=-1)),
        )
        found = one(diff(older, newer), "chunked_prefill_size")
        assert (found.before, found.after, found.requested) == (8192, -1, 8192)

    def test_an_adjustment_after_the_settings_line(self):
        older = launch(1, config={"mem_fraction_static": 0.9})
        newer = launch(
            2,
            config={"mem_fraction_static": 0.9},
            events=(
                event("adjust__mem_fraction_static", value=0.5),
                event("server_args"),
                event("adjust__mem_fraction_static", value=0.81),
            ),
        )
        found = one(diff(older, newer), "mem_fraction_static")
        assert (found.before, found.after, found.requested) == (0.9, 0.81, 0.9)

    def test_an_adjustment_before_the_settings_line_is_in_them(self):
        newer = launch(
            2, config={"page_size": 1}, events=(event("adjust__page_size", value=64), event("server_args"))
        )
        assert diff(launch(1, config={"page_size": 1}), newer) == []

    @pytest.mark.parametrize("source", ["partial", "none"])
    def test_a_context_the_model_refuses(self, source):
        older = launch(1, config={"context_length": 200000})
        died = (event("context_rejected", asked=300000, derived=262144),)
        newer = launch(2, config={}, part=True, source=source, events=died)
        found = diff(older, newer)
        assert [(c.setting, c.before, c.after) for c in found] == [("context_length", 200000, 300000)]
        back = diff(newer, launch(3, config={"context_length": 200000}))
        assert [(c.setting, c.before, c.after) for c in back] == [("context_length", 300000, 200000)]


class TestDataParallel:
    def test_a_share_that_stays_is_no_change(self):
        older = launch(1, config={"max_running_requests": 64, "chunked_prefill_size": 8192})
        newer = launch(
            2,
            config={
                "max_running_requests": 512,
                "chunked_prefill_size": 8192,
                "dp_size": 8,
                "enable_dp_attention": True,
            },
            requested={"max_running_requests": 512, "chunked_prefill_size": 65536, "dp_size": 8},
            max_running_requests=64,
        )
        assert set(names(diff(older, newer))) == {"dp_size", "enable_dp_attention"}

    def test_a_share_that_moves_is_one(self):
        asked = {"chunked_prefill_size": 8192}
        older = launch(1, config={"chunked_prefill_size": 8192}, requested=asked)
        newer = launch(
            2,
            config={"chunked_prefill_size": 1024, "dp_size": 8, "enable_dp_attention": True},
            requested={**asked, "dp_size": 8, "enable_dp_attention": True},
        )
        found = one(diff(older, newer), "chunked_prefill_size")
        assert (found.before, found.after, found.requested) == (8192, 1024, 8192)

    def test_replicas_share_nothing(self):
        older = launch(1, config={"max_running_requests": 64})
        newer = launch(2, config={"max_running_requests": 64, "dp_size": 8}, max_running_requests=64)
        assert names(diff(older, newer)) == ["dp_size"]


class TestDerived:
    def test_a_fraction_that_nobody_gave(self):
        older = launch(
            1,
            config={"mem_fraction_static": 0.874, "chunked_prefill_size": 8192},
            requested={"model_path": "/m", "chunked_prefill_size": 8192},
        )
        newer = launch(
            2,
            config={"mem_fraction_static": 0.834, "chunked_prefill_size": 16384},
            requested={"model_path": "/m", "chunked_prefill_size": 16384},
        )
        found = diff(older, newer)
        assert {c.setting: c.derived for c in found} == {
            "mem_fraction_static": True,
            "chunked_prefill_size": False,
        }

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ({}, {"model_path": "/m"}),
            ({"model_path": "/m", "mem_fraction_static": 0.874}, {"model_path": "/m"}),
            ({"model_path": "/m"}, {"model_path": "/m", "mem_fraction_static": 0.834}),
            ({"model_path": "/m"}, {"model_path": "/m", "config": "sglang.yaml"}),
        ],
    )
    def test_no_proof_no_derivation(self, before, after):
        older = launch(1, config={"mem_fraction_static": 0.874}, requested=before)
        newer = launch(2, config={"mem_fraction_static": 0.834}, requested=after)
        assert [c.derived for c in diff(older, newer)] == [False]


class TestMissingConfigs:
    def test_none_never_invents_a_change(self):
        nothing = launch(2, part=True, source="none")
        assert diff(launch(1), nothing) == []
        assert diff(nothing, launch(1)) == []

    def test_of_a_truncated_one_only_what_both_show(self):
        older = launch(1, config={"max_total_tokens": 30000, "context_length": 32768})
        newer = launch(2, part=True, truncated=True, config={"context_length": 200000})
        assert names(diff(older, newer)) == ["context_length"]
        assert names(diff(newer, older)) == ["context_length"]

    def test_another_engine_is_not_compared(self):
        assert diff(launch(1), launch(2, config={"context_length": 1}, engine="vllm")) == []


class TestCommandLines:
    def line(self, number: int, **values: Any) -> Launch:
        return launch(
            number, part=True, source="cmdline", config={"model_path": "/m", **values}, requested=values
        )

    def test_two_command_lines(self):
        found = diff(self.line(1, context_length=32768), self.line(2, context_length=200000, tp_size=2))
        assert [(c.setting, c.before, c.after) for c in found] == [
            ("context_length", 32768, 200000),
            ("tp_size", 1, 2),
        ]

    def test_a_flag_taken_away(self):
        found = diff(self.line(1, mem_fraction_static=0.9, enable_metrics=True), self.line(2))
        assert [(c.setting, c.before, c.after) for c in found] == [
            ("mem_fraction_static", 0.9, None),
            ("enable_metrics", True, False),
        ]

    def test_settings_against_a_command_line(self):
        settings = launch(
            1,
            config={
                "model_path": "/m",
                "context_length": 32768,
                "mem_fraction_static": 0.874,
                "attention_backend": "fa3",
                "random_seed": 5,
            },
        )
        found = diff(settings, self.line(2, context_length=200000))
        assert [(c.setting, c.before, c.after) for c in found] == [("context_length", 32768, 200000)]

    def test_a_given_setting_that_the_command_line_lost(self):
        settings = launch(
            1,
            config={"model_path": "/m", "mem_fraction_static": 0.874},
            requested={"mem_fraction_static": 0.874},
        )
        found = diff(settings, self.line(2))
        assert [(c.setting, c.before, c.after) for c in found] == [("mem_fraction_static", 0.874, None)]


@pytest.mark.parametrize(
    ("old", "new"), [*pairwise(releases()), *((one, "0.5.23") for one in releases()[:-2:6])]
)
def test_an_upgrade_alone_changes_nothing(old, new):
    assert diff(launch(1, old), launch(2, new)) == []
    assert diff(launch(1, new), launch(2, old)) == []
