"""What holds for every command: imports, help, errors, exit codes, output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from kvforensics import __version__
from kvforensics.cli.app import COMMANDS, made

NAMES = sorted(COMMANDS)


def run(*args: str, data: bytes | None = b"", env: dict[str, str] | None = None, **more):
    return subprocess.run(
        [sys.executable, "-m", "kvforensics", *args],
        input=data,
        capture_output=True,
        timeout=120,
        check=False,
        env={**os.environ, **(env or {})},
        **more,
    )


def loaded(code: str, *, whole: bool = False) -> set[str]:
    script = f"import sys\n{code}\nsys.stderr.write(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name if whole else name.partition(".")[0] for name in done.stderr.split()}


MAIN = "sys.argv[1:] = {words!r}\nfrom kvforensics.cli import main\ntry:\n    main()\nexcept SystemExit as e:\n    assert e.code == 0"


@pytest.mark.parametrize(
    "code",
    [
        "import kvforensics",
        *(MAIN.format(words=[*words, "--help"]) for words in ([], ["timeline"], ["whatif"])),
    ],
    ids=["import", "--help", "timeline --help", "whatif --help"],
)
def test_neither_the_import_nor_help_loads_what_is_heavy(code):
    assert not loaded(code) & {"polars", "lark", "rich", "msgspec", "yaml"}


LOG = str(Path(__file__).parents[2] / "sample_logs" / "plain-0.4.6" / "server.log")


def test_a_run_loads_neither_a_compiler_of_grammars_nor_readers_that_it_has_no_use_for(tmp_path):
    words = ["timeline", "--format", "json", "-o", str(tmp_path / "made.json"), LOG]
    modules = loaded(MAIN.format(words=words), whole=True)
    assert {"polars", "lark", "kvforensics.parsing.tables"} <= modules
    unwanted = {"pydantic", "yaml", "rich", "jinja2", "tomllib", "kvforensics.parsing.compiling"}
    unwanted |= {
        "kvforensics.cli.scan",
        "kvforensics.carriers.registry",
        "kvforensics.config_sources.loading",
    }
    assert not modules & unwanted


def test_a_file_name_need_not_be_text(tmp_path):
    name = os.fsencode(tmp_path) + b"/\xff.log"
    done = run("coverage", os.fsdecode(name))
    assert (done.returncode, done.stderr.decode().count("No such file")) == (3, 1)


def test_version():
    done = run("--version")
    assert (done.returncode, done.stdout.decode()) == (0, f"kvforensics {__version__}\n")


@pytest.mark.parametrize("name", NAMES)
def test_help_of_every_command_has_examples_and_fits_a_terminal(name):
    done = run(name, "--help", env={"COLUMNS": "80"})
    text = done.stdout.decode()
    assert done.returncode == 0
    assert f"kvforensics {name}" in text.partition("Examples:")[2]
    assert not done.stderr


def test_the_list_of_commands_is_not_cut():
    text = run("--help", env={"COLUMNS": "80"}).stdout.decode()
    assert text.count("...") == 1  # of the usage line
    assert [name for name in NAMES if f"\n  {name} " not in text] == []


@pytest.mark.parametrize(
    "args",
    [
        ["timeline"],
        ["nosuch"],
        ["timeline", "--nosuch"],
        ["timeline", "x", "--format", "yaml"],
        ["timeline", "x", "--fail-on", "everything"],
        ["timeline", "x", "--width", "3"],
        ["timeline", "x", "--since", "soon"],
        ["timeline", "x", "--tz", "Mars/Base"],
        ["timeline", "x", "--carrier", "pigeon"],
        ["timeline", "x", "--since", "2026-05-02", "--until", "2026-05-01"],
        ["whatif", "x"],
        ["whatif", "x", "--set", "a=1", "--need-context", "5"],
        ["whatif", "x", "--set", "nonsense"],
        ["whatif", "x", "--need-context", "0"],
        ["knobs", "nosuch_setting"],
        ["schema", "nosuch"],
    ],
    ids=" ".join,
)
def test_usage_errors_exit_with_2_and_leave_standard_output_empty(args):
    done = run(*args)
    assert done.returncode == 2, done.stderr
    assert done.stdout == b""
    assert b"Traceback" not in done.stderr
    assert done.stderr


def test_an_error_names_the_place_and_the_next_step(tmp_path):
    done = run("timeline", str(tmp_path / "missing.log"))
    assert done.returncode == 3
    [line] = done.stderr.decode().splitlines()
    assert line.startswith("kvforensics: ")
    assert "missing.log" in line
    assert done.stdout == b""


def test_an_error_is_inert(tmp_path):
    done = run("timeline", str(tmp_path / "\x1b[31mmissing\x1b]0;x\x07"))
    assert done.returncode == 3
    assert b"\x1b" not in done.stderr


@pytest.mark.parametrize(
    "data",
    [b"", b"\n\n", b"hello\nworld\n", bytes(range(256)) * 40],
    ids=["empty", "blank", "foreign", "bytes"],
)
def test_inputs_without_a_launch_exit_with_4(data):
    done = run("timeline", "-", data=data)
    assert done.returncode == 4, done.stderr
    assert b"no SGLang launch" in done.stderr
    assert done.stdout == b""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_ends_the_run_without_a_word(monkeypatch, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    command = f"{sys.executable} -m kvforensics knobs --format json | head -c 20; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    assert done.stdout.endswith("141\n")


def test_output_goes_to_a_file_whose_ending_says_the_format(tmp_path):
    target = tmp_path / "knobs.json"
    done = run("knobs", "context_length", "-o", str(target))
    assert (done.returncode, done.stdout) == (0, b"")
    assert json.loads(target.read_text())["knobs"][0]["name"] == "context_length"
    assert [path.name for path in tmp_path.iterdir()] == ["knobs.json"]
    run("knobs", "context_length", "-o", str(tmp_path / "knobs.txt"))
    assert (tmp_path / "knobs.txt").read_text().startswith("context_length")
    run("knobs", "context_length", "--format", "json", "-o", str(tmp_path / "knobs.txt"))
    assert json.loads((tmp_path / "knobs.txt").read_text())


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    done = run("schema", "timeline", "-o", str(tmp_path / "nosuch" / "x.json"))
    assert done.returncode == 2
    assert b"nosuch" in done.stderr
    assert b"cannot write" in done.stderr


def test_a_device_is_written_as_it_is():
    assert run("schema", "timeline", "-o", "/dev/null").returncode == 0
    assert os.path.exists("/dev/null")  # noqa: PTH110 - it must not have become a file


def test_interrupting_exits_with_130():
    code = (
        "import sys; sys.argv[1:] = ['knobs']\n"
        "from kvforensics.cli import main\n"
        "def stop(*a, **k): raise KeyboardInterrupt\n"
        "import kvforensics.knowledge; sys.modules['kvforensics.knowledge.knobs'].knobs = stop\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_a_fault_of_ours_exits_with_70_and_repeats_no_text_of_a_log():
    code = (
        "import sys; sys.argv[1:] = ['knobs']\n"
        "from kvforensics.cli import main\n"
        "def broken(*a, **k): raise ValueError('hunter2')\n"
        "import kvforensics.knowledge; sys.modules['kvforensics.knowledge.knobs'].knobs = broken\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert done.returncode == 70
    assert "ValueError at broken" in done.stderr
    assert "hunter2" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_offered(shell):
    done = run(env={"_KVFORENSICS_COMPLETE": f"source_{shell}"})
    assert "_KVFORENSICS_COMPLETE" in done.stdout.decode()


def test_completion_knows_the_commands():
    done = run(
        env={"_KVFORENSICS_COMPLETE": "complete_bash", "COMP_WORDS": "kvforensics ti", "COMP_CWORD": "1"}
    )
    assert done.stdout.decode().split() == ["timeline"]


def test_nothing_but_ascii_where_the_encoding_says_so():
    done = run("knobs", "context_length", env={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert done.stdout.isascii()


def test_options_are_spelt_alike_in_every_command():
    spelt: dict[str, set[tuple[str, ...]]] = {}
    for command in get_command(made()).commands.values():
        for param in command.params:
            if param.param_type_name == "option":
                spelt.setdefault(param.opts[0], set()).add(tuple(sorted(param.opts)))
    assert {name: ways for name, ways in spelt.items() if len(ways) > 1} == {}
