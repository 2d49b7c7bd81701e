"""Profilers: each runs the built program once (or a few times) and leaves a capture directory.

Takes a `ProfilerRun`, gives files in rocprofv3's layout. Which one fits is decided here.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.errors import UsageError
from hipscope.analysis.profilers.base import MeasuringProfiler, Profiler, ProfilerRun
from hipscope.analysis.profilers.emulator import EmulatorProfiler
from hipscope.analysis.profilers.rocm import RocmProfiler
from hipscope.analysis.system.amd_gpu import AmdGpus, find_amd_gpus

__all__ = ["MeasuringProfiler", "Profiler", "ProfilerChoice", "ProfilerRun", "choose_profiler"]


@dataclass(frozen=True)
class ProfilerChoice:
    """The profiler to use. `note` is one line that says why `auto` left a GPU of this machine unused. `arch` is the
    architecture of the GPU that the program will run on; None on the emulator, and where it is not known.
    """

    profiler: Profiler
    note: str | None = None
    arch: str | None = None


def choose_profiler(
    backend: str, arch: str | None, root: Path = Path("/"), environment: Mapping[str, str] | None = None
) -> ProfilerChoice:
    """The profiler of that name for programs that have to be compiled for `arch`; None: for what the GPU is.

    `auto` takes an AMD GPU where this user can profile on it, else the emulator. `root` is where `/dev` and `/sys` are,
    `environment` that of the program, which chooses among several GPUs. Raises `UsageError` for a name that is none.
    """
    gpus = find_amd_gpus(root, {**os.environ, **(environment or {})}) if backend in ("auto", "rocm") else None
    if backend == "auto":
        return _automatic(arch, gpus)
    if backend == "emulator":
        return ProfilerChoice(EmulatorProfiler())
    if backend == "rocm":
        return ProfilerChoice(RocmProfiler(), arch=gpus.archs[0] if gpus is not None and gpus.archs else None)
    raise UsageError(f"unknown backend {backend!r}", "choose auto, emulator or rocm")


def _automatic(arch: str | None, gpus: AmdGpus | None) -> ProfilerChoice:
    if gpus is None:
        return ProfilerChoice(EmulatorProfiler())
    if gpus.obstacle is not None:
        reason = f"{gpus.obstacle} ({gpus.remedy})"
    elif shutil.which("rocprofv3") is None:
        reason = "rocprofv3 is not on PATH (install ROCm's rocprofiler-sdk)"
    elif arch is not None and arch != gpus.archs[0]:
        reason = f'the program is compiled for {arch} (leave out arch, or set arch = "{gpus.archs[0]}")'
    else:
        return ProfilerChoice(RocmProfiler(), arch=gpus.archs[0])
    names = ", ".join(dict.fromkeys(gpus.archs)) or "none visible"
    return ProfilerChoice(EmulatorProfiler(), f"the AMD GPU ({names}) is not used: {reason}")
