"""Modelled times of programs on a device whose constants may be changed: shared by benchmarks of the time model."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.parallel import threads_of_each
from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.discovery import Toolchain, find_toolchain
from hipscope.emulator.devices import write_device_config
from hipscope.emulator.raw import RawDispatch, read_dispatches
from hipscope.emulator.runner import EmulatorOptions, emulator_environment

SECONDS = 120.0


class Models:
    """Compiles programs into a folder and runs them on emulated devices of one architecture, `jobs` at a time."""

    def __init__(self, work: Path, arch: str = "gfx942", jobs: int = 1) -> None:
        self.work = work
        self.jobs = jobs
        self.toolchain: Toolchain = find_toolchain(Config(arch=arch))

    def compiled(self, source: Path, *flags: str) -> Path:
        """The program of one source; includes its own folder. Raises CalledProcessError."""
        program = self.work / source.stem
        libraries = self.toolchain.device_lib_path
        argv = [str(self.toolchain.clang), "-w", "-x", "hip", f"--offload-arch={self.toolchain.arch}"]
        argv += ["-O3", *flags]
        argv += [f"--rocm-device-lib-path={libraries}"] if libraries else []
        argv += [
            "-munsafe-fp-atomics",
            "-I",
            str(source.parent),
            str(source),
            "-o",
            str(program),
            "--hip-link",
        ]
        subprocess.run([*argv, "-lstdc++", "-lm"], check=True)
        return program

    def run(
        self,
        program: Path,
        device: str,
        arguments: Sequence[str] = (),
        changes: Mapping[str, float] | None = None,
        seconds: float = SECONDS,
    ) -> tuple[str, tuple[RawDispatch, ...]]:
        """What the program prints, and its launches, all timed. Raises TimeoutExpired and CalledProcessError."""
        with tempfile.TemporaryDirectory(dir=self.work) as folder:
            out = Path(folder)
            options = EmulatorOptions(
                out=out / "out",
                objdump=Path(self.toolchain.objdump),
                device_config=write_device_config(device, out / "device.txt", changes),
                cache=self.work / "cache",
                threads=threads_of_each(self.jobs),
            )
            environment = {**os.environ, **emulator_environment(options), "HIPSCOPE_PROFILE_LAUNCHES": "1000"}
            done = subprocess.run(
                [str(program), *arguments],
                env=environment,
                capture_output=True,
                text=True,
                timeout=seconds,
                check=True,
            )
            return done.stdout, tuple(read_dispatches(out / "out"))


def duration(launch: RawDispatch) -> float:
    """Modelled nanoseconds of a timed launch. Raises ValueError when it was not timed."""
    if launch.start_ns is None or launch.end_ns is None:
        raise ValueError(f"launch {launch.id} of {launch.kernel} was not timed")
    return launch.end_ns - launch.start_ns


def put_between(page: Path, name: str, text: str) -> None:
    """Replace what stands between the markers of `name` on a page. Raises ValueError when they are missing."""
    begin, end = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->\n"
    before, rest = page.read_text(encoding="utf-8").split(begin)
    page.write_text(before + begin + text + end + rest.split(end)[1], encoding="utf-8")
