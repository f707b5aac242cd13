import json
from datetime import datetime, timedelta

import pytest

from .reading import read

AT = datetime(2026, 5, 20, 14, 3, 11, 123456)
ISO = "2026-05-20T14:03:11.123456Z"
EPOCH = 1779285791.123456


def lines(*records):
    return [json.dumps(record).encode() for record in records]


@pytest.mark.parametrize(
    ("record", "message", "host", "unit", "container"),
    [
        (
            {"labels": {"hostname": "gpu01", "unit": "sglang.service"}, "line": "a", "timestamp": ISO},
            "a", "gpu01", "sglang.service", None,
        ),
        (
            {"labels": {"pod": "sglang-0", "container": "server", "node_name": "n1"}, "line": "a\n", "timestamp": ISO},
            "a", "n1", None, "sglang-0/server",
        ),
        (
            {"date": EPOCH, "log": "a\n", "stream": "stderr", "kubernetes": {"pod_name": "p", "container_name": "c", "host": "n"}},
            "a", "n", None, "p/c",
        ),
        (
            {"message": "a", "host": "gpu01", "timestamp": ISO, "source_type": "file", "file": "/var/log/x"},
            "a", "gpu01", None, None,
        ),
        (
            {"message": "a", "host": "gpu01", "timestamp": ISO, "source_type": "journald", "_SYSTEMD_UNIT": "u.service", "__REALTIME_TIMESTAMP": str(int(EPOCH * 1e6)), "_PID": "7"},
            "a", "gpu01", "u.service", None,
        ),
        (
            {"date": EPOCH, "systemd_unit": "u.service", "hostname": "gpu01", "message": "a", "pid": "7"},
            "a", "gpu01", "u.service", None,
        ),
        (
            {"@timestamp": ISO, "message": "a", "host": {"name": "gpu01"}, "systemd": {"unit": "u.service"}, "container": {"name": "c"}},
            "a", "gpu01", "u.service", "c",
        ),
        (
            {"textPayload": "a", "timestamp": ISO, "resource": {"labels": {"pod_name": "p", "container_name": "c", "node_name": "n"}}},
            "a", "n", None, "p/c",
        ),
        (
            {"jsonPayload": {"message": "a"}, "timestamp": ISO, "labels": {"compute.googleapis.com/resource_name": "n"}},
            "a", "n", None, None,
        ),
        (
            {"timestamp": 1779285791123, "message": "a", "logStreamName": "sglang/server/4a5b"},
            "a", None, None, "sglang/server",
        ),
        ({"_source": {"@timestamp": ISO, "message": "a", "host": {"hostname": "h"}}}, "a", "h", None, None),
    ],
)  # fmt: skip
def test_names_of_shippers(record, message, host, unit, container):
    reading = read(lines(record, record))
    assert reading.source.carrier == "logs-json"
    assert reading.messages == [message] * 2
    origin = reading.origin(0)
    assert (origin.host, origin.unit, origin.container) == (host, unit, container)
    assert abs(reading.column("at")[0] - AT) < timedelta(milliseconds=1)


def test_otlp():
    record = {"timeUnixNano": "1779285791123456789", "body": {"stringValue": "a"}}
    journal = {
        "timeUnixNano": "1779285791123456789",
        "body": {
            "kvlistValue": {
                "values": [
                    {"key": "MESSAGE", "value": {"stringValue": "b"}},
                    {"key": "_SYSTEMD_UNIT", "value": {"stringValue": "u.service"}},
                    {"key": "_HOSTNAME", "value": {"stringValue": "gpu02"}},
                ]
            }
        },
    }
    resource = {"attributes": [{"key": "host.name", "value": {"stringValue": "gpu01"}}]}
    reading = read(
        lines({"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": [record, journal]}]}]})
    )
    assert reading.messages == ["a", "b"]
    assert reading.column("at") == [AT, AT]
    assert [reading.origin(row).host for row in range(2)] == ["gpu01", "gpu02"]
    assert reading.origin(1).unit == "u.service"
    assert reading.column("line") == [1, 1]


