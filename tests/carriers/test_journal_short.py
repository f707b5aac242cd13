from __future__ import annotations

from datetime import datetime

import pytest

FORMS = {
    "short": ("Nov 30 18:23:14", datetime(2026, 11, 30, 18, 23, 14)),
    "short-precise": ("Nov 30 18:23:14.037205", datetime(2026, 11, 30, 18, 23, 14, 37205)),
    "short-full": ("Mon 2026-11-30 18:23:14 UTC", datetime(2026, 11, 30, 18, 23, 14)),
    "short-iso 252": ("2026-11-30T18:23:14+0000", datetime(2026, 11, 30, 18, 23, 14)),
    "short-iso 257": ("2026-11-30T19:23:14+01:00", datetime(2026, 11, 30, 18, 23, 14)),
    "short-iso-precise 252": ("2026-11-30T18:23:14.037205+0000", datetime(2026, 11, 30, 18, 23, 14, 37205)),
    "short-unix": ("1796062994.037205", datetime(2026, 11, 30, 18, 23, 14, 37205)),
    "short-monotonic": ("[ 1090.416629]", None),
    "short-delta": ("[ 1090.416629                ]", None),
    "short-delta, later": ("[ 1094.485775 <    4.069146 >]", None),
    "short-delta, by realtime": ("[ 1094.485775 <    4.069146*>]", None),
    "short, japanese": ("11月 30 18:23:14", datetime(2026, 11, 30, 18, 23, 14)),
    "short, korean": ("11월 30 18:23:14", datetime(2026, 11, 30, 18, 23, 14)),
    "short, german": ("Nov 30 18:23:14", datetime(2026, 11, 30, 18, 23, 14)),
    "short, french": ("nov. 30 18:23:14", datetime(2026, 11, 30, 18, 23, 14)),
    "short, russian": ("ноя 30 18:23:14", datetime(2026, 11, 30, 18, 23, 14)),
    "short-full, japanese": ("月 2026-11-30 18:23:14 UTC", datetime(2026, 11, 30, 18, 23, 14)),
}
INNER = "[2026-11-30 18:23:14 TP2] KV Cache is allocated."


@pytest.mark.parametrize("stamp", FORMS.values(), ids=FORMS)
def test_forms(read, stamp):
    text, at = stamp
    found = read(f"{text} k26-node1 python3[71]: {INNER}\n{text} k26-node1 systemd[1]: Started x.\n".encode())
    assert found.source.carrier == "journal-short"
    assert found.messages() == [INNER, "Started x."]
    assert found.frame["at"].to_list() == [at, at]
    assert [found.of(row)[:5] for row in (0, 1)] == [
        ("k26-node1", None, None, "python3", 71),
        ("k26-node1", None, None, "systemd", 1),
    ]
    mono = found.frame["mono"].to_list()
    assert mono == [None, None] if at is not None else mono[0] // 1_000_000 in {1090, 1094}


@pytest.mark.parametrize("stamp", FORMS.values(), ids=FORMS)
def test_no_hostname(read, stamp):
    text, _ = stamp
    lines = [
        f"{text} python3[71]: {INNER}",
        f"{text} kernel: hello: world",
        f"{text} my app[1]: x[2001]: odd",
    ]
    found = read("".join(f"{line}\n" for line in lines).encode())
    assert found.messages() == [INNER, "hello: world", "x[2001]: odd"]
    assert [found.of(row)[:5] for row in range(3)] == [
        (None, None, None, "python3", 71),
        (None, None, None, "kernel", None),
        (None, None, None, "my app", 1),
    ]


