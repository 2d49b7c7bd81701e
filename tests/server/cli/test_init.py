"""`hipscope init`: what it writes, shows and refuses."""

from __future__ import annotations

import tomllib

from tests.server.command_line import Cli

MAKEFILE = "app: main.cpp\n\thipcc -o $@ $<\nrun: app\n\t./app 7\n"


def test_init_writes_what_it_shows_once(cli: Cli) -> None:
    cli.write(MAKEFILE, "Makefile")
    cli.write("int main() {}\n", "main.cpp")
    file = cli.folder / "hipscope.toml"
    shown = cli("init", "--dry-run")
    assert (shown.code, file.exists()) == (0, False)
    assert f"would write {file.name}" in shown.stderr
    written = cli("init")
    assert (written.code, written.stdout) == (0, shown.stdout)
    assert file.read_text() == written.stdout
    assert tomllib.loads(written.stdout) == {"build": "make", "run": "./app 7"}
    file.write_text("args = []\n")
    again = cli("init")
    assert again.code == 2
    assert "--force" in again.stderr
    assert file.read_text() == "args = []\n"
    assert cli("init", "--force").code == 0
    assert file.read_text() == written.stdout


def test_init_without_anything_to_go_by_is_bad_input(cli: Cli) -> None:
    assert cli("init").code == 2
    assert cli("init", "nowhere").code == 2
