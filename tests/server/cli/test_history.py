"""`hipscope history` and `hipscope attempts`: saved reports by commit, as a user adds and reads them."""

from __future__ import annotations

import copy
import csv
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
    assert "with --add" in cli("history", **state).stdout
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
    none = cli("history", "a.txt", **state).stdout
    assert f"has a kernel a.txt: they have copy, {name}" in none
    assert "is there already" in cli("history", "--add", "one.json", **state).stderr
    cli.write("{}", "no.json")
    assert cli("history", "--add", "no.json", **state).code == 2
    assert "hipscope optimize" in cli("attempts", **state).stdout


PROGRAM = """\
#include <hip/hip_runtime.h>
__global__ void scale(float* p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  p[i] = p[i] * 1.5f;
}
int main() {
  float* p;
  (void)hipMalloc(&p, 4096 * 4);
  scale<<<16, 256>>>(p);
  return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
"""


def rows(cli: Cli, *words: str) -> list[str]:
    return [line for line in cli("history", *words).stdout.splitlines() if "modelled" in line]


def test_each_profile_is_a_row_unless_the_settings_say_no(cli: Cli) -> None:
    folder = cli.folder / "src"
    folder.mkdir()
    cli.write(PROGRAM, "src/scale.hip")
    cli.write(PROGRAM.replace("return hip", "return 1 + hip"), "src/fails.hip")
    assert cli("profile", "src/scale.hip", "--backend", "emulator").code == 0
    assert len(rows(cli)) == 1
    saved = ("--format", "json", "-o", "run.json")
    several = ("src/scale.hip", "src/fails.hip")
    assert cli("profile", "src/scale.hip", "--backend", "emulator", *saved).code == 0
    assert cli("profile", *several, "--backend", "emulator").code == 4
    assert len(rows(cli, "scale")) == 3
    assert "is there already" in cli("history", "--add", "run.json").stderr
    cli.write("history = false\n", "src/hipscope.toml")
    assert cli("profile", "src/scale.hip", "--backend", "emulator").code == 0
    assert len(rows(cli)) == 3


def test_a_history_that_cannot_be_written_costs_a_line(cli: Cli) -> None:
    cli.write(PROGRAM)
    cli.write("no folder", "state")
    done = cli("profile", "program.hip", "--backend", "emulator", XDG_STATE_HOME=str(cli.folder / "state"))
    assert done.code == 0
    assert "scale" in done.stdout
    assert len(done.stderr.splitlines()) == 1
    assert "not in the history" in done.stderr


