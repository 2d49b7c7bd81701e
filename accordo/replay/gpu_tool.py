"""Recording and replaying dispatches on an AMD GPU, through the HSA tools library and the GPU replayer in native/.

Gives the variables that make a program's own run leave a capture set, and the tool that `replay` drives instead of the
emulator's. Starts nothing itself. A Python interface (docs/gpu-captures.md): no command of hipscope uses it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hipscope.accordo.replay.replay import ReplayTool
from hipscope.emulator.runner import gpu_replay_executable, gpu_tool_library


def gpu_capture_environment(
    out: Path,
    *,
    kernels: Sequence[str] = (),
    per_shape: int | None = None,
    max_bytes: int | None = None,
    timeout_s: float | None = None,
) -> Mapping[str, str]:
    """The variables to add so that a HIP program on this machine's GPU leaves a capture set in `out`.

    `kernels` are mangled names, empty for all; of each kernel and shape `per_shape` launches are recorded, by default
    one. A launch that reaches more than `max_bytes` of memory (1 GiB) is recorded as incomplete, one that does not end
    in `timeout_s` (30 seconds) without a result. Raises NativePartsMissing.
    """
    values = {
        "HSA_TOOLS_LIB": gpu_tool_library(),
        "HIPSCOPE_CAPTURE": out,
        "HIPSCOPE_CAPTURE_KERNELS": ";".join(kernels) or None,
        "HIPSCOPE_CAPTURE_PER_SHAPE": per_shape,
        "HIPSCOPE_CAPTURE_MAX_BYTES": max_bytes,
        "HIPSCOPE_CAPTURE_TIMEOUT_MS": None if timeout_s is None else round(timeout_s * 1000),
    }
    return {name: str(value) for name, value in values.items() if value is not None}


def gpu_replay_tool(*, timeout_s: float = 60.0) -> ReplayTool:
    """The tool that replays on this machine's GPU, at the addresses that were captured. Raises NativePartsMissing."""
    return ReplayTool(argv=(str(gpu_replay_executable()),), timeout_s=timeout_s)
