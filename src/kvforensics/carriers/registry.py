"""The carriers that there are, and which of them a source is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvforensics.carriers.compose import Compose
from kvforensics.carriers.cri import Cri
from kvforensics.carriers.docker_json import DockerJson
from kvforensics.carriers.docker_text import DockerText
from kvforensics.carriers.journal_export import JournalExport
from kvforensics.carriers.journal_json import JournalJson
from kvforensics.carriers.journal_short import JournalShort
from kvforensics.carriers.journal_verbose import JournalVerbose
from kvforensics.carriers.kubectl import Kubectl
from kvforensics.carriers.logs_json import LogsJson
from kvforensics.carriers.plain import Plain
from kvforensics.carriers.slurm import Slurm
from kvforensics.carriers.syslog import Syslog
from kvforensics.errors import UsageError

if TYPE_CHECKING:
    from kvforensics.carriers.carrier import Carrier, Head

CARRIERS: tuple[Carrier, ...] = (
    DockerJson(),
    Cri(),
    Compose(),
    Slurm(),
    Syslog(),
    DockerText(),
    Kubectl(),
    LogsJson(),
    JournalExport(),
    JournalJson(),
    JournalShort(),
    JournalVerbose(),
    Plain(),
)


def detect(head: Head) -> Carrier:
    """Return the carrier that knows most of the head's lines; the first of them on a tie."""
    best, best_score = CARRIERS[-1], 0.0
    for carrier in CARRIERS:
        score = carrier.score(head)
        if score > best_score:
            best, best_score = carrier, score
    return best


def by_name(name: str) -> Carrier:
    """Return the carrier of this name. Raises UsageError when there is none."""
    for carrier in CARRIERS:
        if carrier.name == name:
            return carrier
    names = ", ".join(sorted({carrier.name for carrier in CARRIERS}))
    raise UsageError(f"there is no carrier {name!r}", hint=f"carriers: {names}")
