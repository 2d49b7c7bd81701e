"""What a Makefile, a CMakeLists.txt or sources alone say about how a program is built and run."""

from pathlib import Path

import pytest

from hipscope.analysis.errors import BuildFailed, UsageError
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.build_files import propose_build
from hipscope.analysis.toolchain.discovery import Toolchain
from hipscope.analysis.toolchain.project import resolve_project

MAIN = "#include <hip/hip_runtime.h>\nint other();\nint main() { return other(); }\n"


def lines(directory: Path) -> tuple[str, ...]:
    found = propose_build(directory)
    assert found is not None
    return found.lines


def make(directory: Path, text: str, **sources: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "Makefile").write_text(text)
    for name, source in (sources or {"main": MAIN}).items():
        (directory / f"{name}.cpp").write_text(source)
    return directory


def test_a_makefile_is_asked_for_its_program_and_how_it_is_run(tmp_path: Path) -> None:
    make(
        tmp_path / "src",
        "SIZE = 64\nobj = main.o\napp: $(obj)\n\thipcc -o $@ $^\n%.o: %.cpp\n\thipcc -c $< -o $@\n"
        "run: app\n\tDEBUG=1 ./app $(SIZE) 2\n",
    )
    assert lines(tmp_path / "src") == ('build = "make"', 'run = "./app 64 2"')


def test_a_first_goal_that_runs_the_program_is_not_the_one_that_is_built(tmp_path: Path) -> None:
    make(tmp_path, "all: app test\napp: main.cpp\n\thipcc $< -o ./$@\ntest: app\n\t./app --quick\n")
    assert lines(tmp_path) == ('build = "make app"', 'run = "./app --quick"')


@pytest.mark.parametrize(
    "assigned", ["HIPCC=$(HIP_PATH)/bin/hipcc", "HIPCC ?= /opt/rocm/bin/hipcc  # the compiler"]
)
def test_a_compiler_that_is_named_by_its_path_is_called_by_its_name(tmp_path: Path, assigned: str) -> None:
    make(tmp_path, f"HIP_PATH = /opt/rocm\n{assigned}\napp: main.cpp\n\t$(HIPCC) -o $@ $<\n")
    assert lines(tmp_path)[0] == 'build = "make HIPCC=hipcc"'


def test_a_makefile_that_looks_for_its_compiler_finds_one(tmp_path: Path) -> None:
    make(
        tmp_path,
        "HIPCC := $(shell which hipcc)\n"
        "ifeq ($(HIPCC),)\n$(error no hipcc)\nendif\napp: main.cpp\n\t$(HIPCC) -o $@ $<\n",
    )
    assert lines(tmp_path) == ('build = "make"', 'run = "./app"')


def test_folders_beside_it_that_the_program_reads_belong_to_it(tmp_path: Path) -> None:
    for name in ("shared", "data", "not ours"):
        (tmp_path / name).mkdir()
    (tmp_path / "shared" / "ref.h").write_text("")
    (tmp_path / "data" / "in.txt").write_text("")
    here = make(
        tmp_path / "app-hip",
        "app: main.cpp\n\thipcc -I.. -o $@ $<\nrun: app\n\t./app ../data/in.txt\n",
        main='#include "../shared/ref.h"\n' + MAIN,
    )
    assert lines(here)[1:] == ('run = "./app ../data/in.txt"', 'source_dirs = [".", "../data", "../shared"]')


