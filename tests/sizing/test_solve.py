import pytest
from msgspec.structs import replace
from tests.build import event, incident, launch, pool

from kvforensics.errors import PredictionRefusedError, UsageError
from kvforensics.sizing import predict, solve

BF16 = (event("kv_dtype", dtype="torch.bfloat16"),)


class TestIncident:
    l2 = incident("L2", context=200000, free=9.61)

    def test_the_least_fraction(self):
        answer = solve(self.l2, 200000)
        assert answer.mem_fraction_static == 0.926
        first = answer.solutions[0]
        assert first.set == {"mem_fraction_static": 0.926}
        assert first.predicted_pool_tokens == pytest.approx(200517, abs=5)
        assert first.free_gib == pytest.approx(2.82, abs=0.015)
        assert "2.83" in first.risk
        assert answer.reason is None

    def test_it_is_the_least_of_three_decimals(self):
        assert predict(self.l2, {"mem_fraction_static": 0.925}).tokens < 200000

    def test_the_context_rises_too_where_it_is_smaller(self):
        answer = solve(incident(), 200000)
        assert answer.solutions[0].set == {"mem_fraction_static": 0.926, "context_length": 200000}
        assert all(s.set["context_length"] == 200000 for s in answer.solutions)

    def test_an_8_bit_cache_is_another_way(self):
        answer = solve(incident("L2", context=200000, free=9.61, events=BF16), 200000)
        assert [list(s.set) for s in answer.solutions] == [["mem_fraction_static"], ["kv_cache_dtype"]]
        assert answer.solutions[1].predicted_pool_tokens == pytest.approx(202268, abs=1)
        assert answer.solutions[1].free_gib == pytest.approx(9.61, abs=0.01)

    def test_not_where_the_dtype_is_not_known_or_8_bit_already(self):
        assert len(solve(self.l2, 200000).solutions) == 1
        narrow = incident("L2", context=200000, events=(event("kv_dtype", dtype="torch.float8_e4m3fn"),))
        assert len(solve(narrow, 200000).solutions) == 1


class TestRisk:
    def test_a_longer_context_makes_the_request_table_longer(self):
        answer = solve(incident(running=2048), 200000)
        assert "request table takes 1.28 GiB more" in answer.solutions[0].risk

    def test_an_unknown_number_of_requests_says_only_what_is_known(self):
        risk = solve(replace(incident(), max_running_requests=None), 200000).solutions[0].risk
        assert "own limit must allow" in risk
        assert "request table" not in risk

    def test_the_chunk_says_what_activations_ask_for(self):
        assert "chunks of 8192 is 12.0 GiB" in solve(incident(), 200000).solutions[0].risk

    def test_a_tight_headroom_is_named(self):
        assert "likely" in solve(incident(free=7.2), 200000).solutions[0].risk
        assert "likely" not in solve(incident(free=9.8), 200000).solutions[0].risk


class TestNoSolution:
    def test_more_than_all_memory(self):
        answer = solve(incident(), 400000)
        assert (answer.mem_fraction_static, answer.solutions) == (None, ())
        assert "400,000" in answer.reason

    def test_more_than_is_free(self):
        answer = solve(incident(free=2.0), 200000)
        assert answer.solutions == ()
        assert "GiB more than the 2.00 GiB" in answer.reason

    def test_free_memory_unknown_is_said_and_does_not_stop(self):
        answer = solve(incident(free=None), 200000)
        assert answer.solutions[0].free_gib is None
        assert "not known" in answer.solutions[0].risk

    def test_refusals_pass_through(self):
        with pytest.raises(PredictionRefusedError):
            solve(launch(tokens=80000), 200000)
        with pytest.raises(PredictionRefusedError):
            solve(replace(launch(), pool_tokens=None), 200000)

    @pytest.mark.parametrize("need", [0, -1])
    def test_a_need_of_nothing(self, need):
        with pytest.raises(UsageError):
            solve(launch(), need)


class TestAlready:
    def test_pool_and_context_are_there(self):
        answer = solve(incident(context=200000), 50000)
        assert (answer.mem_fraction_static, answer.solutions) == (0.85, ())
        assert "101,134" in answer.reason

    def test_only_the_context_is_missing(self):
        answer = solve(incident(), 100000)
        assert [s.set for s in answer.solutions] == [{"context_length": 100000}]
        assert answer.solutions[0].predicted_pool_tokens == 101134
        assert answer.mem_fraction_static == 0.85


class TestCaps:
    def test_a_binding_cap_is_lifted(self):
        answer = solve(launch(cap=50000, context=100000), 90000)
        assert [s.set for s in answer.solutions] == [{"max_total_tokens": 90000}]

    def test_and_the_fraction_raised_where_memory_is_short(self):
        answer = solve(launch(cap=50000, context=200000), 150000)
        assert answer.solutions[0].set["max_total_tokens"] == 150000
        assert answer.solutions[0].set["mem_fraction_static"] == answer.mem_fraction_static
        assert answer.solutions[0].predicted_pool_tokens == 150000

    def test_a_pool_that_prints_zero(self):
        tiny = launch(
            before=20.0,
            weights=0.0,
            fraction=0.85,
            cap=3000,
            context=4096,
            pools=(pool("target", 3000, 0.0, "mha"),),
        )
        assert [s.set for s in solve(tiny, 4096).solutions] == [{"max_total_tokens": 4096}]

    def test_a_cap_that_would_bind_on_the_way(self):
        made = launch(cap=120000, context=200000)
        assert made.pool_tokens < 120000
        answer = solve(made, 150000)
        assert answer.solutions[0].set["max_total_tokens"] == 150000

    def test_pages_round_up(self):
        answer = solve(launch(page=64, context=200000), 150001)
        assert answer.solutions[0].predicted_pool_tokens >= 150001
        assert answer.solutions[0].predicted_pool_tokens % 64 == 0
