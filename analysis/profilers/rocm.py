"""rocprofv3 on an AMD GPU as a profiler.

Takes a built program, gives the tool's own output: a kernel trace, counters of the longest kernels in as few runs as
the hardware needs, and a thread trace of the longest when its decoder is installed, else samples. Each step that fails
or takes too long costs what it would have given, and the reason is kept.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from hipscope.analysis.errors import HipscopeError, ProfilerFailed, ProgramFailed
from hipscope.analysis.ingest.launches import Launch, counters_in, launches_in
from hipscope.analysis.profilers.base import (
    MeasuringProfiler,
    ProfilerRun,
    TimedRun,
    program_failed,
    shown,
)
from hipscope.analysis.profilers.missing_files import Lacking
from hipscope.analysis.profilers.rocm_counters import counter_passes, counter_set, smaller_passes
from hipscope.analysis.profilers.rocm_failures import first_error, known_failure, without_tool_lines
from hipscope.analysis.profilers.rocm_tool import RocmTool, find_rocm_tool
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.system.process import Completed, signal_name

_MOST_KERNELS = 10  # of which counters are collected
_MOST_TIME = 0.95  # of all kernels' time, that they take together
_OTHER_CUS = (None, "0", "2", "3")  # whose waves are traced: the tool's own choice (1) first
# How often program counters are sampled (rocprofiler-compute): in cycles, a power of 2, or in microseconds.
_SAMPLING = {"stochastic": ("cycles", "1048576"), "host_trap": ("time", "1")}
_STOCHASTIC = ("gfx942", "gfx950")
_NO_WAVE = "no wave of the kernel ran on the CUs that were traced (launch more workgroups)"
_PIECE, _KEY_LENGTH = 1 << 20, 200
_SAMPLES = re.compile(rb'"pc_sample_(?:host_trap|stochastic)"\s*:\s*\[\s*\{')
_WAVE_FILES = "se*_sm*_sl*_wv*.json"


class RocmProfiler(MeasuringProfiler):
    """Needs an AMD GPU and rocprofv3 (ROCm 6.2 or later). Times are measured."""

    title: ClassVar[str] = "the AMD GPU"

    def __init__(self, *, everything: bool = False) -> None:
        """`everything`: counters of short kernels too, and samples beside a thread trace: to see what works."""
        self._everything = everything
        self._tool: RocmTool | None = None

    def record(self, job: ProfilerRun) -> Path | None:
        """Trace, then counters of the kernels that take most of it, then a thread trace of the longest, or samples.

        Only the trace has to succeed; what else fails or takes too long is one line of the capture's `partial`.
        """
        tool = find_rocm_tool(job)
        job.run.say("kernel trace", 0.0)
        out, options = job.directory / "kernel_trace", tool.trace_options()
        traced = tool.run(job, out, options)
        launches = launches_in(out)
        if traced.timed_out or not launches:
            raise _failure(tool, job, traced, options)
        kernels = _longest(launches, 1.0 if self._everything else _MOST_TIME)
        steps = RocmSteps(tool, job, kernels, traced.returncode)
        steps.note("kernel trace", "which kernels take the time", traced, gave=True)
        job.run.tell(steps.plan())
        notes = [*steps.counters(), *steps.thread_trace_or_samples(both=self._everything)]
        _write_sidecar(job, traced, tool.version(), notes, steps.runs)
        return None

    def time_launches(self, job: ProfilerRun) -> TimedRun:
        """The kernel trace of one run."""
        out = job.directory / "timing"
        try:
            tool, options = self._tool or find_rocm_tool(job), ["--kernel-trace"]
            self._tool = tool  # programs are timed many times: its help text is read once
            traced = tool.run(job, out, options, formats=["rocpd"] if tool.rocpd else ["csv"])
            launches = launches_in(out)
            if traced.timed_out or (not traced.ok and not launches):
                raise _failure(tool, job, traced, options)
            if not launches:
                raise ProgramFailed("rocprofv3 wrote no kernel trace", output=shown(traced))
            return TimedRun(tuple(launches), traced.returncode)
        finally:
            shutil.rmtree(out, ignore_errors=True)


def _longest(launches: Iterable[Launch], share: float) -> tuple[str, ...]:
    """The kernels that take that share of the time together, longest first; none when nothing has a time."""
    times: dict[str, float] = {}
    for launch in launches:
        if launch.timed and launch.start_ns is not None and launch.end_ns is not None:
            times[launch.kernel] = times.get(launch.kernel, 0.0) + launch.end_ns - launch.start_ns
    chosen, told = [], 0.0
    for kernel, time in sorted(times.items(), key=lambda item: -item[1])[:_MOST_KERNELS]:
        if told >= share * sum(times.values()):
            break
        chosen.append(kernel)
        told += time
    return tuple(chosen)


@dataclass
class RocmSteps:
    """The runs after the first one. Each gives notes: what is missing from it and why, none when all is there.

    `exit_code` is that of the program: the same from another run is no failure of that. `runs` says what was run.
    """

    tool: RocmTool
    job: ProfilerRun
    kernels: tuple[str, ...]
    exit_code: int
    runs: list[dict[str, Any]] = field(default_factory=list)

    def plan(self) -> str:
        """How often the program runs again, and why."""
        passes = len(self._passes())
        counted = f"{len(counter_set(self.job.toolchain.arch))} counters"
        if self.tool.replays_kernels:
            counters, runs = f"1 for {counted} (each launch is replayed)", 1
        else:
            counters, runs = f"{passes} for {counted} (the hardware counts few at once)", passes
        what = "a thread trace" if self.tool.traces_threads else "samples" if self._method() else None
        if what is None:
            return f"the program runs {runs} more times: {counters}"
        return f"the program runs {runs + 1} more times: {counters}, 1 for {what}"

    def note(self, step: str, why: str, done: Completed, gave: bool) -> None:
        """Keep what a run was for, its command, how it ended, and where it gave nothing, why."""
        self.runs.append(
            {
                "step": step,
                "why": why,
                "command": list(done.argv),
                "exit_code": None if done.timed_out else done.returncode,
                "seconds": round(done.seconds, 3),
                "gave": gave,
                "said": None if gave else _why(done, self.job),
            }
        )

    def counters(self) -> list[str]:
        """All in one run where this version replays launches, else a run for each pass."""
        passes = self._passes()
        if self.tool.replays_kernels:
            came, note, _ = self._counter_run("counters", "replay", passes, 0.5)
            if came:
                return self._missing(came)
            self.job.run.say(f"counters by replaying launches: {note}")
        found: set[str] = set()
        notes: list[str] = []
        for number, counters in enumerate(passes, start=1):
            of = f" of {len(self.kernels)} kernels" if self.kernels else ""
            name = f"counters{of}, pass {number} of {len(passes)}"
            came, note, done = self._counter_run(
                name, f"pass_{number}", [counters], number / (len(passes) + 2)
            )
            for part, smaller in enumerate(() if came else smaller_passes(counters, done.text), start=1):
                again = f"{name}, part {part}"
                more, note, _ = self._counter_run(again, f"pass_{number}_{part}", [smaller], None)
                came |= more
            found |= came
            if note:
                notes.append(f"counter pass {number} of {len(passes)} {note}")
        return [*notes, *self._missing(found)]

    def thread_trace_or_samples(self, *, both: bool = False) -> list[str]:
        """Where in the longest kernel the time goes: every instruction of some waves, else samples of all."""
        notes: list[str] = []
        if not self.tool.traces_threads:
            notes = [
                "no thread trace: this rocprofv3 or its decoder is missing, so there is no cost per line"
            ]
        for unit in _OTHER_CUS if self.tool.traces_threads else ():
            found = self._thread_trace(unit)
            notes = [found] if found else []
            if found is None and not both:
                return []
            if found is None or not found.endswith(_NO_WAVE):
                break
        return notes if (failed := self._samples()) is None else [*notes, failed]

    def _passes(self) -> list[tuple[str, ...]]:
        return list(counter_passes(counter_set(self.job.toolchain.arch)))

    def _missing(self, came: frozenset[str] | set[str]) -> list[str]:
        missing = [name for counters in self._passes() for name in counters if name not in came]
        return [f"these counters did not come: {', '.join(missing)}"] if missing else []

    def _counter_run(
        self, name: str, folder: str, groups: Sequence[Sequence[str]], share: float | None
    ) -> tuple[frozenset[str], str | None, Completed]:
        """The counters that a run gave; why there is none where it failed; how it ended."""
        self.job.run.say(name, share)
        out = self.job.directory / folder
        options = [*self.tool.counter_options(groups, out), *self._only(self.kernels)]
        done = self.tool.run(self.job, out, options)
        came = counters_in(out)
        self.note(name, "what bounds the kernels", done, bool(came))
        failed = not came and (done.timed_out or done.returncode not in (0, self.exit_code))
        return came, _why(done, self.job) if failed else None, done

    def _thread_trace(self, unit: str | None) -> str | None:
        """None when waves were traced, else why not."""
        name = "thread trace" + (f" of CU {unit}" if unit else "")
        self.job.run.say(name)
        out = self.job.directory / "thread_trace"
        shutil.rmtree(out, ignore_errors=True)
        options = ["--att", "--att-library-path", str(self.tool.decoder), *self._only(self.kernels[:1])]
        options += ["--att-target-cu", unit] if unit else []
        done = self.tool.run(self.job, out, options)
        came = any(out.rglob(_WAVE_FILES))
        self.note(name, "where in the longest kernel the time goes", done, came)
        for database in out.rglob("*.db"):  # launches are slower under a trace: those of the first run count
            database.unlink()
        if came:
            return None
        if done.timed_out or done.returncode not in (0, self.exit_code):
            return f"the thread trace {_why(done, self.job)}"
        return f"the thread trace is empty: {_NO_WAVE}"

    def _method(self) -> str | None:
        return self.tool.sampling(self.job.toolchain.arch in _STOCHASTIC)

    def _samples(self) -> str | None:
        """None when samples were taken or this version has none, else why not."""
        method = self._method()
        if method is None:
            return None
        unit, interval = _SAMPLING[method]
        name = f"samples of program counters ({method.replace('_', ' ')})"
        self.job.run.say(name)
        options = ["--pc-sampling-beta-enabled", "--pc-sampling-unit", unit, "--pc-sampling-method", method]
        options += ["--pc-sampling-interval", interval]
        out = self.job.directory / "samples"
        # A database has no samples, and only JSON has their addresses.
        done = self.tool.run(self.job, out, options, formats=["json"] if self.tool.rocpd else ["csv", "json"])
        came = _has_samples(out)
        self.note(name, "where the time goes, without a thread trace", done, came)
        return None if came else f"sampling {_why(done, self.job)}"

    def _only(self, kernels: Sequence[str]) -> list[str]:
        """The option that leaves out other kernels, for versions that have it (6.3 and later)."""
        if not kernels or "--kernel-include-regex" not in self.tool.offers:
            return []
        return ["--kernel-include-regex", "|".join(dict.fromkeys(re.escape(_identifier(k)) for k in kernels))]


def _has_samples(out: Path) -> bool:
    """Whether a run left samples: a table of them, or a list in JSON that is not empty."""
    return any(out.rglob("*pc_sampling_*.csv")) or any(map(_names_samples, out.rglob("*_results.json")))


def _names_samples(path: Path) -> bool:
    """Whether a list of samples in a JSON file has an element, without reading all of it at once."""
    before = b""
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            if _SAMPLES.search(before + piece):
                return True
            before = piece[-_KEY_LENGTH:]
    return False


def _identifier(kernel: str) -> str:
    """The name of a kernel without what its result, template and parameters are."""
    match = re.match(r"(?:[\w:\s]*?[\s:])?(\w+)\s*(?:[<(\[.]|$)", kernel)
    return match[1] if match else kernel


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


def _failure(tool: RocmTool, job: ProfilerRun, completed: Completed, options: Sequence[str]) -> HipscopeError:
    """Whose failure it was: rocprofv3's own where it fails with these options on a program that does nothing.

    That program opens no GPU, so what is known of a failure goes along with the program's.
    """

    def of_program() -> ProgramFailed:
        known = known_failure(completed.text)
        lacks = Lacking(known) if known is not None else None
        return program_failed(completed, job.config.timeout_s, lambda: lacks, no_kernel=False)

    if completed.timed_out or completed.ok:
        return of_program()
    with work_directory("rocprofv3") as out:
        alone = tool.run(job, out, options, program=[shutil.which("true") or "/bin/true"])
    if alone.ok:
        return of_program()
    lines = [line.strip() for line in alone.text.splitlines() if line.strip()]
    said = known_failure(alone.text) or first_error(alone.text) or (lines[-1] if lines else "")
    ended = f"was ended by {signal_name(-alone.returncode)}" if alone.returncode < 0 else "failed"
    code = f" with exit code {alone.returncode}" if alone.returncode > 0 else ""
    return ProfilerFailed(
        f"rocprofv3 itself {ended}{code}: {said or 'it said nothing'}",
        "it fails without the program too; --backend emulator needs no GPU",
    )


def _write_sidecar(
    job: ProfilerRun, completed: Completed, version: str, notes: Sequence[str], runs: Sequence[dict[str, Any]]
) -> None:
    sidecar = {
        "schema": "hipscope.capture/1",
        "source": "rocm",
        "provenance": "measured",
        "tool": version,
        "program": {
            "command": list(job.built.argv),
            "exit_code": completed.returncode,
            "output": without_tool_lines(shown(completed)),
        },
        "partial": "; ".join(notes) or None,
        "runs": list(runs),
    }
    (job.directory / "hipscope.json").write_text(json.dumps(sidecar, indent=1), encoding="utf-8")
