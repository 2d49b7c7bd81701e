"""Command lines for rocprofv3: by what its version offers, and through the real front ends where they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hipscope.analysis.ingest import read_capture
from hipscope.analysis.ingest.launches import launches_in
from hipscope.analysis.profilers.rocm import RocmProfiler
from hipscope.analysis.profilers.rocm_tool import find_rocm_tool
from tests.analysis.ingest.capture_files import results_json, thread_trace
from tests.analysis.profilers.test_profilers import LATER, TABLES, run_of, tools
from tests.fake_rocprofv3 import CAPTURES, Answers, calls, command_lines, install
from tests.rocprofv3_options import SOURCES, VERSIONS, Option, options_of, parser_of, read_options

__all__ = ["tools"]

# Reads command lines as JSON, and has the front end's own parser take each of them.
REAL = """import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("front_end", sys.argv[1])
front_end = importlib.util.module_from_spec(spec)
spec.loader.exec_module(front_end)
for line in json.load(sys.stdin):
    front_end.parse_arguments(line)
"""
FRONT_END = """import argparse
KINDS = ("a", "b")
def parse_arguments(args=None):
    parser = argparse.ArgumentParser()
    def add_switch(parser, *args, **kwargs):
        parser.add_argument(*args, **kwargs, nargs="?", type=str)
    group = parser.add_argument_group("x")
    add_switch(group, "-q", "--quiet", help="--not-this")
    group.add_argument("--pmc", nargs="*", action="append")
    group.add_argument("--kind", choices=KINDS, type=str.lower)
    group.add_argument("--plain", action="store_true")
