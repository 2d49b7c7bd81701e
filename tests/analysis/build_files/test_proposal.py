"""What a Makefile, a CMakeLists.txt or sources alone say about how a program is built and run."""

import os
from pathlib import Path

import pytest

from hipscope.analysis.build_files.proposal import no_hip, propose_builds
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.discovery import Toolchain
from hipscope.analysis.toolchain.project import resolve_project

MAIN = "#include <hip/hip_runtime.h>\nint other();\nint main() { return other(); }\n"


def lines(directory: Path, toolchain: Toolchain | None = None) -> tuple[str, ...]:
    return propose_builds(directory, None if toolchain is None else toolchain.calls).found[0].lines


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
    assert lines(tmp_path / "src") == ('build = "make"', 'run = "DEBUG=1 ./app 64 2"')


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
    propose_builds(tmp_path, None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["Makefile", "main.cpp"]


def test_what_make_refuses_is_said_and_the_sources_are_taken(tmp_path: Path) -> None:
    make(tmp_path, "app: main.cpp gone.h\n\thipcc -o $@ $<\n", main=MAIN, other="int other() { return 0; }\n")
    said = propose_builds(tmp_path, None)
    assert said.found[0].lines == ('build = "hipcc -O3 main.cpp other.cpp -o main"', 'run = "./main"')
    assert "No rule to make target 'gone.h'" in said.refused[0]


def test_cmake_is_configured_with_hipcc(tmp_path: Path, toolchain: Toolchain) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "project(wave CXX)\nset(APP ${PROJECT_NAME}-app)\nadd_executable(${APP} main.cpp)  # add_executable(no)\n"
    )
    (tmp_path / "main.cpp").write_text(MAIN)
    build, run = lines(tmp_path, toolchain)
    assert "-DCMAKE_CXX_COMPILER=hipcc" in build
    assert "--target wave-app" in build
    assert run == 'run = "build/wave-app"'


def test_cmake_itself_says_what_a_project_of_folders_and_choices_builds(
    tmp_path: Path, toolchain: Toolchain
) -> None:
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
    build, run = lines(tmp_path, toolchain)
    assert "-DMODEL=hip" in build
    assert "--target hip-waves -j" in build
    assert run == 'run = "build/src/w"', "the program with GPU code, where it will be"
    (tmp_path / "data").mkdir()
    (tmp_path / "src" / "waves.h").write_text('#include "../data/x.h"\nconst char* deck = "../data";\n')
    assert lines(tmp_path, toolchain)[1] == 'run = "cd build && ./src/w"', (
        "the data lies above the build folder"
    )
    assert not (tmp_path / "build").exists()


