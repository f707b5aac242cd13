"""A real server's log in every carrier, and carriers in carriers: the messages come out as they went in."""

import itertools
import random

import pytest

from . import wrap
from .reading import read

OWN = ("Attaching to ", "Script started", "Script done")


def unwrapped(server_log, chain):
    lines = server_log
    for carrier in chain:
        lines = carrier(lines)
    reading = read(lines)
    messages = [message for message in reading.messages if not message.startswith(OWN)]
    wanted = [line.decode() for line in server_log]
    if wrap.loki_text in chain:  # logcli trims
        messages, wanted = ([text.strip() for text in texts] for texts in (messages, wanted))
    assert messages == wanted
    return reading


def named(chain):
    return " in ".join(carrier.__name__ for carrier in chain)


COMPOSE = {wrap.compose_v1, wrap.compose_v2, wrap.compose_coloured}


def makes_sense(chain):
    """logcli trims lines, which loses blanks between pieces for good; a bar inside of compose is a bar."""
    trimmed = wrap.loki_text in chain and wrap.srun in chain[: chain.index(wrap.loki_text)]
    return (
        not trimmed
        and len(COMPOSE.intersection(chain)) < 2
        and not {wrap.quoted, wrap.indented} <= set(chain)
    )


SINGLES = [(carrier,) for carrier in (*wrap.ALL, wrap.script)]
PAIRS = [chain for chain in itertools.permutations(wrap.ALL, 2) if makes_sense(chain)]
TRIPLES = [chain for chain in itertools.permutations(wrap.ALL, 3) if makes_sense(chain)]
SOME = random.Random(20260520)


@pytest.mark.parametrize("chain", SINGLES, ids=named)
def test_alone(server_log, chain):
    unwrapped(server_log, chain)


@pytest.mark.parametrize("chain", SOME.sample(PAIRS, 150), ids=named)
def test_one_in_another(server_log, chain):
    unwrapped(server_log, chain)


@pytest.mark.parametrize("chain", SOME.sample(TRIPLES, 80), ids=named)
def test_three_deep(server_log, chain):
    unwrapped(server_log, chain)


CARRIERS = {
    wrap.docker_json: ("docker-json", ()),
    wrap.docker_text: ("docker-text", ()),
    wrap.cri: ("cri", ()),
    wrap.compose_v1: ("compose", ()),
    wrap.compose_v2: ("compose", ()),
    wrap.compose_coloured: ("compose", ()),
    wrap.kubectl: ("docker-text", ()),
    wrap.kubectl_prefix: ("docker-text", ()),
    wrap.srun: ("slurm", ()),
    wrap.syslog_iso: ("syslog", ()),
    wrap.syslog_5424: ("syslog", ()),
    wrap.journal_short: ("journal-short", ()),
    wrap.loki_text: ("docker-text", ("loki",)),
    wrap.ray: ("plain", ("ray",)),
    wrap.torchrun: ("plain", ("torchrun",)),
    wrap.quoted: ("plain", ("quoted",)),
    wrap.indented: ("plain", ("quoted",)),
    wrap.ts: ("plain", ("ts",)),
    wrap.script: ("plain", ("script",)),
    **dict.fromkeys(set(wrap.JSON) - {wrap.docker_json}, ("logs-json", ())),
}


@pytest.mark.parametrize("carrier", CARRIERS, ids=lambda carrier: carrier.__name__)
def test_carrier_names(server_log, carrier):
    source = unwrapped(server_log, (carrier,)).source
    assert (source.carrier, source.layers) == CARRIERS[carrier]


def test_the_outermost_is_the_carrier_and_the_rest_are_layers(server_log):
    source = unwrapped(server_log, (wrap.ray, wrap.compose_v2, wrap.docker_json)).source
    assert source.carrier == "docker-json"
    assert source.layers == ("compose", "ray")
