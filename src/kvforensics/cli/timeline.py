"""`kvforensics timeline`."""

from kvforensics.cli import options as opt
from kvforensics.cli.inputs import read
from kvforensics.cli.show import show_timeline


def timeline(
    files: opt.FilesOrLive = None,
    format: opt.Format = None,
    output: opt.Output = None,
    unit: opt.Unit = None,
    host: opt.Host = None,
    live: opt.Live = None,
    since: opt.Since = None,
    until: opt.Until = None,
    tz: opt.Tz = "UTC",
    carrier: opt.AsCarrier = None,
    config: opt.Config = None,
    catalog: opt.FromCatalog = None,
    service: opt.Service = None,
    important: opt.Important = False,
    fail_on: opt.FailOnOption = None,
    no_color: opt.NoColor = False,
    width: opt.Width = None,
) -> None:
    """Show the launches, and what each change between them did.

    \b
    Examples:
      journalctl -u sglang-k26 -o export | kvforensics timeline -
      kvforensics timeline sglang.json.zst old/*.log
      kvforensics timeline sglang.export --since yesterday --important
      kvforensics timeline sglang.export -o timeline.json
      kvforensics timeline --live sglang-k26 --since -2d       # this machine's journal
      kvforensics timeline sglang.export --fail-on no_op      # exit code 1 where an edit did nothing
      kvforensics timeline --catalog kv --service gpu01/sglang.service

    Journals are best exported whole: journalctl -a -o export, with UNIT=… + _COMM=sudo beside the unit,
    so that the edits themselves are on the timeline.
    """
    analysis = read(
        files,
        live=live,
        catalog=catalog,
        service=service,
        unit=unit,
        host=host,
        since=since,
        until=until,
        tz=tz,
        carrier=carrier,
        config=config,
    )
    show_timeline(
        analysis,
        chosen=format,
        output=output,
        important=important,
        fail_on=fail_on,
        no_color=no_color,
        width=width,
    )
