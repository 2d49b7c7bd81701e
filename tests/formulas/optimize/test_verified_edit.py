"""Applying a verified edit: all or nothing, only to the text it was verified against, and the way back."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hipscope.analysis.errors import HipscopeError, UsageError
from hipscope.analysis.system import file_exchange
from hipscope.analysis.system.directories import state_directory
from hipscope.formulas.optimize.verified_edit import apply_edit, diff_of, edit_between, edit_of, restore

OLD = "a\r\nb ä\r\nc\r\n".encode()
NEW = "a\r\nb ö + 1\r\nc\r\n".encode()


def test_an_edit_changes_the_file_and_keeps_the_original(tmp_path: Path) -> None:
    file = tmp_path / "k.hip"
    file.write_bytes(OLD)
    file.chmod(0o640)
    (backup,) = apply_edit(edit_between(file, OLD, NEW))
    assert file.read_bytes() == NEW
    assert file.stat().st_mode & 0o777 == 0o640
    assert backup.read_bytes() == OLD
    assert backup.is_relative_to(state_directory() / "backup")
    assert [p.name for p in tmp_path.iterdir()] == ["k.hip"]
    assert restore(file) == (backup,)
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
    (backup,) = apply_edit(edit_between(file, OLD, NEW))
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


@pytest.mark.slow
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
    assert [p.name for p in tmp_path.iterdir()] == ["k.hip"]


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


SAVER = """
import os, random, sys, time
path, number, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sys.stdin.readline()
time.sleep(random.Random(seed).random() * 0.012)
text = b"saved %d" % number
if seed % 3 == 0:
    with open(path, "wb") as file: file.write(text)
elif seed % 3 == 1:
    with open(path + ".new", "wb") as file: file.write(text)
    os.replace(path + ".new", path)
else:
    descriptor = os.open(path, os.O_WRONLY)
    os.truncate(descriptor, 0)
    os.write(descriptor, text)
print(flush=True)
"""


def test_what_is_saved_while_an_edit_is_applied_is_never_lost(tmp_path: Path) -> None:
    """Saves of three kinds at any moment: in place, by a file of another name, and into the file as it was opened."""
    kept = refused = 0
    for number in range(60):
        file = tmp_path / f"k{number}.hip"
        file.write_bytes(OLD)
        edit = edit_between(file, OLD, NEW)
        argv = [sys.executable, "-S", "-c", SAVER, str(file), str(number), str(number)]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as saver:
            assert saver.stdin is not None
            assert saver.stdout is not None
            saver.stdin.write(b"\n")
            saver.stdin.flush()
            try:
                for _ in range(4):
                    apply_edit(edit)
                    restore(file)
                apply_edit(edit)
                kept += 1
            except UsageError:
                refused += 1
            saver.stdout.readline()
        assert file.read_bytes() == b"saved %d" % number
    assert kept + refused == 60


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_newest_of_several_saves_around_the_exchange_stays(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "k.hip"
    file.write_bytes(OLD)
    saves = [b"save %d" % n for n in range(count)]
    exchanged = file_exchange._exchanged

    def saved_before(one: Path, other: Path) -> bool:
        if saves:
            other.write_bytes(saves.pop(0))
        return exchanged(one, other)

    monkeypatch.setattr(file_exchange, "_exchanged", saved_before)
    with pytest.raises(UsageError, match="saved meanwhile"):
        apply_edit(edit_between(file, OLD, NEW))
    assert file.read_bytes() == b"save %d" % (count - 1)
    assert [p.name for p in tmp_path.iterdir()] == ["k.hip"]


def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "k.hip"
    file.write_bytes(OLD)
    file.chmod(0o444)
    with pytest.raises(HipscopeError, match="read-only"):
        apply_edit(edit_between(file, OLD, NEW))
    assert file.read_bytes() == OLD


def test_names_of_one_file_stay_names_of_one_file(tmp_path: Path) -> None:
    file, other = tmp_path / "k.hip", tmp_path / "same.hip"
    file.write_bytes(OLD)
    file.chmod(0o640)
    os.link(file, other)
    apply_edit(edit_between(file, OLD, NEW))
    assert other.read_bytes() == NEW
    assert file.samefile(other)
    assert file.stat().st_mode & 0o777 == 0o640
    restore(file)
    assert other.read_bytes() == OLD


def two_files(folder: Path) -> tuple[Path, Path]:
    """A kernel's header and the source that launches it, in folders of their own."""
    header, source = folder / "include" / "k.h", folder / "src" / "main.hip"
    for file, text in ((header, b"kernel"), (source, b"launch")):
        file.parent.mkdir()
        file.write_bytes(text)
    return header, source


def test_an_edit_of_two_files_changes_both_and_is_taken_back_in_both(tmp_path: Path) -> None:
    header, source = two_files(tmp_path)
    edit = edit_of([(header, b"kernel", b"kernel 2"), (source, b"launch", b"launch 2")])
    kept = apply_edit(edit)
    assert (header.read_bytes(), source.read_bytes()) == (b"kernel 2", b"launch 2")
    assert [path.read_bytes() for path in kept] == [b"kernel", b"launch"]
    assert restore(source) == (kept[1], kept[0])
    assert (header.read_bytes(), source.read_bytes()) == (b"kernel", b"launch")


def test_of_an_edit_of_two_files_nothing_is_written_when_one_has_changed(tmp_path: Path) -> None:
    header, source = two_files(tmp_path)
    edit = edit_of([(header, b"kernel", b"kernel 2"), (source, b"launch", b"launch 2")])
    source.write_bytes(b"launch 3")
    with pytest.raises(UsageError, match=r"main\.hip: the file has changed"):
        apply_edit(edit)
    assert header.read_bytes() == b"kernel"


def test_a_file_that_cannot_be_written_gives_the_other_one_its_text_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header, source = two_files(tmp_path)
    edit = edit_of([(header, b"kernel", b"kernel 2"), (source, b"launch", b"launch 2")])
    real = file_exchange.replace_text

    def replace_text(path: Path, was: bytes, text: bytes, part: Path) -> bool:
        return path != header and real(path, was, text, part)

    monkeypatch.setattr("hipscope.formulas.optimize.verified_edit.replace_text", replace_text)
    with pytest.raises(UsageError, match=r"k\.h: the file was saved meanwhile"):
        apply_edit(edit)
    assert (header.read_bytes(), source.read_bytes()) == (b"kernel", b"launch")


def test_two_files_are_restored_together_or_not_at_all(tmp_path: Path) -> None:
    header, source = two_files(tmp_path)
    apply_edit(edit_of([(header, b"kernel", b"kernel 2"), (source, b"launch", b"launch 2")]))
    source.write_bytes(b"launch 3")
    with pytest.raises(UsageError, match=r"main\.hip: it has changed since"):
        restore(header)
    assert header.read_bytes() == b"kernel 2"
    source.write_bytes(b"launch")  # by hand
    restore(header)
    assert (header.read_bytes(), source.read_bytes()) == (b"kernel", b"launch")
