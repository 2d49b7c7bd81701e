"""A README and scripts say how a program is built and started; a program's own output may as well."""

import json
from pathlib import Path

import pytest

from hipscope.analysis.build_files.proposal import BuildProposal, propose_builds
from hipscope.analysis.build_files.readme import said_arguments, said_variables
from hipscope.analysis.config import Config
from hipscope.analysis.run import Run
from hipscope.analysis.runs.try_build import try_builds
from hipscope.analysis.toolchain.discovery import Toolchain
from tests.plain_hip import PLAIN_HIP

MAIN = "#include <hip/hip_runtime.h>\nint main() { return N; }\n"
README = """\
# Waves

Build it from `./src` for CUDA, then for AMD:

```
nvcc -DN=0 main.cu -o waves
```
```bash
$ hipcc -O2 -DN=0 --offload-arch=native main.hip \\
    part.cpp -o waves   # two files
```
Run `./waves <size> [--check]`, for example:

    $ ./waves 64 --check
"""


def test_the_call_of_hipcc_in_a_readme_is_a_build_from_the_folder_of_its_sources(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(README)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.hip").write_text(MAIN)
    (tmp_path / "src" / "part.cpp").write_text("")
    first = propose_builds(tmp_path, None).found[0]
    assert first.origin == "README.md"
    assert first.lines == (
        'build = "cd src && hipcc -O2 -DN=0 --offload-arch=native main.hip part.cpp -o waves"',
        'run = "cd src && ./waves"',
    )


def test_examples_of_a_readme_above_and_of_the_program_itself_are_arguments(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "README.md").write_text(README)
    (tmp_path / "hip").mkdir()
    printed = "usage: waves <size>\nExample: ./waves 8\n"
    assert said_arguments(tmp_path / "hip", "waves", printed) == [("8",), ("64", "--check")]
    assert said_arguments(tmp_path / "hip", "waves-gfx942") == [("64", "--check")]
    assert said_arguments(tmp_path / "hip", "others") == []


def test_a_program_that_asks_for_arguments_gets_those_of_its_readme(
    tmp_path: Path, toolchain: Toolchain
) -> None:
    (tmp_path / "README").write_text("    hipcc -nogpuinc waves.hip -o waves\n\nThen `./waves 3`.\n")
    (tmp_path / "waves.hip").write_text(
        PLAIN_HIP + 'extern "C" int printf(const char*, ...);\n__global__ void k() {}\n'
        'int main(int argc, char** argv) {\n  if (argc < 2) { printf("usage: waves COUNT\\n"); return 1; }\n'
        "  k<<<1, 1>>>();\n  return 0;\n}\n"
    )
    found = propose_builds(tmp_path, toolchain.calls).found
    (*_, last) = try_builds(tmp_path, found, Config(), toolchain, Run(), seconds=20.0)
    assert last.launched
    assert (last.proposal.run, last.reason) == (
        "./waves 3",
        "its arguments are an example's, or guessed from its usage: 3",
    )


def test_a_launcher_in_a_script_names_the_program_without_its_folder(tmp_path: Path) -> None:
    (tmp_path / "run_hip.sh").write_text("N=64\nsrun -n 1 waves $N data/waves1 > log\nmpirun other 2\n")
    assert said_arguments(tmp_path, "waves") == [("64", "data/waves1")]


@pytest.mark.parametrize("remark", ["( On LC machines )", "(on one GPU)"])
def test_a_remark_behind_a_command_is_no_argument(tmp_path: Path, remark: str) -> None:
    (tmp_path / "INSTALL.txt").write_text(f"lrun -T1 ./waves waves.in {remark}\n")
    assert said_arguments(tmp_path, "waves") == [("waves.in",)]


def test_a_program_that_fails_without_arguments_after_a_launch_gets_those_of_an_example(
    tmp_path: Path, toolchain: Toolchain
) -> None:
    (tmp_path / "INSTALL.txt").write_text("HIP Build:\n\nmake -f Makefile.hip\nlrun -T1 ./waves waves.in\n")
    (tmp_path / "waves.C").write_text(
        PLAIN_HIP
        + "__global__ void k() {}\nint main(int argc, char**) {\n  k<<<1, 1>>>();\n  return argc < 2;\n}\n"
    )
    build = "hipcc -nogpuinc -c -x hip waves.C && hipcc waves.o -o waves"
    proposal = BuildProposal("Makefile.hip", build, "./waves", "waves")
    (*_, last) = try_builds(tmp_path, [proposal], Config(), toolchain, Run(), seconds=20.0)
    assert last.launched, last.reason
    assert last.proposal.run == "./waves waves.in"


SWITCHED = (
    PLAIN_HIP + 'extern "C" int printf(const char*, ...);\nextern "C" int strcmp(const char*, const char*);\n'
    'extern "C" void* fopen(const char*, const char*);\n__global__ void k() {}\nint main(int argc, char** argv) {\n'
    '  if (!fopen("lib.so", "r")) { printf("./lib.so: not there\\n"); return 1; }\n'
    '  if (argc > 1 && !strcmp(argv[1], "--hip")) k<<<1, 1>>>();\n  return 0;\n}\n'
)


def test_a_program_that_launches_nothing_is_tried_where_it_lies_and_with_its_switch_for_gpus(
    tmp_path: Path, toolchain: Toolchain
) -> None:
    (tmp_path / "main.hip").write_text(SWITCHED)
    build = "mkdir -p build && touch build/lib.so && hipcc -nogpuinc main.hip -o build/waves"
    proposal = BuildProposal("CMakeLists.txt", build, "build/waves", "waves")
    (*_, last) = try_builds(tmp_path, [proposal], Config(), toolchain, Run(), seconds=20.0)
    assert last.launched
    assert last.proposal.run == "cd build && ./waves --hip"
    assert last.reason == "its arguments are what its sources call the GPU's: --hip"


def test_variables_that_a_readme_gives_make_are_those_for_amd(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("```\nmake GPU=cuda\nmake GPU=hip ROCM_PATH=/opt/rocm -j4\n```\n")
    assert said_variables(tmp_path) == [{"GPU": "hip"}]


CMAKE = """\
cmake_minimum_required(VERSION 3.21)
project(waves CXX)
if(NOT DEFINED WITH_BACKENDS)
  set(WITH_BACKENDS cpu)
endif()
if(WITH_BACKENDS MATCHES "^h.p$")
  add_executable(waves main.cpp)
endif()
"""
PRESET = {
    "configurePresets": [
        {"name": "base", "hidden": True, "cacheVariables": {"WITH_BACKENDS": "none"}},
        {
            "name": "amd",
            "inherits": "base",
            "cacheVariables": {"WITH_BACKENDS": {"type": "STRING", "value": "hip"}},
        },
    ]
}


@pytest.mark.parametrize("said", ["CMakePresets.json", "README.md"])
def test_what_a_preset_or_a_readme_gives_cmake_for_amd_is_taken(
    tmp_path: Path, toolchain: Toolchain, said: str
) -> None:
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "main.cpp").write_text(MAIN)
    text = json.dumps(PRESET) if said.endswith("json") else "```\ncmake .. -DWITH_BACKENDS=hip\n```\n"
    (tmp_path / said).write_text(text)
    first = propose_builds(tmp_path, toolchain.calls).found[0]
    assert "-DWITH_BACKENDS=hip " in (first.build or ""), first


def test_a_build_that_fails_is_not_tried_again_for_its_other_program(
    tmp_path: Path, toolchain: Toolchain
) -> None:
    (tmp_path / "main.cpp").write_text(MAIN)
    build = "make missing"
    proposals = [BuildProposal("Makefile", build, f"./{name}", name) for name in ("one", "two")]
    tried = try_builds(tmp_path, proposals, Config(), toolchain, Run(), seconds=5.0)
    assert [one.proposal.program for one in tried] == ["one"]
