"""Where hipscope keeps things: the user's directories, and writing there without half-written results.

Several hipscope processes may work at once, so a result appears under its name only when it is complete.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from hipscope.analysis.errors import CannotWrite, UsageError

_RECENT_SECONDS = 3600.0
_DRAFT = ".draft-"
_TEMPORARY = ("TMPDIR", "TMP", "TEMP", "TEMPDIR")  # as LLVM looks for them; the first one that is set counts


def cache_directory(env: Mapping[str, str] = os.environ) -> Path:
    """`$XDG_CACHE_HOME/hipscope`, or `~/.cache/hipscope`: what can be made again.

    Where that cannot be written, as in a container whose user has no home, it is a private directory among the
    temporary files. Raises `CannotWrite` when there can be none.
    """
    directory = _of_user(env, "XDG_CACHE_HOME", ".cache")
    return directory if directory is not None and _writable(directory) else _temporary()


def state_directory(env: Mapping[str, str] = os.environ) -> Path:
    """`$XDG_STATE_HOME/hipscope`, or `~/.local/state/hipscope`: what the user said; it may be for reading only.

    For a user without a home, a private directory among the temporary files. Raises `CannotWrite` when there can be
    none.
    """
    return _of_user(env, "XDG_STATE_HOME", ".local/state") or _temporary()


def _of_user(env: Mapping[str, str], variable: str, in_home: str) -> Path | None:
    base = env.get(variable)
    try:
        return (Path(base) if base and Path(base).is_absolute() else Path.home() / in_home) / "hipscope"
    except RuntimeError:  # a user without a home
        return None


def _writable(directory: Path) -> bool:
    """Whether it can be filled: it is there and ours to write, or can be made."""
    # A link that leads nowhere is there: nothing can be made under its name.
    there = next(
        place for place in (directory, *directory.parents) if os.access(place, os.F_OK) or place.is_symlink()
    )
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _temporary() -> Path:
    """An entry of a directory that all users can write to is trusted only if this user made it."""
    directory = Path(tempfile.gettempdir()) / f"hipscope-user-{os.getuid()}"
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
        found = directory.lstat()
    except OSError as error:
        raise CannotWrite(f"cannot make {directory}: {error.strerror}") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise CannotWrite(f"cannot keep anything in {directory}: others can write there")
    return directory


@contextlib.contextmanager
def draft_directory(parent: Path) -> Iterator[Path]:
    """A new directory below `parent` to fill and then to `settle`; it is removed if that does not happen.

    So are, first, the drafts of processes that were killed.
    """
    parent.mkdir(parents=True, exist_ok=True)
    _remove_left(parent, _DRAFT)
    draft = Path(tempfile.mkdtemp(prefix=f"{_DRAFT}{os.getpid()}-", dir=parent))
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


@contextlib.contextmanager
def work_directory(purpose: str) -> Iterator[Path]:
    """A private temporary directory; those that killed processes of the same purpose left behind are removed first.

    With HIPSCOPE_KEEP in the environment it stays, as `hipscope-kept-<purpose>-...`: for whoever looks for a defect.
    """
    if os.environ.get("HIPSCOPE_KEEP"):
        yield Path(tempfile.mkdtemp(prefix=f"hipscope-kept-{purpose}-"))
        return
    prefix = f"hipscope-{purpose}-"
    _remove_left(Path(tempfile.gettempdir()), prefix)
    with tempfile.TemporaryDirectory(prefix=f"{prefix}{os.getpid()}-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _remove_left(parent: Path, prefix: str) -> None:
    """Remove the user's directories `<prefix><process id>-...` whose process is gone."""
    for left in parent.glob(f"{prefix}*"):
        owner = left.name.removeprefix(prefix).partition("-")[0]
        with contextlib.suppress(OSError):
            if owner.isdigit() and not Path(f"/proc/{owner}").exists() and left.stat().st_uid == os.getuid():
                shutil.rmtree(left, ignore_errors=True)


def check_temporary(env: Mapping[str, str]) -> None:
    """Raises `UsageError` when the directory that compilers will put their temporary files into cannot be used."""
    name = next((variable for variable in _TEMPORARY if variable in env), None)
    if name is not None and env[name] and not os.access(env[name], os.W_OK | os.X_OK):
        what = "cannot be written" if Path(env[name]).is_dir() else "is no directory"
        raise UsageError(f"{name} is {env[name]}, which {what}", f"set {name} to another one, or unset it")


def nearly_full(directory: Path) -> bool:
    """Whether its disk has less room left than a compiler's smallest results take (1 MiB)."""
    return shutil.disk_usage(directory).free < 1 << 20


def settle(draft: Path, final: Path) -> None:
    """Make `draft` appear as `final` in one step. When `final` is there already, it stays: both hold the same."""
    try:
        draft.rename(final)
    except OSError:
        if not final.is_dir():
            raise


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees either the old content or the new one. An OSError names that file alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on `path`; it ends with the block, and with the process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def prune(directory: Path, keep: int) -> None:
    """Remove the least recently used entries of a cache beyond `keep`, but none that was used in the last hour."""
    entries: list[tuple[float, Path]] = []
    for entry in directory.iterdir():
        if entry.name.startswith("."):
            continue
        with contextlib.suppress(OSError):
            entries.append((entry.stat().st_mtime, entry))
    entries.sort(reverse=True)
    limit = time.time() - _RECENT_SECONDS
    for used, entry in entries[keep:]:
        if used < limit:
            shutil.rmtree(entry, ignore_errors=True)
