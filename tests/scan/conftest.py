import pytest

from kvforensics import intake
from kvforensics.carriers import nesting, opening, order
from kvforensics.scan import marks, reading


@pytest.fixture
def small_bounds(monkeypatch):
    """Make what takes large inputs happen in small ones: continuing, floods, samples of marks."""
    for module in (opening, reading):
        monkeypatch.setattr(module, "HEAD_BYTES", 12_000)
    monkeypatch.setattr(order, "SAMPLE_RECORDS", 20)
    monkeypatch.setattr(nesting, "HEAD_LINES", 20)
    monkeypatch.setattr(intake, "SAME_KEPT", 3)
    monkeypatch.setattr(marks, "EDGE", 16)
