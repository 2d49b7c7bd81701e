"""rocprofv3 on an AMD GPU as a profiler.

Takes a built program, gives the tool's own output: a kernel trace, counters in as many passes as the hardware needs,
and a thread trace when its decoder is installed. Each pass runs the program once.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from hipscope.analysis.errors import HipscopeError, MissingTool, ProfilerFailed, ProgramFailed
from hipscope.analysis.ingest.launches import read_kernel_trace
from hipscope.analysis.profilers.base import (
    MeasuringProfiler,
    ProfilerRun,
    TimedRun,
    program_failed,
    shown,
)
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.system.process import Completed, run_process, signal_name

# Counters that the roofline, occupancy and findings use, by hardware block, with how many of a block fit one pass
# (rocprofiler-compute, mi_gpu_spec.yaml). What a GPU does not have, rocprofv3 refuses: that pass is skipped.
_PER_PASS = {"SQ": 8, "TCP": 4, "TCC": 4, "TA": 2, "GRBM": 2}
COUNTERS = (
    "GRBM_GUI_ACTIVE", "SQ_WAVES", "SQ_WAVE_CYCLES", "SQ_BUSY_CU_CYCLES", "SQ_INSTS", "SQ_WAIT_ANY",
    "SQ_WAIT_INST_ANY", "SQ_ACTIVE_INST_ANY", "SQ_INSTS_VALU", "SQ_INSTS_LDS", "SQ_LDS_BANK_CONFLICT",
    "SQ_LDS_IDX_ACTIVE", "SQ_ACTIVE_INST_VALU", "SQ_THREAD_CYCLES_VALU", "SQ_INSTS_VALU_ADD_F16",
    "SQ_INSTS_VALU_MUL_F16", "SQ_INSTS_VALU_FMA_F16", "SQ_INSTS_VALU_TRANS_F16", "SQ_INSTS_VALU_ADD_F32",
    "SQ_INSTS_VALU_MUL_F32", "SQ_INSTS_VALU_FMA_F32", "SQ_INSTS_VALU_TRANS_F32", "SQ_INSTS_VALU_ADD_F64",
    "SQ_INSTS_VALU_MUL_F64", "SQ_INSTS_VALU_FMA_F64", "SQ_INSTS_VALU_TRANS_F64", "SQ_INSTS_VALU_MFMA_MOPS_F16",
    "SQ_INSTS_VALU_MFMA_MOPS_BF16", "SQ_INSTS_VALU_MFMA_MOPS_F32", "SQ_INSTS_VALU_MFMA_MOPS_F64",
    "TCP_TCC_READ_REQ_sum", "TCP_TCC_WRITE_REQ_sum", "TCP_TOTAL_CACHE_ACCESSES_sum", "TCP_TOTAL_ACCESSES_sum",
    "TCC_HIT_sum", "TCC_MISS_sum", "TCC_REQ_sum", "TCC_ATOMIC_sum", "TCC_EA0_RDREQ_sum",
    "TCC_EA0_RDREQ_32B_sum", "TCC_BUBBLE_sum", "TCC_EA0_WRREQ_sum", "TCC_EA0_WRREQ_64B_sum",
    "TA_FLAT_READ_WAVEFRONTS_sum", "TA_FLAT_WRITE_WAVEFRONTS_sum",
)  # fmt: skip
_DECODER = "librocprof-trace-decoder.so"


class RocmProfiler(MeasuringProfiler):
    """Needs an AMD GPU and rocprofv3 (ROCm 6.2 or later). Times are measured."""

    title: ClassVar[str] = "the AMD GPU"

    def record(self, job: ProfilerRun) -> Path | None:
        """Trace, then counters, then a thread trace; only the trace has to succeed."""
        tool = _tool()
        offers = _help(tool, job)
        passes = list(counter_passes(COUNTERS))
        steps = 1 + len(passes)
        job.run.say("kernel trace", 0.0)
        options = ["--kernel-trace", "--stats"]
        traced = _rocprofv3(tool, job, job.directory / "trace", options)
        if traced.timed_out or not list((job.directory / "trace").rglob("*kernel_trace.csv")):
            raise _failure(tool, job, traced, options)
        notes = []
        for number, counters in enumerate(passes, start=1):
            job.run.say(f"counters, pass {number} of {len(passes)}", number / steps)
            out = job.directory / f"pass_{number}"
            if not _rocprofv3(tool, job, out, _counter_options(offers, counters, out)).ok:
                notes.append(f"counter pass {number} failed")
        decoder = _decoder(tool)
        if "--att" in offers and decoder is not None:
            job.run.say("thread trace")
            options = ["--att", "--att-library-path", str(decoder)]
            if not _rocprofv3(tool, job, job.directory / "att", options).ok:
                notes.append("the thread trace failed")
        else:
            notes.append(
                "no thread trace: this rocprofv3 or its decoder is missing, so there is no cost per line"
            )
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


def counter_passes(counters: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Split counters so that each pass asks no block for more than it can count at once."""
    waiting = list(counters)
    while waiting:
        used: dict[str, int] = {}
        taken = []
        for counter in waiting:
            block = counter.split("_", 1)[0]
            if used.get(block, 0) < _PER_PASS.get(block, 1):
                used[block] = used.get(block, 0) + 1
                taken.append(counter)
        yield tuple(taken)
        waiting = [counter for counter in waiting if counter not in taken]


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
    said = next((line for line in reversed(lines) if "error" in line.lower()), lines[-1] if lines else "")
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


def _write_sidecar(job: ProfilerRun, completed: Completed, tool: str, notes: Sequence[str]) -> None:
    version = re.search(r"version:?\s*([\w.]+)", run_process([tool, "--version"], timeout=60).text)
    sidecar = {
        "schema": "hipscope.capture/1",
        "source": "rocm",
        "provenance": "measured",
        "tool": f"rocprofv3 {version[1]}" if version else "rocprofv3",
        "program": {
            "command": list(job.built.argv),
            "exit_code": completed.returncode,
            "output": shown(completed),
        },
        "partial": "; ".join(notes) or None,
    }
    (job.directory / "hipscope.json").write_text(json.dumps(sidecar, indent=1), encoding="utf-8")
