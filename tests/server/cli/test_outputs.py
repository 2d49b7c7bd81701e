"""Where results go: never onto what a command read, and what is said when they cannot go anywhere."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hipscope.server.cli.main import app
from tests.server.command_line import COMMAND, Cli

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


def in_shell(cli: Cli, words: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command of a shell; `{}` in it stands for hipscope with these arguments."""
    line = words.format(shlex.join([*COMMAND, *arguments]))
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=cli.folder,
        env=cli.environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Traceback" not in done.stderr
    return done


def test_a_closed_stdout_is_one_line_before_anything_is_done(cli: Cli) -> None:
    cli.write(TEXT)
    done = in_shell(cli, "{} >&-", "profile", "program.hip")
    assert (done.returncode, done.stderr) == (
        2, "hipscope: standard output is closed\n  name a file with -o\n",
    )  # fmt: skip
    assert in_shell(cli, "{} >&- <&-", "cache", "--format", "json", "-o", "result").returncode == 0
    assert (cli.folder / "result").read_text().startswith("{")
    assert in_shell(cli, "{} >&- 2>&- <&-", "version").returncode == 0


def test_ulimit_n_12_is_one_line(cli: Cli) -> None:
    cli.write(TEXT)
    done = in_shell(cli, "ulimit -n 12; exec {}", "profile", "program.hip")
    assert done.returncode == 2
    *_, last, advice = done.stderr.splitlines()
    assert last.startswith("hipscope: cannot open ")
    assert last.endswith(": Too many open files")
    assert advice == "  raise the limit: `ulimit -n 1024`"


def test_a_control_character_of_a_name_does_not_reach_the_terminal(cli: Cli) -> None:
    done = cli("profile", "\033[31m.hip")
    assert "\033" not in done.stderr
    assert done.line.endswith("[31m.hip: no such file or directory")


@pytest.mark.parametrize("name", ["run_results.json", "hipscope.json", "run_kernel_trace.csv"])
@pytest.mark.parametrize("options", [("-o", "run"), ("--output-file=run", "-d", ".")])
def test_emulate_replaces_no_file_that_its_program_is_given(
    folder: Path, name: str, options: tuple[str, ...]
) -> None:
    (folder / name).hardlink_to("data.bin")
    for given in (name, "data.bin", f"--from={folder}/data.bin"):
        said = refused("emulate", *options, "-f", "csv", "json", "--", "self.hip", given)
        assert "it is an input of this command" in said
    assert (folder / "data.bin").read_text() == TEXT


def test_emulate_replaces_its_own_older_files(folder: Path) -> None:
    (folder / "run_results.json").write_text("{}")
    (folder / "run_kernel_trace.csv").symlink_to("beside.h")
    assert "it is a source file" in refused("emulate", "-o", "run", "--", "absent")
    (folder / "run_kernel_trace.csv").unlink()
    assert "no such program" in refused("emulate", "-o", "run", "--", "absent")


@pytest.mark.parametrize("options", [(), ("--force",), ("--untried",)])
def test_init_says_that_its_settings_file_is_a_folder(folder: Path, options: tuple[str, ...]) -> None:
    (folder / "hipscope.toml").unlink()
    (folder / "hipscope.toml").mkdir()
    said = refused("init", *options)
    assert "cannot write to hipscope.toml: it is a directory" in said


@pytest.mark.parametrize(
    ("words", "begins"),
    [
        (("-o", "out.json"), '{\n  "schema": "hipscope.recipes/'),
        (("-o", "OUT.JSON"), '{\n  "schema": "hipscope.recipes/'),
        (("-o", "out.html"), "<!"),
        (("-o", "out.md"), "```text"),
        (("-o", "out.txt"), "text"),
        (("-o", "out.sarif"), "text"),
        (("-o", "out.json", "--format", "text"), "text"),
        (("--format", "json", "-o", "out.txt"), '{\n  "schema": "hipscope.recipes/'),
    ],
)
def test_the_suffix_of_a_result_says_its_form_where_no_format_does(
    folder: Path, words: tuple[str, ...], begins: str
) -> None:
    """`-o run.json` was a text, which `hipscope show run.json` did not know."""
    done = CliRunner().invoke(app, ["recipes", *words])
    assert done.exit_code == 0, done.output
    name = words[words.index("-o") + 1]
    written = (folder / name).read_text()
    if begins == "text":
        assert written.split()[:3] == ["what", "it", "recipe"] or written.split()[0] == "recipe"
    else:
        assert written.startswith(begins)
