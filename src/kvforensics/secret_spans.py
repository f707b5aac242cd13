"""Where secrets stand in a text: behind their names, and by their own shapes.

How a secret is told from other text is written in `secret_names`; what replaces it, in `redaction`.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from kvforensics.secret_names import FLAG, HEAD, LITERALS, SHAPES, WORD, is_secret_name, words

if TYPE_CHECKING:
    from collections.abc import Iterator

REDACTED = "<redacted>"
REFERENCE = "<redacted-reference>"

# Between a name and its value. A closing quote may end the name; a comma separates only after one.
_ANSI = r"(?:\x1b\[[0-9;]{0,16}m){0,4}"
_CLOSE = rf"""{_ANSI}(?P<close>\\*["'])?\]?{_ANSI}"""
_PAIRED = r"""\s{0,8},?\s{0,40}\\*["']?value\\*["']?\s{0,8}[:=]\s{0,40}"""  # Kubernetes: name, then value
_ASSIGN = re.compile(
    rf"{_CLOSE}(?:{_PAIRED}|\s{{0,8}}[:=]{{1,2}}>?\s{{0,8}}|(?(close)\s{{0,8}},\s{{0,8}}|(?!)))", re.ASCII
)
_ARGUMENT = re.compile(
    rf"{_CLOSE}(?:{_PAIRED}|=|\s{{0,8}},\s{{0,40}}|[\s\0]{{1,40}}(?:-\s{{1,8}})?)", re.ASCII
)
_OPEN = re.compile(r"""[bBrRuU]{0,2}(?P<slashes>\\*)(?P<quote>["'])""")

_LIST = re.compile(r"""[\[(](?=\s{0,40}\\*["'])""")

# A quote inside a bare word (shell: a'b'c) belongs to it unless something that separates follows.
# What the shell puts in its place is one word, whatever stands in the brackets.
_BARE = re.compile(
    r"""(?:\$\{[^}\r\n\0]*\}?|\$\([^()\r\n\0]*\)?|`[^`\r\n\0]*`?"""
    r"""|[^\s"'\0]|["'](?=[^\s,;:)\]}"'\\\0]))*"""
)
_REST_OF_LINE = re.compile(r"""[^"'\r\n\0]*""")  # headers with several words
_PARAMETER = re.compile(r"""[^\s"'&#<>\0]*""")  # of a URL
_PUNCTUATION = ",;)]}\\"
_UNSET = frozenset({"", "none", "null", "nil", "undefined", "true", "false", REDACTED})
_PROSE = words(
    """a and are as be by can cannot for has if in is it must not on option or should that the this to was
    with you"""
)
_SCHEME = r"(?:(?i:bearer|basic|token)\s{1,8})?"  # in front of a header's value
_REFERENCE = re.compile(
    rf"""{_SCHEME}\\?(?:
      \$\$?\w+ | \$\$?\{{\w+(?:\[\w+\])?(?::?-|:?\?[^}}]*)?\}}  # the shell's, systemd's, compose's
    | \$\((?!\s*(?:echo|printf)\b)[^()]*\)? | `(?!\s*(?:echo|printf)\b)[^`]*`?
    | %\w+%? | %%\w+%% | \{{\{{.*\}}\}} | <[\w\ -]+>
    | \.\*  # what sed is to find
    )(?:/g?["']?)?""",
    re.VERBOSE,
)
_CODE = re.compile(r"(?:[A-Za-z_]\w*\.)+[A-Za-z_]\w*(?:[\[(].*)?|[A-Za-z_]\w*[\[(].*|str|bytes|bool|int|Any")
_NUMBER = re.compile(r"[0-9][0-9.,%]*")

_HEX = re.compile(r"(?<![0-9A-Za-z])(?:[0-9A-Fa-f]{2}){8,65536}(?![0-9A-Za-z])")


class Span(NamedTuple):
    """A secret's place in a text."""

    start: int
    end: int
    sure: bool  # a value that somebody wrote; not a reference (`$KEY`) and not a line of source code

    @property
    def mark(self) -> str:
        """What stands in its place."""
        return REDACTED if self.sure else REFERENCE


def needs_redaction(text: str) -> bool:
    """Return whether `redact` could change this text: a cheap test that never misses."""
    lower = text.lower()
    return any(literal in lower for literal in LITERALS)


def is_reference(value: str) -> bool:
    """Return whether a value is no secret but says where one comes from: `$KEY`, `$(cat FILE)`."""
    return _REFERENCE.fullmatch(value) is not None


def is_changed(text: str) -> bool:
    """Return whether redaction changes a text."""
    return needs_redaction(text) and any(text[s.start : s.end] != s.mark for s in spans(text))


def spans(text: str) -> list[Span]:
    """Return the secrets of a text, in order and apart."""
    found: list[Span] = []
    for span in sorted(chain(_assigned(text), _shaped(text))):
        if found and span.start < found[-1].end:
            last = found[-1]
            found[-1] = Span(last.start, max(last.end, span.end), last.sure or span.sure)
        else:
            found.append(span)
    return found


def _shaped(text: str) -> Iterator[Span]:
    for match in SHAPES.finditer(text):
        start, end = match.span("query") if match["query"] else match.span()
        if text[start:end].lower() not in _UNSET:
            yield Span(start, end, _REFERENCE.fullmatch(_password(text[start:end])) is None)
    for match in _HEX.finditer(text):  # the kernel's audit writes commands so
        said = bytes.fromhex(match[0]).decode("utf-8", "replace").replace("\0", " ")
        if is_changed(said):
            yield Span(*match.span(), sure=True)


def _password(value: str) -> str:
    """Return what is secret of `USER:PASSWORD`."""
    return value.partition(":")[2] or value


def _assigned(text: str) -> Iterator[Span]:
    at = 0
    for start, end in _names(text):
        if start < at:
            continue
        span = _value(text, start, end)
        if span is not None:
            at = span.end
            yield span


def _names(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the names of secrets stand, flags with their dashes included."""
    head = HEAD.match(text)
    if head:
        yield head.span("name")
    for match in WORD.finditer(text):
        start, end = match.span()
        if match["flag"]:
            yield start, end
            continue
        floor = max(0, start - 64)
        while start > floor and (text[start - 1].isalnum() or text[start - 1] in "_-"):
            start -= 1
        ceiling = min(len(text), end + 64)
        while end < ceiling and (text[end].isalnum() or text[end] in "_-"):
            end += 1
        if is_secret_name(text[start:end]):
            yield start, end


def _value(text: str, start: int, end: int) -> Span | None:
    """Return the value that stands after a name, or None where none does or it says "not set"."""
    name = text[start:end]
    flag = name.startswith("-")
    between = (_ARGUMENT if flag else _ASSIGN).match(text, end)
    if not between:
        return None
    at = between.end()
    listed = _LIST.match(text, at)
    if listed:
        at = listed.end()
        return Span(at, stop, sure=True) if (stop := _list_end(text, at)) > at else None
    opened = _OPEN.match(text, at)
    enclosing = None if between["close"] else _quote_before(text, start)
    if opened:
        at = opened.end()
        stop = _closing(text, at, opened["quote"], len(opened["slashes"]))
    elif enclosing:
        stop = _closing(text, at, *enclosing)
    else:
        stop = _bare_end(text, at, name, parameter=text[start - 1 : start] in {"?", "&"})
    value = text[at:stop]
    if not opened and (_says_nothing(name, value) or (flag and value.startswith("--"))):
        return None
    inner = value.lstrip("[({")
    if inner.lower() in _UNSET or not inner.strip("*") or inner.startswith(REDACTED):
        return None
    bare = not opened and not flag
    if bare and "token" in name.lower() and name != name.upper() and _NUMBER.fullmatch(value):
        return None  # a count of tokens
    code = bare and name == name.lower() and _CODE.fullmatch(value) is not None
    return Span(at, stop, not (code or _REFERENCE.fullmatch(value)))


def _list_end(text: str, at: int) -> int:
    """Return where a list of quoted values ends: before its bracket, or at the end of the text."""
    while at < len(text) and text[at] not in "])":
        opened = _OPEN.match(text, at)
        at = _closing(text, opened.end(), opened["quote"], len(opened["slashes"])) if opened else at
        at += 1 + (len(opened["slashes"]) if opened else 0)
    return min(at, len(text))


def _says_nothing(name: str, value: str) -> bool:
    """Return whether a bare word is prose or a usage text's placeholder (`--api-key API_KEY`)."""
    return value in _PROSE or (value == value.upper() and value.lower() == name.strip("-").replace("-", "_"))


def _quote_before(text: str, start: int) -> tuple[str, int] | None:
    """Return the quote right before a name, with the number of backslashes before it."""
    if start == 0 or text[start - 1] not in "\"'":
        return None
    floor = start - 1
    while floor > 0 and text[floor - 1] == "\\":
        floor -= 1
    return text[start - 1], start - 1 - floor


def _closing(text: str, at: int, quote: str, slashes: int) -> int:
    """Return where a quoted value ends: before its closing quote, or at the end of the text.

    At each level of escaping, a closing quote has as many backslashes as the opening one (modulo what
    escaped backslashes add). What only might close counts when something that separates follows; a backslash
    does not, where backslashes stand before as well: both may be of the value.
    """
    period = 2 * (slashes + 1)
    stop = text.find(quote, at)
    while stop >= 0:
        first = stop
        while first > at and text[first - 1] == "\\":
            first -= 1
        before, after = stop - first, text[stop + 1 : stop + 2]
        if (
            before % period == slashes
            and not (before > slashes and after == "\\")
            and (not after or after in ",;:)]}\"'\\|&<>" or after.isspace() or after == "\0")
        ):
            return stop - slashes
        stop = text.find(quote, stop + 1)
    return len(text)


def _bare_end(text: str, at: int, name: str, *, parameter: bool) -> int:
    if parameter:
        pattern = _PARAMETER
    elif name.lower().endswith(("authorization", "cookie")):
        pattern = _REST_OF_LINE
    else:
        pattern = _BARE
    match = pattern.match(text, at)
    stop = match.end() if match else at
    again = FLAG.search(text, at + 1, stop)  # sed 's/--api-key old/--api-key new/'
    if again:
        stop = again.start()
    while stop > at and text[stop - 1] in _PUNCTUATION and not _REFERENCE.fullmatch(text, at, stop):
        stop -= 1
    return stop
