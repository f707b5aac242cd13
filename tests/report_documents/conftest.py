from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests import hostile

from kvforensics.analysis import analyse
from kvforensics.cli import main
from kvforensics.report import timeline_json

ROOT = Path(__file__).parents[2]
INCIDENT = ROOT / "sample_logs/incident/incident.export"


@pytest.fixture(scope="session")
def incident():
    return analyse([str(INCIDENT)])


@pytest.fixture(scope="session")
def document(incident):
    return timeline_json.timeline(incident)


@pytest.fixture(scope="session")
def attack():
    return hostile.analysis()


@pytest.fixture(scope="session")
def attacked(attack):
    return timeline_json.timeline(attack)


@pytest.fixture
def kv(monkeypatch, capfdbinary):
    """Run the command line in this process; returns exit code, standard output (bytes) and error (text)."""

    def run(*words: object) -> tuple[int, bytes, str]:
        monkeypatch.setattr(sys, "argv", ["kvforensics", *map(str, words)])
        capfdbinary.readouterr()
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        said = capfdbinary.readouterr()
        return code, said.out, said.err.decode()

    return run