def test_lost_and_binary_messages():
    base = {"_SYSTEMD_UNIT": "u.service", "_HOSTNAME": "h", "date": EPOCH}
    reading = read(
        lines(
            {**base, "MESSAGE": None},
            {**base, "MESSAGE": list("aé".encode())},
            {**base, "MESSAGE": [255, 97]},
            {"timestamp": ISO, "message": None, "labels": {}},
        )
    )
    assert reading.messages == [None, "aé", "\ufffda", None]
    assert reading.column("damage") == ["message_null", None, "message_binary", "message_null"]


def test_journal_fields_keep_their_meaning():
    reading = read(
        lines(
            {
                "MESSAGE": "Started u.service - x.", "UNIT": "u.service", "INVOCATION_ID": "c" * 32, "JOB_TYPE": "start",
                "MESSAGE_ID": "39f53479d3a045ac8e11786248231fbf", "_PID": "1", "_SYSTEMD_UNIT": "init.scope",
                "SYSLOG_IDENTIFIER": "systemd", "_TRANSPORT": "journal", "date": EPOCH,
            }
        )
    )  # fmt: skip
    origin = reading.origin(0)
    assert (origin.unit, origin.invocation, origin.ident, origin.pid) == ("u.service", "c" * 32, "systemd", 1)
    assert json.loads(reading.column("extra")[0])["JOB_TYPE"] == "start"


def test_newest_first_is_turned_round():
    records = [
        {"textPayload": str(number), "timestamp": f"2026-05-20T14:03:{number:02}Z", "resource": {}}
        for number in range(50)
    ]
    reading = read(lines(*records[::-1]))
    assert reading.messages == [str(number) for number in range(50)]
    assert reading.column("line") == list(range(50, 0, -1))


def test_split_entries_of_google_are_joined_in_both_directions():
    parts = [
        {
            "textPayload": text,
            "timestamp": f"2026-05-20T14:03:{10 + number}Z",
            "split": {"uid": "u", "index": number, "totalSplits": 3},
            "resource": {},
        }
        for number, text in enumerate(("server_args=", "ServerArgs(", "a=1)"))
    ]
    assert read(lines(*parts)).messages == ["server_args=ServerArgs(a=1)"]
    assert read(lines(*parts[::-1])).messages == ["server_args=ServerArgs(a=1)"]


def test_partial_lines_of_a_cri_parser_are_joined_per_container():
    records = [
        {
            "date": EPOCH,
            "log": f"{text} of {pod}",
            "_p": tag,
            "stream": "stderr",
            "kubernetes": {"pod_name": pod},
        }
        for tag, text in (("P", "begin"), ("F", ", end"))
        for pod in ("a", "b")
    ]
    assert read(lines(*records)).messages == ["begin of a, end of a", "begin of b, end of b"]


def test_arrays_wrappers_and_pretty_print_keep_line_numbers():
    events = [
        {"timestamp": 1779285791123 + number, "message": f"m{number}\n", "ingestionTime": 1}
        for number in range(3)
    ]
    documents = {
        json.dumps(events): [1, 1, 1],
        json.dumps(events, indent=2): [2, 7, 12],
        json.dumps({"events": events, "nextToken": "x"}): [1, 1, 1],
        json.dumps({"events": events, "searchedLogStreams": [{"a": "b"}], "nextToken": "x"}, indent=4): [
            3,
            8,
            13,
        ],
        "\n".join(json.dumps(event, indent=1) for event in events): [1, 6, 11],
        "[\n" + ",\n".join(json.dumps(event) for event in events) + "\n]": [2, 3, 4],
    }
    for document, numbers in documents.items():
        reading = read(document.encode())
        assert reading.source.carrier == "logs-json", document
        assert reading.messages == ["m0", "m1", "m2"], document
        assert reading.column("line") == numbers, document


