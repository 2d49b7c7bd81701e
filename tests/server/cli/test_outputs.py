"""A result is never written onto what a command read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hipscope.server.cli.main import app

TEXT = "__global__ void k() {}\nint main() {}\n"


def refused(*words: str) -> str:
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    return done.output


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with a source under three names, a header, settings and data."""
    monkeypatch.chdir(tmp_path)
    for name in ("self.hip", "other.hip", "beside.h", "hipscope.toml", "data.bin"):
        (tmp_path / name).write_text(TEXT)
    (tmp_path / "link").symlink_to("self.hip")
    os.link("self.hip", "twin.txt")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("profile", "self.hip"),
        ("check", "other.hip", "self.hip"),
        ("optimize", "self.hip"),
        ("prompt", "self.hip"),
        ("validate", "--kernel", "k", "other.hip", "self.hip"),
        ("emulator", "--coverage", "self.hip"),
        ("doctor", "self.hip"),
    ],
)
@pytest.mark.parametrize("name", ["self.hip", "link", "twin.txt", "../{}/self.hip"])
def test_profile_self_hip_o_self_hip_overwrites_no_source(
    folder: Path, words: tuple[str, ...], name: str
) -> None:
    output = name.format(folder.name)
    assert "it is an input of this command" in refused(*words, "-o", output)
    assert (folder / "self.hip").read_text() == TEXT


@pytest.mark.parametrize(
    ("name", "what"),
    [("beside.h", "a source file"), ("hipscope.toml", "a settings file"), ("data.bin", "an input")],
)
def test_no_other_file_of_a_program_is_overwritten(folder: Path, name: str, what: str) -> None:
    assert what in refused("profile", "self.hip", "-o", name, "--", "data.bin")
    assert (folder / name).read_text() == TEXT
