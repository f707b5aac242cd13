import json

from .reading import read

TIME = "2026-05-20T14:03:11.123456789Z"


def line(log, stream="stderr", time=TIME, **more):
    return json.dumps({"log": log, "stream": stream, "time": time, **more}, separators=(",", ":")).encode()


def test_pieces_of_16_kib_are_joined_per_stream():
    text = "x" * 40_000
    reading = read(
        [
            line(text[:16384]),
            line("other\n", stream="stdout"),
            line(text[16384:32768]),
            line(text[32768:] + "\n"),
        ]
    )
    assert reading.messages == [text, "other"]
    assert reading.column("line") == [1, 2]


def test_small_pieces_that_follow_at_once_are_joined():
    reading = read([line("server_args=Server"), line("Args(a=1)\n", time="2026-05-20T14:03:11.2Z")])
    assert reading.messages == ["server_args=ServerArgs(a=1)"]


def test_what_a_dead_process_left_is_not_glued_to_the_next_start():
    reading = read(
        [
            line("Capturing batches:  50%"),
            line("[2026-05-21 09:00:00] server_args=…\n", time="2026-05-21T09:00:00Z"),
        ]
    )
    assert reading.messages == ["Capturing batches:  50%", "[2026-05-21 09:00:00] server_args=…"]
    assert [str(at) for at in reading.column("at")] == ["2026-05-20 14:03:11.123456", "2026-05-21 09:00:00"]


def test_a_full_piece_without_its_rest_is_damage():
    reading = read([line("x" * 16384), line("[2026-05-21 09:00:00] y\n", stream="stdout")])
    assert reading.column("damage") == ["split_lost", None]


def test_tty_line_ends_and_empty_lines():
    reading = read([line("a\r\n", "stdout"), line("\n", "stdout"), line("b  \n"), line("last")])
    assert reading.messages == ["a", "", "b  ", "last"]


def test_attributes_name_the_container():
    reading = read([line("a\n", attrs={"tag": "sglang-k26"})])
    assert reading.origin(0).container == "sglang-k26"
    assert reading.origin(0).stream == "stderr"


def test_broken_lines_keep_their_text_and_are_counted():
    reading = read(
        [line("a\n"), b'{"log":"torn', line("b\n"), b'{"log":null,"stream":"x","time":"y"}', b"", line("c\n")]
    )
    assert reading.messages[1] == '{"log":"torn'
    assert reading.messages[-1] == "c"
    assert len(reading.messages) == 5
    assert reading.source.damaged["split_lost"].count == 2
    assert reading.source.damaged["split_lost"].first_line == 2


def test_half_surrogates_and_bad_bytes_become_replacement_characters():
    reading = read([line("ok\n"), b'{"log":"\\ud83dx\\n","stream":"stderr","time":"' + TIME.encode() + b'"}'])
    assert reading.messages == ["ok", "?x"]
    reading = read([line("ok\n"), b'{"log":"\xffx\\n","stream":"stderr","time":"' + TIME.encode() + b'"}'])
    assert reading.messages == ["ok", "\ufffdx"]


def test_sglangs_own_json_lines_are_no_docker_log():
    reading = read([b'{"timestamp": "2026-05-20T14:03:11", "event": "request.finished", "rid": "1"}'] * 3)
    assert reading.source.carrier == "plain"


def test_text_beside_the_objects_is_no_damage():
    reading = read([b"My log:", b"```", line("a\n"), b"```", line("b\n"), b'orn","stream":"stderr"}'])
    assert reading.source.carrier == "docker-json"
    assert reading.messages == ["My log:", "```", "a", "```", "b", 'orn","stream":"stderr"}']
    assert reading.column("damage") == [None] * 5 + ["split_lost"]
