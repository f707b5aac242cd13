from .reading import read

P = b"2026-05-20T14:03:11.123456789Z %s P %s"
F = b"2026-05-20T14:03:11.123456789Z %s F %s"


def test_pieces_are_joined_per_stream():
    reading = read(
        [P % (b"stderr", b"server_args=Ser"), F % (b"stdout", b"other"), F % (b"stderr", b"verArgs(a=1)")]
    )
    assert reading.messages == ["server_args=ServerArgs(a=1)", "other"]
    assert [reading.origin(row).stream for row in range(2)] == ["stderr", "stdout"]


def test_a_character_cut_in_two_is_mended():
    data = "█".encode()
    reading = read([P % (b"stderr", b"bar " + data[:1]), F % (b"stderr", data[1:] + b" end")])
    assert reading.messages == ["bar █ end"]
    assert not reading.source.damaged


def test_a_piece_without_its_rest_is_damage():
    reading = read([P % (b"stderr", b"cut"), F % (b"stdout", b"a")])
    assert reading.messages == ["cut", "a"]
    assert reading.column("damage") == ["split_lost", None]


def test_blanks_are_the_programs_own():
    reading = read([F % (b"stdout", b""), F % (b"stdout", b"  two "), b"2026-05-20T14:03:11Z stdout F"])
    assert reading.messages == ["", "  two ", ""]


def test_tags_with_more_in_them():
    reading = read([b"2026-05-20T14:03:11Z stdout P:x one ", b"2026-05-20T14:03:11Z stdout F:x two"])
    assert reading.messages == ["one two"]


def test_containers_of_one_node_are_kept_apart_when_a_layer_names_them():
    prefix = b"[pod/%s/server] "
    begins = [prefix % pod + P % (b"stderr", b"begin of " + pod) for pod in (b"a", b"b")]
    ends = [prefix % pod + F % (b"stderr", b", end of " + pod) for pod in (b"b", b"a")]
    lines = begins + ends
    assert read(lines).messages == ["begin of a, end of a", "begin of b, end of b"]
