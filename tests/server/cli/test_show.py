"""`hipscope show`: captures and saved reports from the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hipscope.server.cli.main import app
from hipscope.server.console.terminal import STOPPED
from tests.analysis.ingest.capture_files import AGENTS, kernel_trace, results_json
from tests.server.cli.test_compare import KERNEL
from tests.server.command_line import Cli
from tests.server.features.commands.test_open_profile import write_capture

DATA = Path(__file__).parents[2] / "data" / "captures"
ADD = "addition_kernel"


def test_nothing_is_found_in_kernels_of_the_runtime(cli: Cli, tmp_path: Path) -> None:
    """Their launches are as small as those of the program beside them, and are not the program's to change."""
    (tmp_path / "1_agent_info.csv").write_text(AGENTS)
    launches = ((1, "__amd_rocclr_fillBufferAligned", 10**6, 2 * 10**6), (2, "scale", 3 * 10**6, 4 * 10**6))
    kernel_trace(tmp_path / "1_kernel_trace.csv", launches)
    trace = tmp_path / "1_kernel_trace.csv"
    trace.write_text(trace.read_text().replace(",65536,1,1", ",512,1,1"))
    report = json.loads(cli("show", str(tmp_path), "--format", "json").stdout)
    assert [f["kernel"] for f in report["findings"]] == ["scale"]


def test_a_source_that_was_packed_with_the_capture_is_found_behind_those_of_the_project(
    cli: Cli,
) -> None:
    """From any folder: one had to be named with --source-root although the source lay beside the capture."""
    packed = DATA / "h200_ncu"
    shown = cli("show", str(packed))
    assert "not found here" not in shown.stdout
    assert f"{packed / 'transpose.cu'}" in cli("show", str(packed), "--format", "json").stdout
    cli.write((packed / "transpose.cu").read_text(), "transpose.cu")
    data = json.loads(cli("show", str(packed), "--format", "json").stdout)
    assert data["kernels"][0]["file"] == str((cli.folder / "transpose.cu").resolve())


def test_the_report_has_the_parts_of_counters_by_instance(cli: Cli, tmp_path: Path) -> None:
    results_json(tmp_path / "1_results.json")
    (kernel,) = json.loads(cli("show", str(tmp_path), "--format", "json").stdout)["kernels"]
    assert kernel["counters"] == {"SQ_WAVES": 402.0}
    assert kernel["counter_instances"] == {"SQ_WAVES": [201.0, 201.0]}


def test_a_capture_is_shown_and_its_report_is_shown_again(cli: Cli) -> None:
    shown = cli("show", str(DATA / "sdk_7.0"))
    assert shown.code == 0, shown.stderr
    assert "measured, recorded" in shown.stdout
    assert ADD in shown.stdout
    assert cli("show", str(DATA / "sdk_7.0"), "--format", "json", "-o", "saved.json").code == 0
    assert json.loads((cli.folder / "saved.json").read_text())["schema"] == "hipscope.profile/2"
    again = cli("show", "saved.json")
    assert again.stdout == shown.stdout
    given = subprocess.run(
        [sys.executable, "-m", "hipscope.server", "show", "-"],
        input=(cli.folder / "saved.json").read_bytes(),
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert ADD in given.stdout.decode()


def test_one_kernel_is_shown_alone_and_another_name_is_refused_with_those_that_there_are(cli: Cli) -> None:
    data = json.loads(cli("show", str(DATA / "sdk_7.0"), "--kernel", ADD, "--format", "json").stdout)
    (kernel,) = data["kernels"]
    assert kernel["name"].startswith(f"void {ADD}")
    assert (kernel["dispatches"], kernel["time_ns"]) == (3, 34040)
    refused = cli("show", str(DATA / "sdk_7.0"), "--kernel", "addition")
    assert refused.code == 2
    assert ADD in refused.stderr


def test_profile_says_of_a_capture_and_of_a_report_how_they_are_shown(cli: Cli) -> None:
    folder = write_capture(cli.folder / "run")
    (cli.folder / "saved.json").write_text(cli("show", "run", "--format", "json").stdout)
    for path, kind in (("run", "capture"), (f"run/{folder.name}_x", ""), ("saved.json", "saved report")):
        outcome = cli("profile", path)
        assert outcome.code == 2
        if kind:
            assert outcome.line == f"hipscope: {path}: this is a {kind}, not a program"
            assert f"hipscope show {path}" in outcome.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"schema": "hipscope.profile/2", "kern', "not valid JSON"),
        ('{"schema": "hipscope.profile/9"}', "not a report that can be shown"),
        ('{"schema": "hipscope.profile/2"}', "is missing"),
    ],
)
def test_a_damaged_report_is_one_line(cli: Cli, text: str, told: str) -> None:
    (cli.folder / "r.json").write_text(text)
    outcome = cli("show", "r.json")
    assert outcome.code == 2
    assert told in outcome.line
    assert outcome.stderr.count("\n") <= 2