@pytest.mark.parametrize(
    ("head", "origin"),
    [
        ("k26-node1 python3[71]", ("k26-node1", None, "python3", 71)),
        ("k26-node1 kernel", ("k26-node1", None, "kernel", None)),
        ("k26-node1 unknown", ("k26-node1", None, "unknown", None)),
        ("k26-node1 my app[1]", ("k26-node1", None, "my app", 1)),
        ("k26-node1 (ot-exist)[57]", ("k26-node1", None, "(ot-exist)", 57)),
        ("k26-node1 sglang::scheduler[9]", ("k26-node1", None, "sglang::scheduler", 9)),
        ("10.0.0.1 python3[71]", ("10.0.0.1", None, "python3", 71)),
        ("fe80::1 python3[71]", ("fe80::1", None, "python3", 71)),
        ("k26-node1 6f1d3f0b2c9a[555]", ("k26-node1", None, "6f1d3f0b2c9a", 555)),
        ("k26-node1 sglang-k26.service[71]", ("k26-node1", "sglang-k26.service", None, 71)),
        ("k26-node1 sgl@1.service[71]", ("k26-node1", "sgl@1.service", None, 71)),
        ("k26-node1 user@1000.service/sglang.service[148]", ("k26-node1", "sglang.service", None, 148)),
        ("k26-node1 init.scope[1]", ("k26-node1", None, "systemd", 1)),
        ("k26-node1 python3[99999999999]", ("k26-node1", None, "python3[99999999999]", None)),
    ],
)
def test_who_wrote_it(read, head, origin):
    around = "Nov 30 18:23:13 k26-node1 python3[71]: [2026-11-30 18:23:13 TP0] line\n" * 5
    found = read(f"{around}Nov 30 18:23:14 {head}: text: more\n".encode())
    assert found.messages()[-1] == "text: more"
    last = found.of(-1)
    assert (last.host, last.unit, last.ident, last.pid) == origin


def test_empty_messages(read):
    line = f"Nov 30 18:23:14 k26-node1 python3[71]: {INNER}\n"
    found = read(
        f"{line}Nov 30 18:23:15 k26-node1 python3[71]: \nNov 30 18:23:15 k26-node1 python3[71]:\n".encode()
    )
    assert found.messages() == [INNER, "", ""]


def test_messages_of_several_lines(read):
    prefix = "Nov 30 18:23:14 k26-nöde1 python3[71]: "
    indent = " " * len(prefix.encode())
    lines = [f"{prefix}Traceback:", f'{indent}  File "x.py"', indent, f"{indent}Error: é", f"{prefix}next"]
    found = read("\n".join(lines).encode() + b"\n")
    assert found.messages() == ['Traceback:\n  File "x.py"\n\nError: é', "next"]
    assert found.lines() == [1, 5]
    assert found.source.lines == 5


def test_lines_that_belong_to_no_record_stay(read):
    prefix = "Nov 30 18:23:14 k26-node1 python3[71]: "
    lines = [f"{prefix}one", " too little indent", f"{prefix}two", "no prefix at all", "", f"{prefix}three"]
    found = read("\n".join(lines).encode())
    assert found.messages() == ["one", " too little indent", "two", "no prefix at all", "", "three"]
    assert [found.of(row).host for row in range(6)] == [
        "k26-node1",
        None,
        "k26-node1",
        None,
        None,
        "k26-node1",
    ]


def test_journalctls_own_lines_are_no_records(read):
    boot = "c25d6b27eea54a7086373de33c2eb0f5"
    lines = [
        "-- Journal begins at Mon 2026-11-30 18:26:46 UTC, ends at Mon 2026-11-30 18:27:29 UTC. --",
        "Nov 30 18:26:46 k26-node1 python3[71]: before",
        f"-- Boot {boot} --",
        "Nov 30 18:26:50 k26-node1 python3[71]: after",
        "░░ Subject: something",
        "░░ ",
        "-- Reboot --",
        "-- No entries --",
        "-- cursor: s=0639",
        "Nov 30 18:26:51 k26-node1 python3[71]: last",
    ]
    found = read("\n".join(lines).encode())
    assert found.messages() == ["before", "after", "last"]
    assert [found.of(row).boot for row in range(3)] == [None, boot, "after line 7"]
    assert found.lines() == [2, 4, 10]
    assert found.frame["at"][0] == datetime(2026, 11, 30, 18, 26, 46)


