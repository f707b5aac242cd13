"""Writers of carriers: the lines of a log as docker, Kubernetes, Slurm, syslog and shippers would carry them.

Each takes lines and gives the lines of a file, so that they can be put into each other in any order.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

START = datetime(2026, 5, 20, 14, 3, 11, 123456, tzinfo=UTC)


def moments(count, step_ms=7):
    return [START + timedelta(milliseconds=step_ms * number) for number in range(count)]


def nano(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"


def iso(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f+00:00")


def pieces(data, size):
    return [data[start : start + size] for start in range(0, len(data), size)] or [b""]


def docker_json(lines):
    made = []
    for line, moment in zip(lines, moments(len(lines)), strict=True):
        for piece in pieces(line + b"\n", 16384):
            text = piece.decode(errors="replace")
            record = {"log": text, "stream": "stderr", "time": nano(moment)}
            made.append(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode())
    return made


def docker_text(lines):
    made = []
    for line, moment in zip(lines, moments(len(lines)), strict=True):
        stamp = nano(moment).encode() + b" "
        made.append(b"".join(stamp + piece for piece in pieces(line, 16384)))
    return made


def cri(lines, size=8192):
    made = []
    for line, moment in zip(lines, moments(len(lines)), strict=True):
        cut = pieces(line, size)
        for number, piece in enumerate(cut):
            tag = b"F" if number == len(cut) - 1 else b"P"
            made.append(b"%s stderr %s %s" % (nano(moment).encode(), tag, piece))
    return made


def compose_v1(lines):
    return [b"Attaching to app_sglang_1", *(b"sglang_1  | " + line for line in lines)]


def compose_v2(lines):
    return [b"sglang-1  | " + line for line in lines]


def compose_coloured(lines):
    return [b"\x1b[36msglang-1  | \x1b[0m" + line for line in lines]


def kubectl(lines):
    return [
        b"[pod/sglang-0/server] %s %s" % (nano(moment).encode(), line)
        for line, moment in zip(lines, moments(len(lines)), strict=True)
    ]


def kubectl_prefix(lines):
    return [b"[pod/sglang-0/server] " + line for line in lines]


def srun(lines):
    made = []
    for line in lines:
        made += [b" 3: " + piece for piece in pieces(line, 1024)]
        if line and len(line) % 1024 == 0:
            made.append(b" 3: ")
    return made


def escaped(line):
    return re.sub(rb"[\x00-\x1f\x7f]", lambda match: b"#%03o" % match.group()[0], line)


def syslog_iso(lines):
    return [
        b"%s gpu01 python3[1440]: %s" % (iso(moment).encode(), escaped(line))
        for line, moment in zip(lines, moments(len(lines)), strict=True)
    ]


def syslog_5424(lines):
    return [
        b"<30>1 %s gpu01 python3 1440 - -  %s" % (iso(moment).encode(), escaped(line))
        for line, moment in zip(lines, moments(len(lines)), strict=True)
    ]


def journal_short(lines):
    return [
        b"%s gpu01 python3[71]: %s" % (moment.strftime("%b %d %H:%M:%S").encode(), line)
        for line, moment in zip(lines, moments(len(lines)), strict=True)
    ]


def _texts(lines):
    return zip((line.decode(errors="replace") for line in lines), moments(len(lines)), strict=True)


def _lines(records):
    return [json.dumps(record, ensure_ascii=False).encode() for record in records]


def loki_text(lines):  # logcli trims the line
    return [
        b'%s {host="gpu01", unit="sglang.service"} %s'
        % (moment.strftime("%Y-%m-%dT%H:%M:%SZ").encode(), line.strip())
        for line, moment in zip(lines, moments(len(lines)), strict=True)
    ]


def loki_jsonl(lines):
    labels = {"host": "gpu01", "unit": "sglang.service"}
    return _lines({"labels": labels, "line": text, "timestamp": iso(at)} for text, at in _texts(lines))


def fluent_bit(lines):
    return _lines(
        {"date": at.timestamp(), "log": text, "stream": "stderr", "kubernetes": {"pod_name": "sglang-0"}}
        for text, at in _texts(lines)
    )


def fluent_bit_journal(lines):
    return _lines(
        {
            "date": at.timestamp(),
            "_SYSTEMD_UNIT": "sglang.service",
            "_HOSTNAME": "gpu01",
            "_PID": "71",
            "_SYSTEMD_INVOCATION_ID": "c" * 32,
            "MESSAGE": text,
        }
        for text, at in _texts(lines)
    )


def vector(lines):
    return _lines(
        {
            "message": text,
            "host": "gpu01",
            "timestamp": nano(at),
            "source_type": "journald",
            "_SYSTEMD_UNIT": "sglang.service",
            "__REALTIME_TIMESTAMP": str(int(at.timestamp() * 1e6)),
        }
        for text, at in _texts(lines)
    )


def otlp(lines):
    records = [
        {"timeUnixNano": str(int(at.timestamp() * 1e6)) + "000", "body": {"stringValue": text}}
        for text, at in _texts(lines)
    ]
    host = [{"key": "host.name", "value": {"stringValue": "gpu01"}}]
    return _lines(
        {"resourceLogs": [{"resource": {"attributes": host}, "scopeLogs": [{"logRecords": part}]}]}
        for part in (records[start : start + 10] for start in range(0, len(records), 10))
    )


def cloudwatch(lines):
    events = [
        {
            "timestamp": int(at.timestamp() * 1000),
            "message": text,
            "ingestionTime": 1,
            "logStreamName": "gpu01",
        }
        for text, at in _texts(lines)
    ]
    return (
        json.dumps({"events": events, "searchedLogStreams": [], "nextToken": "x"}, indent=4)
        .encode()
        .split(b"\n")
    )


def gcloud(lines):
    entries = [
        {
            "insertId": str(number),
            "resource": {
                "labels": {"container_name": "server", "pod_name": "sglang-0"},
                "type": "k8s_container",
            },
            "textPayload": text,
            "timestamp": nano(at),
        }
        for number, (text, at) in enumerate(_texts(lines))
    ]
    return json.dumps(entries[::-1], indent=2).encode().split(b"\n")


def ray(lines):
    return [b"(SchedulerActor pid=1234, ip=10.0.0.2) " + line for line in lines]


def torchrun(lines):
    return [b"[rank0]: " + line for line in lines]


def quoted(lines):
    return [b"> " + line for line in lines]


def indented(lines):
    return [b"    " + line for line in lines]


def ts(lines):
    return [
        b"%s %s" % (moment.strftime("%b %d %H:%M:%S").encode(), line)
        for line, moment in zip(lines, moments(len(lines)), strict=True)
    ]


def script(lines):
    begin = b'Script started on 2026-05-20 14:03:11+00:00 [TERM="xterm"]'
    return [
        begin,
        *(line + b"\r" for line in lines),
        b'Script done on 2026-05-20 15:00:00 [COMMAND_EXIT_CODE="0"]',
    ]


TEXT = (docker_text, cri, compose_v1, compose_v2, compose_coloured, kubectl, kubectl_prefix, srun)
SYSLOG = (syslog_iso, syslog_5424, journal_short)
JSON = (docker_json, loki_jsonl, fluent_bit, fluent_bit_journal, vector, otlp, cloudwatch, gcloud)
ENVELOPES = (ray, torchrun, quoted, indented, ts, loki_text)
ALL = (*TEXT, *SYSLOG, *JSON, *ENVELOPES)
