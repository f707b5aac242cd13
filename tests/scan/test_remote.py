"""Object stores: a real S3 server on loopback."""

import os
import subprocess
import sys

import pytest
from backports import zstd

from kvforensics.carriers.remote import is_remote, list_remote, open_remote
from kvforensics.errors import InputError
from kvforensics.scan.catalogue import Catalogue
from tests.scan.logs import decoding, plain, scanned, starts, unit_log

pytest.importorskip("obstore", reason="the extra kvforensics[cloud] is not installed")
moto = pytest.importorskip("moto.server", reason="moto is not installed")


@pytest.fixture(scope="module")
def server():
    from moto.server import ThreadedMotoServer

    threaded = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    threaded.start()
    host, port = threaded.get_host_and_port()
    yield f"http://{host}:{port}"
    threaded.stop()


@pytest.fixture
def bucket(server, monkeypatch):
    for name, value in {
        "AWS_ENDPOINT_URL": server,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }.items():
        monkeypatch.setenv(name, value)
    import boto3

    client = boto3.client("s3", endpoint_url=server, region_name="us-east-1")
    client.create_bucket(Bucket="logs")

    def put(key: str, data: bytes) -> None:
        client.put_object(Bucket="logs", Key=key, Body=data)

    put.client = client
    yield put
    for item in client.list_objects_v2(Bucket="logs").get("Contents", []):
        client.delete_object(Bucket="logs", Key=item["Key"])
    client.delete_bucket(Bucket="logs")


def test_what_is_remote():
    assert [is_remote(path) for path in ("s3://a/b", "https://x/y", "C:/x", "journal://u", "-", "a://b")] == [
        True, True, False, False, False, False,
    ]  # fmt: skip


def test_an_object_a_prefix_a_pattern(bucket):
    for key in ("2026/a.log", "2026/b.log.zst", "2025/c.log", "2026x/d.log"):
        bucket(key, key.encode())
    assert [path for path, *_ in list_remote("s3://logs/2026/a.log")] == ["s3://logs/2026/a.log"]
    assert {path for path, *_ in list_remote("s3://logs/2026")} == {
        "s3://logs/2026/a.log",
        "s3://logs/2026/b.log.zst",
    }
    assert {path for path, *_ in list_remote("s3://logs/20*/*.log")} == {
        "s3://logs/2026/a.log", "s3://logs/2025/c.log", "s3://logs/2026x/d.log",
    }  # fmt: skip
    assert [path for path, *_ in list_remote("s3://logs/202?/?.log")] == [
        "s3://logs/2025/c.log",
        "s3://logs/2026/a.log",
    ]
    pieces, size = open_remote("s3://logs/2026/a.log")
    assert (b"".join(pieces), size) == (b"2026/a.log", 10)


def test_a_bucket_gives_what_a_folder_gives(bucket, tmp_path):
    files = {
        "one.export": unit_log("gpu1", starts(0), starts(20, f=0.9)),
        "two.log.zst": zstd.compress(plain(starts(5), decoding(11, 50))),
    }
    for name, data in files.items():
        bucket(f"kv/{name}", data)
    first = scanned(tmp_path / "c", "s3://logs/kv")
    assert (first.read, first.failed) == (2, 0)
    records = {entry.path: entry.counts["records"] for entry in Catalogue(tmp_path / "c").manifest.done()}
    assert records["s3://logs/kv/two.log.zst"] > 100
    again = scanned(tmp_path / "c", "s3://logs/kv")
    assert (again.read, again.skipped) == (0, 2)
    bucket("kv/two.log.zst", zstd.compress(plain(starts(5), decoding(11, 60))))
    assert scanned(tmp_path / "c", "s3://logs/kv").read == 1


def test_a_truncated_object_is_damage(bucket, tmp_path):
    data = zstd.compress(plain(*(decoding(6, 4000, salt=n) for n in range(3))))
    bucket("cut.log.zst", data[: len(data) * 2 // 3])
    scanned(tmp_path / "c", "s3://logs/cut.log.zst")
    (entry,) = Catalogue(tmp_path / "c").manifest.done()
    assert list(entry.source["damaged"]) == ["truncated_file"]


def test_an_object_that_vanishes_between_plan_and_read(bucket, tmp_path):
    from kvforensics.scan import work
    from kvforensics.scan.engine import Here
    from kvforensics.scan.plan import plan

    bucket("a.log", plain(starts(0)))
    bucket("b.log", plain(starts(9)))
    items = plan(["s3://logs"])
    bucket.client.delete_object(Bucket="logs", Key="a.log")
    outcome = work.scan(items, Catalogue(tmp_path / "c", create=True), Here(), work_options())
    assert (outcome.read, outcome.failed) == (1, 1)
    assert outcome.failures[0][0] == "s3://logs/a.log"


def work_options():
    from kvforensics.options import Options

    return Options()


def test_a_vanished_bucket_is_told_and_nothing_is_lost(bucket, tmp_path):
    bucket("a.log", plain(starts(0)))
    scanned(tmp_path / "c", "s3://logs/a.log")
    local = tmp_path / "b.log"
    local.write_bytes(plain(starts(9)))
    outcome = scanned(tmp_path / "c", "s3://nowhere/x", local)
    assert (outcome.read, [path for path, _ in outcome.failures]) == (1, ["s3://nowhere/x"])
    kept = {entry.path for entry in Catalogue(tmp_path / "c").manifest.done()}
    assert kept == {"s3://logs/a.log", str(local)}
    command = [
        sys.executable,
        "-m",
        "kvforensics",
        "scan",
        "s3://nowhere/x",
        "--catalog",
        str(tmp_path / "d"),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env=dict(os.environ), check=False
    )
    assert done.returncode == 3, done.stderr
    assert "s3://nowhere/x" in done.stderr


@pytest.mark.usefixtures("bucket")
def test_errors_name_the_url():
    with pytest.raises(InputError, match="s3://logs/missing"):
        list(list_remote("s3://logs/missing.log"))


def test_a_web_server(tmp_path):
    import threading
    from functools import partial
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    (tmp_path / "www").mkdir()
    (tmp_path / "www/a.log").write_bytes(plain(starts(0), decoding(6, 10)))
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "www"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        assert scanned(tmp_path / "c", f"{url}/a.log").read == 1
        assert scanned(tmp_path / "c", f"{url}/a.log").skipped == 1
        missing = scanned(tmp_path / "c", f"{url}/b.log")
        assert [path for path, _ in missing.failures] == [f"{url}/b.log"]
        server.shutdown()


@pytest.mark.parametrize("url", ["s3://key:hunter2@logs/a", "https://x.example/a.log?sig=hunter2"])
def test_a_secret_in_a_url_is_refused_and_not_shown(url):
    from kvforensics.errors import UsageError

    with pytest.raises(UsageError) as error:
        list(list_remote(url))
    assert "hunter2" not in str(error.value)


def test_without_the_extra_its_name_is_said(monkeypatch):
    from kvforensics.errors import MissingExtraError

    for name in ("obstore", "obstore.store"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError) as error:
        list(list_remote("s3://logs/a"))
    assert "kvforensics[cloud]" in (error.value.hint or "")
