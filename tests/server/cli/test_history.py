"""`hipscope history` and `hipscope attempts`: saved reports by commit, as a user adds and reads them."""

from __future__ import annotations

import copy
import json
import os
import subprocess
from typing import Any

from tests.server.command_line import Cli


def git(cli: Cli, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", *who, *words], cwd=cli.folder, check=True, capture_output=True)


def test_the_time_of_a_kernel_is_shown_by_commit(cli: Cli, report_data: dict[str, Any]) -> None:
    state = {"XDG_STATE_HOME": str(cli.folder / "state")}
    assert "--add run.json" in cli("history", **state).stdout
    git(cli, "init", "-q")
    cli.write("one", "a.txt")
    git(cli, "add", "a.txt")
    git(cli, "commit", "-q", "-m", "one")
    cli.write(json.dumps(report_data), "one.json")
    assert cli("history", "--add", "one.json", **state).code == 0
    slower = copy.deepcopy(report_data)
    slower["kernels"][0]["time_ns"] *= 2
    cli.write(json.dumps(slower), "two.json")
    os.utime(cli.folder / "two.json", (2_000_000_000, 2_000_000_000))
    cli.write("two", "a.txt")
    name = slower["kernels"][0]["name"].partition("(")[0]
    shown = cli("history", name, "--add", "two.json", **state)
    assert shown.code == 0
    rows = [line for line in shown.stdout.splitlines() if "modelled" in line]
    assert len(rows) == 2
    assert "+" not in rows[0].split()[0]
    assert rows[1].split()[0].endswith("+")
    assert "is there already" in cli("history", "--add", "one.json", **state).stderr
    cli.write("{}", "no.json")
    assert cli("history", "--add", "no.json", **state).code == 2
    assert "optimize.json" in cli("attempts", **state).stdout
