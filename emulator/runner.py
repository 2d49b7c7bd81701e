"""Where the native parts are, and the environment that makes a program use them.

Takes options, gives paths and the variables to add. It starts nothing: callers own their processes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LIBRARY = "libamdhip64.so"
REPLAY = "hipscope-replay"
COVERAGE = "hipscope-coverage"
GPU_REPLAY = "hipscope-gpu-replay"
GPU_TOOL = "libhipscope-hsa-tool.so"
_STAND_INS = "stand_ins"


class NativePartsMissing(Exception):
    """The emulator's library or replay program has not been built."""


@dataclass(frozen=True)
class EmulatorOptions:
    """How the runtime behaves inside the program.

    `out` receives the raw output; None runs the program without recording. `capture` receives dispatches for
    replay. `effects_bytes` has noted what launches leave in so many bytes of memory, and copies to the host. `sanitize`
    runs everything under these checks ("all", or names with commas) and needs `out`. After
    `time_limit_s` a kernel that still runs is stopped with a fault. What events say lies between them is
    `clock_percent` of the modelled time. `keep_going`: accesses out of bounds are told and
    left out. `poison` is the seed of what LDS, scratch and registers hold before each launch, `poison_inverted` the
    other value in every bit of it. `libraries` are folders with more libraries that the
    program may need. Times are seconds, sizes bytes; None leaves the runtime's own default.
    """

    out: Path | None = None
    objdump: Path | None = None
    device_config: Path | None = None
    cache: Path | None = None
    threads: int = 0
    time_budget_s: float | None = None
    time_limit_s: float | None = None
    profile_launches: int | None = None
    seed: int | None = None
    compiler: Sequence[str] = field(default_factory=tuple)  # command line of the compiler that hipRTC calls
    capture: Path | None = None
    capture_kernels: Sequence[str] = field(default_factory=tuple)
    capture_per_shape: int | None = None
    capture_variants: int | None = None
    capture_max_bytes: int | None = None
    capture_all_bytes: int | None = None
    effects_bytes: int | None = None
    sanitize: str | None = None
    clock_percent: int | None = None
    keep_going: bool = False
    poison: int | None = None
    poison_inverted: bool = False
    libraries: Sequence[Path] = ()


def native_library_dir() -> Path:
    """The directory with libamdhip64.so and its versioned names. Raises `NativePartsMissing`."""
    return _find(LIBRARY).parent


def header_overlay() -> Path:
    """The include directory with what newer HIP headers have, for compilers that use older ones."""
    return Path(__file__).resolve().parent / "overlay"


def stand_in_headers() -> Path:
    """The include directory of the libraries of ROCm that the emulator stands in for, where there are no others."""
    return Path(__file__).resolve().parent / _STAND_INS


def stand_in_libraries() -> Path:
    """The directory with these libraries. Raises `NativePartsMissing`."""
    return native_library_dir() / _STAND_INS


def replay_executable() -> Path:
    """The program that replays one captured dispatch. Raises `NativePartsMissing`."""
    return _find(REPLAY)


def coverage_executable() -> Path:
    """The program that names the instructions and calls that are not emulated. Raises `NativePartsMissing`."""
    return _find(COVERAGE)


def gpu_replay_executable() -> Path:
    """The program that replays one captured dispatch on this machine's GPU. Raises `NativePartsMissing`."""
    return _find(GPU_REPLAY)


def gpu_tool_library() -> Path:
    """The HSA tools library that records dispatches on a GPU. Raises `NativePartsMissing`."""
    return _find(GPU_TOOL)


def emulator_environment(options: EmulatorOptions, given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables to add so that a dynamically linked HIP program runs on the emulator.

    `given` is the environment that they are added to: LD_LIBRARY_PATH keeps what it has there, behind the emulator's
    directory and before `options.libraries`.
    """
    own, *more = dict.fromkeys((native_library_dir(), *options.libraries))
    paths = [str(own), *filter(None, [given.get("LD_LIBRARY_PATH")]), *map(str, more)]
    milliseconds = None if options.time_budget_s is None else round(options.time_budget_s * 1000)
    values = {
        "LD_LIBRARY_PATH": os.pathsep.join(paths),
        "HIPSCOPE_OUT": options.out,
        "HIPSCOPE_OBJDUMP": options.objdump,
        "HIPSCOPE_DEVICE_CONFIG": options.device_config,
        "HIPSCOPE_CACHE": options.cache,
        "HIPSCOPE_THREADS": options.threads or None,
        "HIPSCOPE_TIME_BUDGET_MS": milliseconds,
        "HIPSCOPE_TIME_LIMIT_MS": None
        if options.time_limit_s is None
        else round(options.time_limit_s * 1000),
        "HIPSCOPE_PROFILE_LAUNCHES": options.profile_launches,
        "HIPSCOPE_SEED": options.seed,
        "HIPSCOPE_HIPRTC": "\n".join(options.compiler) or None,
        "HIPSCOPE_CAPTURE": options.capture,
        "HIPSCOPE_CAPTURE_KERNELS": ";".join(options.capture_kernels) or None,
        "HIPSCOPE_CAPTURE_PER_SHAPE": options.capture_per_shape,
        "HIPSCOPE_CAPTURE_VARIANTS": options.capture_variants,
        "HIPSCOPE_EFFECTS_BYTES": options.effects_bytes,
        "HIPSCOPE_CAPTURE_MAX_BYTES": options.capture_max_bytes,
        "HIPSCOPE_CAPTURE_ALL_BYTES": options.capture_all_bytes,
        "HIPSCOPE_SANITIZE": options.sanitize,
        "HIPSCOPE_CLOCK_PERCENT": options.clock_percent,
        "HIPSCOPE_KEEP_GOING": 1 if options.keep_going else None,
        "HIPSCOPE_POISON": options.poison,
        "HIPSCOPE_POISON_INVERTED": 1 if options.poison_inverted else None,
    }
    return {name: str(value) for name, value in values.items() if value is not None}


def _find(name: str) -> Path:
    for directory in _directories():
        if (directory / name).exists():
            return directory / name
    raise NativePartsMissing(f"the emulator's {name} has not been built (looked in {_listed()})")


def _directories() -> Iterator[Path]:
    """The installed package's own folders, then the build tree of a checkout."""
    override = os.environ.get("HIPSCOPE_NATIVE_DIR")
    if override:
        yield Path(override)
        return
    here = Path(__file__).resolve().parent
    for base in (here, here.parent / "build" / "native"):
        yield from (base, base / "lib", base / "bin", base / "emulator" / "native")


def _listed() -> str:
    return ", ".join(str(d) for d in _directories() if d.is_dir()) or "no directory that exists"
