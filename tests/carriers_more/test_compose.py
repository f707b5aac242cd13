from .reading import read


def test_colours_and_widths():
    reading = read(
        [
            b"\x1b[36mrouter-1  | \x1b[0mv2",
            b"\x1b[33msglang_1  |\x1b[0m v1",
            b"sglang-1  | plain",
            b"a-very-long-name-1 | x",
            b"sglang-1  | ",
            b"sglang-1  |",
            b"sglang-1  |   indented",
        ]
    )
    assert reading.messages == ["v2", "v1", "plain", "x", "", "", "  indented"]
    assert reading.origin(0).container == "router-1"


def test_exits_are_records_of_their_container():
    reading = read(
        [
            b"Attaching to comp_router_1, comp_sglang_1",
            b"router_1  | a",
            b"sglang_1  | b",
            b"comp_sglang_1 exited with code 137",
            b"\x1b[33mcomp_router_1 exited with code 0\x1b[0m",
        ]
    )
    assert reading.messages[3] == "comp_sglang_1 exited with code 137"
    assert [reading.origin(row).container for row in (0, 3, 4)] == [None, "sglang_1", "router_1"]


def test_exit_before_any_line_keeps_its_own_name():
    reading = read([b"sglang-1 exited with code 3", b"router-1  | a", b"router-1  | b"])
    assert reading.origin(0).container == "sglang-1"


def test_bars_and_tables_are_no_compose_log():
    reading = read(
        [b"Loading safetensors checkpoint shards:  25% Completed | 16/64", b"  0%|          | 0/23"] * 4
    )
    assert reading.source.carrier == "plain"


def test_the_messages_own_bars_stay():
    assert read([b"sglang-1  | a | b", b"sglang-1  | c  |"]).messages == ["a | b", "c  |"]


def test_services_of_a_swarm_name_their_node():
    reading = read([b"sglang.1.x7fq@gpu01    | a", b"sglang.2.k2ab@gpu02    | b"])
    assert reading.source.carrier == "compose"
    assert reading.messages == ["a", "b"]
    assert (reading.origin(1).host, reading.origin(1).container) == ("gpu02", "sglang.2.k2ab")
