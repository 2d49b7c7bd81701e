"""The folder that stands for ROCm: what build files ask it, and that CMake's HIP packages are there."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hipscope.analysis.build_files.proposal import propose_builds
from hipscope.analysis.build_files.rocm_folder import stand_ins
from hipscope.analysis.config import Config
from hipscope.analysis.run import Run
from hipscope.analysis.system.sandbox import isolation
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.command_build import build_in_tree
from hipscope.analysis.toolchain.discovery import Toolchain
from hipscope.analysis.toolchain.project import command_project
from tests.plain_hip import PLAIN_HIP

KERNEL = PLAIN_HIP + "__global__ void k(int* p) { *p = 1; }\nvoid go(int* p) { k<<<1, 1>>>(p); }\n"
MAIN = "void go(int*);\nint main() { go(nullptr); }\n"
BEGIN = "cmake_minimum_required(VERSION 3.21)\n"
PROJECTS = {
    "language": "project(app LANGUAGES CXX HIP)\nadd_executable(app main.cpp kernel.hip)\n",
    "device": "project(app CXX)\nfind_package(hip REQUIRED)\nadd_library(kernels STATIC kernel.cpp)\n"
    "target_link_libraries(kernels hip::device)\nadd_executable(app main.cpp)\n"
    "target_link_libraries(app kernels hip::host)\n",
    "functions": "project(app CXX)\nset(CMAKE_MODULE_PATH $ENV{HIP_PATH}/cmake)\nfind_package(HIP REQUIRED)\n"
    "hip_add_executable(app main.cpp kernel.cpp HIPCC_OPTIONS -DX=1 NVCC_OPTIONS -arch=sm_70)\n",
}


def test_build_files_that_ask_where_rocm_is_get_an_answer(tmp_path: Path, toolchain: Toolchain) -> None:
    given = {"PATH": "/usr/bin:/bin", "HIPCC": "hipcc -O2"}
    found = stand_ins(tmp_path, toolchain.calls, given, record=tmp_path, names=(tmp_path, tmp_path))
    assert found["HIPCC"].endswith("/hipcc -O2")
    env = {**given, **found}

    def said(*words: str) -> str:
        return subprocess.run(words, env=env, capture_output=True, text=True, check=True, cwd="/").stdout

    root = Path(said("hipconfig", "--rocmpath"))
    assert root == Path(env["ROCM_PATH"]) == Path(env["HIP_PATH"])
    assert said("hipconfig", "--platform") == "amd"
    assert said("rocm_agent_enumerator") == f"{toolchain.arch}\n"
    for name in (
        "bin/hipcc",
        "hip/bin/hipcc",
        "llvm/bin/clang++",
        "lib/libamdhip64.so",
        "cmake/FindHIP.cmake",
    ):
        assert (root / name).exists(), name


@pytest.mark.slow
@pytest.mark.parametrize("kind", PROJECTS)
@pytest.mark.parametrize("version", ["system", "newest"])
def test_cmakes_ways_to_hip_configure_and_build_without_rocm(
    tmp_path: Path, toolchain: Toolchain, kind: str, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian 12's CMake is 3.25; that of the environment of the tests is 4."""
    place = "/usr/bin" if version == "system" else str(Path(sys.executable).parent)
    found = shutil.which("cmake", path=place)
    if found is None:
        pytest.skip(f"there is no cmake in {place}")
    monkeypatch.setenv("PATH", f"{Path(found).parent}:/usr/bin:/bin")
    (tmp_path / "CMakeLists.txt").write_text(BEGIN + PROJECTS[kind])
    (tmp_path / ("kernel.hip" if kind == "language" else "kernel.cpp")).write_text(KERNEL)
    (tmp_path / "main.cpp").write_text(MAIN)
    flags = "-DCMAKE_CXX_FLAGS=-nogpuinc -DCMAKE_HIP_FLAGS=-nogpuinc"
    build = f"cmake -S . -B build -DCMAKE_CXX_COMPILER=clang++ {flags} && cmake --build build"
    settings = Config(build=build, run="build/app")
    tree = build_program(command_project(tmp_path, settings, None), toolchain)
    assert (tree.directory / "build/app").exists()
    (tmp_path / "main.cpp").write_text(MAIN + "// changed\n")
    again = build_program(command_project(tmp_path, settings, None), toolchain)
    assert "have changed" not in again.output, "CMake has taken its compiler for another one"


