"""rocprofv3 on an AMD GPU as a profiler.

Takes a built program, gives the tool's own output: a kernel trace, counters of the longest kernels in as many passes as
the hardware needs, and a thread trace of the longest when its decoder is installed, else samples. Each runs it once.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hipscope.analysis.errors import HipscopeError, MissingTool, ProfilerFailed, ProgramFailed
from hipscope.analysis.ingest.launches import Launch, read_kernel_trace
from hipscope.analysis.profilers.base import (
    MeasuringProfiler,
    ProfilerRun,
    TimedRun,
    program_failed,
    shown,
)
from hipscope.analysis.profilers.rocm_counters import counter_passes, counter_set
from hipscope.analysis.profilers.rocm_failures import first_error, known_failure, without_tool_lines
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.system.process import Completed, run_process, signal_name

_DECODER = "librocprof-trace-decoder.so"


_MOST_KERNELS = 10  # of which counters are collected
_MOST_TIME = 0.95  # of all kernels' time, that they take together
_OTHER_CUS = (None, "0", "2", "3")  # whose waves are traced: the tool's own choice (1) first
# How often program counters are sampled (rocprofiler-compute): in cycles, a power of 2, or in microseconds.
_SAMPLING = {
    "stochastic": ("cycles", "stochastic", "1048576"),
    "host_trap": ("time", "host_trap", "1"),
}
_STOCHASTIC = ("gfx942", "gfx950")


class RocmProfiler(MeasuringProfiler):
    """Needs an AMD GPU and rocprofv3 (ROCm 6.2 or later). Times are measured."""

    title: ClassVar[str] = "the AMD GPU"

    def record(self, job: ProfilerRun) -> Path | None:
        """Trace, then counters of the kernels that take most of it, then a thread trace of the longest, or samples.

        Only the trace has to succeed; what else fails or takes too long is one line of the capture's `partial`.
        """
        tool = _tool()
        offers = _help(tool, job)
        passes = list(counter_passes(counter_set(job.toolchain.arch)))
        job.run.say("kernel trace", 0.0)
        options = ["--kernel-trace", "--stats"]
        traced = _rocprofv3(tool, job, job.directory / "trace", options)
        traces = sorted((job.directory / "trace").rglob("*kernel_trace.csv"))
        if traced.timed_out or not traces:
            raise _failure(tool, job, traced, options)
        kernels = _longest(launch for trace in traces for launch in read_kernel_trace(trace))
        steps = _Steps(tool, offers, job, kernels, traced.returncode)
        notes = [*steps.counters(passes), *steps.thread_trace_or_samples()]
        _write_sidecar(job, traced, tool, notes)
        return None

    def time_launches(self, job: ProfilerRun) -> TimedRun:
        """The kernel trace of one run."""
        out = job.directory / "timing"
        try:
            tool, options = _tool(), ["--kernel-trace"]
            traced = _rocprofv3(tool, job, out, options)
            traces = sorted(out.rglob("*kernel_trace.csv"))
            if traced.timed_out or (not traced.ok and not traces):
                raise _failure(tool, job, traced, options)
            if not traces:
                raise ProgramFailed("rocprofv3 wrote no kernel trace", output=shown(traced))
            launches = tuple(launch for trace in traces for launch in read_kernel_trace(trace))
            return TimedRun(launches, traced.returncode)
        finally:
            shutil.rmtree(out, ignore_errors=True)


def _longest(launches: Iterable[Launch]) -> tuple[str, ...]:
    """The kernels that take most of the time together, longest first; none when nothing has a time."""
    times: dict[str, float] = {}
    for launch in launches:
        if launch.timed and launch.start_ns is not None and launch.end_ns is not None:
            times[launch.kernel] = times.get(launch.kernel, 0.0) + launch.end_ns - launch.start_ns
    chosen, told = [], 0.0
    for kernel, time in sorted(times.items(), key=lambda item: -item[1])[:_MOST_KERNELS]:
        if told >= _MOST_TIME * sum(times.values()):
            break
        chosen.append(kernel)
        told += time
    return tuple(chosen)


@dataclass(frozen=True)
class _Steps:
    """The runs after the first one. Each gives notes: what is missing from it and why, none when all is there."""

    tool: str
    offers: str
    job: ProfilerRun
    kernels: tuple[str, ...]
    exit_code: int  # of the program: the same from another run is no failure of that

    def counters(self, passes: Sequence[Sequence[str]]) -> list[str]:
        """One run per pass, of the longest kernels where this version can choose."""
        notes, missing = [], []
        for number, counters in enumerate(passes, start=1):
            of = f" of {len(self.kernels)} kernels" if self.kernels else ""
            self.job.run.say(f"counters{of}, pass {number} of {len(passes)}", number / (len(passes) + 2))
            out = self.job.directory / f"pass_{number}"
            asked = _counter_options(self.offers, counters, out)
            done = _rocprofv3(self.tool, self.job, out, [*asked, *self._only(self.kernels)])
            came = _counter_names(out)
            missing += [name for name in counters if name not in came]
            if not came and (done.timed_out or done.returncode not in (0, self.exit_code)):
                notes.append(f"counter pass {number} of {len(passes)} {_why(done, self.job)}")
        if missing:
            notes.append(f"these counters did not come: {', '.join(missing)}")
        return notes

    def thread_trace_or_samples(self) -> list[str]:
        """Where in the longest kernel the time goes: every instruction of some waves, else samples of all."""
        notes: list[str] = []
        decoder = _decoder(self.tool)
        if "--att" in self.offers and decoder is not None:
            for unit in _OTHER_CUS:
                found = self._thread_trace(decoder, unit)
                if found is None:
                    return notes
                notes = [found]
                if not found.endswith(_NO_WAVE):
                    break
        else:
            notes = [
                "no thread trace: this rocprofv3 or its decoder is missing, so there is no cost per line"
            ]
        return notes if (failed := self._samples()) is None else [*notes, failed]

    def _thread_trace(self, decoder: Path, unit: str | None) -> str | None:
        """None when waves were traced, else why not."""
        self.job.run.say("thread trace" + (f" of CU {unit}" if unit else ""))
        out = self.job.directory / "att"
        shutil.rmtree(out, ignore_errors=True)
        options = ["--att", "--att-library-path", str(decoder), *self._only(self.kernels[:1])]
        options += ["--att-target-cu", unit] if unit else []
        done = _rocprofv3(self.tool, self.job, out, options)
        if any(out.rglob("se*_sm*_sl*_wv*.json")):
            return None
        if done.timed_out or done.returncode not in (0, self.exit_code):
            return f"the thread trace {_why(done, self.job)}"
        return f"the thread trace is empty: {_NO_WAVE}"

    def _samples(self) -> str | None:
        """None when samples were taken or this version has none, else why not."""
        if "--pc-sampling-method" not in self.offers:
            return None
        exact = "stochastic" in self.offers and self.job.toolchain.arch in _STOCHASTIC
        unit, method, interval = _SAMPLING["stochastic" if exact else "host_trap"]
        self.job.run.say(f"samples of program counters ({method.replace('_', ' ')})")
        options = ["--pc-sampling-beta-enabled", "--pc-sampling-unit", unit, "--pc-sampling-method", method]
        out = self.job.directory / "samples"
        done = _rocprofv3(self.tool, self.job, out, [*options, "--pc-sampling-interval", interval])
        return None if any(out.rglob("*pc_sampling_*.csv")) else f"sampling {_why(done, self.job)}"

    def _only(self, kernels: Sequence[str]) -> list[str]:
        """The option that leaves out other kernels, for versions that have it (6.3 and later)."""
        if not kernels or "--kernel-include-regex" not in self.offers:
            return []
        return ["--kernel-include-regex", "|".join(dict.fromkeys(re.escape(_identifier(k)) for k in kernels))]


_NO_WAVE = "no wave of the kernel ran on the CUs that were traced (launch more workgroups)"


def _identifier(kernel: str) -> str:
    """The name of a kernel without what its result, template and parameters are."""
    match = re.match(r"(?:[\w:\s]*?[\s:])?(\w+)\s*(?:[<(\[.]|$)", kernel)
    return match[1] if match else kernel


def _counter_names(out: Path) -> frozenset[str]:
    """The counters of which a pass wrote a value."""
    found: set[str] = set()
    for table in out.rglob("*counter_collection.csv"):
        with table.open(encoding="utf-8", errors="replace", newline="") as file:
            found.update(row.get("Counter_Name") or "" for row in csv.DictReader(file))
    return frozenset(found)


def _why(done: Completed, job: ProfilerRun) -> str:
    """Why a step gave nothing, in the words that follow its name."""
    if done.timed_out:
        return f"did not end within {job.config.timeout_s:g} s (raise timeout_s in hipscope.toml)"
    said = known_failure(done.text) or first_error(done.text)
    return (
        f"failed: {said}"
        if said
        else f"failed with exit code {done.returncode}"
        if done.returncode
        else "is empty"
    )


def _tool() -> str:
    tool = shutil.which("rocprofv3")
    if tool is None:
        raise MissingTool(
            "rocprofv3 is not on PATH", "install ROCm's rocprofiler-sdk, or use --backend emulator"
        )
    return tool


def _rocprofv3(
    tool: str, job: ProfilerRun, out: Path, options: Sequence[str], program: Sequence[str] = ()
) -> Completed:
    # The default format and file names changed between versions, so all of them are said. The short `-f` came with 7.0.
    output = ["--output-format", "csv", "-d", str(out), "-o", "out"]
    return run_process(
        [tool, *options, *output, "--", *(program or job.built.argv)],
        timeout=job.config.timeout_s,
        cwd=job.built.directory,
        env={**os.environ, **job.config.env, **job.built.env},
        cancel=job.run.cancel,
    )


def _failure(tool: str, job: ProfilerRun, completed: Completed, options: Sequence[str]) -> HipscopeError:
    """Whose failure it was: rocprofv3's own where it fails with these options on a program that does nothing."""
    if completed.timed_out or completed.ok:
        return program_failed(completed, job.config.timeout_s, no_kernel=False)
    with work_directory("rocprofv3") as out:
        alone = _rocprofv3(tool, job, out, options, [shutil.which("true") or "/bin/true"])
    if alone.ok:
        return program_failed(completed, job.config.timeout_s, no_kernel=False)
    lines = [line.strip() for line in alone.text.splitlines() if line.strip()]
    said = known_failure(alone.text) or first_error(alone.text) or (lines[-1] if lines else "")
    ended = f"was ended by {signal_name(-alone.returncode)}" if alone.returncode < 0 else "failed"
    code = f" with exit code {alone.returncode}" if alone.returncode > 0 else ""
    return ProfilerFailed(
        f"rocprofv3 itself {ended}{code}: {said or 'it said nothing'}",
        "it fails without the program too; --backend emulator needs no GPU",
    )


