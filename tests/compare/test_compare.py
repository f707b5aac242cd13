"""Two sides next to each other: what a selector means, the figures, and what could explain a difference."""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from markdown_it import MarkdownIt
from tests import hostile
from tests.build import launch

from kvforensics.analysis import Analysis, Coverage, Service, analyse
from kvforensics.cli import main
from kvforensics.compare import compare, select
from kvforensics.compare.views import as_markdown
from kvforensics.errors import UsageError
from kvforensics.records import Origins

ROOT = Path(__file__).parents[2]
INCIDENT = str(ROOT / "sample_logs/incident/incident.export")
PLAIN = str(ROOT / "sample_logs/plain-0.4.6/server.log")
NOW = datetime(2026, 6, 1)


@pytest.fixture(scope="module")
def incident():
    return analyse([INCIDENT])


@pytest.fixture(scope="module")
def both():
    return analyse([INCIDENT, PLAIN])


@pytest.fixture
def kv(monkeypatch, capfd):
    def run(*words):
        monkeypatch.setattr(sys, "argv", ["kvforensics", *map(str, words)])
        capfd.readouterr()
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        said = capfd.readouterr()
        return code, said.out, said.err

    return run


def chosen(analysis, selector):
    parts = select(analysis, selector, now=NOW, local=UTC)
    return {part.service.id: [each.id for each in part.launches] for part in parts}


class TestSelectors:
    @pytest.mark.parametrize("selector", ["L2", "l2", "k26-node1/sglang-k26.service#L2", "k26-node1#L2"])
    def test_a_launch(self, incident, selector):
        assert chosen(incident, selector) == {"k26-node1/sglang-k26.service": ["L2"]}

    @pytest.mark.parametrize(
        "selector", ["k26-node1/sglang-k26.service", "k26-node1", "sglang-k26.service", "sglang-k26"]
    )
    def test_a_service_a_host_and_a_unit(self, both, selector):
        assert chosen(both, selector) == {"k26-node1/sglang-k26.service": ["L1", "L2", "L3"]}

    def test_a_file(self, both):
        found = chosen(both, PLAIN)
        assert len(found) == 1
        assert "k26-node1/sglang-k26.service" not in found
        assert chosen(both, INCIDENT) == {"k26-node1/sglang-k26.service": ["L1", "L2", "L3"]}

    @pytest.mark.parametrize(
        ("period", "launches"),
        [
            ("2026-05-20 14:00..2026-05-20 15:00", ["L1"]),
            ("2026-05-20 15:00..2026-05-20 15:30", ["L1", "L2"]),
            ("2026-05-20 15:42..", ["L3"]),
            ("..2026-05-20 14:30", ["L1"]),
            ("2026-05-20..2026-05-21", ["L1", "L2", "L3"]),
        ],
    )
    def test_a_period(self, incident, period, launches):
        assert chosen(incident, period) == {"k26-node1/sglang-k26.service": launches}

    @pytest.mark.parametrize(
        "selector",
        ["L9", "nobody", "k26-node2#L1", "2020-01-01..2020-01-02", "2026-05-21..2026-05-20", "x..y", ""],
    )
    def test_nothing_is_an_error_that_names_what_there_is(self, incident, selector):
        with pytest.raises(UsageError):
            select(incident, selector, now=NOW, local=UTC)


def sides(analysis, left, right):
    chosen = [select(analysis, name, now=NOW, local=UTC) for name in (left, right)]
    return compare(analysis, *chosen, (left, right))


