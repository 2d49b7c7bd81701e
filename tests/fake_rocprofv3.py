"""A stand-in for rocprofv3: takes the options of one version of it, runs the program, and writes recorded tables.

`install` writes it to a directory as an executable, with its answers beside it. Each call is a line in `calls`. What
the front end of the version refuses is refused here before the program starts: options by the table of
`tests/rocprofv3_options.py`, combinations of them as its `run` does. Versions that write rocpd get a database.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

CAPTURES = Path(__file__).parent / "data" / "captures"
# The real one describes the GPU beside each output, in 53 columns of which these say the most.
_AGENT = """\
"Node_Id","Logical_Node_Id","Agent_Type","Simd_Per_Cu","Max_Waves_Per_Simd","Lds_Size_In_Kb","Wave_Front_Size",\
"Num_Xcc","Cu_Count","Max_Engine_Clk_Fcompute","Device_Id","Gfx_Target_Version","Name","Product_Name"
1,1,"GPU",4,8,64,64,8,304,2100,29857,90402,"gfx942","AMD Instinct MI300X"
"""
_CALLS = '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"'
# Columns of tables that the views of a database call otherwise.
_VIEW_COLUMNS = {
    "Start_Timestamp": "start", "End_Timestamp": "end", "Process_Id": "pid", "Thread_Id": "tid", "GPU_ID": "agent_id",
    "Agent_Id": "agent_log_index", "Grid_Size_X": "grid_x", "Grid_Size_Y": "grid_y", "Grid_Size_Z": "grid_z",
    "Workgroup_Size_X": "workgroup_x", "Workgroup_Size_Y": "workgroup_y", "Workgroup_Size_Z": "workgroup_z",
    "LDS_Block_Size": "lds_size", "LDS_Per_Workgroup": "lds_size", "Scratch_Per_Workitem": "scratch_size",
    "Correlation_Id": "stack_id", "Domain": "category",
    "Arch_VGPR": "vgpr_count", "Accum_VGPR": "accum_vgpr_count", "SGPR": "sgpr_count",
}  # fmt: skip
_AGENT_JSON = json.dumps({
    "simd_per_cu": 4, "max_waves_per_simd": 8, "lds_size_in_kb": 64, "wave_front_size": 64, "num_xcc": 8,
    "cu_count": 304, "gfx_target_version": 90402, "max_engine_clk_fcompute": 2100, "device_id": 29857,
})  # fmt: skip


@dataclass(frozen=True)
class Answers:
    """What the stand-in says.

    The recorded trace and counters of a copy kernel, or with `series` those of `kernel`: for each binary, in the order
    in which they are first seen, the launches of each run in nanoseconds (0: a damaged time stamp), and `counters`.
    `host_ns` is what the host does before each of them: a call of that length launches it.
    `program_ends_with` is the exit code of a program that had launched its kernels; what was recorded is written.
    `says` is printed at each call beside the program's output; `slow` are words of options whose call never ends.
    `fails_at` (binary, run) ends a run as a crash of the tool does. `missing` are options that this build of it does
    not have; `broken` is what it dies of, whatever is asked, and `fails` what it dies of where a word is asked for.
    `lacks` are counters that this GPU has not, `at_once` how many it counts. `idle`: the program is not run. `samples`
    is the JSON of a run with samples, `waves` a decoded thread trace of the compute unit `waves_on`.
    """

    version: str = "7.0"
    missing: Sequence[str] = ()
    broken: str = ""
    refused: str = ""
    trace: str = str(CAPTURES / "mi300x_trace" / "ps_file_kernel_trace.csv")
    table: str = str(CAPTURES / "mi300x_vcopy" / "pmc_perf.csv")
    kernel: str = ""
    series: Sequence[Sequence[Sequence[float]]] = ()
    counters: Mapping[str, float] = field(default_factory=dict)
    host_ns: int = 0
    fails_at: tuple[int, int] | None = None
    program_ends_with: int = 0
    says: str = ""
    slow: Sequence[str] = ()
    fails: Mapping[str, str] = field(default_factory=dict)
    samples: str = ""
    waves: str = ""
    waves_on: str = "1"
    idle: bool = False
    lacks: Sequence[str] = ()
    at_once: int = 1000


def install(directory: Path, answers: Answers | None = None) -> None:
    """Make `directory`/rocprofv3 the stand-in with these answers."""
    (directory / "answers.json").write_text(json.dumps(asdict(answers or Answers())))
    from tests import rocprofv3_options as table

    chosen = answers or Answers()
    options = [asdict(option) for option in table.options_of(chosen.version)]
    (directory / "options.json").write_text(json.dumps(options))
    shutil.copy(table.__file__, directory / "rocprofv3_options.py")
    path = directory / "rocprofv3"
    body = Path(__file__).read_text()
    path.write_text(f"#!{sys.executable} -SE\n{body}")  # it is started often: without site-packages
    path.chmod(0o755)


def calls(directory: Path) -> list[str]:
    """The options of each accepted call so far, without those that say where the output goes."""
    return (directory / "calls").read_text().splitlines()


def formats(directory: Path) -> list[str]:
    """The output formats of each accepted call so far."""
    return (directory / "formats").read_text().splitlines()


def command_lines(directory: Path) -> list[list[str]]:
    """All words of each accepted call so far."""
    return [json.loads(line) for line in (directory / "command_lines").read_text().splitlines()]


def main(arguments: Sequence[str]) -> int:
    """One call of the tool."""
    here = Path(__file__).parent
    answers = json.loads((here / "answers.json").read_text())
    if answers["broken"]:
        print(answers["broken"], file=sys.stderr)
        return 1
    split = list(arguments).index("--") if "--" in arguments else len(arguments)
    own, command = arguments[:split], arguments[split + 1 :]
    if "--help" in own:
        with (here / "helped").open("a") as log:
            log.write("--help\n")
    asked = _parsed(here, answers, own)
    if getattr(asked, "version", False):
        print("             version: 1.0.0\n        git_revision: 0123456\n        rocm_version: 7.0.0")
        return 0
    if refusal := _refusal(asked, answers, bool(command)):
        print(f"[rocprofv3] Fatal error: {refusal}", file=sys.stderr)
        return 1
    if Path(command[0]).name == "true":  # a program without kernels: nothing is written
        return 0
    # Without them names and format differ between versions, so hipscope has to say them.
    assert asked.output_format, own
    assert asked.output_file == "out_%pid%", own
    with (here / "calls").open("a") as log:
        log.write(" ".join(own[: own.index("--output-format")]) + "\n")
    with (here / "formats").open("a") as log:
        log.write(" ".join(asked.output_format) + "\n")
    with (here / "command_lines").open("a") as log:
        log.write(json.dumps(arguments) + "\n")
    if answers["says"]:
        print(answers["says"], file=sys.stderr)
    if set(answers["slow"]) & set(own):
        time.sleep(600)
    place = _Place(Path(asked.output_directory), "rocpd" in asked.output_format)
    counters = [name for group in _groups(asked) for name in group]
    if asked.input is not None:
        line = Path(asked.input).read_text().strip()
        counters = line.removeprefix("pmc:").split()
        place = replace(place, out=place.out / "pmc_1")
    place.out.mkdir(parents=True, exist_ok=True)
    if answers["fails"] and set(answers["fails"]) & set(own):
        print(answers["fails"][next(word for word in own if word in answers["fails"])], file=sys.stderr)
        return 1
    if getattr(asked, "pc_sampling_method", None):
        return _samples(answers, asked, command, place)
    if getattr(asked, "advanced_thread_trace", None):
        return _thread_trace(answers, asked, command, place)
    if answers["series"]:
        return _series(here, answers, counters, command, place, calls=asked.hip_runtime_trace)
    return _tables(answers, asked.kernel_trace, counters, command, place)


def _parsed(here: Path, answers: Mapping[str, Any], own: Sequence[str]) -> argparse.Namespace:
    """What the version's parser makes of the words; it ends with its usage where that refuses them."""
    from rocprofv3_options import parser_of  # type: ignore[import-not-found]  # copied beside

    options = json.loads((here / "options.json").read_text())
    has = [option for option in options if not set(option["names"]) & set(answers["missing"])]
    asked: argparse.Namespace = parser_of(has, answers["version"]).parse_args(own)
    return asked


