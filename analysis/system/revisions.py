"""The files of a git revision in a folder of their own. The repository is only read: no worktree, no checkout."""

from __future__ import annotations

import contextlib
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

from hipscope.analysis.errors import UsageError
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.system.process import run_process

_SECONDS = 300.0


def repository_of(folder: Path, cancel: threading.Event | None = None) -> Path:
    """The top of the repository that a folder is in. Raises UsageError when there is none."""
    done = run_process(["git", "rev-parse", "--show-toplevel"], timeout=_SECONDS, cwd=folder, cancel=cancel)
    if done.returncode != 0:
        raise UsageError(
            f"{folder} is in no git repository", "name two saved profiles or captures, or run it in one"
        )
    return Path(done.stdout.decode().rstrip("\n"))


@contextlib.contextmanager
def revision_files(repository: Path, revision: str, cancel: threading.Event | None = None) -> Iterator[Path]:
    """A temporary folder with the files of a revision; submodules are empty. Raises UsageError for one that is none."""
    named = run_process(
        ["git", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"],
        timeout=_SECONDS, cwd=repository, cancel=cancel,
    )  # fmt: skip
    if named.returncode != 0:
        raise UsageError(f"{revision} is no file and no revision of {repository}")
    with work_directory("revision") as folder:
        packed, files = folder / "files.tar", folder / repository.name
        done = run_process(
            ["git", "archive", "--format=tar", "-o", packed, named.stdout.decode().strip()],
            timeout=_SECONDS, cwd=repository, cancel=cancel,
        )  # fmt: skip
        if done.returncode != 0:
            raise UsageError(f"git could not give the files of {revision}: {done.stderr.decode().strip()}")
        files.mkdir()
        with tarfile.open(packed) as archive:
            archive.extractall(files, filter="data")
        packed.unlink()
        yield files
