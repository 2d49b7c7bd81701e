"""The only way a user's file is changed: a verified edit, applied to exactly the text it was verified against.

Takes an edit, gives the file with it, all or nothing. The original is kept in the state directory, to be put back.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from hipscope.analysis.errors import HipscopeError, UsageError
from hipscope.analysis.system.directories import state_directory
from hipscope.analysis.system.file_exchange import replace_text

_PART = ".part-"


class FileEdit(BaseModel):
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


class VerifiedEdit(FileEdit):
    """The edit of a kernel's file; `also` are those of other files that belong to it: all are applied, or none."""

    also: tuple[FileEdit, ...] = ()

    @property
    def parts(self) -> tuple[FileEdit, ...]:
        """The edit of each file, this one first."""
        return (self, *self.also)


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


def edit_of(changes: Iterable[tuple[Path, bytes, bytes]]) -> VerifiedEdit:
    """The edit of all files, with their texts before and after; what comes first is the edit's own file."""
    first, *others = (edit_between(*change) for change in changes)
    also = tuple(FileEdit(**other.model_dump(exclude={"also"})) for other in others)
    return first.model_copy(update={"also": also})


def shown_name(file: Path, root: Path) -> str:
    """The name of a file in diffs: relative to the project, where it stands in it."""
    path, root = file.resolve(), root.resolve()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name


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


def apply_edit(edit: VerifiedEdit) -> tuple[Path, ...]:
    """Write the edited files, each in one step, and return where the original of each is kept.

    A file is either the old text or the new one at every moment; when one cannot be written, those before it get their
    text back. The edit's own file comes last: what is left by a process that is killed in between does not compile,
    as only that file has what the others name. Raises UsageError when a file has changed since the edit was verified,
    HipscopeError when one cannot be written.
    """
    paths = [Path(part.file).resolve() for part in edit.parts]
    for path in paths:
        check_writable(path)
    try:
        originals = [path.read_bytes() for path in paths]
        texts = [part.applied_to(was) for part, was in zip(edit.parts, originals, strict=True)]
        changes = list(zip(paths, originals, texts, strict=True))
        kept = tuple(keep_original(*change, files=paths) for change in changes)
        _exchange(changes[::-1], "the file was saved meanwhile, and stays as it is", "optimize it again")
    except OSError as error:
        raise HipscopeError(f"{error.filename or paths[0]}: {error.strerror}") from error
    return kept


def _exchange(changes: Sequence[tuple[Path, bytes, bytes]], why: str, advice: str) -> None:
    """Replace the text of each file by its new one, or that of none. Raises UsageError when one has another text."""
    done: list[tuple[Path, bytes, bytes]] = []
    try:
        for path, was, text in changes:
            with _part_beside(path) as part:
                if not replace_text(path, was, text, part):
                    raise UsageError(f"{path}: {why}", advice)
            done.append((path, was, text))
    except (OSError, UsageError):
        for path, was, text in reversed(done):
            with contextlib.suppress(OSError), _part_beside(path) as part:
                replace_text(path, text, was, part)
        raise


def restore(file: Path, *, force: bool = False) -> tuple[Path, ...]:
    """Put the text back that the file had before its last verified edit, and with it the other files of that edit.

    Returns where the texts were kept, the file's own first. Raises UsageError when nothing is kept, when the file has
    that text, and, without `force`, when one has changed since; HipscopeError when one cannot be written. Called
    again, it goes back one more edit.
    """
    try:
        parts = kept_originals(file, _content, force=force)
        gone = [part for part in parts if not part.file.exists()]
        _exchange(
            [(part.file, part.now, part.original) for part in parts if part not in gone],
            "it was saved meanwhile",
            "restore it again",
        )
        for part in gone:
            with _part_beside(part.file) as place:
                _replace(part.file, part.original, place)
    except OSError as error:
        raise HipscopeError(f"{file}: {error.strerror}") from error
    return tuple(part.kept for part in sorted(parts, key=lambda part: part.file != file.resolve()))


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


@dataclass(frozen=True)
class KeptText:
    """A file, what it holds now and what it held before its last verified edit, and where that is kept."""

    file: Path
    now: bytes
    original: bytes
    kept: Path


