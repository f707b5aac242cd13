from __future__ import annotations

import json
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvforensics.config_sources import load, loads

INSPECT = [
    {
        "Id": "ab12",
        "Name": "/sglang-k26",
        "Path": "/opt/nvidia/nvidia_entrypoint.sh",
        "Args": [
            "python3",
            "-m",
            "sglang.launch_server",
            "--model-path",
            "/m",
            "--tp",
            "8",
            "--api-key",
            "sk-aaaabbbbcccc",
        ],
        "Config": {"Env": ["HF_TOKEN=hf_Abcdefghij0123456789", "A=b=c"], "Cmd": ["x"], "Entrypoint": ["y"]},
    }
]


def only(text: str):
    (found,) = loads(dedent(text), "file")
    return found


class TestInspect:
    def test_docker(self):
        found = only(json.dumps(INSPECT, indent=1))
        assert (found.kind, found.name) == ("docker_inspect", "sglang-k26")
        assert dict(found.values) == {"model_path": "/m", "tp_size": 8, "api_key": "<redacted>"}
        assert found.environment["A"] == "b=c"
        assert "sk-aaaa" not in repr(found)
        assert "hf_Abc" not in repr(found)

    def test_without_path_the_entrypoint(self):
        row = {"Name": "x", "Config": {"Entrypoint": ["sglang"], "Cmd": ["serve", "--tp", "8"]}}
        assert dict(only(json.dumps(row)).values) == {"tp_size": 8}

    def test_an_entrypoint_of_text(self):
        row = {"Config": {"Entrypoint": None, "Cmd": ["bash", "-c", "sglang serve --tp 8"]}}
        found = only(json.dumps([row]))
        assert (found.name, dict(found.values)) == (None, {"tp_size": 8})

    def test_other_containers_are_passed_over(self):
        other = {"Name": "/db", "Path": "postgres", "Args": [], "Config": {}}
        assert [one.name for one in loads(json.dumps([other, *INSPECT, 3, None]), "f")] == ["sglang-k26"]


class TestCompose:
    TEXT = """\
        services:
          db:
            image: postgres
          sglang:
            image: lmsysorg/sglang
            environment:
              HF_TOKEN: hf_Abcdefghij0123456789
              DEBUG: true
            command: >
              python3 -m sglang.launch_server --model-path /m
              --context-length 32768 --served-model-name a$$b
              --mem-fraction-static ${MEM:-0.85}
        """

    def test_a_command_of_text(self):
        found = only(self.TEXT)
        assert (found.kind, found.name, found.place.line) == ("compose", "sglang", 4)
        assert dict(found.values) == {"model_path": "/m", "context_length": 32768}
        assert found.argv[8] == "a$b"
        assert set(found.requested.unresolved) == {"mem_fraction_static", "served_model_name"}
        assert found.environment["DEBUG"] == "true"
        assert "hf_Abc" not in repr(found)

    def test_entrypoint_and_list(self):
        found = only("""\
            services:
              a:
                entrypoint: [python3, -m, sglang.launch_server]
                command: [--tp, 8, --mem-fraction-static, 0.9, "--trust-remote-code"]
                environment: [A=1, B]
            """)
        assert dict(found.values) == {"tp_size": 8, "mem_fraction_static": 0.9, "trust_remote_code": True}
        assert dict(found.environment) == {"A": "1"}

    def test_one_of_several_by_name(self, tmp_path):
        path = tmp_path / "compose.yml"
        path.write_text(
            "services:\n  a: {command: sglang serve --tp 1}\n  b: {command: sglang serve --tp 2}\n"
        )
        assert load(str(path)).values["tp_size"] == 1
        assert load(str(path), name="b").values["tp_size"] == 2


