"""Variables of a project that decide which headers are found: the compiler's own library finds the same ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.run import Run
from hipscope.analysis.semantics.meaning import Units
from hipscope.analysis.system.process import run_process
from hipscope.analysis.toolchain.build import source_command
from hipscope.analysis.toolchain.compiler_files import dependency_flags, include_flags, read_dependencies
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.libclang import find_library
from hipscope.analysis.toolchain.project import resolve_project


@pytest.mark.parametrize("name", ["CPATH", "CPLUS_INCLUDE_PATH"])
@pytest.mark.parametrize("relative", [False, True])
def test_a_header_on_a_search_path_of_the_settings_is_read(name: str, relative: bool, tmp_path: Path) -> None:
    for folder, number in (("first", 3), ("second", 4)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "only_there.h").write_text(f"constexpr int number = {number};\n")
    program = tmp_path / "p.hip"
    program.write_text(
        '#include <only_there.h>\nstatic_assert(number == 3, "the first one");\nint main() {}\n'
    )
    places = ":".join(folder if relative else str(tmp_path / folder) for folder in ("first", "second"))
    toolchain, run = find_toolchain(Config()), Run()
    meanings = {}
    for kind, env in (("with", {name: places}), ("without", {})):
        project = resolve_project(program, config=Config(env=env))
        command = source_command(project, toolchain, program, run)
        meanings[kind] = Units(find_library(toolchain.clang)).meaning(run.texts, command)
    assert not meanings["with"].errors
    assert tmp_path / "first" / "only_there.h" in meanings["with"].includes
    assert "'only_there.h' file not found" in meanings["without"].errors[0].message


def test_an_empty_place_of_a_search_path_is_the_directory_of_the_compile() -> None:
    assert include_flags({"CPATH": ":/a"}) == ("-I", ".", "-I", "/a")
    assert include_flags({"CPATH": "", "PATH": "/b"}) == ()


@pytest.mark.parametrize(
    "name", ["a\tb.h", "a\nb.h", "a b.h", "a#$b.h", 'a"b.h', "'$(a).h", "a: b.h", "\u00e4.h"]
)
def test_a_tab_or_newline_in_a_file_name_is_part_of_it(tmp_path: Path, name: str) -> None:
    source, listed = tmp_path / name, tmp_path / "listed.d"
    source.write_text('#include "other.h"\n')
    (tmp_path / "other.h").write_text("")
    clang = find_toolchain(Config()).clang
    words = [str(clang), "-x", "c", "-E", *dependency_flags(listed), str(source), "-o", "/dev/null"]
    assert run_process(words, timeout=60).ok
    assert set(read_dependencies(listed, tmp_path)) == {source, tmp_path / "other.h"}