def kept_originals(
    file: Path, content: Callable[[Path], bytes], *, force: bool = False
) -> tuple[KeptText, ...]:
    """What the files of the last verified edit of a file held before it, that edit's own file first.

    `content` says what a file holds now. Of the others, those that have their original text again are left out.
    Raises as `restore` does.
    """
    path = file.resolve()
    if path.exists() and not path.is_file():
        raise UsageError(f"{file}: not a file")
    now = content(path)
    record, own = _kept(path, now, force=force)
    if not record.files:
        return (own,)
    found = []
    for name in record.files:
        other = (path.parent / name).resolve()
        if other == path:
            found.append(own)
            continue
        text = content(other)
        if not _is_original(other, text):
            found.append(_kept(other, text, force=force)[1])
    return tuple(found)


def _is_original(path: Path, now: bytes) -> bool:
    """Whether a file has the text that it had before an edit, and no edited one."""
    known, digest = _records(path), hashlib.sha256(now).hexdigest()
    return any(r.original_sha256 == digest for r in known) and all(r.edited_sha256 != digest for r in known)


def _records(path: Path) -> list[_Record]:
    """The edits of a file, oldest first."""
    try:
        records = sorted(_folder(path).glob(f"{path.name}.*.json"), key=lambda p: p.stat().st_mtime_ns)
        return [_Record.model_validate_json(r.read_bytes()) for r in records]
    except ValidationError as error:
        raise HipscopeError(f"{_folder(path)}: a record there cannot be read") from error


def _kept(path: Path, now: bytes, *, force: bool) -> tuple[_Record, KeptText]:
    """The last edit of a file with the content `now`, and its text before that."""
    known, digest = _records(path), hashlib.sha256(now).hexdigest()
    record = next((r for r in reversed(known) if r.edited_sha256 == digest), None)
    if record is None:
        if not known:
            raise UsageError(f"{path}: no original is kept", "hipscope keeps one when it writes a rewrite")
        if any(r.original_sha256 == digest for r in known):
            raise UsageError(f"{path}: it has its original text")
        if not force:
            raise UsageError(
                f"{path}: it has changed since hipscope wrote it",
                "--force puts the original back all the same",
            )
        record = known[-1]
    backup = _folder(path) / record.original
    original = backup.read_bytes()
    if hashlib.sha256(original).hexdigest() != record.original_sha256:
        raise UsageError(f"{backup}: the kept original has been changed", "restore it by hand")
    return record, KeptText(path, now, original, backup)


def keep_original(path: Path, original: bytes, changed: bytes, *, files: Sequence[Path] = ()) -> Path:
    """Keep the text that a file has before an edit, so that `restore` finds it by the text after it.

    `files` are all of the edit, its own first.
    """
    home = _folder(path)
    home.mkdir(parents=True, exist_ok=True)
    _sweep(home)
    before, after = (hashlib.sha256(text).hexdigest() for text in (original, changed))
    backup = home / f"{path.name}.{before[:12]}"
    if not backup.exists() or backup.read_bytes() != original:
        _replace(backup, original)
    names = tuple(os.path.relpath(file, path.parent) for file in files) if len(files) > 1 else ()
    record = _Record(original=backup.name, original_sha256=before, edited_sha256=after, files=names)
    _replace(home / f"{path.name}.{after[:12]}.json", record.model_dump_json().encode())
    return backup


class _Record(BaseModel):
    """Which kept text belongs to which edited one; `files` are those of an edit of several, from the file's folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    original: str
    original_sha256: str
    edited_sha256: str
    files: tuple[str, ...] = ()


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
    """Where the originals of a folder's files are kept: never in the user's tree."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(path.parent))).hexdigest()[:24]
    return state_directory() / "backup" / name


def _replace(path: Path, content: bytes, part: Path | None = None) -> None:
    """Write to a file of our own, `part`, and rename it over `path`; mode bits stay."""
    part = part or path.parent / _part_name()
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


@contextlib.contextmanager
def _part_beside(path: Path) -> Iterator[Path]:
    """A name for a new text of a user's file, on the same file system.

    It lies in `.hipscope`, which goes with it: a process that is killed leaves nothing between the user's files.
    """
    home = path.parent / ".hipscope"
    home.mkdir(parents=True, exist_ok=True)
    _sweep(home)
    try:
        yield home / _part_name()
    finally:
        with contextlib.suppress(OSError):  # another process writes here, or traces lie in it
            home.rmdir()


def _part_name() -> str:
    return f"{_PART}{os.getpid()}-{threading.get_ident()}"


def _sweep(home: Path) -> None:
    """Remove what processes that were killed have left half written."""
    for part in home.glob(f"{_PART}*"):
        owner = part.name.removeprefix(_PART).partition("-")[0]
        if not Path(f"/proc/{owner}").exists():
            part.unlink(missing_ok=True)
