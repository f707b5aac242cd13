"""Scheduler lines summed up in time buckets, so that years of them fit into memory."""

from kvforensics.samples.buckets import ALIKE
from kvforensics.samples.samples import Samples

__all__ = ["ALIKE", "Samples"]
