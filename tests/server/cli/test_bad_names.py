"""Names under which there can be no file, on every command that takes one: one line, and nothing hangs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hipscope.server.cli.main import app

COMMANDS = [
    ("profile",),
    ("check",),
    ("optimize",),
    ("prompt",),
    ("validate", "--kernel", "k"),
    ("restore",),
    ("init",),
    ("consent",),
    ("allow",),
    ("show",),
    ("doctor",),
    ("emulator", "--coverage"),
    ("emulate", "--"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with a link to itself and a pipe."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "a.hip").write_text("int main() {}\n")
    os.mkfifo("pipe.hip")
    return tmp_path


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
@pytest.mark.parametrize("name", ["loop", "l" * 300, "pipe.hip"], ids=["loop", "long", "pipe"])
def test_a_name_without_a_file_is_bad_input(folder: Path, words: tuple[str, ...], name: str) -> None:
    after = ["a.hip"] if words[0] == "validate" else []
    done = CliRunner().invoke(app, [*words, name, *after])
    assert done.exit_code == 2, done.output
    assert "internal error" not in done.output
    assert len(done.output) < 700


def test_settings_that_are_a_folder_are_left_there(folder: Path) -> None:
    (folder / "a.hip").write_text("#include <hip/hip_runtime.h>\nint main() {}\n")
    (folder / "pipe.hip").unlink()
    (folder / "hipscope.toml").mkdir()
    done = CliRunner().invoke(app, ["init", "--force", "--untried", "."])
    assert done.exit_code == 2
    assert "hipscope.toml: it is a directory" in done.output


def test_a_cache_is_not_cleared_where_the_settings_cannot_be_read(folder: Path) -> None:
    (folder / "cache" / "hipscope" / "build" / "one").mkdir(parents=True)
    (folder / "hipscope.toml").write_text("arch = 3\n")
    assert CliRunner().invoke(app, ["cache", "--clear"]).exit_code == 2
    assert (folder / "cache" / "hipscope" / "build" / "one").is_dir()


def test_an_empty_host_does_not_stand_for_every_address() -> None:
    done = CliRunner().invoke(app, ["lsp", "--tcp", "--host", ""])
    assert done.exit_code == 2
    assert "name an address" in done.output
