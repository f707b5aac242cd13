from __future__ import annotations

import argparse
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvforensics.knowledge import VersionRange, releases
from kvforensics.settings import is_server, parse_command_line, server_words
from kvforensics.settings.flags import flags_of, readable_int, takes_suffix

SAMPLED = ("0.3.0", "0.4.3.post4", "0.4.6.post5", "0.5.3", "0.5.11", "0.5.14", "0.5.23")


def as_argparse(release: str) -> argparse.ArgumentParser:
    """A parser with the release's flags, built the way SGLang builds its own."""
    parser = argparse.ArgumentParser(exit_on_error=False, add_help=True)
    for flag in flags_of(release).values():
        if flag.option == "--help":
            continue
        dest = flag.setting or f"dropped {flag.option}"
        if not flag.takes_value:
            parser.add_argument(
                flag.option, dest=dest, action="store_const", const=flag.const, default=argparse.SUPPRESS
            )
            continue
        kind: object = {"int": int, "float": float, "json": json.loads}.get(flag.kind, str)
        if flag.setting is not None and flag.kind == "int" and takes_suffix(flag.setting, release):
            kind = _readable
        parser.add_argument(
            flag.option, dest=dest, type=kind, nargs="+" if flag.many else None, default=argparse.SUPPRESS
        )
    return parser


def _readable(text: str) -> int:
    number = readable_int(text)
    if number is None:
        raise ValueError(text)
    return number


PARSERS = {release: as_argparse(release) for release in SAMPLED}


