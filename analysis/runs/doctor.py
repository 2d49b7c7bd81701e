"""What is installed on this machine, what works with it, and the command that fixes what is missing.

Takes a `Config`, gives rows; the renderer decides the form. A missing part is a row, never a failure.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from hipscope.analysis.config import Config
from hipscope.analysis.errors import HipscopeError
from hipscope.analysis.system.amd_gpu import find_amd_gpus
from hipscope.analysis.system.process import run_process
from hipscope.analysis.system.python_packages import install_extra
from hipscope.analysis.system.stale_variables import stale_variables
from hipscope.analysis.toolchain.discovery import (
    Toolchain,
    find_toolchain,
    install_command,
    openmp_package,
    openmp_runtime,
)
from hipscope.analysis.toolchain.libclang import find_library, library_version
from hipscope.emulator.runner import LIBRARY, NativePartsMissing, native_library_dir, replay_executable

Status = Literal["ok", "missing", "optional"]
_SECONDS = 20.0


@dataclass(frozen=True)
class Tool:
    """One row. `status` is `optional` when it is missing and the main job works without it.

    `enables` says what works with it; `fix` is the command (or the sentence) that brings it, empty when it is there.
    """

    name: str
    status: Status
    path: str
    version: str
    enables: str
    fix: str

    @property
    def found(self) -> bool:
        """It is there and usable."""
        return self.status == "ok"


def examine(config: Config, env: Mapping[str, str] = os.environ) -> list[Tool]:
    """Every tool that hipscope can use, in the order in which the main job needs them."""
    try:
        toolchain, problem = find_toolchain(config, env), None
    except HipscopeError as error:
        toolchain, problem = None, error
    return [
        _python(),
        *_stale_variables(env),
        *_compiler_rows(config, toolchain, problem),
        *_emulator_rows(),
        _gpu(),
        _program(
            "rocprofv3",
            env,
            "measured profiles on an AMD GPU",
            "install ROCm 6.2 or newer (package rocprofiler-sdk)",
        ),
        _python_package("dspy", "dspy", "rewrites by a language model", install_extra("llm")),
    ]


def works(rows: Sequence[Tool]) -> bool:
    """The main job runs on this machine: nothing is missing but optional tools."""
    return all(row.status != "missing" for row in rows)


def _python() -> Tool:
    return Tool("hipscope", "ok", sys.prefix, _package_version("hipscope"), "this program", "")


def _stale_variables(env: Mapping[str, str]) -> list[Tool]:
    """Variables of ROCm that lead nowhere: no program that hipscope starts sees them."""
    return [
        Tool(
            name,
            "optional",
            "",
            "",
            "nothing: programs are started without it",
            f"unset {name}   # it {what}",
        )
        for name, what in stale_variables(env).items()
    ]


def _compiler_rows(config: Config, toolchain: Toolchain | None, problem: HipscopeError | None) -> list[Tool]:
    what = f"machine code for {config.arch}"
    if toolchain is None:
        fix = (problem.hint or "").removeprefix("run: ") if problem else ""
        reason = problem.message if problem else ""
        return [Tool("compiler", "missing", "", "", what, f"{fix}  # {reason}" if fix else reason)]
    linker = toolchain.bin / "ld.lld"
    headers = _hip_headers(toolchain)
    libraries = toolchain.device_lib_path or toolchain.rocm_path
    packages = {"debian": "libamdhip64-dev", "rocm": "hip-dev", "config": "libamdhip64-dev"}
    return [
        Tool("compiler", "ok", str(toolchain.clang), toolchain.version, what, ""),
        _file("linker", linker, "GPU code objects", install_command([f"lld-{toolchain.major}"])),
        _file("offload bundler", toolchain.offload_bundler, "programs that carry GPU code", ""),
        _file("disassembler", toolchain.objdump, "the emulator reads instructions with it", ""),
        _file("device libraries", libraries, f"math and runtime functions on {config.arch}", ""),
        _libclang(toolchain),
        Tool(
            "HIP headers",
            "ok" if headers else "missing",
            str(headers[0]) if headers else "",
            headers[1] if headers else "",
            "hip/hip_runtime.h",
            "" if headers else install_command([packages[toolchain.kind]]),
        ),
        _openmp(toolchain),
    ]


def _libclang(toolchain: Toolchain) -> Tool:
    """The library that looks up types in sources; recipes that need them leave such a kernel alone without it."""
    enables = "rewrites of code that names its types (aliases, auto, members)"
    try:
        library = find_library(toolchain.clang)
        found = re.search(r"\d+(?:\.\d+)+", library_version(library.path))
    except HipscopeError as error:
        fix = (error.hint or "").removeprefix("run: ")
        return Tool("libclang", "optional", "", "", enables, f"{fix}  # {error.message}")
    version = (found[0] if found else "") + ("" if library.beside_compiler else " (the wheel's)")
    return Tool("libclang", "ok", str(library.path), version, enables, "")


def _openmp(toolchain: Toolchain) -> Tool:
    runtime, enables = openmp_runtime(toolchain), "programs that are built with -fopenmp"
    if runtime is None:
        return Tool("OpenMP", "optional", "", "", enables, install_command([openmp_package(toolchain)]))
    return Tool("OpenMP", "ok", str(runtime), "", enables, "")


def _emulator_rows() -> list[Tool]:
    rows = []
    for name, locate, enables in (
        (
            "emulator",
            native_library_dir,
            "profiles without a GPU (what it lacks for a program: hipscope emulator --coverage FILE)",
        ),
        ("replay", replay_executable, "proof that a rewrite does the same"),
    ):
        rows.append(_located(name, locate, enables))
    return rows


def _located(name: str, locate: Callable[[], Path], enables: str) -> Tool:
    fix = "make setup   (in a checkout; a wheel has it)"
    try:
        place = locate()
    except NativePartsMissing:
        return Tool(name, "missing", "", "", enables, fix)
    file = place / LIBRARY if place.is_dir() else place
    with file.open("rb") as opened:
        if opened.read(4) != b"\x7fELF":  # a build that was broken off
            return Tool(name, "missing", str(file), "", enables, fix)
    return Tool(name, "ok", str(place), _package_version("hipscope"), enables, "")


def _gpu() -> Tool:
    enables = "measured profiles; without one, times are modelled"
    gpus = find_amd_gpus()
    if gpus is None:
        return Tool("AMD GPU", "optional", "", "", enables, "none that this machine's kernel driver lists")
    names = ", ".join(gpus.archs)
    if gpus.obstacle is not None:
        return Tool("AMD GPU", "optional", "", names, enables, f"{gpus.remedy}   # {gpus.obstacle}")
    return Tool("AMD GPU", "ok", "/dev/kfd", names, enables, "")


def _program(name: str, env: Mapping[str, str], enables: str, fix: str) -> Tool:
    path = shutil.which(name, path=env.get("PATH", os.defpath))
    if path is None:
        return Tool(name, "optional", "", "", enables, fix)
    return Tool(name, "ok", path, _version_of(path), enables, "")


def _python_package(name: str, module: str, enables: str, fix: str) -> Tool:
    spec = importlib.util.find_spec(module)
    if spec is None:
        return Tool(name, "optional", "", "", enables, fix)
    return Tool(name, "ok", str(spec.origin or ""), _package_version(name), enables, "")


def _file(name: str, path: Path | None, enables: str, fix: str) -> Tool:
    if path is None or not path.exists():
        return Tool(name, "missing", "", "", enables, fix or "reinstall the compiler's packages")
    return Tool(name, "ok", str(path), "", enables, "")


def _hip_headers(toolchain: Toolchain) -> tuple[Path, str] | None:
    roots = [*toolchain.include_dirs, Path("/usr/include")]
    if toolchain.rocm_path is not None:
        roots.insert(0, toolchain.rocm_path / "include")
    for root in roots:
        header = root / "hip" / "hip_runtime.h"
        if header.is_file():
            return header, _hip_version(root / "hip" / "hip_version.h")
    return None


def _hip_version(header: Path) -> str:
    try:
        text = header.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    numbers = [
        re.search(rf"#define HIP_VERSION_{part}\s+(\d+)", text) for part in ("MAJOR", "MINOR", "PATCH")
    ]
    return ".".join(match[1] for match in numbers if match)


def _version_of(path: str) -> str:
    try:
        printed = run_process([path, "--version"], timeout=_SECONDS).text
    except HipscopeError:
        return ""
    match = re.search(r"\d+(?:\.\d+)+", printed)
    return match[0] if match else ""


def _package_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
