"""The rocprofv3 that is installed: what it offers, how it is asked for output, and runs of it.

Takes the executable, gives command lines that this version of it accepts. What it offers is read from its help text,
not from its version: builds differ.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.errors import MissingTool
from hipscope.analysis.profilers.base import ProfilerRun
from hipscope.analysis.system.process import Completed, run_process

_NAME = "rocprofv3"
_DECODER = "librocprof-trace-decoder.so"
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
# Programs that start others on several processes: the profiler goes between.
_LAUNCHERS = ("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "srun", "jsrun", "flux", "aprun")


@dataclass(frozen=True)
class RocmTool:
    """`offers` are the options of its help text. `rocpd`: it writes databases, which came with ROCm 7.0."""

    path: str
    offers: frozenset[str]
    rocpd: bool
    decoder: Path | None

    @property
    def traces_threads(self) -> bool:
        """Whether it can trace waves here: the option and the decoder are there."""
        return "--att" in self.offers and self.decoder is not None

    @property
    def replays_kernels(self) -> bool:
        """Whether one run of the program is enough for all counters."""
        return {"--replay-mode", "--kernel-replay-beta-enabled"} <= self.offers

    def sampling(self, stochastic: bool) -> str | None:
        """The best method of sampling program counters, where the GPU has the `stochastic` one; None: there is none.

        6.4 lists that method, and its library does not have it yet.
        """
        if "--pc-sampling-method" not in self.offers:
            return None
        return "stochastic" if stochastic and self.rocpd else "host_trap"

    def trace_options(self) -> list[str]:
        """For the times of launches, and for copies and calls of the host. A database has statistics of its own."""
        traced = ["--kernel-trace", "--memory-copy-trace", "--hip-runtime-trace"]
        return traced if self.rocpd else [*traced, "--stats"]

    def counter_options(self, groups: Sequence[Sequence[str]], folder: Path) -> list[str]:
        """For counters: on the command line (6.3 and later), or in a file that is written to `folder`."""
        if len(groups) > 1:
            replay = ["--replay-mode", "kernel", "--kernel-replay-beta-enabled"]
            return [*replay, *(word for group in groups for word in ("--pmc", *group))]
        (counters,) = groups
        if "--pmc" in self.offers:
            return ["--pmc", *counters]
        folder.mkdir(parents=True, exist_ok=True)
        asked = folder / "counters.txt"
        asked.write_text(f"pmc: {' '.join(counters)}\n", encoding="ascii")
        return ["-i", str(asked)]

    def version(self) -> str:
        """The tool with its version: what it says itself (7.0 and later), else what ROCm's files say, else bare."""
        said = run_process([self.path, "--version"], timeout=60).text if "--version" in self.offers else ""
        own = re.search(r"(?<!_)\bversion:?\s*(\d[\w.]*)", said)
        rocm = re.search(r"rocm_version:?\s*(\d[\w.]*)", said)
        number = rocm[1] if rocm else self._installed()
        return _NAME + (f" {own[1]}" if own else "") + (f" of ROCm {number}" if number else "")

    def _installed(self) -> str:
        """The version of ROCm that its files name; "" when they do not."""
        try:
            file = Path(self.path).resolve().parent.parent / ".info" / "version"
            return file.read_text(encoding="utf-8").strip().split("-")[0]
        except (OSError, UnicodeDecodeError):
            return ""

    def run(
        self,
        job: ProfilerRun,
        out: Path,
        options: Sequence[str],
        *,
        formats: Sequence[str] = (),
        program: Sequence[str] = (),
    ) -> Completed:
        """Run the program, or another one, with these options; what is recorded goes to `out`."""
        return run_process(
            self.command_line(program or job.built.argv, out, options, formats, job.built.directory),
            timeout=job.config.timeout_s,
            cwd=job.built.directory,
            env={**os.environ, **job.config.env, **job.built.env},
            cancel=job.run.cancel,
        )

    def command_line(
        self,
        program: Sequence[str],
        out: Path,
        options: Sequence[str],
        formats: Sequence[str] = (),
        directory: Path = Path(),
    ) -> list[str]:
        """The whole command. Format, folder and file name differ between versions, so all of them are said.

        Every process writes files of its own. The short option for the format came with 7.0.
        """
        formats = formats or (["rocpd"] if self.rocpd else ["csv", "json"])
        output = ["--output-format", *formats, "-d", str(out), "-o", "out_%pid%"]
        place = _behind_launcher(program, directory)
        return [*program[:place], self.path, *options, *output, "--", *program[place:]]


def find_rocm_tool(job: ProfilerRun | None = None) -> RocmTool:
    """The rocprofv3 on PATH. Raises `MissingTool` when there is none."""
    path = shutil.which(_NAME)
    if path is None:
        raise MissingTool(
            f"{_NAME} is not on PATH", "install ROCm's rocprofiler-sdk, or use --backend emulator"
        )
    said = run_process([path, "--help"], timeout=60, cancel=job.run.cancel if job else None).text
    return RocmTool(
        path, frozenset(_OPTION.findall(said)), bool(re.search(r"\brocpd\b", said)), _decoder(path)
    )


def _behind_launcher(program: Sequence[str], directory: Path) -> int:
    """Where in a command line the program itself stands: behind `mpirun -n 4`, else at its beginning."""
    if Path(program[0]).name not in _LAUNCHERS:
        return 0
    for place, word in enumerate(program[1:], start=1):
        if not word.startswith("-") and _is_program(word, directory):
            return place
    return 0


def _is_program(word: str, directory: Path) -> bool:
    if os.sep in word:
        path = directory / word
        return path.is_file() and os.access(path, os.X_OK)
    return shutil.which(word) is not None


def _decoder(tool: str) -> Path | None:
    """The directory of the thread-trace decoder: where its variable says, or beside the tool."""
    named = os.environ.get("ROCPROF_ATT_LIBRARY_PATH")
    beside = Path(tool).resolve().parent.parent / "lib"
    candidates = [Path(p) for p in (named or "").split(os.pathsep) if p] + [beside]
    return next((d for d in candidates if (d / _DECODER).exists()), None)
