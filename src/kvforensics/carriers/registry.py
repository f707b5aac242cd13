"""The carriers that there are."""

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

if TYPE_CHECKING:
    from kvforensics.carriers.carrier import Carrier

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
