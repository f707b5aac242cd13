"""`kvforensics demo`."""

from contextlib import chdir

from kvforensics.cli import options as opt
from kvforensics.cli.inputs import read
from kvforensics.cli.show import show_timeline

_LOG = "incident/incident.export"


def demo(
    format: opt.Format = None,
    output: opt.Output = None,
    important: opt.Important = False,
    no_color: opt.NoColor = False,
    width: opt.Width = None,
) -> None:
    """Show the timeline of a bundled incident.

    \b
    Examples:
      kvforensics demo
      kvforensics demo --format json
    """
    from kvforensics.sample_logs import sample

    with chdir(
        sample(_LOG).parents[1]
    ):  # so that the paths in the output are the same wherever it is installed
        analysis = read([_LOG])
    show_timeline(
        analysis,
        chosen=format,
        output=output,
        important=important,
        fail_on=None,
        no_color=no_color,
        width=width,
    )
