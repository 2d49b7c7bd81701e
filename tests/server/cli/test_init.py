"""`hipscope init`: what it tries, writes, shows and refuses."""

from __future__ import annotations

import tomllib

import pytest

from tests.server.command_line import Cli

KERNEL = "#include <hip/hip_runtime.h>\n__global__ void k() {}\n"
LAUNCHES = KERNEL + "int main() { k<<<1, 1>>>(); return hipDeviceSynchronize(); }\n"
ASKS = (
    KERNEL + "#include <cstdio>\nint main(int n, char**) {\n"
    '  if (n < 2) { puts("usage: ./app SIZE"); return 1; }\n  k<<<1, 1>>>(); return hipDeviceSynchronize();\n}\n'
)
MAKEFILE = "app: main.cpp\n\thipcc -o $@ $<\nrun: app\n\t./app 7\n"


def test_init_writes_what_it_shows_once_it_was_tried(cli: Cli) -> None:
    cli.write(MAKEFILE, "Makefile")
    cli.write(LAUNCHES, "main.cpp")
    file = cli.folder / "hipscope.toml"
    shown = cli("init", "--dry-run")
    assert (shown.code, file.exists()) == (0, False)
    assert f"would write {file.name}" in shown.stderr
    written = cli("init")
    assert (written.code, written.stdout) == (0, shown.stdout)
    assert file.read_text() == written.stdout
    assert tomllib.loads(written.stdout) == {"build": "make", "run": "./app 7"}
    file.write_text("args = []\n")
    again = cli("init")
    assert again.code == 2
    assert "--force" in again.stderr
    assert file.read_text() == "args = []\n"
    assert cli("init", "--force", "--untried").code == 0
    assert file.read_text() == written.stdout


def test_what_does_not_build_is_not_written_and_the_reason_is_the_tools(cli: Cli) -> None:
    cli.write(MAKEFILE, "Makefile")
    cli.write('#include "absent.h"\n' + LAUNCHES, "main.cpp")
    told = cli("init")
    assert told.code == 4
    assert "`make` fails" in told.stderr
    assert "'absent.h' file not found" in told.stderr
    assert not (cli.folder / "hipscope.toml").exists()
    assert cli("init", "--untried").code == 0


def test_cmake_is_asked_where_the_makefile_beside_it_does_not_build_any_more(cli: Cli) -> None:
    cli.write(MAKEFILE.replace("hipcc", "hipcc -std=c++17"), "Makefile")
    cli.write(
        "cmake_minimum_required(VERSION 3.16)\nproject(waves CXX)\nfind_package(hip REQUIRED)\n"
        "set(CMAKE_CXX_STANDARD 20)\nadd_executable(waves main.cpp)\ntarget_link_libraries(waves hip::device)\n",
        "CMakeLists.txt",
    )
    cli.write("consteval int lanes() { return 1; }\n" + LAUNCHES.replace("<<<1", "<<<lanes()"), "main.cpp")
    told = cli("init")
    assert told.code == 0, told.stderr
    assert tomllib.loads(told.stdout)["run"] == "build/waves"
    assert "`make` fails" in told.stderr


def test_a_build_that_goes_on_after_a_mistake_is_no_build(cli: Cli) -> None:
    cli.write("hipcc main.cpp -o app\nexit 0\n", "build.sh")
    cli.write('#include "absent.h"\n' + LAUNCHES, "main.cpp")
    told = cli("init")
    assert told.code == 4
    assert "`sh ./build.sh` fails: it leaves no ./app" in told.stderr
    assert "'absent.h' file not found" in told.stderr


def test_a_program_that_wants_arguments_is_the_one_question(cli: Cli) -> None:
    cli.write("app: main.cpp\n\thipcc -o $@ $<\n", "Makefile")
    cli.write(ASKS, "main.cpp")
    told = cli("init")
    assert told.code == 0
    assert "launched no kernel; it printed: usage: ./app SIZE" in told.stderr
    assert "hipscope init --force -- ARGUMENTS" in told.stderr
    answered = cli("init", "--force", "--", "64", "a b")
    assert tomllib.loads(answered.stdout)["run"] == "./app 64 'a b'"
    assert "no kernel" not in answered.stderr


def test_a_program_that_launches_nothing_does_not_stand_for_one_that_cannot_be_built(cli: Cli) -> None:
    cli.write(
        "cmake_minimum_required(VERSION 3.16)\nproject(waves CXX)\nfind_package(rocm_smi REQUIRED)\n"
        "add_executable(waves waves.cpp)\n",
        "CMakeLists.txt",
    )
    cli.write('#include "absent.h"\n' + LAUNCHES, "waves.cpp")
    cli.write(KERNEL + "int main() { return 0; }\n", "test_headers.cpp")
    told = cli("init")
    assert told.code == 4
    assert "that is ROCm SMI" in told.stderr
    assert "`./test_headers` builds, but it left with exit code 0 and launched no kernel" in told.stderr
    assert not (cli.folder / "hipscope.toml").exists()


def test_a_program_that_needs_an_absent_library_gives_way_to_one_that_does_not(cli: Cli) -> None:
    cli.write(
        "all: small app\nsmall: main.cpp\n\thipcc -o $@ $<\napp: main.cpp\n\thipcc -o $@ $< -lnowhere\n",
        "Makefile",
    )
    cli.write(LAUNCHES, "main.cpp")
    told = cli("init", "--dry-run", "--program", "app")
    assert told.code == 4
    assert "the library `nowhere` is not found" in told.stderr


