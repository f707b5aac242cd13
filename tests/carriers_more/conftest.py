from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[1] / "samples"


@pytest.fixture(scope="session")
def server_log():
    """The lines of a real SGLang 0.5.11 server."""
    log = SAMPLES / "sglang-real" / "0.5.11" / "s02-ctx200k.log"
    return log.read_bytes().removesuffix(b"\n").split(b"\n")


@pytest.fixture(scope="session")
def samples():
    return SAMPLES
