"""Where results are kept that may be lost, also for users who have no place for them."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest

from hipscope.analysis.errors import CannotWrite, UsageError, of_the_system
from hipscope.analysis.system.directories import (
    cache_directory,
    state_directory,
    work_directory,
    write_atomically,
)


@pytest.fixture
def no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that is a file, and a folder for temporary files; the latter is given."""
    (tmp_path / "home").write_text("")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_the_cache_is_where_the_user_keeps_caches(tmp_path: Path) -> None:
    assert cache_directory({"XDG_CACHE_HOME": str(tmp_path / "new")}) == tmp_path / "new" / "hipscope"


def test_without_a_home_to_write_to_it_is_a_private_directory(no_home: Path) -> None:
    found = cache_directory({})
    assert found == no_home / f"hipscope-user-{os.getuid()}"
    assert found.stat().st_mode & 0o777 == 0o700
    assert cache_directory({}) == found


@pytest.mark.parametrize("link", ["hipscope", "base"])
def test_a_dangling_cache_link_is_passed_over(no_home: Path, tmp_path: Path, link: str) -> None:
    base = tmp_path / "base"
    if link == "hipscope":
        base.mkdir()
    (base / "hipscope" if link == "hipscope" else base).symlink_to("/nowhere/at/all")
    assert cache_directory({"XDG_CACHE_HOME": str(base)}) == no_home / f"hipscope-user-{os.getuid()}"


def test_nothing_is_kept_where_others_can_write(no_home: Path) -> None:
    (no_home / f"hipscope-user-{os.getuid()}").mkdir(mode=0o700)
    (no_home / f"hipscope-user-{os.getuid()}").chmod(0o770)
    with pytest.raises(CannotWrite, match="others can write there"):
        cache_directory({})


def test_nothing_is_kept_behind_a_link(no_home: Path) -> None:
    (no_home / "elsewhere").mkdir(mode=0o700)
    (no_home / f"hipscope-user-{os.getuid()}").symlink_to(no_home / "elsewhere")
    with pytest.raises(CannotWrite):
        cache_directory({})


def test_a_user_without_a_home_has_a_cache_too(no_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", none)
    assert cache_directory({}).parent == no_home
    assert state_directory({}).parent == no_home


def test_what_the_user_said_can_be_for_reading_only() -> None:
    assert state_directory({"XDG_STATE_HOME": "/proc/1"}) == Path("/proc/1/hipscope")


def test_errors_of_the_system_are_told_as_such() -> None:
    denied = of_the_system(PermissionError(errno.EACCES, "Permission denied", "some/file"))
    assert isinstance(denied, UsageError)
    assert denied.message == "cannot use 'some/file': Permission denied"
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        assert isinstance(of_the_system(OSError(number, "no room")), CannotWrite)
    assert of_the_system(FileNotFoundError(errno.ENOENT, "No such file or directory", "x")) is None


@pytest.mark.parametrize("keep", [False, True])
def test_a_work_directory_stays_only_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep: bool
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    if keep:
        monkeypatch.setenv("HIPSCOPE_KEEP", "1")
    with work_directory("judge") as folder:
        (folder / "verdict").touch()
    kept = list(tmp_path.glob("hipscope-kept-judge-*/verdict"))
    assert len(kept) == keep
    monkeypatch.delenv("HIPSCOPE_KEEP", raising=False)
    with work_directory("judge"):
        pass  # removes what killed processes have left, not what was kept
    assert list(tmp_path.glob("hipscope-kept-judge-*/verdict")) == kept


def test_a_file_that_cannot_be_replaced_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "settings").mkdir()
    with pytest.raises(IsADirectoryError) as raised:
        write_atomically(tmp_path / "settings", b"")
    assert (raised.value.filename, raised.value.filename2) == (str(tmp_path / "settings"), None)
    assert [path.name for path in tmp_path.iterdir()] == ["settings"]
