"""The files of a sweep's programs as one content-addressed blob, for workers that do not share a file system.

`packed` reads a folder, `unpacked` writes it where a worker keeps it, once for each content.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from hipscope.analysis.errors import UsageError
from hipscope.analysis.system.directories import cache_directory

MOST = 64 << 20
"""Bytes of the files of a blob: a larger folder belongs on a shared file system."""
_LEFT_OUT = (".git", ".hg", ".svn", "__pycache__")


@dataclass(frozen=True)
class Blob:
    """The files of a folder; the same files have the same digest, wherever and whenever they were packed."""

    digest: str
    data: bytes


def packed(folder: Path) -> Blob:
    """The regular files of a folder and below, without the records of version control. Raises UsageError."""
    size, raw = 0, io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for path in sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()):
            name = path.relative_to(folder)
            if set(name.parts) & set(_LEFT_OUT):
                continue
            size += path.stat().st_size
            if size > MOST:
                raise UsageError(
                    f"{folder}: more than {MOST >> 20} MiB to send to workers",
                    "name a smaller `folder`, or leave it out where the workers share a file system",
                )
            entry = tarfile.TarInfo(name.as_posix())
            entry.size, entry.mode = path.stat().st_size, 0o755 if os.access(path, os.X_OK) else 0o644
            archive.addfile(entry, io.BytesIO(path.read_bytes()))
    found = raw.getvalue()
    return Blob(sha256(found).hexdigest()[:32], gzip.compress(found, compresslevel=1, mtime=0))


def unpacked(blob: Blob) -> Path:
    """The folder that has its files here."""
    kept = cache_directory() / "sweep" / "files"
    goal = kept / blob.digest
    if goal.is_dir():
        return goal
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept) as made:
        whole = Path(made) / "files"
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(blob.data))) as archive:
            archive.extractall(whole, filter="data")
        try:
            whole.rename(goal)
        except OSError:
            if not goal.is_dir():  # another worker was first
                raise
    return goal
