"""Finds the libclang that belongs to a compiler.

Takes the path of the compiler that builds, gives the shared library and the compiler's resource directory. Looks beside
the compiler first, then for the wheel `libclang` among the installed packages (whose library reads the same sources).
"""

from __future__ import annotations

import functools
import importlib.metadata
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from hipscope.analysis.errors import BuildFailed, MissingTool, UsageError
from hipscope.analysis.run import Run
from hipscope.analysis.semantics.bindings import load
from hipscope.analysis.semantics.meaning import Meaning, Units
from hipscope.analysis.semantics.records import FunctionInstance, Library
from hipscope.analysis.semantics.units import NotReadable
from hipscope.analysis.system.process import run_process
from hipscope.analysis.toolchain.build import source_command
from hipscope.analysis.toolchain.discovery import Toolchain
from hipscope.analysis.toolchain.project import Project

FIX = "pip install 'hipscope[libclang]'"
_SECONDS = 20.0


def units_for(clang: Path) -> Units:
    """The translation units of this process for a compiler; made once. Raises MissingTool as `find_library` does."""
    return _units(find_library(clang))


def meaning_of(
    project: Project, toolchain: Toolchain, file: Path, run: Run, symbols: Collection[str]
) -> Meaning | None:
    """What the compiler says of a file, with these kernels in it; None where it cannot be asked."""
    try:
        command = source_command(project, toolchain, file, run)
        return units_for(toolchain.clang).meaning(run.texts, command, symbols)
    except (BuildFailed, MissingTool, NotReadable, UsageError):
        return None


def instances_of(
    project: Project, toolchain: Toolchain, file: Path, run: Run, symbols: Collection[str]
) -> Callable[[str], FunctionInstance | None]:
    """The same kernel by kernel; the file is read when the first one is asked for."""

    @functools.cache
    def read() -> Meaning | None:
        return meaning_of(project, toolchain, file, run, symbols)

    return lambda symbol: meaning.function(symbol) if (meaning := read()) is not None else None


@functools.lru_cache(maxsize=1)
def _units(library: Library) -> Units:
    return Units(library)


def find_library(clang: Path) -> Library:
    """The library to read sources with that `clang` compiles. Raises MissingTool with the command that brings one."""
    beside = next(_beside(clang), None)
    path = beside or next(_from_wheel(), None)
    if path is None:
        raise MissingTool(f"no libclang beside {clang}", f"run: {FIX}")
    stamp = clang.stat()
    return Library(path, _resource_directory(clang, stamp.st_mtime_ns), beside is not None)


def library_version(path: Path) -> str:
    """What a library says of itself. Raises MissingTool for a file that is no libclang, or too old."""
    return load(path).version


def _beside(clang: Path) -> Iterator[Path]:
    """The libraries of the compiler's own installation, the newest first."""
    for root in dict.fromkeys((clang.resolve().parents[1], clang.absolute().parents[1])):
        for folder in (root / "lib", root / "lib64", root / "lib" / "llvm" / "lib"):
            found = {path.resolve() for path in folder.glob("libclang*.so*") if _is_library(path.name)}
            yield from sorted(found, key=lambda path: _numbers(path.name), reverse=True)


def _from_wheel() -> Iterator[Path]:
    try:
        files = importlib.metadata.files("libclang") or ()
    except importlib.metadata.PackageNotFoundError:
        return
    for file in files:
        if _is_library(file.name) and (path := Path(str(file.locate()))).is_file():
            yield path


def _is_library(name: str) -> bool:
    """`libclang.so.19.1`, `libclang-19.so.1`; not `libclang-cpp.so`, `libclang_rt.asan.so`."""
    return re.fullmatch(r"libclang(-\d+)?\.so(\.[\d.]+)?", name) is not None


def _numbers(text: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", text)]


@functools.lru_cache(maxsize=8)
def _resource_directory(clang: Path, _modified_ns: int) -> Path:
    asked = run_process([clang, "-print-resource-dir"], timeout=_SECONDS)
    directory = Path(asked.stdout.decode("utf-8", "replace").strip())
    if not asked.ok or not directory.is_dir():
        raise MissingTool(f"{clang} does not name the directory of its own headers", "reinstall its packages")
    return directory
