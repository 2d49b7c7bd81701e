"""-q, -v and --color: at the program, and behind any command."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from hipscope.server.cli.main import app
from hipscope.server.console.manner import MANNER, Color, Manner, options_first
from tests.server.command_line import Cli


@pytest.mark.parametrize(
    ("words", "moved"),
    [
        ("profile a.hip -q", "-q profile a.hip"),
        ("profile --color never a.hip --verbose", "--color never --verbose profile a.hip"),
        ("check --color=always", "--color=always check"),
        ("profile a.hip -- -q --color x", "profile a.hip -- -q --color x"),
        ("-v emulate -o x -v -- app", "-v emulate -o x -v -- app"),  # rocprofv3's words stay its own
        ("profile --color", "--color profile"),
    ],
)
def test_the_options_stand_anywhere_before_the_programs_own(words: str, moved: str) -> None:
    assert options_first(words.split()) == moved.split()


def test_each_command_line_begins_anew() -> None:
    assert CliRunner().invoke(app, ["version", "-q", "-v", "--color", "never"]).exit_code == 0
    assert MANNER.get() == Manner(quiet=True, verbose=True, color=Color.NEVER)
    assert CliRunner().invoke(app, ["version"]).exit_code == 0
    assert MANNER.get() == Manner()


def test_an_unknown_colour_is_bad_input() -> None:
    done = CliRunner().invoke(app, ["version", "--color", "blue"])
    assert done.exit_code == 2
    assert "'always'" in done.output


def test_colours_go_into_a_pipe_only_where_they_are_asked_for(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "rocm").mkdir()
    stale = {"HIP_PATH": str(tmp_path / "gone")}
    for words, escapes in (((), False), (("--color", "always"), True), (("--color", "never"), False)):
        done = cli("doctor", *words, **stale)
        assert ("\033[" in done.stdout) is escapes
        assert "unset HIP_PATH" in done.stdout


def test_quiet_leaves_out_notes_and_keeps_failures(cli: Cli, tmp_path: Path) -> None:
    stale = {"HIP_PATH": str(tmp_path / "gone")}
    note = f"hipscope: HIP_PATH is {tmp_path}/gone, which is no folder; it is left out\n"
    failure = f"hipscope: {tmp_path}/none.hip: no such file or directory\n"
    assert cli("check", "none.hip", **stale).stderr == note + failure
    assert cli("check", "none.hip", "-q", **stale).stderr == failure


def test_every_command_names_them_in_its_help() -> None:
    for command in ("profile", "restore", "cache"):
        assert "Also, as every command: -q" in " ".join(
            CliRunner().invoke(app, [command, "--help"]).output.split()
        )


def test_the_shell_completes_commands(cli: Cli) -> None:
    asked = {"_HIPSCOPE_COMPLETE": "complete_bash", "COMP_WORDS": "hipscope pro", "COMP_CWORD": "1"}
    assert cli(**asked).stdout.split() == ["profile", "prompt"]