class TestFigures:
    def test_the_incident_s_two_launches(self, incident):
        made = sides(incident, "L1", "L2")
        assert (made.left.pool_tokens, made.right.pool_tokens) == (101134, 101134)
        assert (made.left.context_len, made.right.context_len) == (32768, 200000)
        assert (made.left.refused_per_hour > 0, made.left.retracted_per_hour) == (True, 0.0)
        (difference,) = [each for each in made.differences if each.setting == "context_length"]
        assert "longest_prompt_tokens" in difference.explains
        assert "pool_tokens" not in difference.explains

    def test_what_could_explain_stands_first(self, incident):
        made = sides(incident, "L2", "L3")
        assert made.differences[0].setting == "mem_fraction_static"
        assert "pool_tokens" in made.differences[0].explains
        seeds = [each for each in made.differences if each.setting == "random_seed"]
        assert [each.explains for each in seeds] == [()]

    def test_figures_are_of_the_samples_within_the_period(self, incident):
        made = sides(incident, "2026-05-20 14:20..2026-05-20 14:23", "2026-05-20 15:15..2026-05-20 15:23")
        assert made.left.usage_max < made.right.usage_max == 0.93
        assert made.right.queue_max == 4

    def test_ranks_count_once(self):
        names = ("dp", "pp", "attn_cp", "moe_dp", "tp", "ep")
        base = hostile.samples("s").with_columns(launch=pl.lit("L1"))
        two = pl.concat([base.with_columns(tp=pl.lit(rank, dtype=pl.Int32)) for rank in (0, 1)])
        assert set(names) <= set(two.columns)
        service = Service("s", "h", "u", (launch("L1"),))
        analysis = Analysis((), Coverage(1, 1, 0), (service,), Origins(), two)
        made = sides(analysis, "L1", "L1")
        hours = timedelta(minutes=19) / timedelta(hours=1)
        assert made.left.hours == pytest.approx(hours, abs=0.001)
        assert made.left.retracted_per_hour == pytest.approx(2 / hours, abs=0.01)

    def test_groups_add_up(self):
        base = hostile.samples("s").with_columns(launch=pl.lit("L1"))
        two = pl.concat([base.with_columns(dp=pl.lit(group, dtype=pl.Int32)) for group in (0, 1)])
        service = Service("s", "h", "u", (launch("L1"),))
        made = sides(Analysis((), Coverage(1, 1, 0), (service,), Origins(), two), "L1", "L1")
        assert (made.left.running_max, made.left.gen_tokens_per_s_mean, made.left.usage_max) == (
            38,
            200.0,
            0.95,
        )

    def test_cached_share(self):
        samples = hostile.samples("s").with_columns(
            launch=pl.lit("L1"), new_tokens=pl.lit(30), cached_tokens=pl.lit(70)
        )
        service = Service("s", "h", "u", (launch("L1"),))
        made = sides(Analysis((), Coverage(1, 1, 0), (service,), Origins(), samples), "L1", "L1")
        assert made.left.cached_share == 0.7

    def test_without_samples_the_load_is_unknown(self):
        service = Service("s", "h", "u", (launch("L1"), launch("L2", context=65536)))
        made = sides(Analysis((), Coverage(1, 1, 0), (service,), Origins(), None), "L1", "L2")
        assert made.left.usage_mean is None
        assert made.left.retracted_per_hour is None
        assert made.left.pool_tokens is not None

    def test_another_release_and_other_memory_are_cautioned_against(self):
        one, other = launch("L1"), launch("L2", version="0.5.14")
        less = launch("L3", before=70.0, weights=40.0)
        service = Service("s", "h", "u", (one, other, less))
        analysis = Analysis((), Coverage(1, 1, 0), (service,), Origins(), None)
        assert "releases differ" in sides(analysis, "L1", "L2").caution
        assert "before loading differs" in sides(analysis, "L1", "L3").caution
        assert sides(analysis, "L1", "L1").caution is None


class TestCommand:
    WORDS = ("compare", INCIDENT, "--left", "L1", "--right", "L3")

    def test_text(self, kv):
        code, out, _ = kv(*self.WORDS)
        assert code == 0
        assert re.search(r"pool tokens +101,134 +205,748", out)
        assert "mem_fraction_static" in out
        assert "could explain" in out

    def test_json(self, kv):
        _, out, _ = kv(*self.WORDS, "--format", "json")
        document = json.loads(out)
        assert document["schema"] == "kvforensics.compare/1"
        assert (document["left"]["launch"], document["right"]["launch"]) == ("L1", "L3")
        assert document["left"]["pools"][0]["tokens"] == 101134
        assert {each["setting"] for each in document["differences"]} >= {
            "context_length",
            "mem_fraction_static",
        }

    def test_markdown_is_read_as_two_tables(self, kv):
        _, out, _ = kv(*self.WORDS, "--format", "markdown")
        tokens = MarkdownIt("commonmark").enable("table").parse(out)
        assert sum(token.type == "table_open" for token in tokens) == 2

    @pytest.mark.parametrize(
        ("ending", "begins"), [("html", "<!doctype html>"), ("md", "# "), ("json", "{"), ("txt", "")]
    )
    def test_the_ending_is_the_format_and_again_the_same_bytes(self, kv, tmp_path, ending, begins):
        made = []
        for name in ("a", "b"):
            path = tmp_path / f"{name}.{ending}"
            assert kv(*self.WORDS, "-o", path)[0] == 0
            made.append(path.read_text())
        assert made[0] == made[1]
        assert made[0].startswith(begins)
        assert "101,134" in made[0] or "101134" in made[0]

    def test_html_needs_no_extra(self, kv, monkeypatch):
        monkeypatch.setitem(sys.modules, "vl_convert", None)
        code, out, _ = kv(*self.WORDS, "--format", "html")
        assert code == 0
        assert "default-src 'none'" in out

    def test_a_selector_that_means_nothing(self, kv):
        code, _, err = kv("compare", INCIDENT, "--left", "L1", "--right", "L7")
        assert code == 2
        assert "L7" in err


def test_hostile_text_stays_text():
    text = as_markdown(sides(hostile.analysis(), "L1", "L2"))
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inner = [child for token in tokens for child in (token.children or [])]
    assert not [t for t in [*tokens, *inner] if t.type in ("html_block", "html_inline", "link_open", "image")]
    assert sum(token.type == "heading_open" for token in tokens) == 2
    assert not set("\x1b\x07\u2028\u202e") & set(text)
