"""`--live UNIT` from the command line, with a script in journalctl's place."""

import json
import sys

import pytest

from kvforensics.cli import main


@pytest.fixture
def run(monkeypatch, capfd):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["kvforensics", *arguments])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        return code, *capfd.readouterr()

    return run


@pytest.fixture
def journalctl(tmp_path, monkeypatch, samples):
    export = samples / "journald-252" / "incident" / "export.export"
    script = tmp_path / "journalctl"
    script.write_text(
        f"#!{sys.executable}\nimport shutil, sys\nshutil.copyfileobj(open({str(export)!r}, 'rb'), sys.stdout.buffer)\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.usefixtures("journalctl")
def test_the_journal_of_this_machine(run):
    code, out, _ = run("timeline", "--live", "sglang-k26", "--format", "json")
    assert code == 0
    told = json.loads(out)
    assert told["sources"][0]["path"] == "journal://sglang-k26"
    assert told["sources"][0]["carrier"] == "journal-export"
    assert [len(service["launches"]) for service in told["services"]] == [4]


def test_without_journalctl_and_without_input(run, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    code, _, err = run("launches", "--live", "sglang-k26")
    assert code == 3
    assert "journalctl" in err
    code, _, err = run("timeline")
    assert code == 2
    assert "--live" in err
