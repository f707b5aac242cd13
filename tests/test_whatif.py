import json

import pytest

from kvforensics.analysis import Service
from kvforensics.errors import UsageError
from kvforensics.report.whatif_json import whatif as document
from kvforensics.whatif import reach, what_if
from tests.build import event, failed, incident, launch


def service(*launches):
    return Service("node1/sglang.service", "node1", "sglang.service", launches)


BOTH = service(incident("L1"), incident("L2", context=200000, free=9.61))


class TestSet:
    def test_the_contract_s_example(self):
        doc = document(what_if(BOTH, {"mem_fraction_static": 0.92}))
        assert doc["schema"] == "kvforensics.whatif/1"
        assert (doc["service"], doc["launch"], doc["refused"]) == ("node1/sglang.service", "L2", None)
        assert doc["set"] == {"mem_fraction_static": 0.92}
        assert doc["predicted_pool_tokens"] == pytest.approx(192671, abs=5)
        assert doc["low"] < doc["predicted_pool_tokens"] < doc["high"]
        assert doc["longest_prompt_tokens"] == doc["predicted_pool_tokens"] - 7
        assert doc["max_running_requests"] == 64
        assert doc["free_gib"] == pytest.approx(3.36, abs=0.011)
        assert doc["assumptions"]
        json.dumps(doc, allow_nan=False)

    def test_a_refusal_is_part_of_the_answer(self):
        doc = document(what_if(service(incident(weights=79.6)), {"mem_fraction_static": 0.92}))
        assert doc["refused"]["reason_code"] == "budget_too_small"
        assert doc["refused"]["reason"]
        assert (doc["predicted_pool_tokens"], doc["low"], doc["high"]) == (None, None, None)

    def test_a_setting_without_a_rule(self):
        doc = document(what_if(BOTH, {"kv_cache_dtype": "fp8_e4m3"}))
        assert doc["refused"]["reason_code"] == "unsupported_setting"

    def test_a_value_that_no_server_takes(self):
        with pytest.raises(UsageError):
            what_if(BOTH, {"mem_fraction_static": 2})


class TestBase:
    def test_the_last_launch_with_a_pool(self):
        history = service(incident("L1"), failed("L2", event("oom_cuda")))
        assert what_if(history, {"mem_fraction_static": 0.9}).base.id == "L1"

    def test_a_named_launch(self):
        assert what_if(BOTH, {"mem_fraction_static": 0.9}, "L1").base.id == "L1"
        with pytest.raises(UsageError):
            what_if(BOTH, {"mem_fraction_static": 0.9}, "L9")

    def test_no_pool_at_all(self):
        doc = document(what_if(service(failed("L1")), {"mem_fraction_static": 0.9}))
        assert doc["refused"]["reason_code"] == "no_pool"


class TestNeed:
    def test_the_contract_s_example(self):
        doc = document(reach(BOTH, 200000))
        assert doc["need"] == {"context": 200000}
        assert (doc["mem_fraction_static"], doc["reason"], doc["refused"]) == (0.926, None, None)
        first = doc["solutions"][0]
        assert first["set"] == {"mem_fraction_static": 0.926}
        assert first["predicted_pool_tokens"] == pytest.approx(200517, abs=5)
        assert first["free_gib"] == pytest.approx(2.82, abs=0.011)
        assert first["risk"]

    def test_the_context_where_it_is_smaller(self):
        doc = document(reach(BOTH, 200000, "L1"))
        assert all(one["set"]["context_length"] == 200000 for one in doc["solutions"])

    def test_no_solution(self):
        doc = document(reach(BOTH, 1_000_000))
        assert (doc["solutions"], doc["mem_fraction_static"], doc["refused"]) == ([], None, None)
        assert doc["reason"]

    def test_refused(self):
        doc = document(reach(service(launch(tokens=80000)), 200000))
        assert doc["refused"]["reason_code"] == "budget_unexplained"
        assert doc["solutions"] == []

    def test_a_limit_that_a_failed_start_showed(self):
        refused = failed("L2", event("context_rejected", asked=300000, derived=150000), context=300000)
        doc = document(reach(service(incident("L1"), refused), 200000))
        assert doc["solutions"] == []
        assert "150,000" in doc["reason"]
        assert document(reach(service(incident("L1"), refused), 140000))["solutions"]
