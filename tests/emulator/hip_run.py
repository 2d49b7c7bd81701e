"""Builds HIP programs, from their text or a file, and runs them on the emulator; builds are cached by content."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.devices import write_device_config
from hipscope.emulator.runner import EmulatorOptions, emulator_environment

HEADER = """
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#define CHECK(call) do { hipError_t e_ = (call); if (e_ != hipSuccess) { \\
    std::printf("line %d: %s\\n", __LINE__, hipGetErrorName(e_)); std::exit(1); } } while (0)
"""


@dataclass(frozen=True)
class Command:
    """How a program that was built is started on the emulator."""

    argv: list[str]
    env: dict[str, str]


@dataclass(frozen=True)
class Ended:
    """What a program left behind."""

    stdout: str
    stderr: str
    returncode: int


def run_hip(
    text: str,
    folder: Path,
    *,
    threads: int = 2,
    profile: bool = False,
    flags: tuple[str, ...] = (),
    device_flags: tuple[str, ...] = (),
    **env: str,
) -> Ended:
    """Compile `HEADER + text` with the tests' compiler and run it in `folder`; profiled on an MI300A when asked."""
    command = build_hip(
        text, folder, threads=threads, profile=profile, flags=flags, device_flags=device_flags, **env
    )
    done = subprocess.run(
        command.argv,
        cwd=folder,
        env=command.env,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Ended(done.stdout, done.stderr, done.returncode)


def build_hip(
    text: str,
    folder: Path,
    *,
    threads: int = 2,
    profile: bool = False,
    flags: tuple[str, ...] = (),
    device_flags: tuple[str, ...] = (),
    **env: str,
) -> Command:
    """What `run_hip` runs, for tests that do something to it while it runs."""
    source = folder / "program.hip"
    source.write_text(HEADER + text)
    config = Config()
    toolchain = find_toolchain(config)
    project = resolve_project(source, config=config)
    built = build_program(
        project, replace(toolchain, flags=(*toolchain.flags, *flags)), device_flags=device_flags
    )
    options = EmulatorOptions(objdump=toolchain.objdump, compiler=toolchain.compiler, threads=threads)
    if profile:
        device = write_device_config("mi300a", folder / "device.txt")
        options = replace(options, out=folder / "out", device_config=device)
    return Command(
        argv=list(built.argv), env={**os.environ, **built.env, **emulator_environment(options), **env}
    )


def record(
    source: Path, folder: Path, device: str, launches: int | None = None, **changes: float | str
) -> Path:
    """Run the program of a file with so many launches of each kernel profiled, on a device of which some rows are
    changed. Returns where the records are."""
    toolchain = find_toolchain(Config())
    built = build_program(resolve_project(source), toolchain)
    options = EmulatorOptions(
        out=folder / "out",
        objdump=toolchain.objdump,
        device_config=write_device_config(device, folder / "device.txt", changes),
        profile_launches=launches,
    )
    environment = {**os.environ, **built.env, **emulator_environment(options)}
    subprocess.run(built.argv, env=environment, check=True, timeout=300)
    return folder / "out"
