"""Month names as glibc's locales abbreviate them in `journalctl -o short` (strftime `%b`)."""

from __future__ import annotations

_BY_LANGUAGE = (
    "jan feb mar apr may jun jul aug sep oct nov dec",  # en
    "jan feb mär apr mai jun jul aug sep okt nov dez",  # de
    "jän feb mrz apr mai juni juli aug sept okt nov dez",  # de, older and de_AT
    "janv févr mars avril mai juin juil août sept oct nov déc",  # fr
    "ene feb mar abr may jun jul ago sep oct nov dic",  # es
    "gen feb mar apr mag giu lug ago set ott nov dic",  # it
    "jan fev mar abr mai jun jul ago set out nov dez",  # pt
    "jan feb mrt apr mei jun jul aug sep okt nov dec",  # nl
    "jan feb mar apr maj jun jul aug sep okt nov dec",  # sv, da
    "jan feb mars april mai juni juli aug sep okt nov des",  # nb
    "tammi helmi maalis huhti touko kesä heinä elo syys loka marras joulu",  # fi
    "sty lut mar kwi maj cze lip sie wrz paź lis gru",  # pl
    "led úno bře dub kvě čen čec srp zář říj lis pro",  # cs
    "jan febr márc ápr máj jún júl aug szept okt nov dec",  # hu
    "oca şub mar nis may haz tem ağu eyl eki kas ara",  # tr
    "янв фев мар апр мая июн июл авг сен окт ноя дек",  # ru
    "січ лют бер кві тра чер лип сер вер жов лис гру",  # uk  # noqa: RUF001
)
_MONTHS = {name: number for names in _BY_LANGUAGE for number, name in enumerate(names.split(), start=1)}


def month(name: str) -> int | None:
    """Return 1 to 12 for a month's abbreviation in any of the known languages, `11月` and `5월` included."""
    word = name.strip().rstrip(".").casefold()
    if word.endswith(("月", "월")) and word[:-1].isascii() and word[:-1].isdigit():
        number = int(word[:-1])
        return number if 1 <= number <= 12 else None  # noqa: PLR2004
    return _MONTHS.get(word)
