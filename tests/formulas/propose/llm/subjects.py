"""A small program with a profile made by hand: what a report is built from in these tests."""

from __future__ import annotations

from hipscope.analysis.profile import (
    Device,
    Dispatch,
    Frame,
    Instruction,
    Kernel,
    KernelName,
    MemoryPattern,
    Profile,
    ProgramRun,
    Provenance,
    Resources,
    Source,
    StallReason,
)
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.texts import ByteColumn
from hipscope.formulas.base import Evidence, Finding, Related
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts
from hipscope.formulas.propose.llm.prompt import Subject

FILE = "turn.hip"
START, END = ByteColumn(1), ByteColumn(9)

PROGRAM = """\
#include <hip/hip_runtime.h>

#define SCALE(x) ((x) * kFactor)
#define UNUSED 17
constexpr int kTile = 32;
constexpr float kFactor = 2.0f;
struct Point {
  float x;
};

__device__ float twice(float v) { return SCALE(v); }
__device__ float never(float v) { return v + UNUSED; }
static float host_only(float v) { return v * kTile; }

__global__ void turn(const float* in, float* out, int width) {
  __shared__ float tile[kTile][kTile];
  int x = blockIdx.x * kTile + threadIdx.x;  // COMMENT
  if (x < width) tile[threadIdx.y][threadIdx.x] = in[x];
  __syncthreads();
  if (x < width) out[x] = twice(tile[threadIdx.x][threadIdx.y]);
}

__global__ void other(float* p) { p[0] = host_only(1.0f); }

int main() { return 0; }
"""

FASTER = """\
__global__ void turn(const float* in, float* out, int width) {
  __shared__ float tile[kTile][kTile + 1];
  int x = blockIdx.x * kTile + threadIdx.x;
  if (x < width) tile[threadIdx.y][threadIdx.x] = in[x];
  __syncthreads();
  if (x < width) out[x] = twice(tile[threadIdx.x][threadIdx.y]);
}"""

DEVICE = Device(
    name="MI300X", arch="gfx942", compute_units=304, simds_per_cu=4, xcds=8, clock_mhz=2100, wave_size=64,
    max_waves_per_simd=8, unified_registers=True, sgpr_limit=True, barriers_per_cu=16,
    vgprs_per_lane=512, vgpr_granule=8, lds_bytes=65536, lds_granule=512, hbm_bytes_per_s=5.3e12, flops_fp32=163.4e12,
    flops_fp64=81.7e12,
)  # fmt: skip


def subject(program: str = PROGRAM, findings: int = 2) -> Subject:
    """`turn`, whose column read of the tile takes most of the time; `findings` of its two are reported."""
    source = program.encode()
    syntax = parse(source).kernel("turn")
    assert syntax is not None
    kernel = measured()
    profile = Profile(
        source=Source.EMULATOR,
        provenance=Provenance.MODELLED,
        device=DEVICE,
        kernels=(kernel,),
        program=ProgramRun(command=("turn",), exit_code=0, output=""),
    )
    first = syntax.span.line
    found = (
        Finding(
            "bankConflict", kernel.name, kernel.mangled, FILE, first + 5, first + 5, START, END, 0.61,
            "lanes read a column of `tile`, all from one bank",
            (Evidence("LDS cycles per access", 64, 2, "cycles"),),
            (Related(FILE, first + 1, "`tile` is declared here"),),
        ),
        Finding(
            "memoryAccess", kernel.name, kernel.mangled, FILE, first + 3, first + 3, START, END, 0.08,
            "loads use half of each line", (Evidence("lines per load", 4, 2, ""),),
        ),
    )  # fmt: skip
    launch = LaunchFact((1024, 32, 1), (32, 32, 1), 0, {"width": 1024}, {"in": 4096, "out": 4096})
    return Subject(
        profile, kernel, found[:findings], FILE, source, syntax, LaunchFacts((launch,), static_lds=4096)
    )


def measured(conflict_cycles: float = 62000.0, time_ns: float = 10000.0) -> Kernel:
    """The kernel with an LDS store, a barrier and an LDS load that waits."""

    def at(line: int) -> tuple[Frame, ...]:
        return (Frame(file=FILE, line=line, column=3, function="turn"),)

    load = MemoryPattern(
        space="lds", kind="load", bytes_per_lane=4, accesses=1000, lanes=64000, lds_cycles=conflict_cycles + 2000,
        lds_conflict_cycles=conflict_cycles,
    )  # fmt: skip
    fetch = MemoryPattern(
        space="global", kind="load", bytes_per_lane=4, accesses=1000, lanes=64000, lines_needed=2000,
        lines_used=4000, memory_lines=4000,
    )  # fmt: skip
    wait = conflict_cycles
    rows: tuple[
        tuple[str, int, float, float, dict[StallReason, float], dict[int, float], MemoryPattern | None], ...
    ]
    rows = (
        ("global_load_dword v1, v[2:3], off", 18, 4000, 0.0, {}, {}, fetch),
        ("s_waitcnt vmcnt(0)", 18, 14000, 10000.0, {StallReason.GLOBAL_MEMORY: 10000.0}, {0: 10000.0}, None),
        ("ds_write_b32 v4, v1", 18, 4000, 0.0, {}, {}, None),
        ("s_barrier", 19, 9000, 5000.0, {StallReason.BARRIER: 5000.0}, {}, None),
        ("ds_read_b32 v5, v6", 20, 4000, 0.0, {}, {}, load),
        ("s_waitcnt lgkmcnt(0)", 20, 4000 + wait, wait, {StallReason.LDS: wait}, {4: wait}, None),
        ("global_store_dword v7, v5, s[0:1]", 20, 4000, 0.0, {}, {}, None),
        ("s_endpgm", 21, 1000, 0.0, {}, {}, None),
    )
    return Kernel(
        name=KernelName("turn(float const*, float*, int)"),
        mangled="_Z4turnPKfPfi",
        file=FILE,
        line=15,
        dispatches=(Dispatch(id=1, grid=(1024, 32, 1), workgroup=(32, 32, 1), start_ns=0, end_ns=time_ns),),
        resources=Resources(vgprs=12, sgprs=20, lds_bytes=4096, scratch_bytes=0, vgpr_spills=0),
        counters={"SQ_WAVES": 512, "SQ_LDS_BANK_CONFLICT": conflict_cycles, "SQ_INSTS_LDS": 2000},
        instructions=tuple(
            Instruction(
                index=index,
                address=0x1000 + 8 * index,
                text=text,
                source=at(line),
                hits=1000,
                lanes=64000,
                latency=latency,
                stall=stall,
                stalls=stalls,
                waited_for=waited,
                memory=memory,
            )
            for index, (text, line, latency, stall, stalls, waited, memory) in enumerate(rows)
        ),
    )
