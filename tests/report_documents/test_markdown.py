"""The postmortem: sections, figures that the log proves, and Markdown that a parser reads as meant."""

import re

import pytest
from markdown_it import MarkdownIt
from mdit_py_plugins.footnote import footnote_plugin
from msgspec.structs import replace
from tests import hostile

from kvforensics.report.markdown import markdown
from kvforensics.report.markdown.escape import code, escape

SECTIONS = [
    "Summary", "Impact", "Timeline", "Root cause", "What was tried", "Detection", "Resolution", "Lessons",
    "Action items", "What the logs did not tell",
]  # fmt: skip


def parsed(text):
    parser = MarkdownIt("commonmark").enable("table").use(footnote_plugin)
    return parser.parse(text)


def headings(tokens):
    return [
        (token.tag, tokens[number + 1].content)
        for number, token in enumerate(tokens)
        if token.type == "heading_open"
    ]


def words(tokens):
    """Every text that a reader sees, inline markup taken off."""
    return " ".join(
        child.content
        for token in tokens
        for child in (token.children or [token])
        if child.type in ("text", "code_inline", "fence")
    )


@pytest.fixture(scope="module")
def text(incident):
    return markdown(incident)


def test_the_sections_of_a_postmortem_in_their_order(text):
    assert [name for tag, name in headings(parsed(text)) if tag == "h2"] == SECTIONS


def test_summary_impact_and_resolution_say_what_the_log_proves(text):
    assert "1 edit did nothing for the KV pool: context\\_length: 32768 → 200000 (L1→L2)." in text
    assert "| Downtime of them together | 8 min 8 s |" in text
    assert "| Of it, for edits without effect | 4 min 4 s (L2) |" in text
    assert "| L2 | 4 min 4 s | `context_length` (no op for pool) |" in text
    assert "| Requests refused as too long | 2 |" in text
    resolution = text.split("## Resolution")[1].split("## Lessons")[0]
    assert "`mem_fraction_static` 0.85 → 0.93 (L3)" in resolution


def test_what_is_open_is_a_question(text):
    for section in ("Impact", "Root cause", "Detection", "Lessons", "Action items"):
        body = text.split(f"## {section}\n")[1].split("\n## ")[0]
        assert "**?**" in body, section


def test_times_in_utc_and_local(incident):
    berlin = markdown(incident, local="Europe/Berlin")
    assert "| UTC | Europe/Berlin | what |" in berlin
    assert (
        "| 2026-05-20 15:18:40 | 2026-05-20 17:18:40 | 1 prompt was refused: longer than the pool" in berlin
    )
    fixed = markdown(incident, local="+02:00")
    assert "| 2026-05-20 15:18:40 | 2026-05-20 17:18:40 |" in fixed


def test_the_timeline_is_in_order_of_time(text):
    times = re.findall(r"^\| (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) \|", text, re.MULTILINE)
    assert len(times) > 15
    assert times == sorted(times)


def test_every_footnote_is_cited_and_stands_once_with_its_line(text):
    cited = set(re.findall(r"(?<!^)\[\^(\d+)\]", text))
    told = re.findall(r"^\[\^(\d+)\]: (.*)$", text, re.MULTILINE)
    assert cited == {number for number, _ in told}
    assert len(told) == len({number for number, _ in told})
    assert all(re.search(r", line \d+", line) for _, line in told)
    assert any("max\\_total\\_num\\_tokens=101134" in line for _, line in told)


def test_an_action_is_asked_for_once(text):
    actions = re.findall(r"^- \[ \] (.*)$", text, re.MULTILINE)
    assert len(actions) == len(set(actions)) > 1


def test_tables_are_tables_and_the_diagram_is_one(text):
    tokens = parsed(text)
    assert sum(token.type == "table_open" for token in tokens) == 4
    (diagram,) = [token for token in tokens if token.type == "fence"]
    assert diagram.info == "mermaid"
    lines = diagram.content.splitlines()
    assert lines[0] == "xychart-beta"
    assert lines[-2:] == ["    bar [101134, 101134, 205748]", "    line [32768, 200000, 200000]"]


def test_hostile_text_stays_text(attack):
    text = markdown(attack)
    tokens = parsed(text)
    inner = [child for token in tokens for child in (token.children or [])]
    assert not [token for token in tokens if token.type in ("html_block", "code_block")]
    assert not [child for child in inner if child.type in ("html_inline", "link_open", "image")]
    assert [name for tag, name in headings(tokens) if tag == "h2"] == SECTIONS
    said = words(tokens)
    assert "<script>window.hit=1</script>" in said
    assert "{{ 7*191 }}" in said
    assert "1337" not in text
    assert not set("\x1b\x07\u2028\u2029\u202e\u200b") & set(text)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    by_table = {}
    for line in rows:
        by_table.setdefault(len(re.findall(r"(?<!\\)\|", line)), []).append(line)
    assert set(by_table) <= {3, 4, 7}  # no cell opened another column


def test_code_is_code_or_escaped():
    assert code("context_length") == "`context_length`"
    assert code("a`b|c") == r"a\`b\|c"


def test_escape_at_the_start_of_a_line():
    for text in ("# x", "- x", "+ x", "= x", "1. x", "1) x", "> x"):
        tokens = MarkdownIt("commonmark").parse(escape(text))
        assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
        assert tokens[1].children[0].content == text


def test_many_launches_have_no_diagram(incident):
    service = incident.services[0]
    many = tuple(replace(service.launches[0], id=f"L{n + 1}") for n in range(60))
    text = markdown(replace(incident, services=(replace(service, launches=many, verdicts=(), findings=()),)))
    assert "mermaid" not in text


def test_several_services_have_a_heading_each(attack):
    one = attack.services[0]
    text = markdown(replace(attack, services=(one, replace(one, id="second"))))
    names = [name for tag, name in headings(parsed(text)) if tag == "h1"]
    assert names[-1] == "second"


def test_a_launch_without_times_is_told_all_the_same():
    analysis = hostile.analysis()
    service = analysis.services[0]
    bare = tuple(
        replace(each, started_at=None, ready_at=None, ended_at=None, last_at=None)
        for each in service.launches
    )
    text = markdown(replace(analysis, services=(replace(service, launches=bare),)))
    assert "| unknown | L1 starts" in text
