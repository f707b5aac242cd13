import pytest

from kvforensics.carriers.log_paths import container_of

from .reading import read_path
from .wrap import cri, docker_json, docker_text

ID = "0123456789abcdef" * 4
UID = "0b6e2c1e-2f3a-4b5c-8d9e-0123456789ab"


@pytest.mark.parametrize(
    ("path", "container"),
    [
        (f"/var/log/pods/llm_sglang-0_{UID}/server/0.log", "sglang-0/server"),
        (f"pods/llm_sglang-0_{UID}/server/3.log.20260520-140311.gz", "sglang-0/server"),
        (f"dump.tar!x/pods/llm_sglang-0_{UID}/server/0.log", "sglang-0/server"),
        (f"/var/log/containers/sglang-0_llm_server-{ID}.log", "sglang-0/server"),
        (f"/var/lib/docker/containers/{ID}/{ID}-json.log", ID[:12]),
        (f"{ID}/{ID}-json.log.1", ID[:12]),
        ("/var/log/containers/sglang.log", None),
        ("docker-json-file.sglang-k26.log", None),
        (f"{ID}/{ID[::-1]}-json.log", None),
    ],
)
def test_paths(path, container):
    assert container_of(path) == container


def test_records_of_two_pods_in_one_folder(tmp_path):
    for pod, carrier in (("a", cri), ("b", docker_json)):
        file = tmp_path / "pods" / f"llm_{pod}_{UID}" / "server" / "0.log"
        file.parent.mkdir(parents=True)
        file.write_bytes(b"\n".join(carrier([b"x", b"y"])) + b"\n")
        reading = read_path(file)
        assert reading.origin(0).container == f"{pod}/server"
        assert reading.origin(0).stream == "stderr"


def test_names_inside_of_the_file_come_first(tmp_path):
    file = tmp_path / "pods" / f"llm_a_{UID}" / "server" / "0.log"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"\n".join(cri([b"inner-1  | x"] * 3)) + b"\n")
    assert read_path(file).origin(0).container == "inner-1"
    file.write_bytes(b"\n".join(docker_text([b"x"])) + b"\n")
    assert read_path(file).origin(0).container is None  # not a runtime's own file
