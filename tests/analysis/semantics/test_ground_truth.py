"""The compiler itself, through a plugin, lists the same functions, instances and subscripts as our reading by libclang.

Needs the headers of the toolchain's clang (Debian: libclang-19-dev, llvm-19-dev), beside it or in the directories that
HIPSCOPE_TEST_CLANG_HEADERS names.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.semantics.meaning import Units
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.process import run_process
from hipscope.analysis.toolchain.discovery import find_toolchain
from tests.analysis.semantics.conftest import PROGRAMS, command_for

pytestmark = pytest.mark.slow
SOURCE = Path(__file__).parent / "ground_truth.cpp"
HEADERS = "HIPSCOPE_TEST_CLANG_HEADERS"


def header_directories(clang: Path) -> list[Path]:
    root = clang.resolve().parents[1]
    named = [Path(name) for name in os.environ.get(HEADERS, "").split(":") if name]
    return [*named, root / "include", Path("/usr/include") / root.name]


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    clang = find_toolchain(Config()).clang
    directories = header_directories(clang)
    if not any((d / "clang" / "AST" / "RecursiveASTVisitor.h").is_file() for d in directories):
        pytest.skip(f"no headers of {clang} (libclang-19-dev and llvm-19-dev, or {HEADERS})")
    made = tmp_path_factory.mktemp("plugin") / "plugin.so"
    options: list[str | Path] = [
        "-shared",
        "-fPIC",
        "-fno-rtti",
        "-std=c++17",
        *(f"-isystem{d}" for d in directories),
    ]
    built = run_process([clang, *options, SOURCE, "-o", made], timeout=900)
    assert built.ok, built.text
    return made


@pytest.mark.parametrize("program", ["shapes.hip"])
def test_functions_and_subscripts_are_those_of_the_compiler(
    plugin: Path, toolchain_units: Units, program: str
) -> None:
    file = PROGRAMS / program
    command = command_for(file, f"-isystem{PROGRAMS / 'lib'}")
    meaning = toolchain_units.meaning(SourceTexts(), command)
    clang = find_toolchain(Config()).clang
    flags = ["-fsyntax-only", "-nogpulib", "-x", "hip", *command.flags, "--cuda-device-only"]
    listed = run_process([clang, f"-fplugin={plugin}", *flags, file], timeout=300)
    assert listed.ok, listed.text
    lines = [line.split(" ", 4) for line in listed.stdout.decode().splitlines()]
    functions = {line[1] for line in lines if line[0] == "F"}
    subscripts = {(line[1], int(line[2]), int(line[3]), line[4]) for line in lines if line[0] == "S"}
    ours = {
        (str(f.key), *place.span, kind.canonical)
        for f in meaning.by_key.values()
        for place, kind in f.types.items()
        if place.file == file
    }

    assert len(functions) > 15
    assert len(subscripts) > 30
    assert {
        str(f.key) for f in meaning.by_key.values() if f.place.file == file
    } == functions  # it has no constructors
    assert subscripts <= ours
