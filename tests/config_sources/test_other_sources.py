from __future__ import annotations

import io
import json
import sys
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvforensics.config_sources import load, loads
from kvforensics.config_sources.systemctl_show import split_joined


def only(text: str):
    (found,) = loads(dedent(text), "file")
    return found


SHOW = """\
Restart=always
ExecStart={ path=/usr/bin/python3 ; argv[]=/usr/bin/python3 -m sglang.launch_server --tp-size 8 --json-model-override-args {"rope_scaling": {"type": "yarn"}} --host 0.0.0.0 ; ignore_errors=no ; start_time=[Mon 2026-11-30 18:23:22 UTC] ; stop_time=[n/a] ; pid=184 ; code=(null) ; status=0/0 }
ExecStartEx={ path=/usr/bin/python3 ; argv[]=/usr/bin/python3 -m sglang.launch_server --tp-size 8 ; flags= ; start_time=[n/a] ; stop_time=[n/a] ; pid=184 ; code=(null) ; status=0/0 }
Environment=A=1 "F=\\$A b"
Id=sglang-k26.service
NeedDaemonReload=yes
"""


class TestSystemctlShow:
    def test_what_is_loaded(self):
        found = only(SHOW)
        assert (found.kind, found.name, found.place.line) == ("systemctl_show", "sglang-k26.service", 2)
        assert dict(found.values) == {
            "tp_size": 8,
            "json_model_override_args": '{"rope_scaling": {"type": "yarn"}}',
            "host": "0.0.0.0",
        }
        assert found.environment["A"] == "1"

    def test_several_units(self):
        other = SHOW.replace("k26", "b").replace("--tp-size 8", "--tp-size 4")
        found = loads(f"{SHOW}\n{other}", "f")
        assert [(one.name, one.values["tp_size"]) for one in found] == [
            ("sglang-k26.service", 8),
            ("sglang-b.service", 4),
        ]
        assert found[1].place.line == 9

    def test_the_other_spelling_alone(self):
        text = SHOW.split("\n")[2]
        assert dict(only(text).values) == {"tp_size": 8}

    def test_a_semicolon_in_the_command(self):
        text = "ExecStart={ path=/bin/sh ; argv[]=/bin/sh -c sglang serve --tp 8 ; exit 0 ; ignore_errors=no ; pid=1 }"
        assert only(text).values["tp_size"] == 8

    @given(st.text(st.sampled_from("a {}[]-"), max_size=40))
    def test_joined_words_lose_nothing(self, text):
        assert "".join(split_joined(text)).replace(" ", "") == text.replace(" ", "")


class TestScripts:
    def test_a_command_line(self):
        found = only("python3 -m sglang.launch_server --tp 8 --context-length 4096\n")
        assert found.kind == "command_line"
        assert dict(found.values) == {"tp_size": 8, "context_length": 4096}

    def test_flags_alone(self):
        assert dict(only("--model-path /m --tp 8").values) == {"model_path": "/m", "tp_size": 8}

    def test_a_slurm_script(self):
        found = only("""\
            #!/bin/bash
            #SBATCH --nodes=2
            MODEL=/models/k
            export CTX="32768"
            PORT=$(get_port)
            srun --label python3 -m sglang.launch_server --model-path $MODEL \\
                # a comment
                --context-length ${CTX} --port $PORT --tp 16 > log 2>&1
            """)
        assert dict(found.values) == {"model_path": "/models/k", "context_length": 32768, "tp_size": 16}
        assert found.requested.unresolved == ("port",)
        assert found.place.line == 6

    def test_arrays_and_commands_in_variables(self):
        found = only("""\
            ARGS=(
              --tp 8
              --context-length 4096
            )
            ARGS+=(--page-size 64)
            CMD="python3 -m sglang.launch_server"
            exec $CMD "${ARGS[@]}"
            """)
        assert dict(found.values) == {"tp_size": 8, "context_length": 4096, "page_size": 64}

    def test_the_environment_of_its_line(self):
        found = only("CUDA_VISIBLE_DEVICES=0,1 env B=2 sglang serve --tp 2")
        assert dict(found.environment) == {"CUDA_VISIBLE_DEVICES": "0,1", "B": "2"}

    def test_docker_run(self):
        found = only("docker run --gpus all -p 30000:30000 img python3 -m sglang.launch_server --tp 8")
        assert dict(found.values) == {"tp_size": 8}
        assert dict(found.requested.unknown) == {}

    def test_standard_input(self, monkeypatch):
        class Stdin:
            buffer = io.BytesIO(b"\xef\xbb\xbfsglang serve --tp 8\n")

        monkeypatch.setattr(sys, "stdin", Stdin())
        found = load("-")
        assert (found.place.path, dict(found.values)) == ("-", {"tp_size": 8})

    @given(st.text(st.sampled_from("ab$={}()\"'\\\n -#"), max_size=60))
    def test_any_script(self, text):
        loads(f"{text}\nsglang serve --tp 8 {text}\n", "f")

    @pytest.mark.parametrize("release", ["0.5.11", None])
    def test_read_as_the_release_reads_it(self, release):
        (found,) = loads("sglang serve --attn-dp-size 8", "f", release)
        assert ("attn_dp_size" in found.values) is True
        assert ("attn_dp_size" in found.requested.unknown) is (release == "0.5.11")


class TestShells:
    SCRIPT = (
        "exec python3 -m sglang.launch_server --model-path /m --context-length $CTX --tp ${TP} --port $PORT"
    )

    def check(self, found):
        assert dict(found.values) == {"model_path": "/m", "context_length": 65536, "tp_size": 8}
        assert found.requested.unresolved == ("port",)

    def test_a_unit(self):
        text = f"[Service]\nEnvironment=CTX=65536\nEnvironment=TP=8\nExecStart=/bin/bash -c '{self.SCRIPT}'\n"
        self.check(loads(text.replace("${TP}", "$TP"), "x.service")[0])

    def test_a_unit_whose_environment_is_not_all_known(self):
        text = f"[Service]\nEnvironment=CTX=65536\nEnvironmentFile=/no/such\nExecStart=/bin/sh -ec '{self.SCRIPT}'\n"
        (found,) = loads(text, "x.service")
        assert dict(found.values) == {"model_path": "/m"}
        assert set(found.requested.unresolved) == {"context_length", "tp_size", "port"}

    def test_a_pod(self):
        container = {
            "name": "s",
            "command": ["/bin/bash", "-lc"],
            "args": [self.SCRIPT],
            "env": [{"name": "CTX", "value": "65536"}, {"name": "TP", "value": "8"}],
        }
        pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [container]}}
        self.check(loads(json.dumps(pod), "pod.json")[0])

    def test_a_container(self):
        row = {
            "Id": "a" * 64,
            "Name": "/s",
            "Path": "bash",
            "Args": ["-c", self.SCRIPT],
            "Config": {"Env": ["CTX=65536", "TP=8"]},
        }
        self.check(loads(json.dumps([row]), "inspect.json")[0])