def test_sources_are_found_by_the_longest_end_of_their_path_and_two_that_fit_are_named(cli: Cli) -> None:
    write_capture(cli.folder / "run")
    cli.write("__global__ void transpose(float* p, int n) {\n\n\n\n}\n", "transpose.hip")
    data = json.loads(cli("show", "run", "--format", "json").stdout)
    assert data["kernels"][0]["file"] == str((cli.folder / "transpose.hip").resolve())
    for folder in ("a", "b"):
        (cli.folder / folder / "src").mkdir(parents=True)
        cli.write("// x\n\n\n\n", f"{folder}/src/transpose.hip")
    data = json.loads(cli("show", "run", "--format", "json").stdout)
    assert data["kernels"][0]["file"] == "/cluster/job/src/transpose.hip"
    assert "2 files here could be it" in data["notes"][0]
    data = json.loads(cli("show", "run", "--source-root", "b", "--format", "json").stdout)
    assert data["kernels"][0]["file"] == str((cli.folder / "b/src/transpose.hip").resolve())


def test_the_metrics_of_a_capture_are_shown_by_group(cli: Cli) -> None:
    saved = json.loads(cli("show", str(DATA / "mi300x_vcopy"), "--format", "json").stdout)
    known = {"arch": "gfx942", "compute_units": 304, "xcds": 8, "simds_per_cu": 4, "max_waves_per_simd": 8}
    saved["device"] |= {**known, "name": "mi300x", "l2_channels": 128, "clock_mhz": 2100.0}
    (cli.folder / "saved.json").write_text(json.dumps(saved))
    shown = cli("show", "saved.json", "--metrics", "l2")
    assert shown.code == 0, shown.stderr
    assert "L2 hit rate" in shown.stdout
    assert "34.3" in shown.stdout
    data = json.loads(cli("show", "saved.json", "--metrics", "all", "--format", "json").stdout)
    assert data["schema"] == "hipscope.metrics/1"
    assert len(data["kernels"][0]["metrics"]) >= 110
    refused = cli("show", "saved.json", "--metrics", "caches")
    assert (refused.code, "groups: all, work, units" in refused.stderr) == (2, True)


def test_the_first_signal_ends_what_reads_a_large_capture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reading(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("it went on")

    monkeypatch.setattr("hipscope.server.jobs.opening.open_report", reading)
    done = CliRunner().invoke(app, ["show", str(write_capture(tmp_path))])
    assert done.exit_code == STOPPED
    assert "stopped" in done.stderr


def test_a_line_and_the_machine_code_of_a_saved_profile_are_shown_without_a_run(cli: Cli) -> None:
    cli.write(KERNEL.replace("STEPS", "64"), "scale.hip")
    assert cli("profile", "scale.hip", "-o", "run.json", "--format", "json").code == 0
    line = KERNEL[: KERNEL.index("for (")].count("\n") + 1
    told = cli("show", "run.json", "--line", f"scale.hip:{line}")
    assert told.stdout.startswith(f"Line {line} of scale")
    assert "What it waits for" in told.stdout
    code = cli("show", "run.json", "--isa", "--kernel", "scale")
    head, *instructions = code.stdout.splitlines()
    assert head.startswith("; scale(float*): ")
    assert any(
        one.startswith("s_waitcnt vmcnt(0)") and one.endswith(f"scale.hip:{line}") for one in instructions
    )
    assert (
        json.loads(cli("show", "run.json", "--isa", "--format", "json").stdout)["schema"] == "hipscope.isa/1"
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--line", "transpose.hip:1"], "takes no time in this profile"),
        (["--line", "other.hip:4"], "no files 'other.hip'"),
        (["--line", "scale.hip"], "name it as FILE:LINE"),
        (["--line", "scale.hip:4", "--isa"], "views of their own"),
        (["--line", "scale.hip:4", "--format", "json"], "not written as json"),
        (["--isa", "--format", "html"], "not written as html"),
    ],
)
def test_a_view_that_is_none_says_what_can_be_asked(
    options: list[str], said: str, report_data: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "run.json").write_text(json.dumps(report_data))
    done = CliRunner().invoke(app, ["show", str(tmp_path / "run.json"), *options])
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())


def test_machine_code_that_nobody_kept_says_what_keeps_it(
    report_data: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "run.json").write_text(json.dumps(report_data))
    done = CliRunner().invoke(app, ["show", str(tmp_path / "run.json"), "--isa"])
    assert done.exit_code == 2
    assert "-o run.json` keeps it" in " ".join(done.stderr.split())
