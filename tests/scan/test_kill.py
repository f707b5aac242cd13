"""kill -9 at any moment leaves a catalogue that opens and continues; `python -m tests.scan.kill 200` is the full run."""

from tests.scan.kill import kill_and_go_on


def test_a_killed_scan_goes_on(tmp_path):
    assert kill_and_go_on(tmp_path, kills=3, seed=7, files=2) >= 1
