"""Inputs in object stores and behind URLs: s3://, gs://, az://, http(s)://, read as streams.

Needs the extra `kvforensics[cloud]` (obstore). Credentials, endpoints and regions come from the
environment, as the stores' own tools take them (AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, GOOGLE_…, AZURE_…).
"""

from __future__ import annotations

from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

from kvforensics.errors import InputError, MissingExtraError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMES = ("s3", "gs", "az", "http", "https")
_MAGIC = "*?["
_CHUNK_BYTES = 8 << 20


def is_remote(path: str) -> bool:
    """Tell whether a path is a URL of a store that can be read."""
    scheme, found, _ = path.partition("://")
    return bool(found) and scheme in SCHEMES


def open_remote(url: str) -> tuple[Iterator[bytes], int | None]:
    """Return the bytes of an object in pieces, and its size. Raises InputError when it cannot be read."""
    store, key, _ = _store(url)
    try:
        found = store_get(store, key)
        return _pieces(found, url), int(found.meta["size"])
    except Exception as error:
        raise _unreadable(url, error) from error


def list_remote(url: str) -> Iterator[tuple[str, int, str | None]]:
    """Give path, size and entity tag of the objects that a URL means: one, a prefix, or a pattern."""
    store, key, base = _store(url)
    import obstore  # noqa: PLC0415 - checked by _store

    scheme = base.partition("://")[0]
    prefix = key.split(next((c for c in key if c in _MAGIC), "\0"))[0]
    is_pattern = prefix != key
    folder = prefix.rpartition("/")[0] if is_pattern else key.rstrip("/")
    count = 0
    try:
        if scheme in ("http", "https"):
            yield url, *_size_and_tag(obstore.head(store, key))
            return
        for batch in obstore.list(store, prefix=folder or None):
            for meta in batch:
                if not is_pattern or fnmatch(meta["path"], key):
                    count += 1
                    yield f"{base}/{meta['path']}", *_size_and_tag(meta)
        if not count and not is_pattern:
            yield f"{base}/{key}", *_size_and_tag(obstore.head(store, key))
    except Exception as error:
        raise _unreadable(url, error) from error


def _size_and_tag(meta: Any) -> tuple[int, str | None]:
    """Return an object's size and what changes with its content."""
    tag = meta["e_tag"] or (f"{meta['last_modified']}" if meta["last_modified"] is not None else None)
    return int(meta["size"]), tag


def store_get(store: Any, key: str) -> Any:
    """Begin to read one object."""
    import obstore  # noqa: PLC0415 - checked by _store

    return obstore.get(store, key)


def _pieces(found: Any, url: str) -> Iterator[bytes]:
    try:
        for piece in found.stream(min_chunk_size=_CHUNK_BYTES):
            yield bytes(piece)
    except Exception as error:
        raise OSError(f"{url}: {error}") from error


def _store(url: str) -> tuple[Any, str, str]:
    """Return the store of a URL, the key within it, and the part before the key."""
    try:
        from obstore.store import from_url  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError(
            "reading URLs needs obstore",
            where=url,
            hint="install the extra: pip install 'kvforensics[cloud]'",
        ) from error
    base, key = _apart(url)
    try:
        return from_url(base, client_options={"allow_http": True}), key, base
    except Exception as error:
        raise UsageError(f"cannot open the store: {error}", where=url) from error


def _apart(url: str) -> tuple[str, str]:
    """Return the store's part of a URL and the key in it. Raises UsageError for one with a secret in it."""
    scheme, _, rest = url.partition("://")
    place, _, key = rest.partition("/")
    if "@" in place or (scheme in ("http", "https") and "?" in key):
        raise UsageError(
            "a URL with a query or a password in it is not read",
            where=f"{scheme}://{place.rpartition('@')[2]}/{key.partition('?')[0]}",
            hint="credentials come from the environment: AWS_…, GOOGLE_…, AZURE_…",
        )
    return f"{scheme}://{place}", key.lstrip("/")


def _unreadable(url: str, error: Exception) -> InputError:
    return InputError(str(error).splitlines()[0] if str(error) else type(error).__name__, where=url)