@st.composite
def command_lines(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A release and words that its parser accepts: whole flags, unambiguous beginnings, = or a blank."""
    release = draw(st.sampled_from(SAMPLED))
    known = flags_of(release)
    usual = [
        one
        for one in ("--context-length", "--tp-size", "--mem-fraction-static", "--cuda-graph-bs")
        if one in known
    ]
    words: list[str] = []
    for option in draw(
        st.lists(st.one_of(st.sampled_from(usual), st.sampled_from(sorted(known))), max_size=8)
    ):
        flag = known[option]
        if option == "--help":
            continue
        if not flag.takes_value:
            words.append(_shortened(draw, option, known))
            continue
        values = draw(st.lists(_values(flag.kind), min_size=1, max_size=3 if flag.many else 1))
        spelled = _shortened(draw, option, known)
        if len(values) == 1 and draw(st.booleans()):
            words.append(f"{spelled}={values[0]}")
        else:
            words.extend([spelled, *values])
    return release, words


def _shortened(draw: st.DrawFn, option: str, known: dict[str, object]) -> str:
    beginnings = [
        option[:length]
        for length in range(3, len(option) + 1)
        if option[:length] == option
        or (option[:length] not in known and sum(other.startswith(option[:length]) for other in known) == 1)
    ]
    return draw(st.sampled_from(beginnings))


def _values(kind: str) -> st.SearchStrategy[str]:
    if kind == "int":
        return st.integers(-5, 10**9).map(str)
    if kind == "float":
        return st.sampled_from(["0.85", "1", "1e-3", "-0.5", "2.0"])
    if kind == "json":
        return st.sampled_from(['{"a": 1}', "{}"])
    return st.sampled_from(["x", "a b", "/models/k", "fp8_e4m3", "-1", "auto", "{}", "a=b", "0.0.0.0"])


@given(command_lines())
@settings(max_examples=400, deadline=None)
def test_as_the_real_argparse_reads_it(case):
    release, words = case
    namespace, extra = PARSERS[release].parse_known_args(words)
    expected = {name: value for name, value in vars(namespace).items() if not name.startswith("dropped ")}
    found = parse_command_line(["python3", "-m", "sglang.launch_server", *words], release)
    assert dict(found.values) == expected
    assert not extra
    assert not found.unknown


@given(st.lists(st.text(max_size=12), max_size=8), st.sampled_from([None, *SAMPLED]))
def test_any_words_are_read(words, release):
    found = parse_command_line(words, release)
    assert set(found.lost) <= set(found.values)
    assert set(found.lost) <= set(found.duplicates)


@given(st.text(max_size=80))
def test_any_text_is_read(text):
    parse_command_line(text)
    is_server(text.split())


class TestLastOneWins:
    def test_the_one_that_lost(self):
        found = parse_command_line("--context-length 200000 --tp 8 --context-length 32768", "0.5.11")
        assert found.values["context_length"] == 32768
        assert dict(found.lost) == {"context_length": 200000}
        assert found.duplicates == ("context_length",)
        assert found.asked() == {"context_length": 200000, "tp_size": 8}

    def test_through_an_alias(self):
        found = parse_command_line("--tp 4 --tensor-parallel-size=8", "0.5.11")
        assert (found.values["tp_size"], found.lost["tp_size"]) == (8, 4)

    def test_the_same_twice_loses_nothing(self):
        found = parse_command_line("--tp 8 --tp-size 8", "0.5.11")
        assert (dict(found.lost), found.duplicates) == ({}, ("tp_size",))

    def test_three_times(self):
        found = parse_command_line("--tp 1 --tp 2 --tp 4", "0.5.11")
        assert (found.values["tp_size"], found.lost["tp_size"]) == (4, 2)


class TestUnknownFlags:
    def test_a_fork_s_flags_are_kept(self):
        found = parse_command_line("--speculative-ddtree-budget 8 --vendor-x --vendor-y=0.5 --tp 8", "0.5.11")
        assert dict(found.unknown) == {"speculative_ddtree_budget": 8, "vendor_x": True, "vendor_y": 0.5}
        assert found.asked()["speculative_ddtree_budget"] == 8

    def test_ambiguous_beginnings_set_nothing(self):
        found = parse_command_line("--max 4 --pp 2", "0.5.11")
        assert dict(found.values) == {}
        assert dict(found.unknown) == {"max": 4, "pp": 2}

    def test_a_flag_of_another_release(self):
        assert dict(parse_command_line("--attn-dp-size 8", "0.5.11").values) == {}
        assert dict(parse_command_line("--attn-dp-size 8").values) == {"attn_dp_size": 8}
        assert dict(parse_command_line("--attn-dp-size 8", VersionRange("0.5.11", None)).values) == {
            "attn_dp_size": 8
        }


class TestSuffixes:
    def test_since_0_5_10(self):
        found = parse_command_line("--context-length 200k --max-total-tokens 200Ki", "0.5.10")
        assert dict(found.values) == {"context_length": 200_000, "max_total_tokens": 204_800}
        assert found.suffixed == ("context_length", "max_total_tokens")

    def test_earlier_releases_refuse_them(self):
        assert dict(parse_command_line("--context-length 200k", "0.5.9").values) == {"context_length": "200k"}

    def test_other_settings_have_none(self):
        assert dict(parse_command_line("--max-running-requests 2k", "0.5.11").values) == {
            "max_running_requests": "2k"
        }


class TestConfigFile:
    def test_the_command_line_wins(self):
        found = parse_command_line(
            "--config s.yaml --context-length 32768",
            "0.5.11",
            config={"context-length": 200000, "tp_size": 8},
        )
        assert dict(found.values) == {"context_length": 32768, "tp_size": 8}
        assert dict(found.lost) == {"context_length": 200000}
        assert found.config_file == "s.yaml"
        assert found.complete

    def test_a_file_that_was_not_read_leaves_doubt(self):
        found = parse_command_line("--config s.yaml --tp 8", "0.5.11")
        assert not found.complete
        assert found.asked() == {"tp_size": 8, "config": "s.yaml"}

    def test_without_one_nothing_is_missing(self):
        assert parse_command_line("--tp 8", "0.5.11").complete

    def test_unknown_keys(self):
        found = parse_command_line([], "0.5.11", config={"vendor-x": 1})
        assert dict(found.unknown) == {"vendor_x": 1}


class TestVariables:
    @pytest.mark.parametrize(
        "word", ["${CTX_LEN}", "$CTX_LEN", "$(CTX)", "{{ .Values.ctx }}", "${CTX:-4096}"]
    )
    def test_a_value_that_nobody_expanded_is_unknown(self, word):
        found = parse_command_line(["--tp", "8", "--context-length", word], "0.5.11", expanded=False)
        assert dict(found.values) == {"tp_size": 8}
        assert found.unresolved == ("context_length",)
        assert not found.complete
        assert "config" in found.asked()

    def test_a_process_s_own_words_hold_none(self):
        found = parse_command_line(["--served-model-name", "a${b}"], "0.5.11")
        assert dict(found.values) == {"served_model_name": "a${b}"}
        assert found.complete

    def test_json_is_none(self):
        text = '{"a": "$x"}'
        found = parse_command_line(["--mm-process-config", text], "0.5.11", expanded=False)
        assert dict(found.values) == {"mm_process_config": {"a": "$x"}}


class TestLists:
    def test_all_words_up_to_the_next_option(self):
        found = parse_command_line("--cuda-graph-bs 1 2 4 --tp 8", "0.5.11")
        assert dict(found.values) == {"cuda_graph_bs": [1, 2, 4], "tp_size": 8}

    def test_a_json_list_is_one_word(self):
        found = parse_command_line(["--cuda-graph-bs", "[1, 2]"], "0.5.11")
        assert dict(found.values) == {"cuda_graph_bs": [1, 2]}

    def test_negative_numbers_are_values(self):
        assert dict(parse_command_line("--chunked-prefill-size -1", "0.5.11").values) == {
            "chunked_prefill_size": -1
        }

    def test_numbers_of_a_literal(self):
        for release in releases():
            for flag in flags_of(release).values():
                if flag.kind == "int":
                    found = parse_command_line([flag.option, "2"], release)
                    assert next(iter(found.values.values())) in (2, [2])


class TestWords:
    @pytest.mark.parametrize(
        "command",
        [
            "/opt/venv/bin/python3 -m sglang.launch_server --tp 8",
            "python3 -u -m sglang.launch_server --tp 8",
            "sglang serve --tp 8",
            "/usr/local/bin/sglang serve --tp 8",
            "python3 /opt/sglang/launch_server.py --tp 8",
            "env A=1 CUDA_VISIBLE_DEVICES=0,1 python3 -m sglang.launch_server --tp 8",
            "numactl --cpunodebind=0 python3 -m sglang.launch_server --tp 8",
            "bash -c 'cd /opt && exec python3 -m sglang.launch_server --tp 8 2>&1 | tee /tmp/log'",
            '/bin/sh -ec "python3 -m sglang.launch_server --tp 8; sleep 5"',
            "python3 -m sglang.srt.entrypoints.http_server --tp 8",
            "python3 -m sglang.launch_server \\\n  --tp 8",
        ],
    )
    def test_how_a_server_is_started(self, command):
        assert dict(parse_command_line(command, "0.5.11").values) == {"tp_size": 8}
        assert dict(parse_command_line(command, "0.5.11").unknown) == {}

    @pytest.mark.parametrize(
        "command",
        [
            "sglang::scheduler_TP0",
            "nginx: worker process",
            "python3 -m vllm.entrypoints.api_server --tp 8",
            "sudo systemctl restart sglang",
            "",
        ],
    )
    def test_what_is_no_server(self, command):
        assert is_server(command.split()) is False

    def test_flags_alone(self):
        assert server_words(["--tp", "8"]) == ["--tp", "8"]

    def test_quotes_that_do_not_close(self):
        assert dict(parse_command_line("--tp 8 --served-model-name 'a b", "0.5.11").values)["tp_size"] == 8

    def test_after_two_dashes_come_no_options(self):
        found = parse_command_line("--tp 8 -- --dp 2", "0.5.11")
        assert dict(found.values) == {"tp_size": 8}
        assert found.positional == ("--dp", "2")
