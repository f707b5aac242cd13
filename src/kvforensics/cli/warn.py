"""Words on standard error: warnings and errors, one line each, inert."""

import sys

from kvforensics.report.inert import encodable, inert


def warn(line: str) -> None:
    """Say one line."""
    encoding = sys.stderr.encoding or "ascii"
    sys.stderr.write(encodable(f"kvforensics: {inert(line)}", encoding) + "\n")
