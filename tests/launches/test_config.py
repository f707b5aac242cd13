"""Where the settings come from."""

from kvforensics.config_sources import loads
from kvforensics.records import Place
from tests.launches.log import UNIT, Log, only

COMMAND = "/usr/bin/python3 -m sglang.launch_server --model-path /m --context-length 200000 --mem-fraction-static 0.92"
JOURNAL = {"host": "n1", "unit": UNIT, "invocation": "i"}


def test_server_args_are_best_and_the_command_line_says_what_was_asked():
    log = Log("x", **JOURNAL, cmdline=COMMAND).write(
        "server_args", values={"context_length": 65536}, form="repr"
    )
    config = only(log).launches[0].config
    assert (config.source, dict(config.values)) == ("server_args", {"context_length": 65536})
    assert config.requested["context_length"] == 200000
    assert config.place == Place("x", 1)


def test_the_command_line_stands_in_for_a_lost_line():
    log = Log("x", **JOURNAL).systemd("unit_started", invocation="i")
    log.write("load_begin", rank=0, origin={"cmdline": "sglang::scheduler_TP0"}, avail_gib=90.0)
    log.write("ready", origin={"cmdline": COMMAND})
    config = only(log).launches[0].config
    assert config.source == "cmdline"
    assert (config.values["context_length"], config.values["mem_fraction_static"]) == (200000, 0.92)
    assert config.place.line == 3


def test_an_ordinary_line_of_the_main_process_tells_its_command_line():
    log = (
        Log("x", **JOURNAL)
        .write("load_begin", rank=0, avail_gib=90.0)
        .write("note", origin={"cmdline": COMMAND})
    )
    assert only(log).launches[0].config.source == "cmdline"


def test_a_unit_file_handed_in_is_last():
    source = loads("[Service]\nExecStart=" + COMMAND + "\n", "k26.service")[0]
    bare = (
        only(Log().write("load_begin", rank=0, avail_gib=90.0), handed=lambda _version, _name: source)
        .launches[0]
        .config
    )
    assert (bare.source, bare.values["context_length"], bare.place) == (
        "unit_file",
        200000,
        Place("k26.service", 2),
    )
    better = only(Log().start(), handed=lambda _version, _name: source).launches[0].config
    assert (better.source, better.values["context_length"]) == ("server_args", 32768)
    assert better.handed["context_length"] == 200000
    assert better.requested == {}


def test_nothing_is_known():
    config = only(Log().write("load_begin", rank=0, avail_gib=90.0)).launches[0].config
    assert (config.source, dict(config.values), config.place) == ("none", {}, None)


def test_a_cut_line():
    log = Log().write("server_args", values={"context_length": 9}, form="repr", truncated=True)
    config = only(log).launches[0].config
    assert (config.source, config.truncated) == ("server_args", True)
