"""Fences, kinds of memory and waiting for other waves: which lines are told what, of one program for all of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from hipscope.analysis.profile import Frame, Instruction, MemoryPattern, Profile, StallReason
from hipscope.analysis.run import Run
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.base import Finding
from hipscope.formulas.detect.registry import detect_all, explain
from tests.formulas.detect.test_numbers import FILE, evidence, instruction, only, other, profile_of

# A line with `// expect NAME` has a finding of that formula; of the three here, no other line has one.
PROGRAM = """
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>
#include <atomic>
#include <cstdio>
namespace cg = cooperative_groups;

__global__ void fence_in_a_loop(const float* in, float* out, unsigned* done, int n) {
  for (int c = 0; c < n; ++c) {
    out[(blockIdx.x * n + c) * 256 + threadIdx.x] = in[(blockIdx.x * n + c) * 256 + threadIdx.x] * 2.0f;
    __threadfence();  // expect fences
    if (threadIdx.x == 0) atomicAdd(done + blockIdx.x, 1u);
  }
}
__global__ void fence_for_the_system(float* out, int n) {
  for (int c = 0; c < n; ++c) {
    out[threadIdx.x + 64 * c] = c;
    __threadfence_system();  // expect fences
  }
}
__global__ void built_in_fence(float* out, int n) {
  for (int c = 0; c < n; ++c) {
    out[threadIdx.x + 64 * c] = c;
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");  // expect fences
  }
}
__global__ void fence_for_the_block(float* out, int n) {
  for (int c = 0; c < n; ++c) {
    out[threadIdx.x + 64 * c] = c;
    __threadfence_block();
    __syncthreads();
    cg::sync(cg::this_thread_block());
  }
}
__global__ void ordered(unsigned* words, int n) {
  for (int c = 0; c < n; ++c)
    __hip_atomic_fetch_add(words + threadIdx.x, 1u, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_SYSTEM);  // expect fences
}
__global__ void ordered_reference(unsigned* words, int n) {
  for (int c = 0; c < n; ++c)
    __atomic_fetch_add(words + threadIdx.x, 1u, __ATOMIC_ACQ_REL);  // expect fences
}
__global__ void relaxed(unsigned* words, int n) {
  for (int c = 0; c < n; ++c)
    __hip_atomic_fetch_add(words + threadIdx.x, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
__global__ void count(unsigned* words, int n) {
  for (int c = 0; c < n; ++c) atomicAdd(words + (threadIdx.x & 7), 1u);  // expect memoryKind
}
__global__ void sum(const float* in, float* out, int n) {
  float s = 0;
  for (int c = 0; c < n; ++c) s += in[threadIdx.x + c * 64];  // expect memoryKind
  out[threadIdx.x] = s;
}
__global__ void flag(unsigned* flags, float* out) {
  const unsigned mine = blockIdx.x;
  float v = threadIdx.x;
  for (int c = 0; c < 200; ++c) v = v * 1.01f + 1.0f;
  if (threadIdx.x == 0 && mine > 0)
    while (__hip_atomic_load(flags + mine - 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0) {}  // expect spinning
  __syncthreads();
  out[mine * 64 + threadIdx.x] = v;
  if (threadIdx.x == 0) __hip_atomic_store(flags + mine, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
__global__ void lock(unsigned* word, float* out) {
  if (threadIdx.x == 0) {
    while (atomicCAS(word, 0u, 1u) != 0u) {}  // expect spinning
    out[0] += 1.0f;
    atomicExch(word, 0u);
  }
}
__device__ float add(float* where, float value) {
  unsigned* word = reinterpret_cast<unsigned*>(where);
  unsigned old = *word, seen;
  do {
    seen = old;
    old = atomicCAS(word, seen, __float_as_uint(__uint_as_float(seen) * value));
  } while (seen != old);
  return __uint_as_float(old);
}
__global__ void multiply(float* out) { add(out, 1.0f + threadIdx.x); }
__global__ void queue(unsigned* next, float* out, unsigned n) {
  __shared__ unsigned item;
  for (;;) {
    if (threadIdx.x == 0) item = atomicAdd(next, 1u);
    __syncthreads();
    const unsigned i = item;
    __syncthreads();
    if (i >= n) break;
    out[i * 64 + threadIdx.x] += 1.0f;
  }
}
__global__ void tell(const float* out) {
  if (threadIdx.x % 16 == 0)
    printf("%f\\n", out[threadIdx.x]);  // expect fences
}

int main() {
  float *in, *out, *host;
  unsigned *words, *shared;
  if (hipMalloc(&in, 1 << 20) || hipMalloc(&out, 1 << 20) || hipMalloc(&words, 1 << 16)) return 1;
  if (hipMallocManaged(&shared, 4096) || hipHostMalloc(&host, 1 << 16)) return 1;
  if (hipMemset(in, 0, 1 << 20) || hipMemset(out, 0, 1 << 20) || hipMemset(words, 0, 1 << 16)) return 1;
  for (int i = 0; i < 1024; ++i) shared[i] = 0;
  for (int i = 0; i < 1 << 14; ++i) host[i] = 0;
  fence_in_a_loop<<<64, 256>>>(in, out, words, 4);
  fence_for_the_system<<<1, 64>>>(out, 4);
  built_in_fence<<<1, 64>>>(out, 4);
  fence_for_the_block<<<1, 64>>>(out, 4);
  ordered<<<1, 64>>>(words, 4);
  ordered_reference<<<1, 64>>>(words, 4);
  relaxed<<<1, 64>>>(words, 4);
  count<<<16, 64>>>(shared, 8);
  sum<<<1, 64>>>(host, out, 64);
  if (hipMemset(words, 0, 1 << 16)) return 1;
  flag<<<64, 64>>>(words, out);
  lock<<<64, 64>>>(words + 4096, out);
  multiply<<<8, 64>>>(out);
  queue<<<8, 64>>>(words + 8192, out, 64);
  tell<<<2, 64>>>(in);
  if (hipMemAdvise(shared, 4096, hipMemAdviseSetCoarseGrain, 0)) return 1;
  count<<<4, 128>>>(shared, 8);
  return hipDeviceSynchronize() != hipSuccess;
}
"""
_OURS = ("fences", "memoryKind", "spinning")


@dataclass(frozen=True)
class Profiled:
    """The program, profiled."""

    profile: Profile
    texts: SourceTexts
    findings: list[Finding]

    def of(self, kernel: str) -> Finding:
        """The one finding of ours in a kernel."""
        (found,) = [f for f in self.findings if f.kernel.startswith(kernel + "(") and f.formula in _OURS]
        return found


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Profiled]:
    folder = tmp_path_factory.mktemp("coherence")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        source = folder / "coherence.hip"
        source.write_text(PROGRAM)
        run = Run()
        session = profile_project(resolve_project(source), run, options=ProfileOptions(backend="emulator"))
        assert session.profile.program.exit_code == 0
        yield Profiled(session.profile, run.texts, detect_all(session.profile, run.texts))


def test_no_gain_is_told_for_a_cost_that_the_times_do_not_hold(profiled: Profiled) -> None:
    assert "not modelled" in profiled.of("sum").message
    assert profiled.of("sum").estimated_speedup is None
    assert profiled.of("fence_in_a_loop").estimated_speedup is not None


def test_printf_is_named_where_it_stands_though_its_code_has_no_lines(profiled: Profiled) -> None:
    found = profiled.of("tell")
    assert found.message.startswith("`printf` asks the host")
    assert found.share > 0.5


def test_each_line_is_told_what_it_waits_for_and_no_other_is(profiled: Profiled) -> None:
    lines = PROGRAM.splitlines()
    expected = {(m[1], n) for n, line in enumerate(lines, 1) if (m := re.search(r"// expect (\w+)", line))}
    assert {(f.formula, f.line) for f in profiled.findings if f.formula in _OURS} == expected


def test_a_fence_says_for_whom_it_is_and_what_it_does(profiled: Profiled) -> None:
    told = profiled.of("fence_in_a_loop")
    assert told.message.startswith(
        "1,024 fences for the device, 4 for each wave: each writes the L2's changed lines"
    )
    assert evidence(told)["write-backs of the L2 (buffer_wbl2)"] == 64 * 4 * 4
    assert "fences for the system (host and other GPUs)" in profiled.of("fence_for_the_system").message
    assert "that the order of an atomic operation asks for" in profiled.of("ordered").message


def test_the_line_of_a_fence_is_not_told_to_unroll_a_loop(profiled: Profiled) -> None:
    told = explain(profiled.profile, profiled.findings, profiled.texts)
    fences = {f.line for f in profiled.findings if f.formula == "fences"}
    assert [t for t in told if t.line in fences] == []


def test_managed_memory_is_named_with_its_allocation_and_no_time(profiled: Profiled) -> None:
    told = profiled.of("count")
    assert told.message.startswith("atomic operations on managed memory: ")
    assert "100 times" in told.message
    assert "not modelled" in told.message
    assert evidence(told)["accesses to memory that the host sees"] == 16 * 8
    allocated = next(n for n, line in enumerate(PROGRAM.splitlines(), 1) if "hipMallocManaged(" in line)
    assert (allocated, "managed memory is allocated here") in [(r.line, r.message) for r in told.related]
    contended = next(
        f for f in profiled.findings if f.formula == "atomicContention" and f.kernel.startswith("count(")
    )
    assert "on managed memory" in contended.message


def test_managed_memory_that_is_coarse_grained_is_device_memory(profiled: Profiled) -> None:
    (kernel,) = [k for k in profiled.profile.kernels if k.name.startswith("count(")]
    (atomic,) = [i.memory for i in kernel.instructions if i.memory is not None and i.memory.kind == "atomic"]
    assert atomic.accesses == 16 * 8 + 8 * 8
    assert atomic.memory_kinds == {"managed": 16 * 8}


def test_host_memory_is_named(profiled: Profiled) -> None:
    assert profiled.of("sum").message.startswith("loads and stores on coherent host memory: ")


def test_waiting_for_a_flag_is_worth_the_time_of_its_loop(profiled: Profiled) -> None:
    told = profiled.of("flag")
    assert "for what another wave writes" in told.message
    assert evidence(told)["wave time in loops that only look"] == pytest.approx(100 * told.share)


def test_a_fence_is_worth_its_issue_and_its_waits() -> None:
    # 400 of issue and 5600 of waits, in 10000 cycles.
    back = instruction("buffer_wbl2 sc1", 5600, StallReason.GLOBAL_MEMORY, None, hits=12160)
    finding = only(profile_of(back, other(4000)), "fences")
    assert finding is not None
    assert finding.share == pytest.approx(0.6)
    assert evidence(finding)["write-backs and invalidations of caches per wave"] == 1


def loop_of(*texts: str) -> Profile:
    """A loop with these instructions that 12,160 waves go round 40 times each, beside other work."""
    body = [
        Instruction(
            index=0, address=0, text=text, source=(Frame(file=FILE, line=7, column=3),), hits=12160 * 40,
            lanes=12160 * 40, latency=4000, stall=3600, stalls={StallReason.GLOBAL_MEMORY: 3600},
        )
        for text in texts
    ]  # fmt: skip
    words = 2 * (len(texts) + 1) - 1
    return profile_of(
        *body, instruction(f"s_cbranch_vccnz {(1 << 16) - words}", 0, StallReason.OTHER, None), other(4000)
    )


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (("global_load_dword v1, v2, s[0:1] sc1", "v_cmp_eq_u32_e32 vcc, 0, v1"), True),
        (("ds_read_b32 v1, v2", "s_sleep 1", "v_cmp_eq_u32_e32 vcc, 0, v1"), True),
        (("ds_read_b32 v1, v2", "s_barrier", "v_cmp_eq_u32_e32 vcc, 0, v1"), False),
        (("global_load_dword v1, v2, s[0:1]", "v_cmp_eq_u32_e32 vcc, 0, v1"), False),
        (("global_load_dword v1, v2, s[0:1] sc1", "v_add_u32_e32 v2, 4, v2"), False),
        (
            (
                "v_mov_b32_e32 v4, 1",
                "global_atomic_cmpswap v1, v2, v[4:5], s[0:1] sc0",
                "v_readfirstlane_b32 s6, v1",
                "s_cmp_lg_u32 s6, 0",
            ),
            True,
        ),
        (
            ("global_atomic_add v1, v2, v3, s[0:1] sc0", "v_add_u32_e32 v7, v7, v1", "s_cmp_lg_u32 s6, s7"),
            False,
        ),
        (("global_atomic_add v2, v3, s[0:1] sc1", "v_cmp_eq_u32_e32 vcc, v8, v9"), False),
        (("v_add_f32_e32 v4, v5, v6", "global_atomic_cmpswap v1, v2, v[4:5], s[0:1] sc0"), False),
        (("global_load_dword v1, v2, s[0:1] sc1", "global_store_dword v2, v3, s[4:5]"), False),
    ],
)
def test_a_loop_that_only_looks_is_told_from_one_that_works(texts: tuple[str, ...], *, found: bool) -> None:
    assert (only(loop_of(*texts), "spinning") is not None) is found


def test_a_pattern_that_is_half_on_managed_memory_is_not_said_to_be() -> None:
    memory = MemoryPattern(
        space="global", kind="load", bytes_per_lane=4, accesses=100, lanes=6400, lines_needed=200, lines_used=200,
        memory_kinds={"managed": 40.0},
    )  # fmt: skip
    load = instruction("global_load_dword v1, v2, s[0:1]", 5600, StallReason.GLOBAL_MEMORY, memory)
    finding = only(profile_of(load, other(4000)), "memoryKind")
    assert finding is not None
    assert finding.share == pytest.approx(0.6)
    assert evidence(finding)["accesses to memory that the host sees"] == 40
