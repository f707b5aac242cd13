import pytest
from msgspec.structs import replace
from tests.build import failed, launch

from kvforensics.launches import Config


class TestUnexplained:
    def test_the_weights_took_less(self, found):
        result = found(launch(), launch(weights=70.0, settings={"log_level": "debug"}))
        (one,) = result["pool_moved_unexplained"]
        assert (one.severity, one.launch) == ("warning", "L2")
        assert "72.63 and 70.00" in one.detail
        assert "free_memory_differs" not in result

    def test_also_without_any_change(self, found):
        assert "pool_moved_unexplained" in found(launch(), launch(weights=70.0))

    def test_not_where_a_setting_explains_it(self, found):
        assert "pool_moved_unexplained" not in found(launch(), launch(fraction=0.9))

    def test_not_where_several_could(self, found):
        new = launch(fraction=0.9, weights=60.0, settings={"quantization": "fp8"})
        assert "pool_moved_unexplained" not in found(launch(settings={"quantization": None}), new)

    def test_not_within_noise(self, found):
        assert "pool_moved_unexplained" not in found(launch(), launch(tokens=launch().pool_tokens - 500))

    @pytest.mark.parametrize(
        "config",
        [Config(), Config({"context_length": 5}, "partial"), replace(launch().config, truncated=True)],
    )
    def test_not_where_the_settings_are_not_known(self, found, config):
        new = replace(launch(weights=70.0), config=config)
        assert "pool_moved_unexplained" not in found(launch(), new)

    def test_an_upgrade_is_another_thing(self, found):
        result = found(launch(), launch(version="0.5.14", weights=74.0))
        assert result["pool_moved_by_upgrade"][0].severity == "warning"
        assert "pool_moved_unexplained" not in result

    def test_measured_against_the_last_pool(self, found):
        result = found(launch(), failed("L2", fraction=0.99), launch(weights=70.0))
        assert result["pool_moved_unexplained"][0].launch == "L3"


class TestFreeMemory:
    def test_it_explains_the_pool(self, found):
        result = found(launch(), launch(before=92.0, context=65536))
        (one,) = result["free_memory_differs"]
        assert (one.severity, one.launch) == ("warning", "L2")
        assert "94.00" in one.detail
        assert "92.00" in one.detail
        assert "pool_moved_unexplained" not in result

    @pytest.mark.parametrize(
        ("before", "differs"), [(89.31, False), (89.29, True), (98.69, False), (98.71, True)]
    )
    def test_five_percent(self, found, before, differs):
        result = found(launch(cap=20000), launch(cap=20000, before=before))
        assert ("free_memory_differs" in result) is differs

    def test_on_the_cpu_it_is_no_problem_by_itself(self, found):
        result = found(
            launch(cap=20000, device="cpu"), launch(cap=20000, device="cpu", before=80.0, weights=60.0)
        )
        assert result["free_memory_differs"][0].severity == "info"

    def test_a_failed_start_between_counts_too(self, found):
        result = found(launch(), failed("L2", before=80.0, weights=60.0))
        assert result["free_memory_differs"][0].launch == "L2"
