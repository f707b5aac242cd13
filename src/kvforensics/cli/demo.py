"""`kvforensics demo`."""

from kvforensics.cli import options as opt
from kvforensics.cli.inputs import read
from kvforensics.cli.show import show_timeline


def demo(
    format: opt.Format = None,  # noqa: A002 - the option's name
    output: opt.Output = None,
    important: opt.Important = False,
    no_color: opt.NoColor = False,
    width: opt.Width = None,
) -> None:
    """Show the timeline of the incident that ships with kvforensics; nothing else is needed.

    \b
    Examples:
      kvforensics demo
      kvforensics demo --format json
    """  # noqa: D301 - \b is the help formatter's
    from kvforensics.sample_logs import sample

    analysis = read([str(sample("incident/incident.export"))])
    show_timeline(
        analysis,
        chosen=format,
        output=output,
        important=important,
        fail_on=None,
        no_color=no_color,
        width=width,
    )
