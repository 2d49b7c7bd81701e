"""Precompiled preambles: what a source begins with, the same code with and without, and never a stale one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.run import Run
from hipscope.analysis.system.process import Completed, run_process
from hipscope.analysis.toolchain import build
from hipscope.analysis.toolchain.build import build_program, compile_device, precompile_headers
from hipscope.analysis.toolchain.code_object import machine_code
from hipscope.analysis.toolchain.compiler_files import read_dependencies
from hipscope.analysis.toolchain.discovery import Toolchain
from hipscope.analysis.toolchain.precompiled_headers import preamble_of
from hipscope.analysis.toolchain.project import Project, resolve_project
from tests.plain_hip import PLAIN_HIP
from tests.unsaved import unsaved

KERNEL = "__global__ void scale(float* x) { x[threadIdx.x] *= FACTOR; }\n"


@pytest.mark.parametrize(
    ("text", "includes", "rest"),
    [
        ("#include <a>\n#include <b>\nint x;", "<a> <b>", "int x;"),
        ("// words\n\n/* more\nwords */ # include <a> // why\n\n\nint x;", "<a>", "\n\nint x;"),
        ("#include <a>\r\nint x;", "<a>", "int x;"),
        ('#include <a>\n#include "b.h"\n#include <c>\n', "<a>", '#include "b.h"\n#include <c>\n'),
        ("#include <a>\n#define X 1\n#include <b>\n", "<a>", "#define X 1\n#include <b>\n"),
        ("// goes on \\\n#include <a>\n", "", "// goes on \\\n#include <a>\n"),
        ("#if 1\n#include <a>\n#endif\n", "", "#if 1\n#include <a>\n#endif\n"),
        ("#include <a>", "", "#include <a>"),
        ("int x; \n#include <a>\n", "", "int x; \n#include <a>\n"),
        ("", "", ""),
    ],
)
def test_a_preamble_is_the_includes_of_system_headers_at_the_start(
    text: str, includes: str, rest: str
) -> None:
    found = preamble_of(text.encode())
    assert found.text.decode() == "".join(f"#include {i}\n" for i in includes.split())
    assert text.encode()[found.size :].decode() == rest


class Calls(list[Sequence[str]]):
    """The compiler calls of a test."""

    @property
    def with_preamble(self) -> list[bool]:
        return ["-include-pch" in words for words in self]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    seen = Calls()

    def recorded(argv: Sequence[Any], **options: Any) -> Completed:
        if "-c" in argv:
            seen.append([str(a) for a in argv])
        return run_process(argv, **options)

    monkeypatch.setattr(build, "run_process", recorded)
    return seen


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A kernel that begins with a header of its own, found by -I, and without those of HIP."""
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "plain_hip.hpp").write_text(PLAIN_HIP)
    (tmp_path / "include" / "factor.hpp").write_text("#define FACTOR 3.0f\n")
    (tmp_path / "main.hip").write_text(
        f"#include <factor.hpp>\n#include <plain_hip.hpp>\n{KERNEL}int main() {{}}\n"
    )
    config = Config(flags=["-nogpuinc", f"-I{tmp_path / 'include'}"])
    return resolve_project(tmp_path / "main.hip", config=config)


@pytest.mark.parametrize("above", ["", '#include "own.h"\n'], ids=["system headers", "a header of its own"])
def test_both_sides_of_a_program_are_the_same_byte_for_byte(
    program: Path,
    toolchain: Toolchain,
    calls: Calls,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    above: str,
) -> None:
    """Before a header of its own, only what the compiler itself includes is precompiled."""
    (program.parent / "own.h").write_text("#define OWN 1\n")
    program.write_text(above + program.read_text())
    project = resolve_project(program)
    precompile_headers(project, toolchain, Run())
    ahead = build_program(project, toolchain)
    assert calls.with_preamble == [True, True]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    monkeypatch.setattr(build, "_preamble", lambda *_, **__: None)
    plain = build_program(project, toolchain)
    assert calls.with_preamble == [True, True, False, False]
    assert plain.argv[0] != ahead.argv[0]
    assert plain.code_objects[0].read_bytes() == ahead.code_objects[0].read_bytes()
    assert Path(plain.argv[0]).read_bytes() == Path(ahead.argv[0]).read_bytes()
    lists = [
        set(read_dependencies(one.code_objects[0].with_name("dependencies.d"), tmp_path))
        for one in (plain, ahead)
    ]
    assert {p.name for p in lists[0] ^ lists[1]} <= {"preamble.hip", "preamble.pch"}


