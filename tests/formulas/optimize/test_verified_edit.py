"""Applying a verified edit: all or nothing, only to the text it was verified against, and the way back."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hipscope.analysis.errors import HipscopeError, UsageError
from hipscope.formulas.optimize.verified_edit import apply_edit, diff_of, edit_between, restore

OLD = "a\r\nb ä\r\nc\r\n".encode()
NEW = "a\r\nb ö + 1\r\nc\r\n".encode()


def test_an_edit_changes_the_file_and_keeps_the_original(tmp_path: Path) -> None:
    file = tmp_path / "k.hip"
    file.write_bytes(OLD)
    file.chmod(0o640)
    backup = apply_edit(edit_between(file, OLD, NEW))
    assert file.read_bytes() == NEW
    assert file.stat().st_mode & 0o777 == 0o640
    assert backup.read_bytes() == OLD
    assert backup.is_relative_to(tmp_path / ".hipscope" / "backup")
    assert sorted(p.name for p in tmp_path.iterdir()) == [".hipscope", "k.hip"]
    assert restore(file) == backup
    assert file.read_bytes() == OLD
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "k.hip"
    file.write_bytes(OLD + b"// new\n")
    with pytest.raises(UsageError, match="changed since this edit was verified"):
        apply_edit(edit_between(file, OLD, NEW))
    assert file.read_bytes() == OLD + b"// new\n"
    assert [p.name for p in tmp_path.iterdir()] == ["k.hip"]


def test_edits_are_taken_back_one_by_one(tmp_path: Path) -> None:
    file = tmp_path / "k.hip"
    file.write_bytes(b"one")
    apply_edit(edit_between(file, b"one", b"two"))
    apply_edit(edit_between(file, b"two", b"three"))
    restore(file)
    assert file.read_bytes() == b"two"
    restore(file)
    assert file.read_bytes() == b"one"
    with pytest.raises(UsageError, match="has its original text"):
        restore(file)


def test_a_file_that_the_user_changed_is_restored_only_by_force(tmp_path: Path) -> None:
    file = tmp_path / "k.hip"
    file.write_bytes(OLD)
    with pytest.raises(UsageError, match="no original is kept"):
        restore(file)
    backup = apply_edit(edit_between(file, OLD, NEW))
    file.write_bytes(NEW + b"// mine\n")
    with pytest.raises(UsageError, match="changed since hipscope wrote it"):
        restore(file)
    assert file.read_bytes() == NEW + b"// mine\n"
    restore(file, force=True)
    assert file.read_bytes() == OLD
    apply_edit(edit_between(file, OLD, NEW))
    backup.write_bytes(b"other")
    with pytest.raises(UsageError, match="kept original has been changed"):
        restore(file)


def test_a_process_killed_at_any_moment_leaves_the_old_text_or_the_new(tmp_path: Path) -> None:
    """200 processes that apply and restore without end, each ended by SIGKILL at a moment of its own."""
    file = tmp_path / "k.hip"
    file.write_bytes(OLD)
    edit = edit_between(file, OLD, NEW)
    moments = random.Random(7)
    texts = set()
    for _ in range(200):
        child = os.fork()
        if child == 0:
            while True:
                with contextlib.suppress(UsageError):
                    apply_edit(edit)
                with contextlib.suppress(UsageError):
                    restore(file)
        time.sleep(moments.uniform(0.001, 0.06))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        texts.add(file.read_bytes())
        assert sorted(p.name for p in tmp_path.iterdir()) in ([".hipscope", "k.hip"], ["k.hip"])
    assert texts == {OLD, NEW}
    if file.read_bytes() == NEW:
        restore(file)
    apply_edit(edit)
    kept = sorted(p.name for p in (tmp_path / ".hipscope" / "backup").iterdir())
    assert len(kept) == 2
    assert not any(name.startswith(".part") for name in kept)


def test_a_file_that_is_gone_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(HipscopeError, match=r"k\.hip: No such file"):
        apply_edit(edit_between(tmp_path / "k.hip", OLD, NEW))


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real.hip"
    real.write_bytes(OLD)
    link = tmp_path / "link.hip"
    link.symlink_to(real)
    apply_edit(edit_between(link, OLD, NEW))
    assert link.is_symlink()
    assert real.read_bytes() == NEW


def test_the_diff_can_be_applied_by_patch(tmp_path: Path) -> None:
    (tmp_path / "k.hip").write_bytes(b"one\ntwo\nthree")
    diff = diff_of("k.hip", b"one\ntwo\nthree", b"one\n2\nthree")
    subprocess.run(["git", "apply", "-p1"], input=diff.encode(), cwd=tmp_path, check=True)
    assert (tmp_path / "k.hip").read_bytes() == b"one\n2\nthree"


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_an_edit_leads_from_one_text_to_the_other(head: str, old: str, new: str, tail: str) -> None:
    try:
        original, changed = (head + old + tail).encode(), (head + new + tail).encode()
    except UnicodeEncodeError:
        return
    assert edit_between(Path("k"), original, changed).applied_to(original) == changed
