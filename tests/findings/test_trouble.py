import pytest
from msgspec.structs import replace
from tests.build import event, failed, launch

from kvforensics.records import Place


class TestFailedStarts:
    def test_not_enough_memory(self, found):
        bad = failed("L1", event("not_enough_memory", line=76, mem_fraction_static=0.7), fraction=0.7)
        result = found(bad)
        assert result["failed_start"][0].severity == "error"
        (one,) = result["not_enough_memory"]
        assert one.evidence == (Place("log.txt", 76),)
        assert "0.7727" in one.fix  # 1 - 21.37/94
        assert "-6.83 GiB" in one.detail

    def test_the_engine_s_own_numbers(self, found):
        bad = failed(
            "L1", event("weights_leave_nothing", mem_fraction_static=0.7, suggested=0.823, minimum=0.7727)
        )
        assert "above 0.823" in found(bad)["not_enough_memory"][0].fix

    def test_a_refused_context(self, found):
        bad = failed("L1", event("context_rejected", asked=300000, derived=262144), context=300000)
        (one,) = found(bad)["failed_start"]
        assert "262,144" in one.fix

    def test_without_a_cause(self, found):
        (one,) = found(failed("L1"))["failed_start"]
        assert "nothing in the log says why" in one.title


class TestOutOfMemory:
    @pytest.mark.parametrize(
        ("before", "phase"),
        [
            (("server_args",), "load"),
            (("load_begin",), "load"),
            (("load_begin", "load_end"), "sizing"),
            (("load_end", "kv_pool"), "sizing"),
            (("load_end", "kv_pool", "pool_end"), "graph_capture"),
            (("pool_end", "capture_begin"), "graph_capture"),
            (("pool_end", "capture_end", "summary"), "runtime"),
            (("summary", "ready"), "runtime"),
        ],
    )
    def test_the_phase(self, found, before, phase):
        events = (*(event(kind) for kind in before), event("oom_cuda", tried_gib=2.0))
        result = found(launch(end="oom", events=events))
        (one,) = result[f"oom_at_{phase}"]
        assert one.severity == "error"
        assert [kind for kind in result if kind.startswith("oom_")] == [f"oom_at_{phase}"]

    def test_without_any_line_before_it_only_the_traceback_tells(self, found):
        assert "oom_somewhere" in found(failed("L1", event("oom_cuda")))
        line = replace(event("exception"), text="File model_runner.py in init_memory_pool")
        assert "oom_at_sizing" in found(failed("L1", line, event("oom_cuda")))

    def test_at_load_the_fraction_does_not_help(self, found):
        (one,) = found(failed("L1", event("load_begin"), event("oom_cuda")))["oom_at_load"]
        assert "does not matter" in one.fix

    def test_at_run_time_the_fraction_goes_down(self, found):
        (one,) = found(launch(end="oom", events=(event("ready"), event("oom_cuda"))))["oom_at_runtime"]
        assert "Lower mem_fraction_static" in one.fix

    def test_the_host_s_killer(self, found):
        result = found(launch(end="oom", events=(event("ready"), event("kernel_oom_kill", pid=1))))
        assert "oom_host" in result
        assert "oom_at_runtime" not in result

    def test_once_a_phase(self, found):
        events = (event("ready"), event("oom_cuda"), event("oom_cuda"))
        assert len(found(launch(end="oom", events=events))["oom_at_runtime"]) == 1


class TestCrashes:
    def test_an_exception(self, found):
        line = event("exception", line=9, type="ValueError", message="boom", phase="scheduler")
        (one,) = found(launch(end="crashed", events=(event("ready"), line)))["scheduler_crash"]
        assert "ValueError: boom" in one.title
        assert one.evidence == (Place("log.txt", 9),)

    def test_an_oom_is_no_crash_of_its_own(self, found):
        events = (event("ready"), event("exception", type="OutOfMemoryError"), event("oom_cuda"))
        assert "scheduler_crash" not in found(launch(end="oom", events=events))

    def test_a_failed_start_is_no_crash(self, found):
        assert "scheduler_crash" not in found(failed("L1", event("exception", type="ImportError")))

    def test_a_watchdog(self, found):
        result = found(launch(end="crashed", events=(event("ready"), event("watchdog_timeout"))))
        assert result["watchdog_timeout"][0].severity == "error"
        assert "scheduler_crash" not in result

    def test_a_leak(self, found):
        result = found(launch(end="crashed", events=(event("ready"), event("leak_detected"))))
        assert "memory_leak_detected" in result

    def test_killed(self, found):
        result = found(launch(end="killed", events=(event("ready"),)))
        assert "killed" in result
        assert "scheduler_crash" not in result

    def test_a_healthy_launch(self, found):
        assert found(launch(end="stopped", events=(event("ready"), event("sigterm")))) == {}
