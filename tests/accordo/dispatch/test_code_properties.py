"""What a code object says of its kernels: the dimensions they ask for, variables that keep state, clocks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from hipscope.accordo.dispatch.code_properties import (
    Dimensions,
    asked_dimensions,
    could_leave_floats,
    largest_workgroup,
    meeting_places,
    own_state,
    reads_a_clock,
)
from hipscope.accordo.dispatch.disassembly import disassemble, mnemonics
from hipscope.analysis.config import Config
from hipscope.analysis.run import Run
from hipscope.analysis.toolchain.build import compile_device
from hipscope.analysis.toolchain.discovery import Toolchain, find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from tests.unsaved import unsaved

STORES = """#include <hip/hip_runtime.h>
struct Mixed { float f; int i; };
__global__ void hash(unsigned char* p) { ((unsigned*)p)[threadIdx.x] = 7u * threadIdx.x ^ ((unsigned*)p)[0]; }
__global__ void peaks(const float* in, bool* p) { p[threadIdx.x] = in[threadIdx.x] * 2.0f > in[0]; }
__global__ void pack(const float* in, Mixed* p) { p[threadIdx.x] = {in[0] * 3.0f, 1}; }
__global__ void sums(char* p) { unsafeAtomicAdd((float*)p, 1.0f); }
__global__ void halves(const _Float16* in, char* p) { ((_Float16*)p)[threadIdx.x] = in[0] * in[1]; }
__device__ __attribute__((noinline)) void there(float* p) { p[threadIdx.x] *= 1.5f; }
__global__ void calls(char* p) { there((float*)p); }
__global__ void ticket(unsigned* p, int* q) { q[blockIdx.x] = atomicAdd(p, 1u); }
__global__ void counts(unsigned* p, int* q) { atomicAdd(p + q[blockIdx.x], 1u); }
__global__ void flags(volatile int* p, int* q) { q[blockIdx.x] = p[0]; }
int main() {}
"""
TEXT = """#include <hip/hip_runtime.h>
__constant__ int taps[4];
__device__ int total;
__global__ void line(int* p) { p[threadIdx.x + blockIdx.x * blockDim.x] = taps[p[0]]; }
__global__ void plane(int* p) { p[threadIdx.y * blockDim.x + threadIdx.x] = blockIdx.y + total++; }
__global__ void __launch_bounds__(96) space(int* p) { p[threadIdx.z * 64 + threadIdx.x] = blockIdx.z; }
int main() {}
"""
CLOCK = TEXT + "__global__ void timed(long long* p) { p[0] = clock64(); }\n"
STATE = TEXT.replace("int total;", "int total; __device__ int launches;").replace(
    "total++", "total++ + launches++"
)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("machine")
    source = folder / "kernels.hip"
    source.write_text(TEXT)
    toolchain = find_toolchain(Config())
    project = resolve_project(source)
    texts = {"plain": TEXT, "clock": CLOCK, "state": STATE}
    return {
        name: compile_device(project, toolchain, source, unsaved(source, text.encode())).path
        for name, text in texts.items()
    }


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("stores") / "stores.hip"
    source.write_text(STORES)
    return compile_device(resolve_project(source), find_toolchain(Config()), source, Run()).path


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    return find_toolchain(Config())


def test_a_kernel_says_along_which_dimensions_it_asks_for_its_place(compiled: dict[str, Path]) -> None:
    path = compiled["plain"]
    assert asked_dimensions(path, "_Z4linePi") == Dimensions(1, (True, False, False))
    assert asked_dimensions(path, "_Z5planePi") == Dimensions(2, (True, True, False))
    assert asked_dimensions(path, "_Z5spacePi") == Dimensions(3, (True, False, True))


def test_where_nothing_is_said_all_dimensions_count(compiled: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no code object")
    assert asked_dimensions(compiled["plain"], "unknown") == Dimensions(3, (True, True, True))
    assert asked_dimensions(tmp_path / "text", "_Z4linePi") == Dimensions(3, (True, True, True))


def test_variables_that_only_the_candidate_has_are_named(compiled: dict[str, Path]) -> None:
    assert own_state(compiled["state"], compiled["plain"]) == ["launches"]
    assert own_state(compiled["plain"], compiled["state"]) == []


def test_an_instruction_that_reads_the_time_is_found(compiled: dict[str, Path], toolchain: Toolchain) -> None:
    objdump = toolchain.bin / "llvm-objdump"
    assert reads_a_clock(compiled["clock"], objdump)
    assert not reads_a_clock(compiled["plain"], objdump)


@pytest.mark.parametrize(
    ("kernel", "floats"),
    [
        ("_Z4hashPh", False),  # integers only
        ("_Z5peaksPKfPb", False),  # bytes only
        ("_Z4packPKfP5Mixed", True),
        ("_Z4sumsPc", True),
        ("_Z6halvesPKDF16_Pc", True),
        ("_Z5callsPc", True),
        ("unknown", True),
    ],
)
def test_only_instructions_on_floats_and_wide_stores_can_leave_floats(
    stores: Path, toolchain: Toolchain, kernel: str, *, floats: bool
) -> None:
    assert could_leave_floats(stores, toolchain.bin / "llvm-objdump", kernel) is floats


@pytest.mark.parametrize(
    ("kernel", "places"),
    [
        ("_Z6ticketPjPi", 1),
        ("_Z6countsPjPi", 0),  # it learns nothing of what others have done
        ("_Z5flagsPViPi", 1),
        ("_Z4packPKfP5Mixed", 0),
    ],
)
def test_places_where_workgroups_learn_of_each_other_are_counted(
    stores: Path, toolchain: Toolchain, kernel: str, places: int
) -> None:
    assert meeting_places(stores, toolchain.bin / "llvm-objdump", kernel) == places


def test_mnemonics_are_counted_as_the_instructions_have_them(
    compiled: dict[str, Path], toolchain: Toolchain
) -> None:
    path, objdump = compiled["plain"], toolchain.bin / "llvm-objdump"
    for kernel in ("_Z5planePi", None):
        listed = Counter(one.mnemonic for one in disassemble(path, objdump, kernel))
        assert mnemonics(path, objdump, kernel) == listed
        assert listed["s_endpgm"] == (1 if kernel else 3)
    assert mnemonics(path.with_name("none"), objdump) == {}


def test_launch_bounds_say_how_large_a_workgroup_may_be(compiled: dict[str, Path]) -> None:
    path = compiled["plain"]
    assert [largest_workgroup(path, k) for k in ("_Z5spacePi", "_Z4linePi", "unknown")] == [96, 1024, 1024]