def _groups(asked: argparse.Namespace) -> list[list[str]]:
    """The counters of each `--pmc`: one list until it could be repeated."""
    pmc = getattr(asked, "pmc", None) or []
    return pmc if pmc and isinstance(pmc[0], list) else [pmc] if pmc else []


def _refusal(asked: argparse.Namespace, answers: Mapping[str, Any], has_program: bool) -> str | None:
    """What `run` and `main` of the real front end refuse, in its words."""
    sampling = [getattr(asked, f"pc_sampling_{name}", None) for name in ("unit", "method", "interval")]
    traces = [value for name, value in vars(asked).items() if name.endswith("_trace") and value]
    if getattr(asked, "stats", None) and not traces:
        return "No tracing options were enabled for --stats option."
    if any(sampling) and not asked.pc_sampling_beta_enabled:
        return "PC sampling unavailable. The feature is implicitly disabled."
    if any(sampling) and not all(sampling):
        return "All three PC sampling configurations need to be set"
    if getattr(asked, "replay_mode", None) == "kernel":
        if not asked.kernel_replay_beta_enabled:
            return "--replay-mode kernel requires acknowledgement that kernel replay is a beta feature"
        if not _groups(asked):
            return "--replay-mode kernel requires counter collection"
        if any(sampling) or getattr(asked, "advanced_thread_trace", None):
            return "--replay-mode kernel cannot be combined with other services"
    if getattr(asked, "advanced_thread_trace", None):
        places = [Path(p) for p in asked.att_library_path or []]
        if not any(list(p.glob("librocprof-trace-decoder.so")) for p in places):
            return f"rocprof-trace-decoder library path not found in {places}"
    if asked.input is not None and not asked.input.endswith((".txt", ".json", ".yaml", ".yml")):
        return f"Input file '{asked.input}' does not have a recognized extension"
    return None if has_program else "No application provided"