class TestKubernetes:
    DEPLOYMENT = """\
        apiVersion: v1
        kind: Service
        metadata: {name: s}
        ---
        apiVersion: apps/v1
        kind: Deployment
        metadata:
          name: k26
        spec:
          template:
            spec:
              containers:
              - name: sidecar
                image: x
              - name: sglang
                env:
                - {name: CTX, value: "65536"}
                - name: KEY
                  valueFrom: {secretKeyRef: {name: a, key: b}}
                command: ["python3", "-m", "sglang.launch_server"]
                args: ["--context-length", "$(CTX)", "--api-key", "$(KEY)", "--tp", "8", "--served-model-name", "$$(CTX)"]
        """

    def test_a_deployment(self):
        found = only(self.DEPLOYMENT)
        assert (found.kind, found.name, found.place.line) == ("kubernetes", "k26/sglang", 15)
        assert found.values["context_length"] == 65536
        assert found.values["tp_size"] == 8
        assert "api_key" in found.requested.unresolved

    @pytest.mark.parametrize(
        "manifest",
        [
            "{apiVersion: v1, kind: Pod, spec: {containers: [{command: [sglang, serve, --tp, '8']}]}}",
            "{apiVersion: batch/v1, kind: CronJob, spec: {jobTemplate: {spec: {template: {spec: {containers: [{args: [sh, -c, 'sglang serve --tp 8']}]}}}}}}",
            "{apiVersion: v1, kind: List, items: [{kind: Pod, spec: {containers: [{command: [sglang, serve], args: [--tp, 8]}]}}]}",
            "{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, spec: {leaderWorkerTemplate: {leaderTemplate: {spec: {containers: [{command: [sglang, serve, --tp=8]}]}}}}}",
        ],
    )
    def test_any_kind(self, manifest):
        assert dict(only(manifest).values) == {"tp_size": 8}

    def test_a_manifest_in_json(self):
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "spec": {"containers": [{"args": ["sglang", "serve", "--tp", "8"]}]},
        }
        assert only(json.dumps(pod)).kind == "kubernetes"


class TestSettingsFile:
    def test_sglang_s_own(self):
        found = only("model-path: /m\ncontext-length: 32768\nenable_metrics: true\nvendor-x: 1\n")
        assert found.kind == "settings_file"
        assert dict(found.values) == {
            "model_path": "/m",
            "context_length": 32768,
            "enable_metrics": True,
            "vendor_x": 1,
        }
        assert found.argv == ()

    def test_another_mapping_is_none(self):
        assert loads("name: x\nversion: 2\nport: 3\n", "f") == []


class TestHostileFiles:
    def test_aliases_that_grow(self):
        levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
        levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
        assert loads("tp_size: 8\n" + "\n".join(levels), "f") == []

    def test_depth(self):
        assert loads("[" * 20000, "f") == []
        assert loads("{" * 20000, "f") == []
        assert loads("a: " + "{b: " * 500 + "1" + "}" * 500, "f") == []

    def test_an_alias_of_itself(self):
        assert loads("services: &a\n  x: *a\n", "f") == []

    @pytest.mark.parametrize(
        "text",
        [
            "!!python/object/apply:os.system ['true']",
            "services: !!python/name:os.system",
            "\t- a",
            "a: b: c",
            "%YAML 9.9\n---\na",
            "2001-99-99",
            "? !!set",
        ],
    )
    def test_what_no_safe_reader_takes(self, text):
        assert loads(text, "f") == []

    @given(st.text(max_size=80))
    def test_any_text(self, text):
        loads(text, "f")
        loads(f"services: {{a: {{command: {text}}}}}", "f")

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=4),
            lambda s: (
                st.lists(s, max_size=3)
                | st.dictionaries(
                    st.sampled_from(
                        [
                            "Config",
                            "Cmd",
                            "Path",
                            "Args",
                            "Env",
                            "services",
                            "a",
                            "command",
                            "kind",
                            "apiVersion",
                            "containers",
                            "env",
                            "name",
                            "value",
                            "metadata",
                        ]
                    ),
                    s,
                    max_size=4,
                )
            ),
            max_leaves=20,
        )
    )
    def test_any_document(self, document):
        loads(json.dumps(document), "f")
