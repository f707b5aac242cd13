"""The command line: one module a command. It parses options, calls the library, writes the product."""

from __future__ import annotations

SIGNAL_INTERRUPT = 130  # 128 + SIGINT


def main() -> None:
    """Run the command line; errors of ours are one line on standard error and an exit code of their own."""
    from kvforensics.errors import KvforensicsError

    try:
        from kvforensics.cli.app import app

        app(prog_name="kvforensics")
    except KvforensicsError as error:
        from kvforensics.cli.warn import warn

        warn(str(error))
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        raise SystemExit(SIGNAL_INTERRUPT) from None
