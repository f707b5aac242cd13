"""Settings: effective values, names and defaults by release, command lines, releases told by their fields."""

from __future__ import annotations

from kvforensics.knowledge.history import UNKNOWN, default
from kvforensics.knowledge.releases import VersionRange
from kvforensics.settings.command_line import Requested, parse_command_line
from kvforensics.settings.effective import attention_groups, normalise
from kvforensics.settings.flags import canonical, readable_int
from kvforensics.settings.names import name_in
from kvforensics.settings.values import canonical_value, same
from kvforensics.settings.versions import version_range
from kvforensics.settings.words import is_server, server_words, split

__all__ = [
    "UNKNOWN",
    "Requested",
    "VersionRange",
    "attention_groups",
    "canonical",
    "canonical_value",
    "default",
    "is_server",
    "name_in",
    "normalise",
    "parse_command_line",
    "readable_int",
    "same",
    "server_words",
    "split",
    "version_range",
]
