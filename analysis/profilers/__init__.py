"""Profilers: each runs the built program once (or a few times) and leaves a capture directory.

Takes a `ProfilerRun`, gives files in rocprofv3's layout. Which one fits is decided here.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.errors import UsageError
from hipscope.analysis.profilers.base import MeasuringProfiler, Profiler, ProfilerRun
from hipscope.analysis.profilers.emulator import EmulatorProfiler
from hipscope.analysis.profilers.rocm import RocmProfiler
from hipscope.analysis.system.amd_gpu import find_amd_gpus

__all__ = ["MeasuringProfiler", "Profiler", "ProfilerChoice", "ProfilerRun", "choose_profiler"]


@dataclass(frozen=True)
class ProfilerChoice:
    """The profiler to use. `note` is one line that says why `auto` left a GPU of this machine unused."""

    profiler: Profiler
    note: str | None = None


def choose_profiler(backend: str, arch: str, root: Path = Path("/")) -> ProfilerChoice:
    """The profiler of that name for programs that are compiled for `arch`.

    `auto` takes an AMD GPU where this user can profile on it, else the emulator. `root` is where `/dev` and `/sys` are.
    Raises `UsageError` for a name that is none.
    """
    if backend == "auto":
        return _automatic(arch, root)
    if backend == "emulator":
        return ProfilerChoice(EmulatorProfiler())
    if backend == "rocm":
        return ProfilerChoice(RocmProfiler())
    raise UsageError(f"unknown backend {backend!r}", "choose auto, emulator or rocm")


def _automatic(arch: str, root: Path) -> ProfilerChoice:
    gpus = find_amd_gpus(root)
    if gpus is None:
        return ProfilerChoice(EmulatorProfiler())
    if gpus.obstacle is not None:
        reason = f"{gpus.obstacle} ({gpus.remedy})"
    elif shutil.which("rocprofv3") is None:
        reason = "rocprofv3 is not on PATH (install ROCm's rocprofiler-sdk)"
    elif arch not in gpus.archs:
        reason = f'the program is compiled for {arch} (set arch = "{gpus.archs[0]}")'
    else:
        return ProfilerChoice(RocmProfiler())
    names = ", ".join(dict.fromkeys(gpus.archs))
    return ProfilerChoice(EmulatorProfiler(), f"the AMD GPU ({names}) is not used: {reason}")