def test_rocms_own_cmake_modules_are_not_needed(tmp_path: Path, toolchain: Toolchain) -> None:
    if toolchain.calls.rocm is not None:
        pytest.skip("ROCm is installed")
    (tmp_path / "main.cpp").write_text(MAIN)
    (tmp_path / "CMakeLists.txt").write_text(
        BEGIN + "find_package(ROCM 0.8 REQUIRED)\nfind_package(ROCmCMakeBuildTools REQUIRED)\n"
        "include(ROCMInstallTargets)\ninclude(ROCMCreatePackage)\n"
        "rocm_setup_version(VERSION 1.2.3)\nadd_executable(app-${PROJECT_VERSION_MINOR} main.cpp)\n"
        "rocm_install(TARGETS app-2 COMPONENT devel)\nrocm_create_package(NAME app DESCRIPTION x)\n"
        'rocm_check_target_ids(KNOWN TARGETS "gfx90a;gfx942")\nif(NOT KNOWN)\nmessage(FATAL_ERROR "none")\nendif()\n'
    )
    said = propose_builds(tmp_path, toolchain.calls)
    assert [one.program for one in said.found][:1] == ["app-2"], said.refused


SCRIPT = """\
#!/bin/sh
arch=$(/opt/rocm/bin/rocminfo | grep -m 1 -o 'gfx[0-9a-f]*')
/opt/rocm-4.2.0/bin/hipcc --offload-arch=$arch -nogpuinc -I/opt/rocm/include -L/opt/rocm/lib main.cpp kernel.cpp -o app
test "$(/opt/rocm/bin/hipconfig --platform)" = amd
"""


def test_a_build_that_names_an_absent_rocm_by_its_path_finds_ours_there(
    tmp_path: Path, toolchain: Toolchain
) -> None:
    if toolchain.calls.rocm is not None or isolation() == "limits":
        pytest.skip("ROCm is installed")
    (tmp_path / "make.sh").write_text(SCRIPT)
    (tmp_path / "main.cpp").write_text(MAIN)
    (tmp_path / "kernel.cpp").write_text(KERNEL)
    project = command_project(tmp_path, Config(build="sh -e ./make.sh", run="./app"), None)
    for confined in (False, True):
        (tmp_path / "main.cpp").write_text(MAIN + f"// {confined}\n")
        tree = build_in_tree(project, toolchain, Run(), confined=confined)
        assert (tree.directory / "app").exists()
    assert not Path("/opt/rocm").exists()


def test_a_makefile_that_asks_an_absent_rocm_by_its_path_gets_an_answer(
    tmp_path: Path, toolchain: Toolchain
) -> None:
    if toolchain.calls.rocm is not None or isolation() == "limits":
        pytest.skip("ROCm is installed")
    (tmp_path / "Makefile").write_text(
        "ROCM = /opt/rocm\nARCH := $(shell $(ROCM)/bin/rocminfo | grep -m 1 -o 'gfx[0-9a-f]*')\n"
        "ifeq ($(ARCH),)\n$(error no GPU)\nendif\napp-$(ARCH): main.cpp\n\t$(ROCM)/bin/hipcc $< -o $@\n"
    )
    (tmp_path / "main.cpp").write_text(MAIN)
    said = propose_builds(tmp_path, toolchain.calls)
    assert said.found[0].program == f"app-{toolchain.arch}", said.refused


FOR_NVIDIA = (
    "-gencode arch=compute_80,code=sm_80 -arch=sm_80 --gpu-architecture=compute_80 --expt-relaxed-constexpr "
    "-Xcompiler -DFOUR=4 -Xptxas -v -lineinfo -lcudart -x cu"
)


