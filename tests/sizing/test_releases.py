import pytest

from kvforensics.launches import VersionRange
from kvforensics.sizing.releases import release, within


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("0.5.11", (0, 5, 11, 0)),
        ("0.4.9.post6", (0, 4, 9, 6)),
        ("0.5.11rc1+cu129", (0, 5, 11, 0)),
        ("v1", None),
        ("", None),
        ("٠.٥.١", None),
    ],
)
def test_release(text, parts):
    assert release(text) == parts


@pytest.mark.parametrize(
    ("oldest", "newest", "inside"),
    [
        ("0.5.7", "0.5.13", True),
        ("0.5.11", "0.5.11", True),
        ("0.5.13.post2", "0.5.13.post2", True),
        ("0.5.6", "0.5.9", None),
        ("0.5.13", "0.5.14", None),
        ("0.5.14", "0.5.23", False),
        ("0.4.9", "0.5.6.post2", False),
        (None, None, None),
        (None, "0.5.6", False),
        ("0.5.9", None, None),
    ],
)
def test_within(oldest, newest, inside):
    assert within(VersionRange(oldest, newest), "0.5.7", "0.5.13") is inside


def test_open_ends():
    assert within(VersionRange("0.5.14", "0.5.23"), "0.5.14", None) is True
    assert within(VersionRange("0.5.14", None), "0.5.14", None) is True
    assert within(VersionRange(None, "0.5.6.post1"), None, "0.5.6") is True