@dataclass(frozen=True)
class _Place:
    """Where a run writes, and whether it writes databases."""

    out: Path
    rocpd: bool

    def write(self, name: str, lines: Sequence[str]) -> None:
        """A table with its header, and the agents beside it, as the format has them."""
        prefix = f"out_{os.getpid()}"
        if not self.rocpd:
            (self.out / f"{prefix}_{name}.csv").write_text("\n".join(lines) + "\n")
            (self.out / f"{prefix}_agent_info.csv").write_text(_AGENT)
            return
        with sqlite3.connect(self.out / f"{prefix}_results.db") as database:
            database.execute("PRAGMA synchronous = OFF")
            rows = list(csv.reader(lines))
            header = [_VIEW_COLUMNS.get(cell, cell.lower()) for cell in rows[0]]
            if name == "counter_collection":
                header = ["value" if c == "counter_value" else c for c in header]
                table = "counters_collection"
            else:
                header = ["name" if c in ("kernel_name", "function") else c for c in header]
                table = "kernels" if name == "kernel_trace" else "regions"
            header.append("corr_id")  # of the program's own: none
            database.execute(f"CREATE TABLE {table} ({', '.join(f'{c} NUMERIC' for c in header)})")
            marks = ", ".join("?" * len(header))
            cells = [[*(cell.removeprefix("Agent ") for cell in row), 0] for row in rows[1:]]
            database.executemany(f"INSERT INTO {table} VALUES ({marks})", cells)
            if name == "hip_api_trace":
                return
            database.execute(
                "CREATE TABLE rocpd_info_agent_1 (id INT, type TEXT, logical_index INT, name TEXT, product_name TEXT, "
                "extdata TEXT)"
            )
            database.execute(
                "INSERT INTO rocpd_info_agent_1 VALUES (1, 'GPU', 1, 'gfx942', 'AMD Instinct MI300X', ?)",
                [_AGENT_JSON],
            )


def _samples(
    answers: Mapping[str, Any], asked: argparse.Namespace, command: Sequence[str], place: _Place
) -> int:
    """Samples of the program, where the recording has them. 6.4 knows the word stochastic, and its library does not."""
    if asked.pc_sampling_method == "stochastic" and answers["version"] == "6.4":
        print("Given PC sampling configuration is not supported on any of the agents", file=sys.stderr)
        return 1
    status = 0 if answers["idle"] else subprocess.run(command).returncode
    if answers["samples"]:
        shutil.copy(str(answers["samples"]), place.out / f"out_{os.getpid()}_results.json")
    return status


