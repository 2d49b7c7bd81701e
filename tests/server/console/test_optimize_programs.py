"""Many programs in one budget: which come first, what is not begun any more, and what one failure leaves."""

from __future__ import annotations

import copy
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hipscope.analysis.errors import BuildFailed, HipscopeError
from hipscope.analysis.run import Run
from hipscope.analysis.timeline.records import KernelPath, LongestPath, Timeline
from hipscope.server.console.optimize_programs import (
    gain_at_stake,
    optimize_programs,
    programs_below,
    read_budget,
)
from hipscope.server.console.programs import programs_report
from hipscope.server.jobs import tasks
from hipscope.server.reports.report_reader import read_programs, read_report
from hipscope.server.reports.schema.fields import to_json
from tests.server.command_line import Cli
from tests.server.records import optimization

PROGRAM = "#include <hip/hip_runtime.h>\n__global__ void k() {}\nint main() { return 0; }\n"


def test_a_budget_is_read_as_people_write_it() -> None:
    assert [read_budget(text) for text in ("2h", "90m", "1h30m", "0.5h", "45s")] == [
        7200,
        5400,
        5400,
        1800,
        45,
    ]
    for text in ("", "2", "h", "0s", "2 days", "-1h"):
        with pytest.raises(HipscopeError, match="no time"):
            read_budget(text)


def test_a_folder_stands_for_the_programs_in_it(tmp_path: Path) -> None:
    for name, text in (("a.hip", PROGRAM), ("b/c.hip", PROGRAM), ("d.hip", "int main() {}"), ("k.h", "")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert programs_below([tmp_path]) == [tmp_path / "a.hip", tmp_path / "b" / "c.hip"]
    (tmp_path / "hipscope.toml").touch()
    assert programs_below([tmp_path, tmp_path / "d.hip"]) == [tmp_path, tmp_path / "d.hip"]


def test_what_is_off_the_longest_path_gains_nothing(report_data: dict[str, Any]) -> None:
    report = read_report(report_data)
    (finding,) = report.findings
    first = report.kernels[0]
    assert gain_at_stake(report) == pytest.approx((first.share or 0) * finding.share)
    other = KernelPath(report.kernels[1].name, 900, 1, 0)
    path = LongestPath(1000, 900, 0, 0, 100, 0, True, (other, KernelPath(first.name, 0, 0, 500)))
    time = Timeline(1000, (), (), 0, (), (), path, (), "gpu", (), "")
    assert gain_at_stake(replace(report, time=time)) == 0


def test_programs_that_gain_most_come_first_and_a_failure_leaves_the_others(
    report_data: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[tuple[str, bool]] = []

    def profile(request: tasks.TaskRequest, run: Run) -> object:
        if request.target.name == "broken":
            raise BuildFailed("it does not compile")
        data = copy.deepcopy(report_data)
        data["findings"][0]["share"] = {"little": 0.1, "much": 0.9, "some": 0.5}[request.target.name]
        return read_report(data)

    def optimize(request: tasks.TaskRequest, run: Run, ended: threading.Event, **_: object) -> object:
        taken.append((request.target.name, 0 < (request.time_limit_s or 0) <= 60))
        if request.target.name == "some":
            ended.set()
        return optimization(status="verified" if request.target.name == "much" else "no_improvement")

    monkeypatch.setattr(tasks, "profile", profile)
    monkeypatch.setattr(tasks, "optimize", optimize)
    requests = [tasks.TaskRequest(Path(name)) for name in ("little", "broken", "some", "much")]
    kept: list[str] = []
    found = optimize_programs(
        requests, 60.0, Run(), threading.Event(), lambda one: kept.append(str(one.source))
    )
    assert taken == [("much", True), ("some", True)]
    assert kept == ["broken", "much", "some", "little"]
    assert [one.exit_code for one in found] == [4, 0, 1, 1]
    report = programs_report(found)
    assert read_programs(to_json(report)) == report
    assert "budget was used up" in (report.programs[3].error.message if report.programs[3].error else "")


@pytest.mark.slow
def test_a_folder_is_optimized_by_one_command(cli: Cli) -> None:
    for name in ("a.hip", "b.hip"):
        (cli.folder / name).write_text(
            PROGRAM.replace("return 0;", "k<<<1, 64>>>(); return hipDeviceSynchronize();")
        )
    done = cli("optimize", ".", "--all", "--budget", "5m", "--backend", "emulator")
    assert done.code in (0, 1), done.stderr
    assert "a.hip" in done.stdout
    assert "b.hip" in done.stdout
    assert "is no time" in cli("optimize", ".", "--all", "--budget", "soon").line
