"""The tree of errors: what happened, where, what to do next.

KvforensicsError
├── UsageError            exit 2: an option or argument cannot be carried out
│   └── MissingExtraError an optional dependency is not installed
├── InputError            one input could not be read; the run goes on with the others
├── NothingReadableError  exit 3: no input could be read
├── NoLaunchError         exit 4: the inputs hold no SGLang launch
└── PredictionRefusedError exit 5: the pool rule does not hold for this launch
"""

from __future__ import annotations


class KvforensicsError(Exception):
    """An error with a place and a next step; `exit_code` is the process's when nothing catches it."""

    exit_code = 1

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.message}{hint}"


class UsageError(KvforensicsError):
    """An option or argument cannot be carried out."""

    exit_code = 2


class MissingExtraError(UsageError):
    """An optional dependency is not installed; the hint names the extra."""


class InputError(KvforensicsError):
    """One input could not be read."""

    exit_code = 3


class NothingReadableError(KvforensicsError):
    """No input could be read."""

    exit_code = 3


class NoLaunchError(KvforensicsError):
    """The inputs hold no SGLang launch."""

    exit_code = 4


class PredictionRefusedError(KvforensicsError):
    """The pool rule does not hold for this launch; `reason_code` is the contract's."""

    exit_code = 5

    def __init__(self, reason_code: str, message: str) -> None:
        super().__init__(message)
        self.reason_code = reason_code