def test_one_precompiled_header_serves_programs_with_other_headers_of_the_library(
    tmp_path: Path, toolchain: Toolchain, empty_cache: Path, calls: Calls
) -> None:
    for name, more in (("a", "<cstdio>"), ("b", "<vector>"), ("c", "<cstdio>\n#include <vector>")):
        source = tmp_path / f"{name}.hip"
        source.write_text(
            f"#include <hip/hip_runtime.h>\n#include {more}\n{KERNEL}int main() {{}}\n".replace("FACTOR", "2")
        )
        compile_device(resolve_project(source, config=Config()), toolchain, source, Run())
    assert calls.with_preamble == [False, True, True]
    assert len(list((empty_cache / "preambles").glob("*/*/preamble.pch"))) == 1


def test_a_header_that_changed_is_read_anew(project: Project, toolchain: Toolchain, calls: Calls) -> None:
    assert project.main_source is not None
    first = _code(project, toolchain, project.main_source.read_bytes())
    (project.root / "include" / "factor.hpp").write_text("#define FACTOR 4.0f\n")
    assert _code(project, toolchain, project.main_source.read_bytes()) != first
    (project.root / "include" / "factor.hpp").write_text("#define FACTOR 3.0f\n")
    assert _code(project, toolchain, project.main_source.read_bytes()) == first


def test_an_unsaved_header_is_what_counts(project: Project, toolchain: Toolchain, calls: Calls) -> None:
    assert project.main_source is not None
    precompile_headers(project, toolchain, Run())
    saved = _code(project, toolchain, project.main_source.read_bytes())
    header = project.root / "include" / "factor.hpp"
    built = build_program(project, toolchain, unsaved(header, b"#define FACTOR 5.0f\n"))
    assert built.code_objects[0].read_bytes() != saved
    assert calls.with_preamble == [True, False, False]


def test_a_damaged_precompiled_header_costs_time_only(
    project: Project, toolchain: Toolchain, empty_cache: Path, calls: Calls
) -> None:
    assert project.main_source is not None
    text = project.main_source.read_bytes()
    source = project.main_source
    first = machine_code(compile_device(project, toolchain, source, unsaved(source, text)).path)
    _code(project, toolchain, text + b"// second\n")
    assert calls.with_preamble == [False, True]  # made when it was asked for again
    (header,) = (empty_cache / "preambles").glob("*/*/preamble.pch")
    header.write_bytes(b"CPCH" + bytes(1000))
    third = compile_device(project, toolchain, source, unsaved(source, text + b"// third\n"))
    assert machine_code(third.path) == first
    assert calls.with_preamble == [False, True, True, False]


def test_a_header_with_a_warning_is_not_precompiled(
    project: Project, toolchain: Toolchain, calls: Calls
) -> None:
    (project.root / "include" / "factor.hpp").write_text("#warning old\n#define FACTOR 3.0f\n")
    assert project.main_source is not None
    text = project.main_source.read_bytes()
    for more in (b"", b"// again\n", b"// and again\n"):
        assert "old" in build_program(project, toolchain, unsaved(project.main_source, text + more)).output
    assert not any(calls.with_preamble)


def test_the_first_of_many_compiles_makes_one_for_the_others_of_a_build_command(
    project: Project, toolchain: Toolchain, empty_cache: Path, calls: Calls
) -> None:
    source = project.root / "main.hip"
    config = Config(build="hipcc -nogpuinc -Iinclude -c main.hip -o main.o", run="true")
    project = resolve_project(project.root, config=config)
    plain = compile_device(project, toolchain, source, Run(), first=True)
    more = unsaved(source, source.read_bytes() + b"// more\n")
    assert machine_code(compile_device(project, toolchain, source, more).path) == machine_code(plain.path)
    assert calls.with_preamble == [True, True]
    assert len(list((empty_cache / "preambles").glob("*/*/preamble.pch"))) == 1


def test_what_is_confined_makes_none(project: Project, toolchain: Toolchain, empty_cache: Path) -> None:
    assert project.main_source is not None
    compile_device(project, toolchain, project.main_source, Run(), confined=True)
    assert not (empty_cache / "preambles").exists()


def _code(project: Project, toolchain: Toolchain, text: bytes) -> bytes:
    assert project.main_source is not None
    return compile_device(
        project, toolchain, project.main_source, unsaved(project.main_source, text)
    ).path.read_bytes()