def test_what_is_for_nvidias_compiler_among_the_flags_of_hipcc_is_left_out(
    tmp_path: Path, toolchain: Toolchain
) -> None:
    (tmp_path / "kernel.cpp").write_text(KERNEL + "int main() { go(nullptr); return FOUR - 4; }\n")
    build = f"hipcc -nogpuinc {FOR_NVIDIA} kernel.cpp -o app"
    tree = build_program(command_project(tmp_path, Config(build=build, run="./app"), None), toolchain)
    assert (tree.directory / "app").exists()


def test_hipcc_takes_a_source_of_c_for_c(tmp_path: Path, toolchain: Toolchain) -> None:
    (tmp_path / "part.c").write_text("int part(void) { int class = 1; return class; }\n")
    (tmp_path / "main.cpp").write_text('extern "C" int part(void);\nint main() { return part() - 1; }\n')
    settings = Config(build="hipcc -nogpuinc main.cpp part.c -o app", run="./app")
    tree = build_program(command_project(tmp_path, settings, None), toolchain)
    assert (tree.directory / "app").exists()


LIBRARY_MAIN = "#include <{header}>\nint main() {{ return 0; }}\n"


@pytest.mark.parametrize(
    ("package", "target", "header"),
    [
        ("hipblas", "roc::hipblas", "hipblas/hipblas.h"),
        ("rocblas", "roc::rocblas", "rocblas/rocblas.h"),
        ("hipfft", "hip::hipfft", "hipfft/hipfft.h"),
        ("hiprand", "hip::hiprand", "hiprand/hiprand.h"),
        ("rocrand", "roc::rocrand", "rocrand/rocrand.h"),
        (
            "rocprofiler-sdk-roctx",
            "rocprofiler-sdk-roctx::rocprofiler-sdk-roctx",
            "rocprofiler-sdk-roctx/roctx.h",
        ),
    ],
)
def test_packages_of_libraries_with_a_stand_in_configure_and_link(
    tmp_path: Path, toolchain: Toolchain, package: str, target: str, header: str
) -> None:
    """By a compiler of the system that knows nothing of HIP: the package brings headers and definitions."""
    if toolchain.calls.rocm is not None:
        pytest.skip("there is a ROCm")
    (tmp_path / "CMakeLists.txt").write_text(
        f"{BEGIN}project(app CXX)\nfind_package({package} REQUIRED)\nadd_executable(app main.cpp)\n"
        f"target_link_libraries(app {target})\n"
    )
    (tmp_path / "main.cpp").write_text(LIBRARY_MAIN.format(header=header))
    settings = Config(
        build="cmake -S . -B build -DCMAKE_CXX_COMPILER=g++ && cmake --build build", run="build/app"
    )
    tree = build_program(command_project(tmp_path, settings, None), toolchain)
    assert (tree.directory / "build/app").exists()


@pytest.mark.parametrize(
    "command",
    [
        "hipcc main.cpp -o app -lhipblas -lrocblas -lroctx64",
        "hipcc -I$ROCM_PATH/rocblas/include main.cpp -o app -L$ROCM_PATH/hipblas/lib -lhipblas -lrocblas -lroctx64",
        "g++ -D__HIP_PLATFORM_AMD__ -I$HIP_PATH/include main.cpp -o app -L$HIP_PATH/lib -lhipblas -lrocblas -lroctx64",
    ],
)
def test_command_lines_find_the_headers_and_libraries(
    tmp_path: Path, toolchain: Toolchain, command: str
) -> None:
    if toolchain.calls.rocm is not None:
        pytest.skip("there is a ROCm")
    (tmp_path / "main.cpp").write_text(
        "#include <hipblas/hipblas.h>\n#include <hipblas.h>\n#include <rocblas.h>\n#include <roctracer/roctx.h>\n"
        'int main() { hipblasHandle_t a; rocblas_handle b; roctxMark("begin");\n'
        "  return hipblasCreate(&a) + rocblas_create_handle(&b); }\n"
    )
    tree = build_program(command_project(tmp_path, Config(build=command, run="./app"), None), toolchain)
    assert (tree.directory / "app").exists()
