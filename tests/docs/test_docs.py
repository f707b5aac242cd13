"""What the pages say can be done: every command and option on them exists, every link leads somewhere."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

from kvforensics import cli, errors
from kvforensics.cli.app import COMMANDS, made
from kvforensics.cli.product import READER_WENT_AWAY
from kvforensics.report.schema import schema
from kvforensics.report.terminal.signs import VERDICTS

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("sample_logs/**/*.md")])
GROUP = get_command(made())


def shown_commands(page: Path) -> list[list[str]]:
    """Return the words of each kvforensics command line in a page's shell blocks and code spans."""
    text = page.read_text("utf-8")
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    lines += re.findall(r"`([^`\n]*\bkvforensics [a-z][^`\n]*)`", text)
    found = []
    for line in lines:
        for part in re.split(r"&&|\|(?=[^|])|;", re.sub(r"'[^']*'", "'quoted'", line)):
            words = shlex.split(part, comments=True)
            names = [i for i, word in enumerate(words) if re.fullmatch(r"(\S*/)?kvforensics", word)]
            if names and names[0] + 1 < len(words):
                found.append(words[names[0] + 1 :])
    return found


CASES = [(page, words) for page in PAGES for words in shown_commands(page)]


@pytest.mark.parametrize(("page", "words"), CASES, ids=[f"{p.name}: {' '.join(w)}" for p, w in CASES])
def test_a_command_line_on_a_page_can_be_run(page, words):
    name, *rest = words
    if name.startswith("-"):
        assert name in {option for param in GROUP.params for option in param.opts} | {"--help"}
        return
    assert name in GROUP.commands, page
    options = {option for param in GROUP.commands[name].params for option in param.opts}
    used = {word.partition("=")[0] for word in rest if re.match(r"--?[a-zA-Z]", word)}
    assert used <= options | {"--help"}


def test_there_are_commands_to_test():
    assert len(CASES) > 20
    shown = {words[0] for _, words in CASES}
    assert {
        "timeline",
        "launches",
        "diff",
        "events",
        "coverage",
        "knobs",
        "whatif",
        "schema",
        "demo",
    } <= shown


def test_the_readme_names_every_command():
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [
        name for name in COMMANDS if not re.search(rf"^\|.*`{name}`.*\|.*\|$", readme, re.MULTILINE)
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), target


def test_the_pages_give_every_exit_code():
    page = (ROOT / "docs/exit-codes.md").read_text("utf-8")
    given = {int(code) for code in re.findall(r"^\| ([0-9]+) \|", page, re.MULTILINE)}
    raised = {
        kind.exit_code
        for kind in vars(errors).values()
        if isinstance(kind, type)
        and issubclass(kind, errors.KvforensicsError)
        and kind is not errors.KvforensicsError
    }
    assert raised | {0, 1, cli.OWN_FAULT, cli.SIGNAL_INTERRUPT, READER_WENT_AWAY} <= given


def test_every_dependency_has_its_reason():
    page = (ROOT / "docs/dependencies.md").read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = [d for group in project["project"].get("optional-dependencies", {}).values() for d in group]
    for wanted in [*project["project"]["dependencies"], *extras, *project["dependency-groups"]["dev"]]:
        name = re.match(r"[A-Za-z0-9._-]+", wanted)[0].lower()
        assert name in page.lower(), name


def test_the_verdicts_are_explained():
    page = (ROOT / "docs/timeline.md").read_text("utf-8")
    assert [word for word in VERDICTS if f"| `{word}` |" not in page] == []
    assert set(json.loads(schema("timeline"))["$defs"]["change"]["properties"]["verdict"]["enum"]) == set(
        VERDICTS
    )


def test_the_pages_name_every_kind_of_damage():
    kinds = json.loads(schema("timeline"))["$defs"]["damage_kind"]["enum"]
    page = (ROOT / "docs/json.md").read_text("utf-8")
    assert re.findall(r"^\| `([a-z0-9_]+)` \|", page.partition("## Damage")[2], re.MULTILINE) == kinds


def test_the_gate_runs_the_test_command_of_the_readme():
    readme, gate = (ROOT / "README.md").read_text("utf-8"), (ROOT / ".ci/run").read_text("utf-8")
    for step in ("python3 -m venv", "pip install -q -U pip", "pip install -q -e . --group dev", "/pytest"):
        shown = step if step.startswith("python3") else f".venv/bin/{step.removeprefix('/')}"
        assert shown in readme
        assert step.replace("pip install", 'pip" install') in gate