def test_init_without_anything_to_go_by_is_bad_input(cli: Cli) -> None:
    assert cli("init").code == 2
    assert cli("init", "nowhere").code == 2
    cli.write("int main() {}\n", "main.cpp")
    told = cli("init")
    assert told.code == 2
    assert "no file here has a HIP kernel or a call of HIP" in told.stderr


@pytest.mark.slow
def test_a_program_that_runs_for_long_is_offered_a_smaller_problem(cli: Cli) -> None:
    cli.write("app: main.cpp\n\thipcc -o $@ $<\n", "Makefile")
    cli.write(
        "#include <hip/hip_runtime.h>\n#include <cstdlib>\n"
        "__global__ void wait(int n) { for (volatile int i = 0; i < n; ++i) {} }\n"
        "int main(int argc, char** argv) {\n  int n = 80000;\n  if (argc > 1) n = atoi(argv[1]);\n"
        "  wait<<<4096, 256>>>(n);\n  return hipDeviceSynchronize();\n}\n",
        "main.cpp",
    )
    told = cli("init", "--seconds", "1")
    assert told.code == 0
    assert "`./app` runs for long: " in told.stderr
    assert "of wait" in told.stderr
    assert "a smaller problem: `hipscope init --force -- 10000`" in told.stderr
    again = cli("init", "--force", "--", "1")
    assert "runs for long" not in again.stderr
    assert tomllib.loads(again.stdout)["run"] == "./app 1"


def test_an_access_out_of_bounds_in_the_first_launch_is_said_with_what_profiles_it(cli: Cli) -> None:
    cli.write(
        "#include <hip/hip_runtime.h>\n__global__ void k(double* p) { p[threadIdx.x] = 1; }\n"
        "int main() { double* p; (void)hipMalloc(&p, 1024); k<<<1, 256>>>(p); return hipDeviceSynchronize(); }\n",
        "main.hip",
    )
    told = cli("init")
    assert told.code == 0
    assert "its first launches stop: kernel k: out-of-bounds store" in told.stderr
    assert "`--keep-going` of profile" in told.stderr


def test_sources_are_built_by_hipcc_where_their_makefile_needs_a_compiler_that_is_not_there(cli: Cli) -> None:
    cli.write("app: main.cpp\n\t../other/bin/hipcc -o $@ $<\n", "Makefile")
    cli.write('#include "k.h"\n' + LAUNCHES.replace(KERNEL, ""), "main.cpp")
    cli.write(KERNEL, "k.h")
    told = cli("init", "--dry-run")
    assert (told.code, "`make` fails" in told.stderr) == (0, True)
    assert "# Written by `hipscope init` from main.cpp." in told.stdout


def test_a_program_whose_first_launch_faults_gives_way_to_one_that_gets_further(cli: Cli) -> None:
    cli.write("first: bad.cpp\n\thipcc -o $@ $<\nsecond: good.cpp\n\thipcc -o $@ $<\n", "Makefile")
    faults = (
        "#include <hip/hip_runtime.h>\n__global__ void k(double* p) { p[threadIdx.x] = 1; }\n"
        "int main() { double* p; (void)hipMalloc(&p, 1024); k<<<1, 256>>>(p); return hipDeviceSynchronize(); }\n"
    )
    cli.write(faults, "bad.cpp")
    cli.write(LAUNCHES, "good.cpp")
    told = cli("init", "--dry-run")
    assert tomllib.loads(told.stdout) == {"build": "make second", "run": "./second"}
    assert "`./first` builds, but its first launches stop: kernel k: out-of-bounds store" in told.stderr
    cli.write(faults, "good.cpp")
    assert tomllib.loads(cli("init", "--dry-run").stdout) == {"build": "make", "run": "./first"}


def test_a_program_for_another_gpu_is_said_to_want_its_device(cli: Cli) -> None:
    cli.write(
        KERNEL + '#include <cstdio>\nint main() { puts("needs gfx90a"); return 1; }\n',
        "main.hip",
    )
    assert 'it speaks of gfx90a: `device = "mi250x"`' in cli("init").stderr


def test_many_objects_are_compiled_at_once_unless_the_order_of_the_goals_counts(cli: Cli) -> None:
    """The objects of the second Makefile need a file that its first goal makes."""
    for name in ("a", "b"):
        cli.write(f"int {name}() {{ return 0; }}\n", f"{name}.cpp")
    cli.write(LAUNCHES, "main.cpp")
    objects = "main.o a.o b.o"
    rule = "\thipcc -c $< -o $@\n"
    cli.write(f"app: {objects}\n\thipcc -o $@ $^\n%.o: %.cpp\n{rule}", "Makefile")
    assert tomllib.loads(cli("init", "--dry-run").stdout)["build"] == "make -j$(nproc)"
    objects = objects.replace(".o", ".late.o")
    late = "ready:\n\tsleep 5\n\ttouch ready\n"
    cli.write(
        f"app: ready {objects}\n\thipcc -o $@ *.o\n{late}%.late.o: %.cpp\n\tcat ready\n{rule}", "Makefile"
    )
    told = cli("init", "--dry-run")
    assert tomllib.loads(told.stdout)["build"] == "make", told.stderr
