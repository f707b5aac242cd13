"""The time words of `journalctl --since` and `--until` (systemd.time(7)), as UTC times.

Understood: `2026-05-20 14:03:00`, `2026-05-20T14:03:00.5Z`, `Wed 2026-05-20 14:03`, `2026-05-20`, `14:03`,
each with a zone behind it (`UTC`, `Europe/Berlin`, `+02:00`); `now`, `today`, `yesterday`, `tomorrow`; `-2h`,
`+5min`, `1 day 3 h ago`; `@1779285780`. Times without a zone are in the zone that the caller names.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from kvforensics.errors import UsageError

_UNIT_SECONDS = {
    **dict.fromkeys(("usec", "us", "µs", "μs"), 1e-6),
    **dict.fromkeys(("msec", "ms"), 1e-3),
    **dict.fromkeys(("seconds", "second", "sec", "s", ""), 1.0),
    **dict.fromkeys(("minutes", "minute", "min", "m"), 60.0),
    **dict.fromkeys(("hours", "hour", "hr", "h"), 3600.0),
    **dict.fromkeys(("days", "day", "d"), 86400.0),
    **dict.fromkeys(("weeks", "week", "w"), 604800.0),
    **dict.fromkeys(("months", "month", "M"), 2629800.0),
    **dict.fromkeys(("years", "year", "y"), 31557600.0),
}
_SPAN = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[A-Za-zµμ]*)\s*")
_STAMP = re.compile(
    r"(?:(?P<weekday>mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+)?"
    r"(?P<date>[0-9]{4}-[0-9]{1,2}-[0-9]{1,2})?"
    r"(?:(?:(?<=[0-9])[T ]\s*|^)(?P<clock>[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?))?"
    r"\s*(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2}|[A-Za-z][A-Za-z0-9_+/-]*)?",
    re.IGNORECASE,
)
_OFFSET = re.compile(r"(?P<sign>[+-])(?P<hours>[0-9]{2}):?(?P<minutes>[0-9]{2})")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAYS = {"today": 0, "yesterday": -1, "tomorrow": 1}
_HINT = "say for example '2026-05-20 14:03:00', '2026-05-20', '14:03', yesterday, today, -2h, '3 days ago'"


def zone(name: str) -> tzinfo:
    """Return the zone called `name`: `UTC`, an IANA name, or an offset such as `+02:00`."""
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        minutes = int(offset["hours"]) * 60 + int(offset["minutes"])
        if minutes >= 24 * 60:
            raise UsageError(f"no zone is {name} away from UTC")
        return timezone(timedelta(minutes=-minutes if offset["sign"] == "-" else minutes))
    if name.upper() in {"UTC", "Z"}:
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:  # unknown, not a zone's name, or a folder of zones
        raise UsageError(
            f"{name!r} is no time zone", hint="say UTC, an IANA name such as Europe/Berlin, or +02:00"
        ) from error


def parse(text: str, *, now: datetime, local: tzinfo = UTC) -> datetime:
    """Return the naive UTC time that `text` says.

    `now` (with a zone) is what relative words count from; `local` is the zone of times that carry none.
    """
    words = text.strip()
    try:
        moment = _relative(words, now) or _named(words, now, local) or _stamp(words, now, local)
        if moment is not None:
            return moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{text!r} is no time: {error}", hint=_HINT) from error
    raise UsageError(f"{text!r} is no time", hint=_HINT)


def _relative(words: str, now: datetime) -> datetime | None:
    if words.startswith("@"):
        seconds = _seconds(words[1:])
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    sign, span = 0, words
    if words[:1] in {"+", "-"}:
        sign, span = (1 if words[0] == "+" else -1), words[1:]
    elif words.endswith(" ago"):
        sign, span = -1, words.removesuffix(" ago")
    elif words.endswith(" left"):
        sign, span = 1, words.removesuffix(" left")
    seconds = _seconds(span) if sign else None
    return None if seconds is None else now + sign * timedelta(seconds=seconds)


def _seconds(span: str) -> float | None:
    total, position, span = 0.0, 0, span.strip()
    while position < len(span):
        part = _SPAN.match(span, position)
        if part is None:
            return None
        unit = part["unit"]
        factor = _UNIT_SECONDS.get(unit, _UNIT_SECONDS.get(unit.lower()))
        if factor is None:
            return None
        total += float(part["number"]) * factor
        position = part.end()
    return total if span else None


def _named(words: str, now: datetime, local: tzinfo) -> datetime | None:
    word, _, name = words.partition(" ")
    place = zone(name.strip()) if name.strip() and word.lower() in {*_DAYS, "now"} else local
    if word.lower() == "now":
        return now
    if word.lower() not in _DAYS:
        return None
    midnight = now.astimezone(place).replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None)
    return (midnight + timedelta(days=_DAYS[word.lower()])).replace(tzinfo=place)


def _stamp(words: str, now: datetime, local: tzinfo) -> datetime | None:
    found = _STAMP.fullmatch(words)
    if found is None or not (found["date"] or found["clock"]):
        return None
    place = zone(found["zone"]) if found["zone"] else local
    if found["date"]:
        day = datetime(*map(int, found["date"].split("-")), tzinfo=place)  # type: ignore[misc,arg-type]
    else:
        day = now.astimezone(place)
    if found["weekday"] and _WEEKDAYS[day.weekday()] != found["weekday"].lower():
        raise ValueError(f"{day:%Y-%m-%d} is no {found['weekday']}")
    hours, minutes, seconds = [*(found["clock"] or "0:0").replace(",", ".").split(":"), "0"][:3]
    whole, _, fraction = seconds.partition(".")
    micros = int(fraction.ljust(6, "0")[:6])
    return day.replace(hour=int(hours), minute=int(minutes), second=int(whole), microsecond=micros)
