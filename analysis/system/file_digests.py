"""Digests of files on disk, made once per version of a file. Takes a path, gives SHA-256 or "" for no readable file."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from pathlib import Path

_WHOLE = (
    256 * 1024 * 1024
)  # bytes; of a larger file, as of a matrix, size and time of change stand for the content


def file_digest(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file's bytes; "" when there is no such file or it cannot be read."""
    try:
        found = Path(path).stat()
        return _digest(os.fspath(path), found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    except OSError:
        return ""


@lru_cache(maxsize=4096)
def _digest(path: str, _inode: int, size: int, modified_ns: int, _changed_ns: int) -> str:
    if size > _WHOLE:
        return hashlib.sha256(f"{size} {modified_ns}".encode()).hexdigest()
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
