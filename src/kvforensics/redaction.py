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

from itertools import chain
from typing import TYPE_CHECKING, Any

import polars as pl

from kvforensics.secret_names import FLAG, LITERALS, is_secret_name
from kvforensics.secret_spans import REDACTED, REFERENCE, is_reference, needs_redaction, spans

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "REDACTED",
    "REFERENCE",
    "found_secret",
    "needs_redaction",
    "redact",
    "redact_argv",
    "redact_expr",
    "redact_pieces",
    "redact_series",
    "redact_values",
]


def redact(text: str) -> str:
    """Return the text with every secret replaced by `<redacted>`; idempotent."""
    if not needs_redaction(text):
        return text
    pieces: list[str] = []
    at = 0
    for span in spans(text):
        pieces += (text[at : span.start], span.mark)
        at = span.end
    return "".join((*pieces, text[at:])) if pieces else text


def found_secret(text: str) -> bool:
    """Return whether a secret's value stands in the text: not None, not a reference, not source code."""
    return needs_redaction(text) and any(span.sure for span in spans(text))


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
    secrets = spans(text) if needs_redaction(text) else []
    for piece in pieces:
        kept, begin, end = [], at, at + len(piece)
        for span in secrets:
            if span.end <= at or span.start >= end:
                continue
            kept += [text[begin : max(begin, span.start)], span.mark if span.start >= at else ""]
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
        return REFERENCE if isinstance(value, str) and is_reference(value) else REDACTED
    return redact(value) if isinstance(value, str) else value