def _thread_trace(
    answers: Mapping[str, Any], asked: argparse.Namespace, command: Sequence[str], place: _Place
) -> int:
    """A decoded trace, where the recording has one for the CU that is asked for."""
    status = 0 if answers["idle"] else subprocess.run(command).returncode
    if answers["waves"] and (asked.att_target_cu or "1") == answers["waves_on"]:
        shutil.copytree(str(answers["waves"]), place.out / "ui_output_agent_1_dispatch_1", dirs_exist_ok=True)
    return status


def _tables(
    answers: Mapping[str, Any], traced: bool, counters: Sequence[str], command: Sequence[str], place: _Place
) -> int:
    status = 0 if answers["idle"] else subprocess.run(command).returncode
    if traced and status == 0 and answers["trace"]:
        place.write("kernel_trace", Path(str(answers["trace"])).read_text().splitlines())
    if counters:
        if answers["refused"] in counters:
            sys.exit("counter not available")
        counters = _defined(answers, counters)
        header, *rows = Path(str(answers["table"])).read_text().splitlines()
        name = header.replace('"', "").split(",").index("Counter_Name")
        rows = [row for row in rows if row and _cells(row)[name] in counters]
        if rows:
            place.write("counter_collection", [header, *rows])
    return status or int(answers["program_ends_with"])


def _defined(answers: Mapping[str, Any], counters: Sequence[str]) -> list[str]:
    """The counters that this GPU has. Up to 6.3 one that it lacks ends the program; so does one that is too many."""
    has = [name for name in counters if name not in answers["lacks"]]
    if len(has) < len(counters):
        said = f"Unable to find all counters for agent 4 (gpu-0, gfx942) in [{', '.join(counters)}]. "
        print(f"{said}Found: [{', '.join(has)}]", file=sys.stderr)
        if answers["version"] in ("6.2", "6.3"):
            sys.exit(134)
    if len(has) > answers["at_once"]:
        print(
            "Could not construct profile cfg: Request exceeds the capabilities of the hardware to collect",
            file=sys.stderr,
        )
        sys.exit(134)
    return has


def _cells(row: str) -> list[str]:
    """The cells of a record; a comma inside quotes is part of its cell."""
    quoted = row.split('"')
    return "".join(part if i % 2 == 0 else part.replace(",", ";") for i, part in enumerate(quoted)).split(",")


def _series(
    here: Path,
    answers: Mapping[str, Any],
    asked: Sequence[str],
    command: Sequence[str],
    place: _Place,
    *,
    calls: bool,
) -> int:
    """The next run of this binary in its series; what is not a trace is a table of the counters."""
    if asked:
        rows = [
            f'1,{number},1,1,0,0,4,4,16,"{answers["kernel"]}",{number},{number + 1},12,{name},{value}'
            for name, value in answers["counters"].items()
            if name in asked
            for number in (1, 2)
        ]
        header = Path(answers["table"]).read_text().splitlines()[0]
        place.write("counter_collection", [header, *rows])
        return 0
    known = here / "runs.json"
    runs = json.loads(known.read_text()) if known.exists() else []
    binary = next((i for i, (path, _) in enumerate(runs) if path == command[0]), len(runs))
    runs[binary:] = runs[binary:] or [[command[0], 0]]
    number = runs[binary][1]
    runs[binary][1] += 1
    known.write_text(json.dumps(runs))
    if answers["fails_at"] == [binary, number]:
        print("rocprofv3: lost the agent")
        return 139
    header = Path(answers["trace"]).read_text().splitlines()[0]
    rows, host, now = [], [_CALLS], 1_000_000
    for launch, duration in enumerate(answers["series"][binary][number], start=1):
        if answers["host_ns"]:
            host.append(f'"HIP_RUNTIME_API","hipLaunchKernel",12,1,{launch},{now},{now + answers["host_ns"]}')
            now += answers["host_ns"]
        end = now + int(duration)
        sizes = "4224,0,16,0,32,32,8,1,256,64,1"
        rows.append(
            f'"KERNEL_DISPATCH","Agent 1",1,0,1,{launch},1,"{answers["kernel"]}",{launch},{now},{end},{sizes}'
        )
        now = end + 1000
    place.write("kernel_trace", [header, *rows])
    if calls and len(host) > 1:
        place.write("hip_api_trace", host)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
