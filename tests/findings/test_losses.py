from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.build import START, event, launch

from kvforensics.launches import Config
from kvforensics.records import Place, Source


def damaged(kind):
    source = Source("log.export")
    source.add_damage(kind, 12)
    return source


class TestConfigLine:
    def test_cut_off(self, found):
        line = event("server_args", line=12, truncated=True)
        (one,) = found(launch(truncated=True, events=(line,)))["config_line_lost"]
        assert one.evidence == (Place("log.txt", 12),)

    @pytest.mark.parametrize("kind", ["message_null", "split_lost", "blob_data", "message_binary"])
    def test_lost_by_the_carrier(self, found, kind):
        made = replace(launch(events=(event("load_begin"),)), config=Config({"tp_size": 8}, "cmdline"))
        (one,) = found(made, source=damaged(kind))["config_line_lost"]
        assert one.evidence == (Place("log.export", 12),)
        assert "command line" in one.detail

    def test_not_where_no_line_came_after_it(self, found):
        made = replace(launch(events=(event("unit_started"),), ready=False), config=Config())
        assert "config_line_lost" not in found(made, source=damaged("message_null"))

    def test_not_where_nothing_was_lost(self, found):
        made = replace(launch(events=(event("load_begin"),)), config=Config())
        assert "config_line_lost" not in found(made)
        assert "config_line_lost" not in found(launch(events=(event("x"),)), source=damaged("message_null"))

    def test_not_for_the_head_of_a_rotated_log(self, found):
        made = replace(launch(events=(event("ready"),)), config=Config(), complete_start=False)
        assert "config_line_lost" not in found(made, source=damaged("message_null"))


class TestSecrets:
    def test_in_the_settings(self, found):
        (one,) = found(launch(settings={"api_key": "<redacted>"}))["secret_in_log"]
        assert (one.severity, one.launch) == ("warning", "L1")
        assert "api_key" in one.title

    def test_deep_in_a_value(self, found):
        made = launch(settings={"model_loader_extra_config": {"a": [{"token": "<redacted>"}]}})
        assert "secret_in_log" in found(made)

    def test_in_another_line(self, found):
        line = event("sudo_command", line=3)
        made = launch(events=(replace(line, text="HF_TOKEN=<redacted> x"),))
        assert found(made)["secret_in_log"][0].evidence == (Place("log.txt", 3),)

    def test_none(self, found):
        assert "secret_in_log" not in found(launch(settings={"api_key": None}))

    def test_a_reference_is_no_secret(self, found):
        line = event("sudo_command", line=3)
        made = launch(
            settings={"api_key": "<redacted-reference>"},
            requested={"api_key": "<redacted-reference>"},
            events=(replace(line, text="--api-key <redacted-reference>"),),
        )
        assert "secret_in_log" not in found(made)

    def test_a_file_that_was_handed_in_is_no_log(self, found):
        made = launch(settings={"api_key": "<redacted>"}, source="unit_file")
        assert "secret_in_log" not in found(made)


class TestGaps:
    def test_dropped_messages(self, found):
        line = event("suppressed", line=77, count=5219)
        (one,) = found(launch(events=(line,)))["rate_limited"]
        assert "5,219" in one.title
        assert (one.launch, one.evidence) == ("L1", (Place("log.txt", 77),))

    def test_dropped_messages_in_the_trail(self, found):
        line = event("suppressed", at=START + timedelta(minutes=9), count=3)
        (one,) = found(launch(), trail=[line])["rate_limited"]
        assert one.launch == "L1"

    def test_missing_records(self, found):
        assert "time_gap" in found(launch(events=(event("log_gap"),)))

    def test_silence_before_a_start(self, found):
        result = found(launch(end="unknown"), launch(hour=9))
        (one,) = result["time_gap"]
        assert (one.launch, one.severity) == ("L2", "info")
        assert "time_gap" not in found(launch(end="restarted"), launch(hour=9))
        assert "time_gap" not in found(launch(end="unknown"), launch(hour=1))


def test_places_of_unknown_sources_are_left_out(found):
    line = replace(event("suppressed", count=1), source=7)
    assert found(launch(events=(line,)))["rate_limited"][0].evidence == ()


def test_the_order_is_by_launch_and_time(found):
    first = found(launch(context=200000), launch(context=200000, hour=2))
    assert [one.launch for one in first["context_exceeds_pool"]] == ["L1", "L2"]


class TestCopies:
    def test_where_a_launch_stands_again(self, found):
        again = [("L2", event("server_args", line=line)) for line in (900, 1800)]
        (one,) = found(launch(), launch(hour=1), copies=again)["launch_repeated"]
        assert (one.launch, one.severity) == ("L2", "info")
        assert "3 times" in one.title
        assert one.evidence == (Place("log.txt", 900), Place("log.txt", 1800))
        assert "launch_repeated" not in found(launch())