def _counter_options(offers: str, counters: Sequence[str], out: Path) -> list[str]:
    """How this rocprofv3 is asked for counters: on the command line (6.3 and later) or in a file."""
    if "--pmc" in offers:
        return ["--pmc", *counters]
    out.mkdir(parents=True, exist_ok=True)
    asked = out / "counters.txt"
    asked.write_text(f"pmc: {' '.join(counters)}\n", encoding="ascii")
    return ["-i", str(asked)]


def _help(tool: str, job: ProfilerRun) -> str:
    return run_process([tool, "--help"], timeout=60, cancel=job.run.cancel).text


def _decoder(tool: str) -> Path | None:
    """The directory of the thread-trace decoder: where its variable says, or beside the tool."""
    named = os.environ.get("ROCPROF_ATT_LIBRARY_PATH")
    beside = Path(tool).resolve().parent.parent / "lib"
    candidates = [Path(p) for p in (named or "").split(os.pathsep) if p] + [beside]
    return next((d for d in candidates if (d / _DECODER).exists()), None)


def _version(tool: str) -> str:
    """The tool with its version: what it says itself (7.0 and later), else what ROCm's files say; bare when neither."""
    said = re.search(r"version:?\s*([\w.]+)", run_process([tool, "--version"], timeout=60).text)
    if said:
        return f"rocprofv3 {said[1]}"
    try:
        text = (Path(tool).resolve().parent.parent / ".info" / "version").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return "rocprofv3"
    return f"rocprofv3 of ROCm {text.split('-')[0]}" if text else "rocprofv3"


def _write_sidecar(job: ProfilerRun, completed: Completed, tool: str, notes: Sequence[str]) -> None:
    sidecar = {
        "schema": "hipscope.capture/1",
        "source": "rocm",
        "provenance": "measured",
        "tool": _version(tool),
        "program": {
            "command": list(job.built.argv),
            "exit_code": completed.returncode,
            "output": without_tool_lines(shown(completed)),
        },
        "partial": "; ".join(notes) or None,
    }
    (job.directory / "hipscope.json").write_text(json.dumps(sidecar, indent=1), encoding="utf-8")