def test_documents_longer_than_the_head():
    """Batches of OTLP and compact arrays are one line of megabytes."""
    many = [
        {"timestamp": f"2026-05-20T14:03:11.{n:06}Z", "textPayload": "x" * 80, "resource": {}}
        for n in range(9000)
    ]
    records = [
        {"timeUnixNano": str(1779285791123456000 + n), "body": {"stringValue": "x" * 80}} for n in range(9000)
    ]
    for document in (many, {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}):
        data = json.dumps(document).encode()
        assert len(data) > 1 << 20
        reading = read(data)
        assert reading.source.carrier == "logs-json"
        assert reading.messages == ["x" * 80] * 9000


def test_loki_api_answers():
    labels = {"host": "gpu01"}
    answer = {
        "status": "success",
        "data": {
            "resultType": "streams",
            "result": [{"stream": labels, "values": [["1779285791123456000", "a"]]}],
        },
    }
    reading = read(lines(answer))
    assert reading.messages == ["a"]
    assert reading.column("at") == [AT]
    assert reading.origin(0).host == "gpu01"


def test_torn_lines_keep_their_text_and_the_rest_is_read():
    good = {"labels": {}, "line": "a", "timestamp": ISO}
    reading = read(
        [*lines(good), b'{"labels": {}, "line": "torn', *lines(good), b"not json", *lines(good, good)]
    )
    assert reading.messages == ["a", '{"labels": {}, "line": "torn', "a", "not json", "a", "a"]
    assert reading.column("damage") == [None, "split_lost", None, None, None, None]


def test_an_endless_document_is_bounded():
    text = b'{\n"a": [\n' + b'"x",\n' * 200_000
    reading = read(text, carrier="logs-json")
    assert reading.frame.height > 0


def test_an_object_that_is_no_entry_keeps_its_text():
    record = {"labels": {}, "line": "a", "timestamp": ISO}
    odd = {"foo": 1}
    reading = read(lines(record, odd, record, record))
    assert reading.messages[1] == '{"foo": 1}'


def test_sglangs_json_lines_and_journal_json_are_not_shippers():
    own = {"timestamp": ISO, "event": "request.finished", "rid": "1", "out": {}}
    assert read(lines(own, own)).source.carrier == "plain"
    entry = {"__REALTIME_TIMESTAMP": "1779285791123456", "MESSAGE": "a", "_HOSTNAME": "h", "__CURSOR": "s=1"}
    assert read(lines(entry, entry)).source.carrier == "journal-json"


@pytest.mark.parametrize(
    ("value", "us"),
    [
        (EPOCH, 1779285791123456),
        (1779285791, 1779285791000000),
        (1779285791123, 1779285791123000),
        ("1779285791123456", 1779285791123456),
        ("1779285791123456789", 1779285791123456),
        ("1779285791.123456", 1779285791123456),
        ("2026-05-20T14:03:11.123456789Z", 1779285791123456),
        ("2026-05-20T16:03:11.123456+02:00", 1779285791123456),
        ("2026-05-20 14:03:11", 1779285791000000),
        ("yesterday", None), ("", None), (None, None), (True, None), (-5, None), (0, None), (float("inf"), None),
        ("9" * 29, None), ("²", None), (10**40, None),
        (10**400, None),
        (float("nan"), None), ("0001-01-01T00:00:00+14:00", None), ([], None),
    ],
)  # fmt: skip
def test_times(value, us):
    from kvforensics.carriers.epoch import epoch_us

    assert epoch_us(value) == us


def test_hostile_json():
    deep = b'{"a":' * 5000 + b"1" + b"}" * 5000
    almost = b'{"message":"a","timestamp":1,"labels":' + b'{"a":' * 400 + b"1" + b"}" * 401
    odd = b'{"message":"a\xff","timestamp":1,"labels":' + b'{"a":' * 900 + b"1" + b"}" * 901
    huge = b'{"message":"a","timestamp":' + b"9" * 5000 + b',"labels":{}}'
    for carrier in ("logs-json", "docker-json"):
        reading = read([deep, almost, odd, huge], carrier=carrier)
        assert reading.frame.height == 4
