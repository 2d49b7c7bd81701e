"""The only way a user's file is changed: a verified edit, applied to exactly the text it was verified against.

Takes an edit, gives the file with it, all or nothing. The original is kept under `.hipscope/backup/`, to be put back.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from difflib import unified_diff
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from hipscope.analysis.errors import HipscopeError, UsageError


class VerifiedEdit(BaseModel):
    """Replace bytes [start_byte, end_byte) of `file`, whose whole content has the hash `original_sha256`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: str
    original_sha256: str
    start_byte: int
    end_byte: int
    new_text: str

    def applied_to(self, original: bytes) -> bytes:
        """The new content. Raises UsageError when `original` is not what the edit was verified against."""
        if hashlib.sha256(original).hexdigest() != self.original_sha256:
            raise UsageError(
                f"{self.file}: the file has changed since this edit was verified", "optimize it again"
            )
        return original[: self.start_byte] + self.new_text.encode() + original[self.end_byte :]


def edit_between(file: Path, original: bytes, changed: bytes) -> VerifiedEdit:
    """The smallest edit in whole characters that turns `original` into `changed`."""
    start = _common(original, changed)
    limit = min(len(original), len(changed)) - start
    tail = _common(original[::-1][:limit], changed[::-1][:limit])
    while start and _continues(original, start):
        start -= 1
    while tail and _continues(original, len(original) - tail):
        tail -= 1
    return VerifiedEdit(
        file=str(file),
        original_sha256=hashlib.sha256(original).hexdigest(),
        start_byte=start,
        end_byte=len(original) - tail,
        new_text=changed[start : len(changed) - tail].decode("utf-8"),
    )


def apply_edit(edit: VerifiedEdit) -> Path:
    """Write the edited file in one step and return where the original is kept.

    The file is either the old text or the new one at every moment. Raises UsageError when it has changed since the edit
    was verified, HipscopeError when it cannot be written.
    """
    path = Path(edit.file).resolve()
    try:
        original = path.read_bytes()
        changed = edit.applied_to(original)
        backup = _keep(path, original)
        _replace(path, changed)
    except OSError as error:
        raise HipscopeError(f"{path}: {error.strerror}") from error
    return backup


def restore(file: Path, backup: Path) -> None:
    """Put the kept original back, in one step."""
    try:
        _replace(file.resolve(), backup.read_bytes())
    except OSError as error:
        raise HipscopeError(f"{file}: {error.strerror}") from error


def diff_of(name: str, original: bytes, changed: bytes) -> str:
    """A unified diff that `patch -p1` takes. `name` is the file's path relative to the project."""
    before, after = (t.decode("utf-8", "replace").splitlines(keepends=True) for t in (original, changed))
    lines = unified_diff(before, after, f"a/{name}", f"b/{name}")
    return "".join(x if x.endswith("\n") else f"{x}\n\\ No newline at end of file\n" for x in lines)


def _common(one: bytes, other: bytes) -> int:
    """How many bytes both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def _continues(text: bytes, position: int) -> bool:
    """True when the byte is in the middle of a UTF-8 character or of a CR LF pair."""
    if position >= len(text):
        return False
    return text[position] & 0xC0 == 0x80 or (
        text[position] == 0x0A and text[position - 1 : position] == b"\r"
    )


def _keep(path: Path, original: bytes) -> Path:
    folder = path.parent / ".hipscope"
    backup = folder / "backup" / f"{path.name}.{hashlib.sha256(original).hexdigest()[:12]}"
    backup.parent.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="ascii")
    if not backup.exists() or backup.read_bytes() != original:
        _replace(backup, original)
    return backup


def _replace(path: Path, content: bytes) -> None:
    """Write beside the file, then rename over it; mode bits stay."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".hipscope", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            if path.exists():
                os.fchmod(stream.fileno(), path.stat().st_mode & 0o7777)
            os.fsync(stream.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
