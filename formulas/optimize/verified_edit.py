"""The only way a user's file is changed: a verified edit, applied to exactly the text it was verified against.

Takes an edit, gives the file with it, all or nothing. The original is kept under `.hipscope/backup/`, to be put back.
"""

from __future__ import annotations

import hashlib
import os
import threading
from difflib import unified_diff
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from hipscope.analysis.errors import HipscopeError, UsageError
from hipscope.analysis.system.file_exchange import replace_text

_PART = ".part-"


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


def check_writable(path: Path) -> None:
    """Raises UsageError when a file may not be replaced, or the files of a directory: it or its directory is read-only.

    A file that nobody may write is left alone also where the system would let it be replaced.
    """
    path = path.resolve()
    folder = path if path.is_dir() else path.parent
    if path.is_file() and not path.stat().st_mode & 0o222:
        raise UsageError(
            f"{path}: the file is read-only", "chmod u+w, or leave out --apply: the change is shown"
        )
    for place in (path, folder):
        if place.exists() and not os.access(place, os.W_OK):
            raise UsageError(f"{place}: no permission to write", "leave out --apply: the change is shown")


def apply_edit(edit: VerifiedEdit) -> Path:
    """Write the edited file in one step and return where the original is kept.

    The file is either the old text or the new one at every moment. Raises UsageError when it has changed since the edit
    was verified, HipscopeError when it cannot be written.
    """
    path = Path(edit.file).resolve()
    check_writable(path)
    try:
        original = path.read_bytes()
        changed = edit.applied_to(original)
        backup = keep_original(path, original, changed)
        if not replace_text(path, original, changed, _part(path)):
            raise UsageError(f"{path}: the file was saved meanwhile, and stays as it is", "optimize it again")
    except OSError as error:
        raise HipscopeError(f"{path}: {error.strerror}") from error
    return backup


def restore(file: Path, *, force: bool = False) -> Path:
    """Put the text back that the file had before its last verified edit, in one step; where it was kept.

    Raises UsageError when nothing is kept, when the file has that text, and, without `force`, when it has changed
    since; HipscopeError when it cannot be written. Called again, it goes back one more edit.
    """
    path = file.resolve()
    try:
        now = path.read_bytes() if path.exists() else b""
        original, backup = kept_original(file, now, force=force)
        if not path.exists():
            _replace(path, original)
        elif not replace_text(path, now, original, _part(path)):
            raise UsageError(f"{file}: it was saved meanwhile", "restore it again")
    except OSError as error:
        raise HipscopeError(f"{file}: {error.strerror}") from error
    return backup


def kept_original(file: Path, now: bytes, *, force: bool = False) -> tuple[bytes, Path]:
    """What a file with the content `now` held before its last verified edit, and where that is kept.

    Raises as `restore` does.
    """
    path = file.resolve()
    try:
        records = sorted(_folder(path).glob(f"{path.name}.*.json"), key=lambda p: p.stat().st_mtime_ns)
        known = [_Record.model_validate_json(r.read_bytes()) for r in records]
        digest = hashlib.sha256(now).hexdigest()
        record = next((r for r in reversed(known) if r.edited_sha256 == digest), None)
        if record is None:
            if not known:
                raise UsageError(
                    f"{file}: no original is kept", "hipscope keeps one when it writes a rewrite"
                )
            if any(r.original_sha256 == digest for r in known):
                raise UsageError(f"{file}: it has its original text")
            if not force:
                raise UsageError(
                    f"{file}: it has changed since hipscope wrote it",
                    "--force puts the original back all the same",
                )
            record = known[-1]
        backup = _folder(path) / record.original
        original = backup.read_bytes()
        if hashlib.sha256(original).hexdigest() != record.original_sha256:
            raise UsageError(f"{backup}: the kept original has been changed", "restore it by hand")
    except ValidationError as error:
        raise HipscopeError(f"{_folder(path)}: a record there cannot be read") from error
    except OSError as error:
        raise HipscopeError(f"{file}: {error.strerror}") from error
    return original, backup


def keep_original(path: Path, original: bytes, changed: bytes) -> Path:
    """Keep the text that a file has before an edit, so that `restore` finds it by the text after it."""
    folder = path.parent / ".hipscope"
    home = _folder(path)
    home.mkdir(parents=True, exist_ok=True)
    _sweep(home)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="ascii")
    before, after = (hashlib.sha256(text).hexdigest() for text in (original, changed))
    backup = home / f"{path.name}.{before[:12]}"
    if not backup.exists() or backup.read_bytes() != original:
        _replace(backup, original)
    record = _Record(original=backup.name, original_sha256=before, edited_sha256=after)
    _replace(home / f"{path.name}.{after[:12]}.json", record.model_dump_json().encode())
    return backup


class _Record(BaseModel):
    """Which kept text belongs to which edited one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    original: str
    original_sha256: str
    edited_sha256: str


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


def _folder(path: Path) -> Path:
    return path.parent / ".hipscope" / "backup"


def _replace(path: Path, content: bytes) -> None:
    """Write to a file of our own and rename it over `path`; mode bits stay.

    The new file is made in `.hipscope`, so that a process that is killed leaves nothing between the user's files.
    """
    part = _part(path)
    try:
        with part.open("wb") as stream:
            stream.write(content)
            stream.flush()
            if path.exists():
                os.fchmod(stream.fileno(), path.stat().st_mode & 0o7777)
            os.fsync(stream.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _part(path: Path) -> Path:
    """A name for a file that is being written."""
    home = path.parent if path.parent.name == "backup" else _folder(path)
    home.mkdir(parents=True, exist_ok=True)
    return home / f"{_PART}{os.getpid()}-{threading.get_ident()}"


def _sweep(home: Path) -> None:
    """Remove what processes that were killed have left half written."""
    for part in home.glob(f"{_PART}*"):
        owner = part.name.removeprefix(_PART).partition("-")[0]
        if not Path(f"/proc/{owner}").exists():
            part.unlink(missing_ok=True)
