"""Runs the command line inside this process, so that grammars and polars are loaded once."""

from __future__ import annotations

import json
import sys
from typing import NamedTuple

import pytest

from kvforensics.cli import main


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def kv(monkeypatch, capfd):
    def run(*args: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["kvforensics", *map(str, args)])
        capfd.readouterr()
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        said = capfd.readouterr()
        return Done(code, said.out, said.err)

    return run
