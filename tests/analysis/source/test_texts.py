"""The texts of a program: the editor's buffer first, each file read once, lines and digests of the bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from hipscope.analysis.errors import UsageError
from hipscope.analysis.source.texts import SourceTexts


def test_the_unsaved_text_comes_before_the_file(tmp_path: Path) -> None:
    file = tmp_path / "k.hip"
    file.write_bytes(b"on disk")
    assert SourceTexts({file: b"in the editor"}).read(file) == b"in the editor"
    assert SourceTexts().read(file) == b"on disk"


def test_a_file_reached_by_another_path_is_the_same_file(tmp_path: Path) -> None:
    file = tmp_path / "k.hip"
    file.write_bytes(b"on disk")
    link = tmp_path / "link.hip"
    link.symlink_to(file)
    assert SourceTexts({file: b"in the editor"}).read(link) == b"in the editor"


def test_a_file_that_changes_during_a_run_keeps_the_text_that_was_read_first(tmp_path: Path) -> None:
    file = tmp_path / "k.hip"
    file.write_bytes(b"first")
    texts = SourceTexts()
    before = texts.read(file), texts.digest(file)
    file.write_bytes(b"second")
    assert (texts.read(file), texts.digest(file)) == before
    assert texts.digest(file) == hashlib.sha256(b"first").hexdigest()


def test_a_file_that_cannot_be_read_has_no_text_and_no_lines(tmp_path: Path) -> None:
    texts = SourceTexts()
    assert texts.read(tmp_path / "missing") is None
    assert texts.lines(tmp_path) == ()
    assert texts.digest(tmp_path / "missing") is None


def test_lines_are_bytes_and_lose_only_their_ends(tmp_path: Path) -> None:
    file = tmp_path / "k.hip"
    file.write_bytes("/* größe */ a;\r\n\n\fb".encode())
    texts = SourceTexts()
    assert texts.lines(file) == ("/* größe */ a;".encode(), b"", b"\fb")
    assert texts.line(file, 1) == "/* größe */ a;".encode()
    assert texts.line(file, 4) is None
    assert texts.line(file, 0) is None


def test_lines_end_where_a_compiler_ends_them() -> None:
    texts = SourceTexts({Path("/k.hip"): "a\rb\r\nc\x0bd\u2028e\n".encode()})
    assert texts.lines("/k.hip") == (b"a", b"b", "c\x0bd\u2028e".encode(), b"")
    assert texts.shown("/k.hip", 2) == "b"
    assert texts.shown("/k.hip", 9) == ""


def test_a_compiler_is_shown_an_unsaved_text_under_every_name_of_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "real"
    folder.mkdir()
    (tmp_path / "link").symlink_to(folder)
    texts = SourceTexts({tmp_path / "link" / "k.h": b"unsaved"})
    assert texts.unsaved == {tmp_path / "link" / "k.h": b"unsaved", folder / "k.h": b"unsaved"}


def test_all_texts_of_a_run_read_a_file_once(tmp_path: Path) -> None:
    file, other = tmp_path / "k.hip", tmp_path / "other.hip"
    other.write_bytes(b"first")
    texts = SourceTexts()
    candidate = texts.replacing(file, b"candidate").of(lambda: (file, other))
    assert candidate.read(other) == b"first"
    other.write_bytes(b"second")
    assert texts.read(other) == b"first"
    assert candidate.sources == (file, other)
    assert texts.sources == ()


def test_a_file_that_is_needed_and_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="missing: No such file"):
        SourceTexts().needed(tmp_path / "missing")
