from .reading import read


def pieces(task, text):
    cut = [text[start : start + 1024] for start in range(0, len(text), 1024)]
    return [b"%2d: %s" % (task, piece) for piece in cut]


def test_pieces_of_interleaved_tasks_are_joined_raw():
    first, second = pieces(0, b"a " * 1600), pieces(11, b" b" * 1200)
    reading = read([first[0], second[0], second[1], first[1], first[2], second[2], first[3]])
    assert reading.messages == ["a " * 1600, " b" * 1200]
    assert reading.column("line") == [1, 2]


def test_a_line_of_exactly_one_piece_has_an_empty_rest():
    reading = read([b"0: " + b"x" * 1024, b"0: ", b"0: next"])
    assert reading.messages == ["x" * 1024, "next"]


def test_a_piece_may_begin_like_a_line():
    text = b"x" * 1024 + b"[2026-05-20 14:03:11 TP0] glued"
    assert read(pieces(3, text)).messages == [text.decode()]


def test_characters_cut_in_two_are_mended():
    text = ("█" * 1000).encode()
    reading = read([*pieces(1, text), b" 1: next"])
    assert reading.messages == ["█" * 1000, "next"]
    assert not reading.source.damaged


def test_a_bar_that_ends_a_piece_with_its_carriage_return():
    text = b"y" * 1023 + b"\r" + b"z" * 10
    assert read(pieces(1, text)).messages == [text.decode()]


def test_crlf_files():
    lines = [line + b"\r" for line in [*pieces(1, b"x" * 1500), b" 1: y"]]
    assert read(lines).messages == ["x" * 1500, "y"]


def test_slurms_own_lines_have_no_task():
    reading = read([b"srun: error: vm: task 0: Terminated", b"0: a", b"slurmstepd-vm: error: *** JOB 1 ***"])
    assert reading.source.carrier == "slurm"
    assert reading.messages[0] == "srun: error: vm: task 0: Terminated"
    assert reading.origin(0).ident is None
    assert reading.origin(1).ident == "task 0"


def test_a_last_piece_without_its_rest_is_damage():
    reading = read([b"0: short", b"0: " + b"x" * 1024])
    assert reading.column("damage") == [None, "split_lost"]