def test_what_lost_on_the_same_text_is_tried_again_only_with_again(cli: Cli) -> None:
    cli.write(PROGRAM)
    command = ("optimize", "program.hip", "--backend", "emulator", "--format", "json")

    def attempts(*more: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(cli(*command, *more).stdout)["attempts"]
        return found

    first = attempts()
    assert first
    assert {a["outcome"] for a in first}.isdisjoint({"tried_before", "accepted"})
    kept = cli("attempts").stdout
    (known,) = attempts()
    assert known["outcome"] == "tried_before"
    assert "--again" in known["reason"]
    assert cli("attempts").stdout == kept
    assert "tried on this very text" in cli("optimize", "program.hip", "--backend", "emulator").stdout
    assert [a["title"] for a in attempts("--again")] == [a["title"] for a in first]


def test_the_history_is_a_table_in_a_file(cli: Cli, report_data: dict[str, Any]) -> None:
    """CSV; scripts/test-wheel.sh writes Parquet, with the packages of the extra."""
    state = {"XDG_STATE_HOME": str(cli.folder / "state")}
    cli.write(json.dumps(report_data), "one.json")
    assert cli("history", "--add", "one.json", "-o", "all.csv", **state).code == 0
    assert cli("history", "transpose", "-o", "one.csv", **state).code == 0
    mode = (cli.folder / "one.json").stat().st_mode
    assert (cli.folder / "all.csv").stat().st_mode == mode, "others may read it as any file of the user"
    with (cli.folder / "all.csv").open(newline="") as file:
        assert [row["kernel"] for row in csv.DictReader(file)] == ["transpose", "copy"]
    with (cli.folder / "one.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["kernel"], float(row["time_ns"])) == ("transpose", report_data["kernels"][0]["time_ns"])


def test_a_table_of_no_known_form_is_refused(cli: Cli) -> None:
    refused = cli("history", "-o", "times.txt")
    assert refused.code == 2
    assert ".csv or .parquet" in refused.stderr
    assert not (cli.folder / "times.txt").exists()


def test_a_parquet_file_without_its_packages_names_their_extra(cli: Cli) -> None:
    """Where the package is, it is hidden."""
    hidden = "lambda name, *more: None if name == 'pyarrow' else found(name, *more)"
    cli.write(
        f"import importlib.util\nfound = importlib.util.find_spec\nimportlib.util.find_spec = {hidden}\n",
        "sitecustomize.py",
    )
    missing = cli("history", "-o", "times.parquet", PYTHONPATH=str(cli.folder))
    assert missing.code == 3
    assert "the extra `history`" in missing.stderr
    assert "pyarrow" in missing.stderr


def add_runs(cli: Cli, data: dict[str, Any], number: int, state: dict[str, str]) -> None:
    """Saved profiles whose first kernel takes longer with each cache miss; nothing else of them differs."""
    paths = []
    for run in range(number):
        one = copy.deepcopy(data)
        kernel = one["kernels"][0]
        misses = 1000.0 * (run * run + 1)
        kernel["counters"] = {**kernel["counters"], "TCC_MISS_sum": misses, "GRBM_GUI_ACTIVE": 5000 + misses}
        kernel["roofline"]["time_ns"] = kernel["time_ns"] = 5000 + 2 * misses
        cli.write(json.dumps(one), f"{run}.json")
        os.utime(cli.folder / f"{run}.json", (2_000_000_000 + run, 2_000_000_000 + run))
        paths += ["--add", f"{run}.json"]
    assert cli("history", *paths, **state).code == 0


def test_the_counters_that_explain_a_kernels_time_are_named(cli: Cli, report_data: dict[str, Any]) -> None:
    state = {"XDG_STATE_HOME": str(cli.folder / "state")}
    assert "no profile of" in cli("history", "--importance", **state).stdout
    add_runs(cli, report_data, 7, state)
    assert "from 8 on" in cli("history", "transpose", "--importance", **state).stdout
    add_runs(cli, report_data, 12, state)
    shown = cli("history", "transpose", "--importance", **state)
    assert shown.code == 0
    first = next(line for line in shown.stdout.splitlines() if "+1.00" in line)
    assert first.startswith(("TCC_MISS_sum", "metric.l2_hit"))
    assert "GRBM" not in shown.stdout
    assert "copy" not in shown.stdout
    assert cli("history", "-o", "all.html", **state).code == 0
    page = (cli.folder / "all.html").read_text()
    assert first.split()[0] in page
    assert page.count("<rect") == 24
    assert cli("history", "transpose", "-o", "all.csv", **state).code == 0
    with (cli.folder / "all.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["TCC_MISS_sum"]) * 2 + 2500 for row in rows] == [
        float(row["launch_ns"]) for row in rows
    ]


def test_importance_without_its_packages_names_their_extra(cli: Cli) -> None:
    hidden = "lambda name, *more: None if name == 'sklearn' else found(name, *more)"
    cli.write(
        f"import importlib.util\nfound = importlib.util.find_spec\nimportlib.util.find_spec = {hidden}\n",
        "sitecustomize.py",
    )
    missing = cli(
        "history", "--importance", PYTHONPATH=f"{cli.folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    )
    assert missing.code == 3
    assert "the extra `history`" in missing.stderr