"""


def test_options_are_read_from_the_text_of_a_front_end() -> None:
    assert read_options(FRONT_END) == [
        Option(("-q", "--quiet"), "?", kind="bool"),
        Option(("--pmc",), "*", action="append"),
        Option(("--kind",), "1", ("a", "b"), "lower"),
        Option(("--plain",), "0"),
    ]


@pytest.mark.parametrize(
    ("words", "since", "until"),
    [
        (("--pmc", "SQ_WAVES"), "6.3", None),
        (("--pmc", "A", "--pmc", "B"), "6.3", None),
        (("-f", "csv"), "7.0", None),
        (("--output-format", "csv", "json"), "6.2", None),
        (("--output-format", "rocpd"), "7.0", None),
        (("--version",), "7.0", None),
        (("--pc-sampling-method", "stochastic"), "6.4", None),
        (("--att",), "7.0", None),
        (("--attach", "7"), "7.1", None),
        (("--replay-mode", "kernel"), "newest", None),
        (("--list-metrics",), "6.2", "6.3"),
        (("--kernel-tr",), "6.2", "6.4"),
        (("--kernel-trace=no",), "6.3", None),
    ],
)
def test_the_table_takes_what_a_version_takes(words: tuple[str, ...], since: str, until: str | None) -> None:
    first, last = VERSIONS.index(since), VERSIONS.index(until or VERSIONS[-1])
    taken = []
    for version in VERSIONS:
        parser = parser_of([vars(option) for option in options_of(version)], version)
        try:
            parser.parse_args(words)
        except SystemExit:
            continue
        taken.append(version)
    assert taken == list(VERSIONS[first : last + 1])


@pytest.mark.parametrize("version", VERSIONS)
def test_our_command_lines_pass_the_real_front_end(tools: Path, tmp_path: Path, version: str) -> None:
    """`ROCPROFV3_SOURCES` is a folder with the `rocprofv3.py` of each version."""
    source = Path(os.environ.get("ROCPROFV3_SOURCES", "/nowhere")) / version / "rocprofv3.py"
    if not source.exists():
        pytest.skip(f"set ROCPROFV3_SOURCES: the front end of {version} is not here")
    trace, table, _ = TABLES.get(version, LATER)
    install(tools, Answers(version, trace=str(CAPTURES / trace), table=str(CAPTURES / table)))
    RocmProfiler().record(run_of(tmp_path))
    asked = command_lines(tools)
    done = subprocess.run(
        [sys.executable, "-c", REAL, str(source)],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [vars(o) | {"versions": ()} for o in read_options(source.read_text())] == [
        vars(o) | {"versions": ()} for o in sorted(options_of(version), key=lambda o: _place(source, o))
    ]


def _place(source: Path, option: Option) -> int:
    return [o.names for o in read_options(source.read_text())].index(option.names)


def test_every_version_of_the_table_names_its_source() -> None:
    for repository, what, commit, number in SOURCES.values():
        assert repository.startswith("ROCm/")
        assert len(commit) == 12
        assert what
        assert number


def test_all_counters_come_in_one_run_where_launches_are_replayed(tools: Path, tmp_path: Path) -> None:
    install(tools, Answers("newest"))
    told: list[str] = []
    run = run_of(tmp_path)
    run = replace(run, run=replace(run.run, tell=told.append))
    RocmProfiler().record(run)
    counted = [call for call in calls(tools) if "--pmc" in call]
    assert len(counted) == 1
    assert counted[0].count("--pmc") == 4
    assert told == [
        "the program runs 2 more times: 1 for 49 counters (each launch is replayed), 1 for samples"
    ]
    assert read_capture(run.directory).kernels[0].counters["SQ_WAVES"] == 3 * 16384


def test_where_replaying_gives_nothing_each_pass_is_a_run(tools: Path, tmp_path: Path) -> None:
    install(tools, Answers("newest", fails={"--replay-mode": "Fatal error: no memory for a snapshot"}))
    run = run_of(tmp_path)
    RocmProfiler().record(run)
    counted = [call for call in calls(tools) if "--pmc" in call]
    assert ["--replay-mode" in call for call in counted] == [True, False, False, False, False]
    profile = read_capture(run.directory)
    assert profile.kernels[0].counters["SQ_WAVES"] == 3 * 16384
    assert "counter pass" not in (profile.partial or "")


@pytest.mark.parametrize(("version", "runs"), [("6.2", 5), ("6.3", 5), ("6.4", 4), ("7.2", 4)])
def test_a_counter_that_is_not_defined_costs_itself_only(
    tools: Path, tmp_path: Path, version: str, runs: int
) -> None:
    trace, table, waves = TABLES.get(version, LATER)
    lacks = ["SQ_WAVE_CYCLES"]
    install(tools, Answers(version, trace=str(CAPTURES / trace), table=str(CAPTURES / table), lacks=lacks))
    run = run_of(tmp_path)
    RocmProfiler().record(run)
    profile = read_capture(run.directory)
    assert max(kernel.counters.get("SQ_WAVES", 0) for kernel in profile.kernels) == waves
    assert "SQ_WAVE_CYCLES" in (profile.partial or "").partition("did not come: ")[2]
    assert "counter pass" not in (profile.partial or "")
    assert len([call for call in calls(tools) if call.startswith(("-i ", "--pmc "))]) == runs


def test_a_pass_that_the_hardware_cannot_count_at_once_is_cut(tools: Path, tmp_path: Path) -> None:
    install(tools, Answers("7.0", at_once=12))
    run = run_of(tmp_path)
    RocmProfiler().record(run)
    asked = [len(call.split("--kernel-include")[0].split()) - 1 for call in calls(tools) if "--pmc" in call]
    assert asked[0] == asked[1] + asked[2] > 12
    assert read_capture(run.directory).kernels[0].counters["SQ_WAVES"] == 3 * 16384


def test_the_thread_trace_is_tried_on_other_cus_until_a_wave_comes(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread_trace(tmp_path / "waves")
    (tmp_path / "librocprof-trace-decoder.so").touch()
    monkeypatch.setenv("ROCPROF_ATT_LIBRARY_PATH", str(tmp_path))
    install(tools, Answers("7.1", waves=str(tmp_path / "waves"), waves_on="2"))
    run = run_of(tmp_path)
    RocmProfiler().record(run)
    traced = [call for call in calls(tools) if call.startswith("--att ")]
    assert [call.partition("--att-target-cu ")[2] for call in traced] == ["", "0", "2"]
    assert not [call for call in calls(tools) if "--pc-sampling" in call]
    profile = read_capture(run.directory)
    assert "thread trace" not in (profile.partial or "")
    assert any(kernel.instructions for kernel in profile.kernels)


def test_samples_of_a_version_with_databases_come_as_json(tools: Path, tmp_path: Path) -> None:
    results_json(tmp_path / "samples.json")
    install(tools, Answers("7.2", samples=str(tmp_path / "samples.json")))
    run = run_of(tmp_path)
    RocmProfiler().record(run)
    assert "sampling" not in (read_capture(run.directory).partial or "")
    recorded = json.loads((run.directory / "hipscope.json").read_text())["runs"]
    assert recorded[-1]["gave"] is True
    results_json(tmp_path / "samples.json", samples=False)
    (tmp_path / "again").mkdir()
    again = run_of(tmp_path / "again")
    RocmProfiler().record(again)
    assert "sampling is empty" in (read_capture(again.directory).partial or "")


def test_what_was_run_and_why_is_kept_with_the_capture(tools: Path, tmp_path: Path) -> None:
    install(tools, Answers("7.0", program_ends_with=3))
    run = run_of(tmp_path)
    RocmProfiler().record(run)
    runs = json.loads((run.directory / "hipscope.json").read_text())["runs"]
    assert [r["step"].partition(" ")[0] for r in runs] == [
        "kernel",
        "counters",
        "counters",
        "counters",
        "counters",
        "samples",
    ]
    assert [r["gave"] for r in runs] == [True, True, True, True, True, False]  # the recording has no samples
    assert {r["exit_code"] for r in runs[:-1]} == {3}
    assert runs[0]["why"] == "which kernels take the time"


def test_the_help_text_is_read_once_where_a_program_is_timed_often(tools: Path, tmp_path: Path) -> None:
    install(tools, Answers("7.2"))
    profiler, run = RocmProfiler(), run_of(tmp_path)
    assert [len(profiler.time_launches(run).launches) for _ in range(3)] == [3, 3, 3]
    assert len((tools / "helped").read_text().splitlines()) == 1


def test_the_profiler_stands_behind_a_launcher_of_processes(tools: Path, tmp_path: Path) -> None:
    install(tools)
    (tmp_path / "app").write_text("#!/bin/sh\n")
    (tmp_path / "app").chmod(0o755)
    tool = find_rocm_tool()
    line = tool.command_line(
        ["mpirun", "-n", "4", "./app", "-n", "7"], Path("out"), ["--att"], directory=tmp_path
    )
    assert line == [
        "mpirun", "-n", "4", tool.path, "--att", "--output-format", "rocpd", "-d", "out", "-o", "out_%pid%", "--",
        "./app", "-n", "7",
    ]  # fmt: skip
    assert tool.command_line(["srun", "-N", "2", "nothing"], Path("out"), [])[0] == tool.path


def test_files_of_several_processes_are_one_run(tmp_path: Path) -> None:
    table = (CAPTURES / LATER[0]).read_text()
    (tmp_path / "out_70_kernel_trace.csv").write_text(table)
    later = table.replace("198662397", "298662397")
    (tmp_path / "out_71_kernel_trace.csv").write_text(later)
    assert len(launches_in(tmp_path)) == 6
    profile = read_capture(tmp_path)
    assert sum(len(kernel.dispatches) for kernel in profile.kernels) == 6
