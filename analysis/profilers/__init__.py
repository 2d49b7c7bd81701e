"""Profilers: each runs the built program once (or a few times) and leaves a capture directory.

Takes a `ProfilerRun`, gives files in rocprofv3's layout. Which one fits is decided here.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from hipscope.analysis.errors import UsageError
from hipscope.analysis.profilers.base import MeasuringProfiler, Profiler, ProfilerRun
from hipscope.analysis.profilers.emulator import EmulatorProfiler
from hipscope.analysis.profilers.rocm import RocmProfiler

__all__ = ["MeasuringProfiler", "Profiler", "ProfilerRun", "choose_profiler"]

_KFD = Path("/dev/kfd")


def choose_profiler(backend: str) -> Profiler:
    """The profiler of that name; `auto` takes an AMD GPU when there is one with rocprofv3, else the emulator."""
    if backend == "auto":
        return RocmProfiler() if _KFD.exists() and shutil.which("rocprofv3") else EmulatorProfiler()
    if backend == "emulator":
        return EmulatorProfiler()
    if backend == "rocm":
        return RocmProfiler()
    if backend == "nvidia":
        raise UsageError("the nvidia backend is not available yet", "use --backend emulator or rocm")
    raise UsageError(f"unknown backend {backend!r}", "choose auto, emulator or rocm")
