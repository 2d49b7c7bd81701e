"""The flags of a recorded compiler call, as the program was built with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.system.process import run_process
from hipscope.analysis.toolchain.compile_commands import (
    assumes_finite,
    from_cmake,
    from_record,
    recorded_units,
)


@pytest.mark.parametrize(
    ("given", "flags"),
    [
        (["-g", "-DN=4"], ("-O3", "-DN=4")),
        (["-O1", "-DN=4"], ("-O1", "-DN=4")),
        (["-Ofast"], ("-Ofast",)),
    ],
)
def test_gpu_code_is_optimized_unless_the_call_says_how_far(
    tmp_path: Path, given: list[str], flags: tuple[str, ...]
) -> None:
    record, source = tmp_path / "record", tmp_path / "main.hip"
    record.mkdir()
    source.write_text("")
    words = [str(tmp_path), "-c", *given, "main.hip", "-o", "main.o"]
    (record / "1-1").write_bytes(b"\0".join(word.encode() for word in words))
    command = from_record(source, record)
    assert command is not None
    assert command.flags == flags


def test_of_several_sources_in_one_call_each_has_the_files_that_its_text_leads_to(tmp_path: Path) -> None:
    """`hipcc main.cu host.cpp -o main`: kernels in a header of main.cu are in no code of host.cpp."""
    record, headers = tmp_path / "record", tmp_path / "inc"
    record.mkdir()
    headers.mkdir()
    texts = {
        "main.cu": '#include "common.h"\n  #  include <kernels.cu>\n#include MACRO\n',
        "host.cpp": '#include "../inc/common.h"\n',
        "inc/common.h": "",
        "inc/kernels.cu": '#include "tile.h"\n',
        "inc/tile.h": "",
        "inc/behind_a_macro.h": "",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    words = [str(tmp_path), "-Iinc", "host.cpp", "main.cu", "-o", "main"]
    (record / "1-1").write_bytes(b"\0".join(word.encode() for word in words))
    (record / "1-1.included").write_text("\n".join(name for name in texts if "/" in name))
    units = recorded_units(record)
    names = {unit.name: {file.name for file in files} for unit, files in units.items()}
    assert names == {
        "main.cu": {"common.h", "kernels.cu", "tile.h", "behind_a_macro.h"},
        "host.cpp": {"common.h", "behind_a_macro.h"},
    }


def test_flags_of_a_configured_cmake_project_come_from_its_file_api(tmp_path: Path) -> None:
    """CMake itself writes the reply: a build folder that an editor configured, without compile_commands.json."""
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(one CXX)\nadd_executable(app src/app.cpp)\n"
        'target_compile_definitions(app PRIVATE TILE=32 "NAME=\\"a b\\"")\n'
        "target_include_directories(app PRIVATE include)\ntarget_compile_options(app PRIVATE -ffast-math)\n"
        "target_compile_features(app PRIVATE cxx_std_20)\n"
    )
    source = tmp_path / "src" / "app.cpp"
    source.parent.mkdir()
    source.write_text("int main() {}\n")
    query = tmp_path / "build" / ".cmake" / "api" / "v1" / "query"
    query.mkdir(parents=True)
    assert from_cmake(source, tmp_path) is None
    (query / "codemodel-v2").touch()
    run_process(["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build")], timeout=60)
    command = from_cmake(source, source.parent)
    assert command is not None
    assert command.directory == tmp_path / "build"
    assert {"-DTILE=32", '-DNAME="a b"', "-ffast-math"} <= set(command.flags)
    assert command.flags[command.flags.index("-I") + 1] == str(tmp_path / "include")
    assert any("++2" in flag for flag in command.flags)
    assert from_cmake(source.with_name("other.cpp"), tmp_path) is None


@pytest.mark.parametrize(
    ("flags", "assumes"),
    [
        ("-O3", False),
        ("-O3 -ffast-math", True),
        ("-Ofast -g", True),
        ("-ffinite-math-only -O2", True),
        ("-ffast-math -fno-finite-math-only", False),
        ("-ffast-math -fhonor-nans", False),
        ("-fno-fast-math -ffast-math", True),
    ],
)
def test_the_last_flag_says_whether_the_compiler_may_assume_that_floats_are_finite(
    flags: str, *, assumes: bool
) -> None:
    assert assumes_finite(flags.split()) is assumes