def test_one_source_needs_no_command_and_of_two_programs_each_has_one(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text(MAIN)
    assert lines(tmp_path) == ()
    (tmp_path / "b.cpp").write_text("int main() {}\n")
    (tmp_path / "c.cpp").write_text(MAIN)
    found = propose_builds(tmp_path, None).found
    assert [one.build for one in found] == [f"hipcc -O3 {n}.cpp -o {n}" for n in "ac"], (
        "a source without HIP is no program of the GPU"
    )


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


def test_single_files_of_the_folder_above_are_read_and_no_neighbours(tmp_path: Path) -> None:
    """`-I..` names a folder that holds everything: what is included from it counts, and what that includes."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "common.h").write_text('#include "sizes.h"\n')
    (tmp_path / "sizes.h").write_text("")
    (tmp_path / "unrelated.h").write_text("")
    (tmp_path / "rules.mk").write_text("HIPCC = hipcc\n")
    here = make(
        tmp_path / "app",
        "include ../rules.mk\napp: main.cpp\n\t$(HIPCC) -I.. -o $@ $<\n",
        main="#include <common.h>\n" + MAIN,
    )
    assert lines(here)[2] == 'source_dirs = [".", "../common.h", "../rules.mk", "../sizes.h"]'


def test_the_goal_of_hipcc_comes_before_the_first_goal_of_nvcc(tmp_path: Path) -> None:
    make(
        tmp_path,
        "cuda-app: main.cpp\n\tnvcc -arch=sm_70 -o $@ $<\nhip-app: main.cpp\n\thipcc -o $@ $<\nclean:\n\trm -f *-app\n",
    )
    said = propose_builds(tmp_path, None)
    assert [(one.build, one.run) for one in said.found] == [
        ("make hip-app", "./hip-app"),
        ("make", "./cuda-app"),
    ]


def test_a_makefile_for_amd_beside_that_of_nvcc_is_named(tmp_path: Path) -> None:
    make(tmp_path, "app: main.cpp\n\tnvcc -arch=sm_70 -o $@ $<\n")
    (tmp_path / "Makefile.hip").write_text("app: main.cpp\n\thipcc -o $@ $<\n")
    assert lines(tmp_path)[0] == 'build = "make -f Makefile.hip"'


def test_a_choice_that_a_makefile_leaves_is_made_for_amd(tmp_path: Path) -> None:
    make(
        tmp_path,
        "VENDOR ?= nvidia\nifeq ($(VENDOR),nvidia)\nCXX = nvcc\nendif\nifeq ($(VENDOR),amd)\nCXX = hipcc\nendif\n"
        "app: main.cpp\n\t$(CXX) -o $@ $<\n",
    )
    assert lines(tmp_path)[0] == 'build = "make VENDOR=amd"'
    assert propose_builds(tmp_path, None).found[-1].origin == "main.cpp", (
        "a guess comes before the sources alone"
    )


def test_a_makefile_that_make_refuses_lends_its_definitions(tmp_path: Path) -> None:
    """Without them the program would be the one for CPUs."""
    text = "CXXFLAGS = -DUSE_HIP -std=c++17 -Iinc\napp: main.cpp gone.h\n\thipcc $(CXXFLAGS) -o $@ $<\n"
    make(tmp_path, text, main=MAIN)
    assert lines(tmp_path)[0] == 'build = "hipcc -O3 -DUSE_HIP -std=c++17 -Iinc main.cpp -o main"'


@pytest.mark.parametrize("ending", ["o", "obj"])
def test_of_several_programs_that_of_a_source_is_found_through_objects_and_archives(
    tmp_path: Path, ending: str
) -> None:
    make(
        tmp_path,
        f"all: one two\none: one.{ending} libx.a\n\thipcc -o $@ one.{ending} -L. -lx\ntwo: two.cpp\n\thipcc -o $@ $<\n"
        f"libx.a: x.{ending}\n\tar rcs $@ $^\n%.{ending}: %.cpp\n\thipcc -c $< -o $@\n",
        one=MAIN,
        two=MAIN,
        x="int other() { return 0; }\n",
    )
    for source, program in (("x", "one"), ("one", "one"), ("two", "two")):
        said = propose_builds(tmp_path, None, source=tmp_path / f"{source}.cpp")
        assert [one.program for one in said.found] == [program]
    assert propose_builds(tmp_path, None, source=tmp_path / "other.cpp").found == ()


def test_what_cmake_says_is_the_reason(tmp_path: Path, toolchain: Toolchain) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(app CXX)\nfind_package(Vendored REQUIRED)\n"
        "add_executable(app main.cpp)\n"
    )
    said = propose_builds(tmp_path, toolchain.calls)
    assert said.found == ()
    assert said.refused[0].startswith("cmake refuses the CMakeLists.txt: CMakeLists.txt:3: By not providing")


def test_a_directory_without_hip_is_said_to_have_none(tmp_path: Path) -> None:
    (tmp_path / "main.cpp").write_text("int main() {}\n")
    assert no_hip(tmp_path) == "no file here has a HIP kernel or a call of HIP"
    (tmp_path / "main.cpp").write_text("#include <cuda_runtime.h>\nint main() { cudaMalloc(0, 0); }\n")
    assert "hipify" in str(no_hip(tmp_path))
    (tmp_path / "Makefile").write_text("app: main.cpp\n\thipify-perl $< > main.hip\n\thipcc -o $@ main.hip\n")
    assert no_hip(tmp_path) is None, "the Makefile makes HIP of it"
    (tmp_path / "Makefile").unlink()
    (tmp_path / "kernel.cpp").write_text("__global__ void k() {}\n")
    assert no_hip(tmp_path) is None


@pytest.mark.parametrize(
    ("text", "build"),
    [
        (
            "CXX = /usr/tce/bin/crayCC\napp: main.cpp\n\t$(CXX) -x hip $< -o $@\n",
            "make CXX=mpicxx OMPI_CXX=hipcc MPICH_CXX=hipcc",
        ),
        (
            "CXX = mpicxx\nall: app\napp: main.cpp\n\t$(CXX) -x hip -DHAVE_HIP $< -o $@\n",
            "make OMPI_CXX=hipcc MPICH_CXX=hipcc",
        ),
        (
            "CXX = /opt/cray/bin/mpicxx\napp: main.cpp\n\t$(CXX) -x hip $< -o $@\n",
            "make CXX=mpicxx OMPI_CXX=hipcc MPICH_CXX=hipcc",
        ),
        (
            "CXX = CC\napp: main.o k.o\n\t$(CXX) $^ -o $@\nk.o: k.cpp\n\thipcc -c $<\n%.o: %.cpp\n\t$(CXX) -c $<\n",
            "make CXX=mpicxx OMPI_CXX=hipcc MPICH_CXX=hipcc",
        ),
        (
            "C = 1\nifeq ($(C),1)\nCXX = CC\nelse\nCXX = g++\nendif\napp: main.cpp\n\t$(CXX) -x hip $< -o $@\n",
            "make CXX=mpicxx OMPI_CXX=hipcc MPICH_CXX=hipcc",
        ),
    ],
)
def test_the_wrapper_for_mpi_calls_hipcc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, build: str
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mpicxx").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "mpicxx").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    make(tmp_path / "src", text, main=f"#include <mpi.h>\n{MAIN}", k="int other() { return 0; }\n")
    found = propose_builds(tmp_path / "src", None)
    assert found.found[0].build == build, found


def test_cmake_is_told_where_rocm_is_that_it_assumes(tmp_path: Path, toolchain: Toolchain) -> None:
    (tmp_path / "main.cpp").write_text("#include <hip/hip_runtime.h>\nint main() { return 0; }\n")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(p CXX)\n"
        'if(NOT DEFINED ROCM_PATH)\n  set(ROCM_PATH "/opt/rocm" CACHE STRING "where")\nendif()\n'
        'set(CMAKE_CXX_COMPILER "${ROCM_PATH}/llvm/bin/clang++")\nfind_package(hip REQUIRED)\n'
        "add_executable(app main.cpp)\ntarget_link_libraries(app hip::device)\n"
    )
    found = propose_builds(tmp_path, toolchain.calls).found[0]
    assert ("-DROCM_PATH=${ROCM_PATH:-/opt/rocm}" in str(found.build)) is not Path("/opt/rocm").exists()
    assert found.program == "app"


def test_a_program_is_started_with_its_variables_and_without_a_launcher(tmp_path: Path) -> None:
    run = "OMP_NUM_THREADS=4 LD_LIBRARY_PATH=lib:$$LD_LIBRARY_PATH mpirun -np 2 ./app 64"
    make(tmp_path, f"app: main.cpp\n\thipcc -o $@ $<\nrun: app\n\t{run}\n")
    said = 'OMP_NUM_THREADS=4 LD_LIBRARY_PATH="lib:$LD_LIBRARY_PATH" ./app 64'
    assert propose_builds(tmp_path, None).found[0].run == said


@pytest.mark.parametrize(
    "recipe",
    [
        "cd src ; make",
        "make -C src HIPCC=hipcc -j4",
        "(cd lib && make); (cd src && make app)",
        "@for d in lib src; do make -C $$d || exit 1; done",
        "for d in lib src; do (cd $$d && $(MAKE)); done",
    ],
)
def test_a_makefile_that_only_calls_make_below_is_followed(tmp_path: Path, recipe: str) -> None:
    (tmp_path / "Makefile").write_text(f"all:\n\t{recipe}\n")
    make(tmp_path / "src", "HIPCC = hipcc\napp: main.cpp\n\t$(HIPCC) -o $@ $<\n")
    make(tmp_path / "lib", "x.o: x.cpp\n\thipcc -c $<\n", x="int other() { return 0; }\n")
    found = propose_builds(tmp_path, None).found
    assert [(one.build, one.run) for one in found] == [("make", "src/app")]


def test_a_compiler_that_an_included_makefile_names_by_its_path_is_called_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "make.inc").write_text("HIPCC = /opt/rocm/bin/hipcc\n")
    make(tmp_path, "include make.inc\napp: main.cpp\n\t$(HIPCC) -o $@ $<\n")
    assert lines(tmp_path)[0] == 'build = "make HIPCC=hipcc"'


def test_sources_beside_a_makefile_for_nvcc_are_built_by_themselves(tmp_path: Path) -> None:
    make(
        tmp_path,
        "app: main.cpp other.cpp\n\tnvcc -arch=sm_70 -o $@ $^\n",
        main=MAIN,
        other="int other() { return 0; }\n",
    )
    assert "hipcc -O3 main.cpp other.cpp -o main" in [
        one.build for one in propose_builds(tmp_path, None).found
    ]


def test_cmake_is_asked_where_the_makefile_makes_nothing_for_gpus(
    tmp_path: Path, toolchain: Toolchain
) -> None:
    make(tmp_path, "host: host.cpp\n\tg++ -o $@ $<\n", host="int main() {}\n", main=MAIN)
    (tmp_path / "CMakeLists.txt").write_text("project(p CXX)\nadd_executable(app main.cpp)\n")
    assert propose_builds(tmp_path, toolchain.calls).found[0].program == "app"


def test_of_the_programs_of_a_library_the_one_that_calls_the_saved_source_is_first(
    tmp_path: Path, toolchain: Toolchain
) -> None:
    (tmp_path / "multiply.cpp").write_text(MAIN.replace("int main", "int multiply"))
    (tmp_path / "none.cpp").write_text("int main() {}\n")
    (tmp_path / "calls.cpp").write_text("int multiply();\nint main() { return multiply(); }\n")
    (tmp_path / "CMakeLists.txt").write_text(
        "project(p CXX)\nadd_library(all multiply.cpp)\n"
        "add_executable(a_first none.cpp)\ntarget_link_libraries(a_first all)\n"
        "add_executable(b_calls calls.cpp)\ntarget_link_libraries(b_calls all)\n"
    )
    found = propose_builds(tmp_path, toolchain.calls, tmp_path / "multiply.cpp").found
    assert [one.program for one in found] == ["b_calls", "a_first"]


def test_headers_of_folders_and_the_sources_called_after_them_belong_to_a_program(tmp_path: Path) -> None:
    for folder in ("app", "include/sim", "src/sim", "tests"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "app/main.cpp").write_text('#include "sim/step.h"\n' + MAIN)
    (tmp_path / "include/sim/step.h").write_text("#pragma once\n")
    (tmp_path / "src/sim/step.cpp").write_text('#include "sim/step.h"\n#include "tables.cpp"\n')
    (tmp_path / "src/sim/tables.cpp").write_text("int other() { return 0; }\n")
    (tmp_path / "tests/all.cpp").write_text("int main() {}\n")
    assert lines(tmp_path) == (
        'build = "hipcc -O3 -Iinclude app/main.cpp src/sim/step.cpp -o main"',
        'run = "./main"',
    )


def test_the_program_of_a_folder_below_is_found_where_the_folder_itself_says_nothing(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "ref.h").write_text("")
    (tmp_path / "README.md").write_text("A port to HIP and to CUDA.\n")
    text = "app: main.cpp\n\thipcc -I../common -o $@ $<\nrun: app\n\t./app 9\n"
    make(tmp_path / "cuda", text.replace("hipcc", "nvcc"), main="int main() { cudaMalloc(0, 0); }\n")
    make(tmp_path / "hip", text)
    found = propose_builds(tmp_path, None).found
    assert [one.lines for one in found] == [('build = "cd hip && make"', 'run = "cd hip && ./app 9"')]
    assert found[0].program == "hip/app"


def test_of_several_programs_only_the_one_that_is_started_is_built(tmp_path: Path) -> None:
    """The first goal needs nvcc too, and MPI."""
    make(
        tmp_path,
        "all: app.out app_mpi.out cuda.out\ncuda.out: main.cpp\n\tnvcc -o $@ $<\n%.out: main.cpp\n\thipcc -o $@ $<\n",
    )
    assert lines(tmp_path) == ('build = "make app.out"', 'run = "./app.out"')


@pytest.mark.parametrize("name", ["CXX", "MY_CC", "HIPCC"])
def test_a_compiler_that_is_not_there_is_replaced_whatever_it_is_called(tmp_path: Path, name: str) -> None:
    make(tmp_path, f"{name} = /usr/tce/cce-12/bin/crayCC\napp: main.cpp\n\t$({name}) -x hip -o $@ $<\n")
    assert lines(tmp_path)[0] == f'build = "make {name}=hipcc"'


def test_a_folder_of_a_cmake_project_is_configured_with_its_project(
    tmp_path: Path, toolchain: Toolchain
) -> None:
    (tmp_path / ".git").mkdir()
    for name in ("one", "two", "common"):
        (tmp_path / name).mkdir()
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(all CXX)\nset(kind common)\n"
        "add_subdirectory(one)\nadd_subdirectory(two)\n"
    )
    for name in ("one", "two"):
        (tmp_path / name / "CMakeLists.txt").write_text(
            f"if(NOT kind)\nmessage(FATAL_ERROR no)\nendif()\nadd_executable({name} main.cpp)\n"
            f"target_include_directories({name} PRIVATE ../${{kind}})\n"
        )
        (tmp_path / name / "main.cpp").write_text(
            '#include "ref.h"\n#include <hip/hip_runtime.h>\nint main() {}\n'
        )
    (tmp_path / "common" / "ref.h").write_text("")
    here = tmp_path / "two"
    build, run, folders = lines(here, toolchain)
    assert build.startswith('build = "cmake -S .. -B build ')
    assert (run, folders) == ('run = "build/two/two"', 'source_dirs = [".", ".."]')
    (here / "hipscope.toml").write_text("\n".join((build, run, folders)))
    assert (build_program(resolve_project(here), toolchain).directory / "build/two/two").exists()


def test_a_folder_that_cmake_asks_for_is_not_chosen(tmp_path: Path, toolchain: Toolchain) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        'project(p CXX)\noption(x hip)\nif(NOT MODULE_DIR)\nmessage(FATAL_ERROR "MODULE_DIR is not set")\nendif()\n'
        "set(models hip)\nadd_executable(app main.cpp)\n"
    )
    assert "MODULE_DIR is not set" in propose_builds(tmp_path, toolchain.calls).refused[0]


def test_the_goal_of_a_program_is_found_by_its_name_in_the_programs(tmp_path: Path) -> None:
    make(tmp_path, "all: kernel1 kernel2\nkernel1 kernel2:\n\thipcc -o app_$@ main.cpp -D$@\n")
    assert lines(tmp_path) == ('build = "make kernel2"', 'run = "./app_kernel2"')


def test_a_compiler_that_does_not_know_gpus_is_replaced_where_it_is_given_their_options(
    tmp_path: Path,
) -> None:
    """`hip` gives the compiler to another make, in a folder that does not exist yet."""
    make(
        tmp_path,
        "all: hip\nhip:\n\tmkdir -p build/hip\n\t$(MAKE) -C build/hip app CC=hipcc\n"
        "app: main.cpp\n\t$(CC) --offload-arch=gfx90a -o $@ $<\n",
    )
    assert propose_builds(tmp_path, None).found[0].build == "make CC=hipcc app"


def test_a_git_submodule_that_is_not_checked_out_is_named(tmp_path: Path) -> None:
    for folder in (".git", "external/there", "external/empty"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "external/there/a.h").write_text("")
    (tmp_path / ".gitmodules").write_text(
        "".join(f'[submodule "{n}"]\n\tpath = external/{n}\n\turl = x\n' for n in ("there", "empty", "gone"))
    )
    make(tmp_path, "include external/empty/rules.mk\napp: main.cpp\n\t$(COMPILE) $<\n")
    assert propose_builds(tmp_path, None).refused[-1] == (
        "external/empty, external/gone: not checked out; `git submodule update --init --recursive` does that"
    )


@pytest.mark.parametrize(
    "choice",
    [
        'set(BACKEND "CUDA" CACHE STRING "CUDA or HIP")',
        "set(BACKEND KOKKOS CACHE STRING [[KOKKOS, HIP]])",
        'if(NOT DEFINED BACKEND)\n  set(BACKEND "CUDA")\nendif()',
    ],
)
def test_a_choice_that_cmake_files_compare_with_hip_is_made(
    tmp_path: Path, toolchain: Toolchain, choice: str
) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.21)\nproject(wave CXX)\n{choice}\n"
        'if(BACKEND STREQUAL "HIP")\n  enable_language(HIP)\n  add_executable(app main.hip)\n'
        "else()\n  enable_language(CUDA)\nendif()\n"
    )
    (tmp_path / "main.hip").write_text(MAIN)
    build, _ = lines(tmp_path, toolchain)
    assert "-DBACKEND=HIP" in build
    assert "--target app" in build


@pytest.mark.parametrize("needs", ["enable_language(CUDA)", "find_package(CUDAToolkit REQUIRED)"])
def test_what_cmake_builds_for_nvidia_by_default_is_switched_off(
    tmp_path: Path, toolchain: Toolchain, needs: str
) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(wave CXX)\n"
        'option(BUILD_CUDA "for CUDA" ON)\noption(BUILD_HIP "for HIP" OFF)\n'
        f"if(BUILD_CUDA)\n  {needs}\nendif()\n"
        "if(BUILD_HIP)\n  enable_language(HIP)\n  add_executable(app main.hip)\nendif()\n"
    )
    (tmp_path / "main.hip").write_text(MAIN)
    build, _ = lines(tmp_path, toolchain)
    assert "-DBUILD_HIP=ON" in build
    assert "-DBUILD_CUDA=OFF" in build


def test_a_project_of_its_own_below_one_for_nvidia_is_asked(tmp_path: Path, toolchain: Toolchain) -> None:
    (tmp_path / "hip" / "bench").mkdir(parents=True)
    (tmp_path / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.21)\nproject(wave CXX CUDA)\n")
    (tmp_path / "hip" / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(wave CXX HIP)\nadd_executable(app bench/main.hip)\n"
    )
    (tmp_path / "hip" / "bench" / "main.hip").write_text(MAIN)
    build, run = lines(tmp_path, toolchain)
    assert build.startswith('build = "cd hip && cmake -S . -B build')
    assert run == 'run = "cd hip && build/app"'
    refused = propose_builds(tmp_path, toolchain.calls).refused[0]
    assert "it is for NVIDIA's GPUs: `project(wave CXX CUDA)`" in refused


def test_a_script_is_read_with_its_variables_and_started_by_its_own_shell(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "build.sh").write_text(
        '#!/bin/bash\nset -xe\nCC=hipcc\nCFLAGS="-O3 -Wall"\nFILES=(\n  "./src/main.hip"\n  src/other.hip\n)\n'
        'KERNELS="src/k.hip"\nOUT=./build\nmkdir -p $OUT\n'
        "${CC} $CFLAGS -o $OUT/${NAME:-app}.out ${FILES[@]} $KERNELS -lm\n"
    )
    (tmp_path / "src" / "main.hip").write_text(MAIN)
    assert lines(tmp_path) == ('build = "bash ./build.sh"', 'run = "build/app.out"')


def test_a_source_without_gpu_code_is_no_program_to_take(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "tools" / "convert.cpp").write_text("int main() { return 0; }\n")
    (tmp_path / "lib" / "kernel.hip").write_text("__global__ void k() {}\n")
    assert propose_builds(tmp_path, None).found == ()


def test_what_cmake_lacks_with_its_choice_for_amd_is_the_reason(tmp_path: Path, toolchain: Toolchain) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(wave CXX)\noption(WITH_ROCM OFF)\n"
        'if(NOT WITH_ROCM)\n  message(FATAL_ERROR "no backend is chosen")\nendif()\nfind_package(rocsparse REQUIRED)\n'
    )
    said = propose_builds(tmp_path, toolchain.calls)
    assert "that is rocSPARSE: install ROCm's rocsparse-dev" in said.refused[0]


def test_the_script_that_writes_what_a_makefile_lacks_is_named(tmp_path: Path) -> None:
    make(tmp_path, "app: main.o step.o\n\thipcc -o $@ $^\n%.o: %.cpp\n\thipcc -c $<\n")
    (tmp_path / "generate.sh").write_text("python3 steps.py > step.cu\n")
    (tmp_path / "plot.py").write_text("print()\n")
    said = propose_builds(tmp_path, None).refused
    assert "No rule to make target 'step.o'" in said[0]
    assert said[0].endswith("(generate.sh may write it: run that first)")


def test_kernels_that_cmake_compiles_as_plain_cpp_get_hipcc(tmp_path: Path, toolchain: Toolchain) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(wave CXX)\nenable_language(HIP)\n"
        "add_library(kernels STATIC kernels.cpp)\nadd_executable(app main.cpp)\ntarget_link_libraries(app kernels)\n"
    )
    (tmp_path / "kernels.cpp").write_text("#include <hip/hip_runtime.h>\n__global__ void k() {}\n")
    (tmp_path / "main.cpp").write_text("int main() { return 0; }\n")
    assert "-DCMAKE_CXX_COMPILER=hipcc" in lines(tmp_path, toolchain)[0]


def test_of_a_goal_that_also_needs_an_unknown_compiler_only_the_program_for_amd_is_built(
    tmp_path: Path,
) -> None:
    make(
        tmp_path,
        "all: app-hip app-sycl\napp-sycl: main.cpp\n\t/opt/sycl/bin/syclcc $< -o $@\n"
        "app-hip: main.cpp\n\thipcc $< -o $@\n",
    )
    assert lines(tmp_path)[0] == 'build = "make app-hip"'


def test_folders_that_a_repository_does_not_keep_are_made_before_the_build(tmp_path: Path) -> None:
    text = "bin/app: obj/main.o\n\thipcc $< -o $@\nobj/main.o: main.cpp\n\thipcc -c $< -o $@\n"
    make(tmp_path, text)
    assert lines(tmp_path)[0] == 'build = "mkdir -p bin obj && make"'
    make(tmp_path, text.replace("\thipcc -c", "\t@mkdir -p $(@D)\n\thipcc -c"))
    assert lines(tmp_path)[0] == 'build = "mkdir -p bin && make"', "the Makefile makes the other one"


@pytest.mark.parametrize("asked", ["ifndef ARCH", "ifeq ($(ARCH),)", "ifeq (,$(ARCH))"])
def test_a_makefile_that_wants_the_gpu_named_is_told_which_one(tmp_path: Path, asked: str) -> None:
    make(
        tmp_path,
        f"{asked}\n  $(error ARCH is not set)\nendif\napp: main.cpp\n\thipcc --offload-arch=$(ARCH) $< -o $@\n",
    )
    assert lines(tmp_path)[0] == 'build = "make ARCH=gfx942"'


def test_a_program_for_cpus_comes_after_the_source_with_gpu_code_that_no_build_file_names(
    tmp_path: Path, toolchain: Toolchain
) -> None:
    (tmp_path / "CMakeLists.txt").write_text("project(app CXX)\nadd_executable(app main.cpp)\n")
    (tmp_path / "libs").mkdir()
    (tmp_path / "libs" / "image.h").write_text("")
    (tmp_path / "main.cpp").write_text('#include "libs/image.h"\nint main() {}\n')
    (tmp_path / "hip").mkdir()
    (tmp_path / "hip" / "main.hip.cpp").write_text(MAIN)
    found = propose_builds(tmp_path, toolchain.calls).found
    assert [one.origin for one in found] == ["hip/main.hip.cpp", "CMakeLists.txt"]


def test_sources_of_cuda_are_no_programs_and_a_makefile_for_a_module_of_python_says_so(
    tmp_path: Path,
) -> None:
    make(tmp_path, "all:\n\techo done\n", kernels="__global__ void k() {}\n")
    (tmp_path / "Makefile.hip").write_text("install:\n\tpip install -e .\n")
    (tmp_path / "bench.cu").write_text(
        "#include <cuda_bf16.h>\n__global__ void k() {}\nint main() { k<<<1, 1>>>(); }\n"
    )
    said = propose_builds(tmp_path, None)
    assert said.found == ()
    assert said.refused[0].endswith(
        "no command of Makefile or Makefile.hip links a program; it installs a module of Python"
    )


def test_tests_and_other_models_that_cmake_stops_for_are_left_out(
    tmp_path: Path, toolchain: Toolchain
) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(waves CXX)\n"
        'option(WAVES_HIP "for AMD" OFF)\noption(WAVES_OPENCL "for OpenCL" ON)\noption(WAVES_TESTS "tests" ON)\n'
        "if(WAVES_TESTS)\nfind_package(GTest 99 CONFIG REQUIRED)\nendif()\n"
        "if(WAVES_OPENCL)\nfind_package(NoOpenCL REQUIRED)\nendif()\n"
        "if(WAVES_HIP)\nadd_executable(waves main.cpp)\nendif()\n"
    )
    (tmp_path / "main.cpp").write_text(MAIN)
    said = propose_builds(tmp_path, toolchain.calls)
    build = said.found[0].build or ""
    assert said.found[0].origin == "CMakeLists.txt", said.refused
    assert all(f"-D{one}" in build for one in ("WAVES_HIP=ON", "WAVES_OPENCL=OFF", "WAVES_TESTS=OFF")), build


def test_where_a_started_program_writes_to_is_no_argument_and_what_it_reads_is_kept(tmp_path: Path) -> None:
    run = '"./app" 2 "a > b" 3 < in.txt 2>&1 > out/log.txt 2>/dev/null | tee log'
    make(tmp_path, f"app: main.cpp\n\thipcc -o $@ $<\nrun: app\n\t{run}\n")
    assert propose_builds(tmp_path, None).found[0].run == "./app 2 'a > b' 3 < in.txt"


def test_a_program_called_like_a_folder_that_is_there_is_not_taken(tmp_path: Path) -> None:
    text = "all:\n\thipcc main.cpp -o first\n\thipcc main.cpp -o second\nrun:\n\t./first 2\n"
    make(tmp_path, text)
    assert propose_builds(tmp_path, None).found[0].run == "./first 2"
    (tmp_path / "first").mkdir()
    # By `make` the first would fail, and by `make second` g++ would be called.
    assert lines(tmp_path) == ('build = "hipcc main.cpp -o second"', 'run = "./second"')


def test_each_program_of_a_goal_is_built_by_its_own_calls_too(tmp_path: Path) -> None:
    text = (
        "all:\n\thipcc -c main.cpp -o part.o\n\thipcc part.o -o first\n\thipcc -O2 part.o -o second\n"
        "run:\n\t./first 2\n"
    )
    make(tmp_path, text)
    builds = [one.build for one in propose_builds(tmp_path, None).found]
    own = [
        f"hipcc -c main.cpp -o part.o && hipcc {words}"
        for words in ("part.o -o first", "-O2 part.o -o second")
    ]
    assert builds == ["make", "make", *own]


def test_programs_of_further_goals_follow_those_of_the_first(tmp_path: Path) -> None:
    text = "bench: main.cpp\n\thipcc -o bin-bench $<\nverify: other.cpp\n\thipcc -o bin-check $<\n"
    make(tmp_path, text, main=MAIN, other=MAIN)
    assert [one.build for one in propose_builds(tmp_path, None).found] == ["make", "make verify"]
    of_source = propose_builds(tmp_path, None, tmp_path / "other.cpp").found
    assert of_source[0].build == "make verify"


def test_of_the_makefiles_for_amd_the_plain_one_comes_first(tmp_path: Path) -> None:
    (tmp_path / "main.cpp").write_text(MAIN)
    for name in ("Makefile.amdclang", "Makefile.hip.isa", "Makefile.hip"):
        (tmp_path / name).write_text("app: main.cpp\n\thipcc -o $@ $<\n")
    assert propose_builds(tmp_path, None).found[0].build == "make -f Makefile.hip"


def test_a_generator_of_data_comes_after_the_program_with_gpu_code(tmp_path: Path) -> None:
    text = (
        "all: sort points\nsort: main.cpp gpu.cpp\n\thipcc -o $@ $^\npoints: points.cpp\n\thipcc -o $@ $<\n"
    )
    make(tmp_path, text, main="int main() {}\n", gpu=MAIN.replace("main", "run"), points="int main() {}\n")
    assert lines(tmp_path) == ('build = "make sort"', 'run = "./sort"')


def test_a_source_of_another_folder_belongs_to_the_program_that_declares_its_function(tmp_path: Path) -> None:
    for name, text in {
        "src/main.cc": 'extern "C" void scale(const float* a, int n);\nint main() { scale(nullptr, 1); }\n',
        "kernels/scale.hip": '#include <hip/hip_runtime.h>\nextern "C" void scale(const float* a, int n) {\n}\n',
        "kernels/other.hip": "#include <hip/hip_runtime.h>\nvoid other() { scale(nullptr, 2); }\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert propose_builds(tmp_path, None).found[0].build == "hipcc -O3 kernels/scale.hip src/main.cc -o main"


@pytest.mark.parametrize("name", ["run.sh", "build", "compile_hip.bash"])
def test_of_a_script_that_starts_the_program_only_the_build_is_taken(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(
        "#!/bin/sh\nset -e\nN=64\nhipcc -c main.cpp -o main.o\nhipcc main.o -o waves\n./waves $N --check\n"
    )
    (tmp_path / "main.cpp").write_text(MAIN)
    assert lines(tmp_path) == (
        'build = "hipcc -c main.cpp -o main.o && hipcc main.o -o waves"',
        'run = "./waves 64 --check"',
    )


def test_a_switch_for_hip_comes_before_what_cmake_builds_without_it(
    tmp_path: Path, toolchain: Toolchain
) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(app CXX)\noption(USE_HIP OFF)\n"
        "if(USE_HIP)\n  add_executable(app main.cpp kernels.cpp)\nelse()\n  add_executable(app main.cpp)\nendif()\n"
    )
    for name in ("main", "kernels"):
        (tmp_path / f"{name}.cpp").write_text(MAIN)
    assert "-DUSE_HIP=ON" in lines(tmp_path, toolchain)[0]


@pytest.mark.parametrize("needed", ["REQUIRED", ""])
def test_what_cmake_does_not_find_is_switched_off_where_an_option_is_called_like_it(
    tmp_path: Path, toolchain: Toolchain, needed: str
) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(app CXX)\n"
        'macro(own name value)\n  option(APP_${name} "of ours" ${value})\nendmacro()\nown(ENABLE_HDF6 ON)\n'
        f"if(APP_ENABLE_HDF6)\n  find_package(HDF6 {needed})\n"
        '  if(NOT HDF6_FOUND)\n    message(SEND_ERROR "HDF6 enabled but not found")\n  endif()\nendif()\n'
        "add_executable(app main.cpp)\n"
    )
    (tmp_path / "main.cpp").write_text(MAIN)
    assert "-DAPP_ENABLE_HDF6=OFF" in lines(tmp_path, toolchain)[0]


def test_a_switch_for_hip_that_a_macro_makes_is_found(tmp_path: Path, toolchain: Toolchain) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(app CXX)\n"
        'macro(own name value)\n  option(APP_${name} "of ours" ${value})\nendmacro()\nown(ENABLE_HIP OFF)\n'
        "add_executable(host host.cpp)\nif(APP_ENABLE_HIP)\n  add_executable(app main.cpp)\nendif()\n"
    )
    (tmp_path / "main.cpp").write_text(MAIN)
    (tmp_path / "host.cpp").write_text("int main() { return 0; }\n")
    said = lines(tmp_path, toolchain)
    assert "-DAPP_ENABLE_HIP=ON" in said[0]
    assert said[1] == 'run = "build/app"'


@pytest.mark.parametrize(("place", "run"), [("bin", "bin/app"), (".", "./app"), ("../out", "../out/app")])
def test_a_program_that_cmake_puts_outside_of_its_build_folder_is_started_there(
    tmp_path: Path, toolchain: Toolchain, place: str, run: str
) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.21)\nproject(app CXX)\n"
        f"set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${{PROJECT_SOURCE_DIR}}/{place})\nadd_executable(app main.cpp)\n"
    )
    (tmp_path / "p" / "main.cpp").write_text(MAIN)
    assert lines(tmp_path / "p", toolchain)[1] == f'run = "{run}"'
