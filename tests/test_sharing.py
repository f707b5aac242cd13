"""Redaction for sharing: what was to be hidden is in no document of any sample, and names stay the same names."""

from __future__ import annotations

import gzip
import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from kvforensics.analysis import Analysis, Coverage, Service, Shape, analyse
from kvforensics.errors import KvforensicsError, UsageError
from kvforensics.launches import Config
from kvforensics.load import load
from kvforensics.records import Origin, Origins, Place, Source
from kvforensics.report.outputs import TABLES, Kind, Writer
from kvforensics.sharing import KINDS, share
from tests import hostile
from tests.build import event, launch

ROOT = Path(__file__).parents[1]
SAMPLES = sorted(
    str(path.relative_to(ROOT))
    for path in [
        *(ROOT / "sample_logs").glob("*/*"),
        *(ROOT / "tests/samples/carriers").glob("*"),
        ROOT / "tests/samples/journald-252/incident/verbose.txt",
        ROOT / "tests/samples/journald-252/two-hosts/short-iso.txt",
        ROOT / "tests/samples/sglang-real/0.5.11/s21-retract.log",
    ]
    if path.suffix != ".md"
)
# What the samples hold that a third party may not know, told independently of the package's own look-up.
SECRET_WORDS = {
    "hosts": r"\bk26-node[12]\b|\bsgl-node-?\d\b|\bvm/",
    "ips": r"\b(?:10|172|192)\.\d{1,3}\.\d{1,3}\.\d{1,3}\b",
    "users": r"\btheuser\b|\bops\b",
    # a setting of SGLang's own is called enable_deepseek_…
    "models": r"(?i:kimi|qwen|(?<!enable_)deepseek|llama-?3)",
    "paths": r"/models/|/home/|/opt/|/usr/bin/|/etc/systemd|sample_logs/|tests/samples/",
}


def documents(analysis):
    """Every document of an analysis as text, pictures and Parquet left out: they are made of the same rows."""
    writer = Writer(analysis, release="0.0.0")
    kinds = [kind for kind in Kind if kind not in (Kind.PNG, Kind.PARQUET, Kind.CSV)]
    for kind in kinds:
        made = writer.make(kind).decode()
        # what is the library's own says nothing of a log
        yield kind.value, re.sub(r"<script>.*?</script>", "", made, flags=re.DOTALL)
    for table in TABLES:
        yield f"csv {table}", writer.make(Kind.CSV, table).decode()


