"""Bank conflicts in LDS: each width and direction against a slow count, lanes in sixteens against a count by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from hipscope.emulator.devices import device_constants, lds_sets
from hipscope.emulator.raw import read_dispatches, read_profile
from tests.emulator.hip_run import record, run_hip

# Where each sixteen lanes of a wave begin, in words, how far lanes are apart, and the cycles that conflicts add:
# 32 lanes are served at a time, and each bank gives one word a cycle. One load makes all of these accesses, so that
# each must be told from the one before.
ROUNDS = [
    ((0, 32, 64, 96), 1, 2),
    ((5, 37, 69, 101), 1, 2),
    ((0, 48, 96, 144), 1, 0),
    ((0, 0, 64, 80), 1, 0),
    ((0, 40, 0, 8), 1, 1),
    ((0, 40, 0, 8), 0, 0),
    ((0, 32, 64, 96), 0, 2),
    ((7, 7, 7, 39), 0, 1),
    ((7, 7, 7, 39), 1, 1),
    ((0, 32, 64, 96), 2, 2),
]

PROGRAM = """
__global__ void tile(const int* begin, const int* step, float* out, int n) {
    __shared__ float words[256];
    const int t = threadIdx.x;
    for (int i = t; i < 256; i += 64) words[i] = i;
    __syncthreads();
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < n; ++k) sum += words[begin[4 * k + t / 16] + t % 16 * step[k]];
    out[t] = sum;
}
int main() {
    const std::vector<int> begin{BEGIN}, step{STEP};
    float sum = 0, last;
    for (std::size_t k = 0; k < step.size(); ++k) sum += float(begin[4 * k + 3] + 15 * step[k]);
    int *a, *b; float* out;
    CHECK(hipMalloc((void**)&a, 4096)); CHECK(hipMalloc((void**)&b, 4096)); CHECK(hipMalloc((void**)&out, 256));
    CHECK(hipMemcpy(a, begin.data(), begin.size() * 4, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(b, step.data(), step.size() * 4, hipMemcpyHostToDevice));
    tile<<<1, 64>>>(a, b, out, int(step.size()));
    CHECK(hipMemcpy(&last, out + 63, 4, hipMemcpyDeviceToHost));
    std::printf("%s\\n", last == sum ? "right" : "wrong");
}
"""


def test_conflicts_of_lanes_in_sixteens_are_those_of_their_banks(tmp_path: Path) -> None:
    begin = ", ".join(str(word) for words, _, _ in ROUNDS for word in words)
    step = ", ".join(str(step) for _, step, _ in ROUNDS)
    ran = run_hip(PROGRAM.replace("BEGIN", begin).replace("STEP", step), tmp_path, profile=True)
    assert (ran.stdout, ran.returncode) == ("right\n", 0), ran.stderr
    (dispatch,) = read_dispatches(tmp_path / "out")
    assert dispatch.counters["SQ_LDS_BANK_CONFLICT"] == sum(conflicts for _, _, conflicts in ROUNDS)


# The lanes that are served together, as sets, and the banks; by width in bytes. Written down here once more, from the
# sources that devices.toml names, so that a slip there shows.
def _consecutive(size: int) -> list[set[int]]:
    return [set(range(first, first + size)) for first in range(0, 64, size)]


def _twice(*half: Sequence[int]) -> list[set[int]]:
    return [{lane + more for lane in lanes} for more in (0, 32) for lanes in half]


_EIGHTS = _twice(
    (0, 1, 2, 3, 20, 21, 22, 23),
    (4, 5, 6, 7, 16, 17, 18, 19),
    (8, 9, 10, 11, 28, 29, 30, 31),
    (12, 13, 14, 15, 24, 25, 26, 27),
)
_SIXTEENS = _twice(
    (0, 1, 2, 3, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25, 26, 27),
    (4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 28, 29, 30, 31),
)
Serving = tuple[int, list[set[int]]]
_WRITES: dict[int, Serving] = {
    4: (32, _consecutive(32)),
    8: (32, _consecutive(16)),
    12: (32, _consecutive(8)),
    16: (32, _consecutive(8)),
}
_MI300_READS: dict[int, Serving] = {
    4: (32, _consecutive(32)),
    8: (32, _consecutive(16)),
    12: (32, _EIGHTS),
    16: (32, _EIGHTS),
}
_READS: dict[str, dict[int, Serving]] = {
    "mi300x": _MI300_READS,
    "mi355x": {**_MI300_READS, 8: (64, _consecutive(32)), 16: (64, _SIXTEENS)},
}


@dataclass(frozen=True)
class Access:
    """An instruction that accesses LDS: bytes of a lane at an address, and how far apart its addresses are."""

    line: str
    bytes: int
    kind: str = "read"
    offsets: tuple[int, ...] = (0,)
    registers: int = 1

    @property
    def aligned(self) -> int:
        """What its addresses are multiples of."""
        return min(16, 1 << (self.bytes - 1).bit_length())


ACCESSES = (
    Access("ds_read_b32 %0, %1", 4),
    Access("ds_read_u16 %0, %1", 2),
    Access("ds_read_i8 %0, %1", 1),
    Access("ds_read_b64 %0, %1", 8, registers=2),
    Access("ds_read_b96 %0, %1", 12, registers=3),
    Access("ds_read_b128 %0, %1", 16, registers=4),
    Access("ds_read2_b32 %0, %1 offset1:17", 4, offsets=(0, 68), registers=2),
    Access("ds_read2st64_b32 %0, %1 offset1:1", 4, offsets=(0, 256), registers=2),
    Access("ds_read2_b64 %0, %1 offset0:3 offset1:8", 8, offsets=(24, 64), registers=4),
    Access("ds_write_b32 %1, %0", 4, "write"),
    Access("ds_write_b8 %1, %0", 1, "write"),
    Access("ds_write_b16 %1, %0", 2, "write"),
    Access("ds_write_b64 %1, %0", 8, "write", registers=2),
    Access("ds_write_b96 %1, %0", 12, "write", registers=3),
    Access("ds_write_b128 %1, %0", 16, "write", registers=4),
    Access("ds_write2_b32 %1, %0, %0 offset1:33", 4, "write", offsets=(0, 132)),
    Access("ds_write2_b64 %1, %0, %0 offset1:5", 8, "write", offsets=(0, 40), registers=2),
    Access("ds_add_u32 %1, %0", 4, "atomic"),
    Access("ds_add_u64 %1, %0", 8, "atomic", registers=2),
)
_WAVES = 24  # accesses of each instruction
_LDS = 16384


def addresses(access: Access, seed: int) -> list[list[int]]:
    """Of each lane of each wave: strides, the same ones moved, runs, rows with padding, and anywhere."""
    random = Random(seed)
    room, step = _LDS - 512, access.aligned
    waves = [[lane * stride * step for lane in range(64)] for stride in (0, 1, 2, 3, 4, 5, 8, 12)]
    waves += [[lane * access.bytes // step * step for lane in range(64)]]
    waves += [
        [lane // width * (width + pad) * step + lane % width * step for lane in range(64)]
        for width, pad in ((8, 2), (8, 1), (16, 1), (32, 1), (4, 4))
    ]
    waves += [[address + 4 * step for address in waves[3]]]
    while len(waves) < _WAVES:
        waves.append([random.randrange(room // step) * step for _ in range(64)])
    return [[address % room // step * step for address in lanes] for lanes in waves]


def slowly_counted(access: Access, serving: Serving, waves: list[list[int]]) -> tuple[int, int]:
    """Cycles in all, and those of them that conflicts add: bank by bank and set by set."""
    banks, sets = serving
    cycles = conflicts = 0
    for lanes in waves:
        for offset in access.offsets:
            for together in sets:
                wanted: dict[int, list[int]] = {bank: [] for bank in range(banks)}
                for lane in together:
                    first = (lanes[lane] + offset) // 4
                    for word in range(
                        first, first + (1 if access.kind == "atomic" else -(-access.bytes // 4))
                    ):
                        if access.kind == "atomic" or word not in wanted[word % banks]:
                            wanted[word % banks].append(word)
                longest = max(len(words) for words in wanted.values())
                cycles += longest
                conflicts += longest - 1
    return cycles, conflicts


KERNEL = """
__global__ void k{number}(const unsigned* where) {{
    __shared__ __attribute__((aligned(16))) unsigned char room[{lds}];
    const unsigned base = (unsigned)(unsigned long long)(__attribute__((address_space(3))) unsigned char*)room;
    typedef unsigned Row __attribute__((ext_vector_type({registers})));
    Row value = {{}};
#pragma clang loop unroll(disable)
    for (int k = 0; k < {waves}; ++k) {{
        const unsigned at = base + where[k * 64 + threadIdx.x];
        asm volatile("{line}\\n s_waitcnt lgkmcnt(0)" : "+v"(value) : "v"(at) : "memory");
    }}
}}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with a kernel for each of `ACCESSES`, which finds its addresses in a table."""
    tables = [
        address for n, access in enumerate(ACCESSES) for lanes in addresses(access, n) for address in lanes
    ]
    kernels = "".join(
        KERNEL.format(number=n, lds=_LDS, registers=a.registers, waves=_WAVES, line=a.line).replace(
            "typedef unsigned Row __attribute__((ext_vector_type(1)))", "typedef unsigned Row"
        )
        for n, a in enumerate(ACCESSES)
    )
    launches = "".join(f"k{n}<<<1, 64>>>(at + {n * _WAVES * 64});" for n in range(len(ACCESSES)))
    source = tmp_path_factory.mktemp("lds") / "lds.hip"
    source.write_text(
        f"#include <hip/hip_runtime.h>\nstatic const unsigned table[] = {{{','.join(map(str, tables))}}};\n{kernels}"
        "int main() { unsigned* at; if (hipMalloc(&at, sizeof table) != hipSuccess) return 1;"
        "if (hipMemcpy(at, table, sizeof table, hipMemcpyHostToDevice) != hipSuccess) return 1;"
        f"{launches} return hipDeviceSynchronize() != hipSuccess; }}\n"
    )
    return source


@pytest.mark.parametrize("device", sorted(_READS))
def test_each_width_and_direction_is_served_as_a_slow_count_says(
    program: Path, device: str, tmp_path: Path
) -> None:
    served = {
        key: row.value
        for key, row in device_constants()[device].items()
        if key.startswith(("lds_read", "lds_write"))
    }
    out = record(
        program, tmp_path, "mi300x", 1, **served
    )  # the code is gfx942's, how it is served the device's
    ran = {dispatch.kernel: dispatch.counters for dispatch in read_dispatches(out)}
    found, expected = {}, {}
    for n, access in enumerate(ACCESSES):
        rows = _READS[device] if access.kind == "read" else _WRITES
        width = next(w for w in rows if access.bytes <= w)
        expected[access.line] = slowly_counted(access, rows[width], addresses(access, n))
        counters = next(c for kernel, c in ran.items() if kernel.startswith(f"_Z{len(str(n)) + 1}k{n}P"))
        found[access.line] = (counters["SQ_LDS_IDX_ACTIVE"], counters["SQ_LDS_BANK_CONFLICT"])
    assert found == expected


def test_a_store_of_16_bytes_is_not_served_as_a_load_of_16_bytes(tmp_path: Path) -> None:
    """Rows of eight lanes with 32 bytes of padding: eight lanes that follow each other meet no bank twice."""
    text = """
__global__ void stage(const float4* in, float4* out) {
    __shared__ __attribute__((aligned(16))) char tile[8 * 160];
    const int t = threadIdx.x;
    *reinterpret_cast<float4*>(tile + t / 8 * 160 + t % 8 * 16) = in[t];
    __syncthreads();
    out[t] = *reinterpret_cast<float4*>(tile + t / 8 * 160 + t % 8 * 16);
}
int main() {
    float4* a; CHECK(hipMalloc((void**)&a, 2048));
    stage<<<1, 64>>>(a, a + 64);
    CHECK(hipDeviceSynchronize());
}
"""
    assert run_hip(text, tmp_path, profile=True).returncode == 0
    (dispatch,) = read_dispatches(tmp_path / "out")
    profile = read_profile(tmp_path / "out", dispatch.id)
    assert profile is not None
    conflicts = {
        i.text.split()[0]: i.memory["lds_conflict_cycles"]
        for i in profile.instructions
        if i.memory is not None and i.memory["space"] == "lds"
    }
    assert conflicts == {"ds_write_b128": 0, "ds_read_b128": 8}


@pytest.mark.parametrize("device", ["mi300x", "mi355x"])
@pytest.mark.parametrize("width", [4, 8, 12, 16])
def test_the_sets_that_rewrites_are_chosen_by_are_those_of_the_engine(device: str, width: int) -> None:
    for write, (banks, lanes) in ((False, _READS[device][width]), (True, _WRITES[width])):
        told = lds_sets(device, write=write, lane_bytes=width)
        assert (told.banks, sorted(map(sorted, told.lanes))) == (banks, sorted(map(sorted, lanes)))
