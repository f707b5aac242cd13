"""Secrets never leave the parser: what looks like one is replaced by `<redacted>`.

SGLang prints `api_key` (0.3.0 ..), `admin_api_key` (0.5.8 ..) and `ssl_keyfile_password` (0.5.10 ..) in
clear in its `server_args=` line; a journal also holds command lines, environment lines, sudo commands
and URLs. A secret is found by the *name* it is assigned to, in any spelling (Python repr, dict, JSON at
any depth of escaping, a flag and its abbreviations, an environment line, a header, a query parameter),
or by its own shape (`sk-…`, `hf_…`, a bearer token, a JSON web token, a password in a URL). Where the end
of a secret cannot be seen (a truncated line), everything up to the end of the text goes.

The rule is one-sided: a harmless word may be redacted, a secret may not survive. Empty values, None and
null stay, because they say that no secret is set. What is most likely a reference (`$KEY`, `$(cat FILE)`) or
source code goes as well, but as `<redacted-reference>`: no secret stands there in clear.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from kvforensics.secret_names import FLAG, HEAD, LITERALS, SHAPES, WORD, is_secret_name, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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


class _Span(NamedTuple):
    start: int
    end: int
    sure: bool  # a value that somebody wrote; not a reference (`$KEY`) and not a line of source code


def redact(text: str) -> str:
    """Return the text with every secret replaced by `<redacted>`; idempotent."""
    if not needs_redaction(text):
        return text
    pieces: list[str] = []
    at = 0
    for span in _spans(text):
        pieces += (text[at : span.start], REDACTED if span.sure else REFERENCE)
        at = span.end
    return "".join((*pieces, text[at:])) if pieces else text


def needs_redaction(text: str) -> bool:
    """Return whether `redact` could change this text: a cheap test that never misses."""
    lower = text.lower()
    return any(literal in lower for literal in LITERALS)


def found_secret(text: str) -> bool:
    """Return whether a secret's value stands in the text: not None, not a reference, not source code."""
    return needs_redaction(text) and any(span.sure for span in _spans(text))


def redact_series(texts: pl.Series) -> pl.Series:
    """Return a string column with every secret replaced; rows without one cost one scan."""
    rows = texts.str.contains_any(list(LITERALS), ascii_case_insensitive=True).arg_true()
    if not len(rows):
        return texts
    return texts.scatter(rows, [redact(text) for text in texts.gather(rows)])


def redact_expr(expr: pl.Expr) -> pl.Expr:
    """Return `redact_series` as an expression over a string column."""
    return expr.map_batches(redact_series, return_dtype=pl.String)


def redact_argv(argv: str) -> str:
    """Return a command line (words separated by spaces or NUL) with every secret replaced."""
    return redact(argv)


def redact_pieces(pieces: Sequence[str]) -> list[str]:
    """Return the pieces of one text, a secret that runs over several of them replaced once."""
    text, found, at = "".join(pieces), [], 0
    spans = _spans(text) if needs_redaction(text) else []
    for piece in pieces:
        kept, begin, end = [], at, at + len(piece)
        for span in spans:
            if span.end <= at or span.start >= end:
                continue
            mark = REDACTED if span.sure else REFERENCE
            kept += [text[begin : max(begin, span.start)], mark if span.start >= at else ""]
            begin = min(end, span.end)
        found.append("".join((*kept, text[begin:end])))
        at = end
    return found


def redact_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings (nested dicts and lists too) with every secret value replaced."""
    paired = isinstance(values.get("name"), str) and is_secret_name(values["name"])
    return {
        key: _redact_value(value, secret=is_secret_name(key) or (paired and key == "value"))
        for key, value in values.items()
    }


def _redact_value(value: Any, *, secret: bool) -> Any:
    if isinstance(value, dict):
        return (
            redact_values(value)
            if not secret
            else {key: _redact_value(v, secret=True) for key, v in value.items()}
        )
    if isinstance(value, (list, tuple)):
        flags = (isinstance(v, str) and FLAG.fullmatch(v) is not None for v in value)
        after_flag = chain((False,), flags)
        return [
            _redact_value(item, secret=secret or hidden)
            for item, hidden in zip(value, after_flag, strict=False)
        ]
    if secret and value is not None and value != "" and not isinstance(value, bool):
        return REFERENCE if isinstance(value, str) and _REFERENCE.fullmatch(value) else REDACTED
    return redact(value) if isinstance(value, str) else value


def _spans(text: str) -> list[_Span]:
    """Return the secrets of a text, in order and apart."""
    found: list[_Span] = []
    for span in sorted(chain(_assigned(text), _shaped(text))):
        if found and span.start < found[-1].end:
            last = found[-1]
            found[-1] = _Span(last.start, max(last.end, span.end), last.sure or span.sure)
        else:
            found.append(span)
    return found


def _shaped(text: str) -> Iterator[_Span]:
    for match in SHAPES.finditer(text):
        start, end = match.span("query") if match["query"] else match.span()
        if text[start:end].lower() not in _UNSET:
            yield _Span(start, end, _REFERENCE.fullmatch(_password(text[start:end])) is None)
    for match in _HEX.finditer(text):  # the kernel's audit writes commands so
        said = bytes.fromhex(match[0]).decode("utf-8", "replace").replace("\0", " ")
        if redact(said) != said:
            yield _Span(*match.span(), sure=True)


def _password(value: str) -> str:
    """Return what is secret of `USER:PASSWORD`."""
    return value.partition(":")[2] or value


def _assigned(text: str) -> Iterator[_Span]:
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


def _value(text: str, start: int, end: int) -> _Span | None:
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
        return _Span(at, stop, sure=True) if (stop := _list_end(text, at)) > at else None
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
    return _Span(at, stop, not (code or _REFERENCE.fullmatch(value)))


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
