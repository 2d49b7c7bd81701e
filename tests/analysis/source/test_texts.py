"""The texts of a program: the editor's buffer first, each file read once, lines and digests of the bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path

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
