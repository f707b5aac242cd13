"""Records and events become launches: grouped, merged over ranks, with their ends told."""

from __future__ import annotations

from kvforensics.launches.histories import build
from kvforensics.launches.history import ServiceHistory
from kvforensics.launches.launch import Config, Launch, Memory, Pool, Requests, VersionRange

__all__ = [
    "Config",
    "Launch",
    "Memory",
    "Pool",
    "Requests",
    "ServiceHistory",
    "VersionRange",
    "build",
]
