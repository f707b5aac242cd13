"""journalctl itself is stood in for by a script: what it is asked, and what is made of its answers."""

import io
import os
import sys
import zipfile
from datetime import datetime, timedelta

import pytest

from kvforensics.carriers import expand
from kvforensics.carriers.journal_files import unit_matches
from kvforensics.errors import InputError

from .reading import read_path

HEADER = b"LPKSHHRH" + bytes(200)


@pytest.fixture
def journalctl(tmp_path, monkeypatch, samples):
    """Put a journalctl on the path that writes down its arguments and plays an export."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "journalctl"

    def install(export=samples / "journald-252" / "edge" / "export.export", status=0, said=""):
        script.write_text(
            f"#!{sys.executable}\n"
            "import shutil, sys\n"
            f"open({str(tmp_path / 'argv')!r}, 'w').write('\\n'.join(sys.argv[1:]))\n"
            f"shutil.copyfileobj(open({str(export)!r}, 'rb'), sys.stdout.buffer)\n"
            "sys.stdout.flush()\n"
            f"sys.stderr.write({said!r})\n"
            f"sys.exit({status})\n"
        )
        script.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))
        return lambda: (tmp_path / "argv").read_text().split("\n")

    return install


def test_a_journal_file_is_read_through_its_export(tmp_path, journalctl):
    asked = journalctl()
    path = tmp_path / "sys*tem[1].journal"
    path.write_bytes(HEADER)
    reading = read_path(path)
    assert (reading.source.carrier, reading.source.records) == ("journal-export", 33)
    assert asked()[-1] == f"--file={tmp_path}/sys\\*tem\\[1\\].journal"
    assert "--output=export" in asked()
    assert "--all" in asked()


def test_a_folder_of_journals_is_one_input(tmp_path, journalctl):
    asked = journalctl()
    folder = tmp_path / "logs" / "0123456789abcdef0123456789abcdef"
    folder.mkdir(parents=True)
    (folder / "system.journal").write_bytes(HEADER)
    (folder / "user-1000.journal").write_bytes(HEADER)
    (folder / "odd-name").write_bytes(HEADER)
    (folder / "notes.txt").write_text("x\n")
    assert expand([str(tmp_path / "logs")]) == [str(folder), f"{folder}/notes.txt", f"{folder}/odd-name"]
    assert read_path(folder).source.records == 33
    assert asked()[-1] == f"--directory={folder}"
    assert read_path(folder / "odd-name").source.records == 33
    assert asked()[-1] == f"--file={folder}/odd-name"


def test_a_journal_file_in_an_archive_and_on_standard_input(tmp_path, journalctl, monkeypatch):
    asked = journalctl()
    with zipfile.ZipFile(tmp_path / "report.zip", "w") as archive:
        archive.writestr("var/log/journal/1/system.journal", HEADER)
    (member,) = expand([str(tmp_path / "report.zip")])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(HEADER)))
    assert expand(["-"]) == ["-"]
    for name in (member, "-"):
        reading = read_path(name)
        assert (reading.source.path, reading.source.carrier, reading.source.records) == (
            name,
            "journal-export",
            33,
        )
        copy = asked()[-1].removeprefix("--file=")
        assert open(copy, "rb").read() == HEADER  # noqa: PTH123, SIM115
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="cannot run journalctl") as failed:
        read_path(member)
    assert failed.value.where == member


def test_live_asks_for_what_the_unit_switch_hides(journalctl):
    asked = journalctl()
    assert read_path("journal://sglang-k26").source.records == 33
    matches = " ".join(asked()).partition(" _SYSTEMD_UNIT")[2]
    for match in (
        "=sglang-k26.service",
        "UNIT=sglang-k26.service",
        "_COMM=sudo",
        "_PID=1",
        "_TRANSPORT=kernel",
    ):
        assert match in matches
    assert asked().count("+") == len(unit_matches("x")) // 2


def test_journalctl_leaves_out_what_nobody_asked_for(tmp_path, journalctl):
    asked = journalctl()
    day = datetime(2026, 5, 20, 14, 3, 11, 500_000)
    (tmp_path / "a.journal").write_bytes(HEADER)
    for name in ("journal://sglang", tmp_path / "a.journal"):
        read_path(name, since=day, until=day + timedelta(hours=1))
        assert {"--since=@1779285791", "--until=@1779289392"} <= set(asked())
        read_path(name)
        assert not any(word.startswith(("--since", "--until")) for word in asked())


def test_a_units_name_is_one_argument():
    assert unit_matches("a b; rm -rf $HOME + x")[0] == "_SYSTEMD_UNIT=a b; rm -rf $HOME + x.service"
    assert unit_matches("x.scope")[0] == "_SYSTEMD_UNIT=x.scope"


def test_without_journalctl_the_error_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    path = tmp_path / "x.journal"
    path.write_bytes(HEADER)
    with pytest.raises(InputError, match=r"journalctl -a -o export"):
        read_path(path)


def test_a_failure_before_any_output_is_an_error(tmp_path, journalctl):
    journalctl(export=os.devnull, status=1, said="Failed to open files: Bad message\nmore\n")
    path = tmp_path / "x.journal"
    path.write_bytes(HEADER)
    with pytest.raises(InputError, match="Failed to open files: Bad message"):
        read_path(path)


def test_a_failure_later_is_damage(tmp_path, journalctl):
    journalctl(status=1, said="x" * 200_000)
    path = tmp_path / "x.journal"
    path.write_bytes(HEADER)
    reading = read_path(path)
    assert reading.source.records == 33
    assert "unreadable" in reading.source.damaged
