"""What gives a secret away: its name (setting, flag, variable, header, parameter), or its own shape."""

from __future__ import annotations

import itertools
import re
from functools import lru_cache

# SGLang's own (0.5.23 is the newest release read), as settings; their flags are in SECRET_FLAGS.
SECRET_SETTINGS = ("api_key", "admin_api_key", "ssl_keyfile_password", "watermark_key", "watermark_key_b")

# argparse takes any unique prefix of a flag; no other flag of any release begins with these.
SECRET_FLAGS = {
    "--api-key": "--ap",
    "--admin-api-key": "--ad",
    "--ssl-keyfile-password": "--ssl-keyfile-",
    "--watermark-key": "--watermark-k",
    "--watermark-key-b": "--watermark-k",
}


def words(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


# Words of a name (between underscores, dashes or capitals) that make it a secret's.
_WORDS = words(
    """password passwd passwort passphrase pwd authorization cookie credential credentials creds apikey
    accesskey"""
)
_KEY_OWNERS = words(
    """api access private signing encryption account shared storage auth admin master service secret
    watermark"""
)
# Names that hold a file or a place of a secret, not the secret.
_PLACES = words("file path dir directory env header policy")
# Words beside `token` that make it a token of text, not of trust.
_TEXT_TOKENS = words(
    """mask eos bos pad unk sep cls stop eot image video audio ids id usage new cached pending full swa gpu
    cpu replay num max min per draft first next prompt completion special added begin end think noise input
    output time last inter latency logprob logprobs len length count limit ratio map worker backend
    distribution speculative text"""
)
_LONGEST_NAME = 64  # of those that are remembered
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def is_secret_name(name: str) -> bool:
    """Return whether a setting, flag, variable, header or parameter of this name holds a secret."""
    return _remembered(name) if len(name) <= _LONGEST_NAME else _is_secret_name(name)


def _is_secret_name(name: str) -> bool:
    if name.startswith("--") and FLAG.fullmatch(name):
        return True
    parts = [part for part in re.split(r"[_.\-]+", _CAMEL.sub("_", name).lower()) if part]
    if not parts or parts[-1] in _PLACES or name in {"PWD", "OLDPWD"}:
        return False
    if any(part in _WORDS or "secret" in part or "password" in part for part in parts):
        return True
    if any(first in _KEY_OWNERS and second in {"key", "keys"} for first, second in itertools.pairwise(parts)):
        return True
    if any(part.endswith("key") and part[:-3] in _KEY_OWNERS for part in parts):
        return True
    return "token" in parts and _TEXT_TOKENS.isdisjoint(parts)


_remembered = lru_cache(4096)(_is_secret_name)  # every launch has the same some hundred settings


def _abbreviations(flag: str, shortest: str) -> str:
    """Return a pattern for a flag and every prefix of it down to the shortest."""
    pattern = ""
    for letter in reversed(flag[len(shortest) :]):
        pattern = f"(?:{re.escape(letter)}{pattern})?"
    return re.escape(shortest) + pattern


_FLAGS = "|".join(_abbreviations(flag, shortest) for flag, shortest in SECRET_FLAGS.items())
_OTHER_FLAGS = (
    r"--?(?:[A-Za-z0-9]{1,24}[_-]){0,4}(?:token|password|passwd|passphrase|secret|api[_-]?key|credentials?)"
)
FLAG = re.compile(rf"(?<![\w-])(?:{_FLAGS}|{_OTHER_FLAGS})(?![\w-])", re.IGNORECASE | re.ASCII)

# Where to look: a secret's flag, or a word that may be part of a secret's name.
WORD = re.compile(
    rf"""(?P<flag>{FLAG.pattern})
    | secret | passw | passphrase | credential | creds | authorization | cookie | (?<![A-Z])pwd
    | token(?=[=_\\"'\ ]|\s=|-[a-z]|:\s?["']) | (?<=_)token | (?<=-)token(?=:) | (?<=auth|cess)token
    | (?:api|access|private|signing|encryption|account|shared|storage|auth|admin|master|service
       |watermark)[_\-.]?key
    """,
    re.IGNORECASE | re.VERBOSE | re.ASCII,
)

# The rest of a secret setting's name, where a record begins in the middle of it.
_TAILS = sorted(
    {name[cut:] for name in SECRET_SETTINGS for cut in range(1, len(name) - 2)}, key=len, reverse=True
)
HEAD = re.compile(rf"""(?P<name>{"|".join(map(re.escape, _TAILS))})(?:=|'\s?:\s?|"\s?:\s?)(?=["'])""")

# Secrets that need no name. `query` is a parameter's value.
SHAPES = re.compile(
    r"""
      (?<![A-Za-z0-9_])hf_(?=[a-z]*[A-Z0-9]|[A-Za-z]{20})[A-Za-z0-9]{6,}
    | (?<![A-Za-z0-9_-])sk-[A-Za-z0-9_-]{4,}
    | (?<![A-Za-z0-9_])(?:gh[opsur]_|github_pat_|glpat-|xox[abeoprs]-)[A-Za-z0-9_-]{6,}
    | (?<![A-Za-z0-9_])(?:AKIA|ASIA|AIza)[A-Za-z0-9_-]{12,}
    | eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?
    | (?<=://)[^\s/?\#"'<>@:]{0,256}:[^\s/?\#"'<>]{1,512}(?=@)
    | (?<=://)[^\s/?\#"'<>@:]{20,512}(?=@)
    | (?i:(?<=bearer\ )(?!tokens?\b|auth\w*\b|<redacted>)[^\s"'\\]+)
    | (?<=PRIVATE\ KEY-----)[^-]+(?:-{1,4}[^-]+)*
    | (?<=[?&])(?i:key|sig|signature|auth|pwd|pass|x-amz-\w+)=(?P<query>[^\s&"'\#<>]+)
    """,
    re.VERBOSE,
)

# One of these stands (whatever its case) in every text that has a secret. None of them stands in a
# Prefill, Decode or plain access line, so that the millions of those are passed by one scan.
LITERALS = (
    *(
        "secret",
        "passw",
        "passphrase",
        "credential",
        "creds",
        "authorization",
        "cookie",
        "pwd",
        "bearer ",
        "eyj",
    ),
    *(
        "token=",
        'token"',
        "token'",
        "token\\",
        "token =",
        "_token",
        "token_",
        "-token ",
        "token-",
        "token:'",
        'token:"',
    ),
    *(
        "token: '",
        'token: "',
        "auth-token",
        "access-token",
        "api-token",
        "vault-token",
        "private-token",
        "id-token",
    ),
    *("session-token", "csrf-token", "authtoken", "accesstoken"),
    *("_key", "-key", ".key", "ikey", "skey", "ekey", "gkey", "nkey"),
    *(
        "tkey",
        "dkey",
        "hkey",
        "rkey",
        "kkey",
        "--ap",
        "--ad",
        "watermark-k",
        "key=",
        "sig=",
        "signature=",
        "auth=",
    ),
    *(
        "pass=",
        "x-amz-",
        "key='",
        'key="',
        "key':",
        'key":',
        "ord=",
        "ord':",
        'ord":',
        "hf_",
        "sk-",
        "gho_",
        "ghp_",
    ),
    *(word.encode().hex() for word in ("key", "KEY", "oken", "OKEN", "secret", "SECRET", "pass", "PASS")),
    *(word.encode().hex() for word in ("--ap", "--ad", "earer", "sk-", "hf_", "://")),
    *("ghs_", "ghu_", "ghr_", "github_pat_", "glpat-", "xox", "akia", "asia", "aiza", "://", "private key"),
)