def test_nothing_of_a_makefile_is_executed_that_writes(tmp_path: Path) -> None:
    make(tmp_path, "-include parts.d\nparts.d:\n\ttouch $@\napp: main.cpp\n\thipcc -o $@ $<\n")
    propose_build(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Makefile", "main.cpp"]


def test_what_make_refuses_is_said_and_the_sources_are_taken(tmp_path: Path) -> None:
    make(tmp_path, "app: main.cpp gone.h\n\thipcc -o $@ $<\n", main=MAIN, other="int other() { return 0; }\n")
    found = propose_build(tmp_path)
    assert found is not None
    assert found.lines == ('build = "hipcc -O3 main.cpp other.cpp -o main"', 'run = "./main"')
    assert "No rule to make target 'gone.h'" in found.notes[0]


def test_cmake_is_configured_with_hipcc(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "project(wave CXX)\nset(APP ${PROJECT_NAME}-app)\nadd_executable(${APP} main.cpp)  # add_executable(no)\n"
    )
    build, run = lines(tmp_path)
    assert "-DCMAKE_CXX_COMPILER=hipcc" in build
    assert "--target wave-app" in build
    assert run == 'run = "build/wave-app"'


def test_cmake_itself_says_what_a_project_of_folders_and_choices_builds(tmp_path: Path) -> None:
    """A name that a function computes, in a folder below, behind a variable without which CMake stops."""
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(wave CXX)\n"
        "set(MODELS omp)\nlist(APPEND MODELS hip)\n"
        'if (NOT DEFINED MODEL)\n  message(FATAL_ERROR "pick a MODEL")\nendif ()\nadd_subdirectory(src)\n'
    )
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "CMakeLists.txt").write_text(
        "function(app name)\n  add_executable(${MODEL}-${name} ${name}.cpp)\nendfunction()\n"
        "app(host)\napp(waves)\nset_target_properties(hip-waves PROPERTIES OUTPUT_NAME w)\n"
    )
    (tmp_path / "src" / "host.cpp").write_text("int main() {}\n")
    (tmp_path / "src" / "waves.cpp").write_text(MAIN + "__global__ void k() {}\n")
    build, run = lines(tmp_path)
    assert "-DMODEL=hip" in build
    assert "--target hip-waves -j" in build
    assert run == 'run = "build/src/w"', "the program with GPU code, where it will be"
    (tmp_path / "data").mkdir()
    (tmp_path / "src" / "waves.h").write_text('#include "../data/x.h"\nconst char* deck = "../data";\n')
    assert lines(tmp_path)[1] == 'run = "cd build && ./src/w"', "the data lies above the build folder"
    assert not (tmp_path / "build").exists()


def test_one_source_needs_no_command_and_two_programs_are_not_one(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text(MAIN)
    assert lines(tmp_path) == ()
    (tmp_path / "b.cpp").write_text(MAIN)
    assert propose_build(tmp_path) is None


@pytest.mark.slow
def test_a_source_that_is_not_alone_is_told_the_lines_to_paste(tmp_path: Path, toolchain: Toolchain) -> None:
    here = make(
        tmp_path / "src",
        "app: main.cpp other.cpp\n\thipcc -o $@ $^\n",
        main=MAIN,
        other="int other() { return 0; }\n",
    )
    with pytest.raises(BuildFailed) as failed:
        build_program(resolve_project(here / "main.cpp"), toolchain)
    assert "`other()` is not defined" in failed.value.message
    with pytest.raises(UsageError) as refused:
        resolve_project(here / "other.cpp")
    for error in (failed.value, refused.value):
        assert '\n    build = "make"\n    run = "./app"' in str(error.hint)
    pasted = str(failed.value.hint).partition("\n")[2]
    (here / "hipscope.toml").write_text("\n".join(line.strip() for line in pasted.splitlines()))
    assert build_program(resolve_project(here), toolchain).argv[-1] == "./app"


def test_a_build_reads_folders_outside_of_its_own_and_edits_reach_them(
    tmp_path: Path, toolchain: Toolchain
) -> None:
    (tmp_path / "all" / "shared").mkdir(parents=True)
    (tmp_path / "all" / "unrelated").mkdir()
    (tmp_path / "all" / "shared" / "ref.h").write_text("#define VALUE 3\n")
    here = make(
        tmp_path / "all" / "app",
        "app: main.cpp\n\thipcc -I../shared -o $@ $<\n",
        main='#include <hip/hip_runtime.h>\n#include "ref.h"\nint main() { return VALUE; }\n',
    )
    (here / "hipscope.toml").write_text("\n".join(lines(here)))
    project = resolve_project(here)
    built = build_program(project, toolchain)
    assert built.narrowed(project).sources == (here / "main.cpp", tmp_path / "all" / "shared" / "ref.h")
    assert sorted(path.name for path in built.tree.iterdir()) == ["app", "shared"]
    assert (built.directory / "app").exists()
