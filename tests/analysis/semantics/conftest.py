"""Each libclang that is here, and one reading of a program by it for all tests that ask about that program."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.errors import MissingTool
from hipscope.analysis.semantics.bindings import load
from hipscope.analysis.semantics.meaning import Meaning, Units
from hipscope.analysis.semantics.records import Library, SourceCommand
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.libclang import find_library

PROGRAMS = Path(__file__).parent / "programs"
MORE = "HIPSCOPE_TEST_LIBCLANG"  # more libraries, separated by colons


def libraries() -> dict[str, Path]:
    """Every libclang of this machine by version: the toolchain's, the wheel's, those that are named."""
    found = [find_library(find_toolchain(Config()).clang).path]
    found += [path.resolve() for path in Path("/usr/lib").glob("llvm-*/lib/libclang-*.so.1")]
    found += [Path(name) for name in os.environ.get(MORE, "").split(":") if name]
    try:
        files = importlib.metadata.files("libclang") or ()
        found += [Path(str(file.locate())) for file in files if file.name == "libclang.so"]
    except importlib.metadata.PackageNotFoundError:
        pass
    named = {}
    for path in dict.fromkeys(found):
        try:
            named[f"libclang {load(path).major}"] = path
        except MissingTool:
            continue
    return named


@pytest.fixture(scope="session", params=[*libraries()])
def units(request: pytest.FixtureRequest) -> Units:
    own = find_library(find_toolchain(Config()).clang)
    return Units(Library(libraries()[request.param], own.resource_directory, False))


@pytest.fixture(scope="session")
def toolchain_units() -> Units:
    return Units(find_library(find_toolchain(Config()).clang))


Reader = Callable[..., Meaning]


def command_for(file: Path, *flags: str) -> SourceCommand:
    return SourceCommand(
        file, file.parent, (*find_toolchain(Config()).hip_flags, "-std=c++17", *flags), (file.parent,)
    )


@pytest.fixture
def read(units: Units, place: Path) -> Reader:
    """Writes a file, with the HIP header above it, and reads it with each library: the header once for all of them."""

    def reading(text: str | bytes, *, symbols: tuple[str, ...] = ()) -> Meaning:
        data = text.encode() if isinstance(text, str) else text
        file = place / "p.hip"
        file.write_bytes(b"#include <hip/hip_runtime.h>\n" + data)
        return units.meaning(SourceTexts(), command_for(file), symbols)

    return reading


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("read")