def test_a_reboot_without_an_id_is_another_boot(read):
    line = "Nov 30 18:26:46 k26-node1 python3[71]: x\n"
    found = read(f"{line}-- Reboot --\n{line}{line}-- Reboot --\n{line}".encode())
    assert [found.of(row).boot for row in range(4)] == [None, "after line 2", "after line 2", "after line 5"]


def test_blob_data(read):
    blob = "Nov 30 18:23:14 k26-node1 python3[71]: [48.0K blob data]\n"
    spoken = "Nov 30 18:23:15 k26-node1 python3[71]: wrote [84B blob data] to disk\n"
    found = read((blob + spoken).encode())
    assert found.messages() == [None, "wrote [84B blob data] to disk"]
    assert found.damage() == {"blob_data": (1, 1)}


def test_suppressed_messages(read):
    text = "Suppressed 425 messages from sglang-k26.service"
    found = read(f"Nov 30 18:23:14 k26-node1 systemd-journald[412]: {text}\n".encode())
    assert (found.messages(), found.damage()) == ([text], {"rate_limited": (1, 1)})


def test_several_forms_in_one_file(read):
    lines = [f"{stamp} k26-node1 python3[71]: {INNER}" for stamp, _ in FORMS.values()]
    found = read("\n".join(lines * 3).encode())
    assert found.messages() == [INNER] * len(FORMS) * 3
    assert found.frame["at"].to_list() == [at for _, at in FORMS.values()] * 3


ISO, SHORT = "2026-11-30T18:23:14+0000", "Nov 30 18:23:14"


@pytest.mark.parametrize("most", [ISO, SHORT])
@pytest.mark.parametrize("stamp", [ISO, SHORT])
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('k26="node1 {{.Name}}[71]: text', "text"),
        ("k26-node1 it's[71]:", ""),
        ("k26-node1 server_args={'model_path': 'x'}", None),
        ('{"level": "info"}', None),
    ],
)
def test_a_head_is_told_alike_in_each_form(read, most, stamp, line, message):
    lines = [f"{most} k26-node1 python3[1]: x"] * 3 + [f"{stamp} {line}"]
    found = read("\n".join(lines).encode())
    assert found.source.carrier == "journal-short"
    assert found.messages()[3] == (f"{stamp} {line}" if message is None else message)
    assert found.of(3).pid == (None if message is None else 71)


@pytest.mark.parametrize("months", ["Nov Nov Nov", "ноя ноя ноя", "Nov ноя ноя"])
def test_rsyslogs_escapes_are_undone_whatever_the_months_beside_it(read, months):
    names = [*months.split(), "Nov"]
    lines = [f"{name} 30 18:23:14 k26-node1 python3[1]: #033[0m" for name in names]
    found = read("\n".join(lines).encode())
    assert found.messages() == ["\x1b[0m" if name == "Nov" else "#033[0m" for name in names]


def test_carriage_returns_and_odd_separators_stay_in_the_line(read):
    text = "\rCapturing: 0%\rCapturing: 9%\x0b\x0c\x85\u2028 end"
    found = read(f"Nov 30 18:23:14 k26-node1 python3[71]: {text}\r\n".encode())
    assert found.messages() == [text]


def test_split_lines_of_text_are_joined(read):
    prefix = "Nov 30 18:23:14 k26-node1 python3[71]: "
    other = "Nov 30 18:23:14 k26-node1 python3[72]: [2026-11-30 18:23:14 TP1] other\n"
    for size in (2048, 49_152):
        first = "[2026-11-30 18:23:14] server_args=ServerArgs(".ljust(size, "x")
        found = read(f"{prefix}{first}\n{other}{prefix}tail)\n{prefix}next\n".encode())
        assert found.messages() == [first + "tail)", "[2026-11-30 18:23:14 TP1] other", "next"]
        assert found.lines() == [1, 2, 4]
        found = read(f"{prefix}{first}\n{prefix}[2026-11-30 18:23:15 TP0] of its own\n".encode())
        assert found.messages() == [first, "[2026-11-30 18:23:15 TP0] of its own"]