@pytest.mark.parametrize("sample", SAMPLES)
def test_nothing_that_was_to_be_hidden_is_in_any_document(sample, monkeypatch):
    monkeypatch.chdir(ROOT)
    try:
        analysis = share(analyse([sample]), KINDS)
    except KvforensicsError:
        pytest.skip("the sample holds no launch")
    raw = Path(sample).read_bytes()
    text = (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8", "replace")
    for name, made in documents(analysis):
        for kind, pattern in SECRET_WORDS.items():
            found = re.search(pattern, made)
            assert found is None, (name, kind, made[max(0, found.start() - 80) : found.end() + 40])
    assert re.search("|".join(SECRET_WORDS.values()), text) is not None or "sglang-real" in sample


@pytest.mark.parametrize("kind", KINDS)
def test_one_kind_alone_hides_that_kind_and_leaves_the_rest(kind, monkeypatch):
    monkeypatch.chdir(ROOT)
    analysis = analyse(["sample_logs/incident/incident.export"])
    hidden, shown = (
        Writer(each, release="0").make(Kind.JSON).decode() for each in (share(analysis, [kind]), analysis)
    )
    assert not re.search(SECRET_WORDS[kind], hidden)
    for other in set(KINDS) - {kind, "paths", "models", "users"}:
        if re.search(SECRET_WORDS[other], shown):
            assert re.search(SECRET_WORDS[other], hidden), other


def service(host="node1", model="/models/Kimi-K2.6", **fields):
    one = launch("L1", settings={"model_path": model, "served_model_name": "kimi-k2.6", **fields})
    two = launch("L2", settings={"model_path": model, "served_model_name": "kimi-k2.6", **fields})
    two = replace(two, started_at=one.started_at + timedelta(hours=2))
    return Service(f"{host}/sglang.service", host, "sglang.service", (one, two))


def analysis_of(*services, shapes=(), origins=()):
    known = Origins()
    for origin in origins:
        known.intern(origin)
    coverage = Coverage(3, 2, 1, tuple(Shape(each, 1, Place("log.txt", 1)) for each in shapes))
    return Analysis((Source("logs/node1/log.txt"),), coverage, services, known)


def test_the_same_name_gets_the_same_replacement_everywhere_and_another_another():
    shared = share(analysis_of(service(), service(host="node2")), KINDS)
    assert [each.id for each in shared.services] == ["host-1/sglang.service", "host-2/sglang.service"]
    paths = {each.launches[0].config.values["model_path"] for each in shared.services}
    assert len(paths) == 1
    assert shared.services[0].launches[0].config.values["served_model_name"].startswith("model-")
    assert shared.sources[0].path == "path-1"


def test_names_in_prose_commands_and_evidence_are_replaced_too():
    trail = event("sudo_command", user="alice", command="sed -i s/a/b/ /etc/systemd/system/x.service")
    trail = replace(
        trail, text="alice : TTY=pts/0 ; PWD=/home/alice ; COMMAND=run --model-path org/Secret-7B on NODE1"
    )
    shared = share(analysis_of(replace(service(), trail=(trail,))), KINDS)
    (told,) = shared.services[0].trail
    assert not re.search("(?i)alice|secret|node1|/home|/etc", json.dumps([told.text, dict(told.fields)]))
    assert told.fields["user"] == "user-1"
    assert told.text.startswith("user-1 : TTY=pts/0")


def test_addresses_in_settings_name_hosts():
    one = service(
        dist_init_addr="head-17.internal:5000", bind_host="0.0.0.0", weights_url="s3://models.corp/x"
    )
    shared = share(analysis_of(one), ["hosts"])
    values = shared.services[0].launches[0].config.values
    assert values["bind_host"] == "0.0.0.0"
    assert re.fullmatch(r"host-\d:5000", values["dist_init_addr"])
    assert re.fullmatch(r"s3://host-\d/x", values["weights_url"])


def test_a_host_of_one_or_two_letters():
    for host in ("vm", "a"):
        shared = share(analysis_of(service(host=host)), ["hosts"])
        assert shared.services[0].id == "host-1/sglang.service"
        assert shared.services[0].host == "host-1"


def test_ipv4_and_ipv6_but_no_clock_and_no_release():
    text = "10.1.2.3 fe80::1ff:fe23:4567:890a 2001:db8:0:0:0:0:2:1 14:03:11 0.5.11 127.0.0.1"
    trail = replace(event("unit_started"), text=text)
    shared = share(analysis_of(replace(service(), trail=(trail,))), ["ips"])
    assert shared.services[0].trail[0].text == "ip-1 ip-2 ip-3 14:03:11 0.5.11 127.0.0.1"


def test_a_shape_that_nobody_knows_is_withheld_and_still_counted():
    shared = share(analysis_of(service(), shapes=["call bob at db.corp"]), ["hosts"])
    (shape,) = shared.coverage.unknown_shapes
    assert (shape.shape, shape.count) == ("(withheld)", 1)


def test_command_lines_of_processes():
    origins = [Origin(host="node9", cmdline="python -m sglang --model-path /models/X1 --port 1")]
    shared = share(analysis_of(service(), origins=origins), KINDS)
    assert not re.search("node9|X1", str(shared.origins[0]))


def test_requested_and_handed_settings():
    one = service()
    config = Config(
        one.launches[0].config.values, requested={"model_path": "/m/Req"}, handed={"model_path": "/m/Hand"}
    )
    shared = share(analysis_of(replace(one, launches=(replace(one.launches[0], config=config),))), ["models"])
    told = shared.services[0].launches[0].config
    assert re.fullmatch("model-[a-z]+", told.requested["model_path"])
    assert re.fullmatch("model-[a-z]+", told.handed["model_path"])


def test_the_load_follows_the_service_to_its_new_name():
    analysis = hostile.analysis()
    named = replace(analysis.services[0], id="node1/x", host="node1")
    analysis = replace(analysis, services=(named,), samples=hostile.samples("node1/x"))
    shared = share(analysis, ["hosts"])
    assert len(load(shared, shared.services[0].id)) == len(load(analysis, "node1/x")) > 0


def test_nothing_asked_nothing_changed():
    analysis = analysis_of(service())
    assert share(analysis, []) is analysis


def test_an_unknown_kind_is_an_error():
    with pytest.raises(UsageError, match="colours"):
        share(analysis_of(service()), ["hosts", "colours"])


def test_secrets_never_show_with_or_without(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    secrets = ("sk-verysecret123456", "hunter2hunter2", "hf_abcdefghijklmnopqrstuvwxyz012345")
    line = (ROOT / "sample_logs/plain-0.4.6/server.log").read_text()
    line = line.replace("api_key=None", f"api_key='{secrets[0]}', ssl_keyfile_password='{secrets[1]}'", 1)
    Path("x.log").write_text(f"HF_TOKEN={secrets[2]}\n{line}")
    analysis = analyse(["x.log"])
    for given in (analysis, share(analysis, KINDS)):
        for name, made in documents(given):
            assert not [secret for secret in secrets if secret in made], name