def test_a_sudo_line_keeps_its_space(read):
    line = b"Nov 30 18:23:22 k26-node1 python3[71]: [2026-11-30 18:23:22 TP0] x\n"
    sudo = b"Nov 30 18:23:22 k26-node1 sudo[175]:  theuser : TTY=pts/1 ; PWD=/ ; COMMAND=/bin/ls\n"
    found = read(line + sudo)
    assert found.messages()[1] == " theuser : TTY=pts/1 ; PWD=/ ; COMMAND=/bin/ls"
    assert found.of(1).ident == "sudo"


def test_rsyslog_pads_days_with_a_space(read):
    found = read(b"Nov  3 18:40:17 vm python3[1440]: [2026-11-03 18:40:17 TP0] x#033[0m y #01 #999\n" * 2)
    assert found.frame["at"][0] == datetime(2026, 11, 3, 18, 40, 17)
    assert found.messages()[0] == "[2026-11-03 18:40:17 TP0] x\x1b[0m y #01 #999"


def test_rfc3339_with_microseconds_is_journalctls_only_with_a_sign_of_it(read):
    line = "2026-11-30T18:40:17.464112+00:00 vm python3[1440]: [2026-11-30 18:40:17 TP0] text\n"
    assert read((line * 5).encode()).source.carrier == "syslog"
    boot = "-- Boot c25d6b27eea54a7086373de33c2eb0f5 --\n"
    assert read((line + boot + line * 5).encode()).source.carrier == "journal-short"
    assert (
        read((line + "2026-11-30T18:40:17.464112+00:00 vm sudo: x\n" + line).encode()).source.carrier
        == "syslog"
    )


@pytest.mark.parametrize(
    ("abbreviation", "zone", "at"),
    [
        ("CET", "UTC", datetime(2026, 11, 30, 17, 23, 14)),
        ("CEST", "UTC", datetime(2026, 11, 30, 16, 23, 14)),
        ("EST", "UTC", datetime(2026, 11, 30, 23, 23, 14)),
        ("-03", "UTC", datetime(2026, 11, 30, 21, 23, 14)),
        ("+0530", "UTC", datetime(2026, 11, 30, 12, 53, 14)),
        ("IST", "UTC", None),
        ("IST", "Asia/Kolkata", datetime(2026, 11, 30, 12, 53, 14)),
        ("IST", "Asia/Jerusalem", datetime(2026, 11, 30, 16, 23, 14)),
        ("CST", "Asia/Shanghai", datetime(2026, 11, 30, 10, 23, 14)),
        ("CST", "America/Chicago", datetime(2026, 12, 1, 0, 23, 14)),
    ],
)
def test_abbreviations_of_zones(read, abbreviation, zone, at):
    line = f"Mon 2026-11-30 18:23:14 {abbreviation} k26-node1 python3[71]: text\n"
    assert read((line * 2).encode(), tz=zone).frame["at"].to_list() == [at, at]


def test_an_impossible_date_has_no_time(read):
    lines = [
        "Nov 30 18:23:14 k26-node1 python3[71]: [2026-11-30 18:23:14 TP0] one",
        "Nov 31 18:23:14 k26-node1 python3[71]: two",
        "Nov 30 18:23:99 k26-node1 python3[71]: three",
        "Foo 30 18:23:15 k26-node1 python3[71]: four",
        "Nov 30 18:23:16 k26-node1 python3[71]: five",
    ]
    found = read("\n".join(lines).encode())
    assert found.messages() == ["[2026-11-30 18:23:14 TP0] one", "two", "three", "four", "five"]
    assert [at is None for at in found.frame["at"]] == [False, True, True, True, False]
