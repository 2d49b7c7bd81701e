"""Modelled times and stalls of programs: the budget, and that a wait is blamed on what it is for."""

from __future__ import annotations

from hipscope.emulator.raw import RawInstruction, read_run
from tests.emulator.recorded_run import HEADER, VECTOR_ADD, Run


def test_modelled_times_do_not_depend_on_the_number_of_threads(run: Run) -> None:
    one, three = run(VECTOR_ADD, threads=1), run(VECTOR_ADD, threads=3)
    assert one.times() == three.times()
    assert len(one.times()) == 3
    assert one.instructions(2) == three.instructions(2)


def test_a_used_up_time_budget_is_told(run: Run) -> None:
    ran = run(VECTOR_ADD, HIPSCOPE_TIME_BUDGET_MS="0")
    summary = read_run(ran.out)
    assert ran.stdout == "PASS\n"
    assert summary is not None
    assert summary.profiled < summary.dispatches == 3
    assert summary.partial is not None
    assert "time budget of 0 ms" in summary.partial


def test_only_the_first_launches_of_a_shape_are_profiled(run: Run) -> None:
    ran = run(VECTOR_ADD, HIPSCOPE_PROFILE_LAUNCHES="1")
    assert [d.profiled for d in ran.dispatches()] == [True, False, False]
    assert ran.dispatches()[1].start_ns is None


def _stalls(instructions: tuple[RawInstruction, ...], prefix: str, reason: str) -> float:
    """Cycles of `reason` at instructions whose text starts with `prefix`, as a share of all stall cycles."""
    total = sum(i.stall for i in instructions)
    return sum(i.stalls.get(reason, 0) for i in instructions if i.text.startswith(prefix)) / total


def _main(kernel_call: str, allocate: int = 1 << 24) -> str:
    return f"""
int main() {{ float *a, *b; CHECK(hipMalloc(&a, {allocate})); CHECK(hipMalloc(&b, {allocate}));
  CHECK(hipMemset(a, 0, {allocate})); {kernel_call}; CHECK(hipDeviceSynchronize()); }}
"""


def test_waiting_for_a_scattered_load_is_blamed_on_global_memory_and_on_that_load(run: Run) -> None:
    ran = run(
        HEADER
        + "__global__ void gather(const float* a, float* b) { int i = blockIdx.x * 256 + threadIdx.x;"
        + " float value = a[(i * 997) & 0x3fffff]; if (value != 0) b[i] = value; }"  # never: no wave waits for stores
        + _main("gather<<<4096, 256>>>(a, b)")
    )
    instructions = ran.instructions()
    assert _stalls(instructions, "", "global_memory") > 0.9
    (load,) = [
        i for i in instructions if i.memory and i.memory["space"] == "global" and i.memory["kind"] == "load"
    ]
    blamed = sum(i.waited_for.get(load.address, 0) for i in instructions)
    assert blamed > 0.9 * sum(i.stall for i in instructions)
    assert load.memory is not None
    assert load.memory["lines_used"] > 10 * load.memory["lines_needed"]


def test_an_lds_column_access_stalls_on_lds_and_counts_conflicts(run: Run) -> None:
    ran = run(
        HEADER
        + """
__global__ void column(const float* a, float* b) {
  __shared__ float tile[64][32];
  int t = threadIdx.x;
  for (int i = t; i < 2048; i += 64) tile[i / 32][i % 32] = a[i];
  __syncthreads();
  float s = 0;
  for (int k = 0; k < 32; ++k) s += tile[t][k];
  b[blockIdx.x * 64 + t] = s;
}
"""
        + _main("column<<<2048, 64>>>(a, b)")
    )
    reads = [i for i in ran.instructions() if i.text.startswith("ds_read")]
    conflicts = sum(i.memory["lds_conflict_cycles"] for i in reads if i.memory)
    accesses = sum(i.memory["accesses"] for i in reads if i.memory)
    assert conflicts / accesses > 20
    assert sum(i.stalls.get("lds", 0) for i in ran.instructions()) > 0.3 * sum(
        i.stall for i in ran.instructions()
    )


def test_a_contended_atomic_is_blamed_on_the_atomic(run: Run) -> None:
    ran = run(
        HEADER
        + "__global__ void count(float* a, float* b) { for (int k = 0; k < 4; ++k)"
        + " atomicAdd((int*)b, (int)threadIdx.x + (int)a[threadIdx.x]); }"
        + _main("count<<<2048, 256>>>(a, b)")
    )
    instructions = ran.instructions()
    assert sum(i.stalls.get("atomic", 0) for i in instructions) > 0.5 * sum(i.stall for i in instructions)
    atomics = [i for i in instructions if i.memory and i.memory["kind"] == "atomic"]
    assert [i.memory["same_address_share"] for i in atomics if i.memory] == [1] * 4
    blamed = sum(i.waited_for.get(a.address, 0) for i in instructions for a in atomics)
    assert blamed > 0.5 * sum(i.stall for i in instructions)
    assert ran.dispatches()[0].bound_by == "atomic"


def test_atomics_wait_as_long_after_two_seconds_as_before(run: Run) -> None:
    ran = run(
        HEADER
        + """
__global__ void late(int* a, int sleeps) {
  for (int part = 0; part < 2; ++part) {
    for (int k = 0; k < sleeps; ++k) __builtin_amdgcn_s_sleep(127);
    int next = 0;
    for (int k = 0; k < 2000; ++k) next = atomicExch(a, next + 1);
    a[1 + part] = next;
  }
}
"""
        + _main("late<<<1, 64>>>((int*)a, 1); late<<<1, 64>>>((int*)a, 280000)")
    )
    short, long = (d.end_ns - d.start_ns for d in ran.dispatches() if d.start_ns is not None and d.end_ns)
    slept = (280000 - 1) * 2 * 127 * 64 / 2.1  # ns: more than 2^32 cycles
    assert short < 2e7
    assert abs(long - slept - short) < 0.01 * slept, (short, long)


def test_waves_that_arrive_early_stall_at_the_barrier(run: Run) -> None:
    ran = run(
        HEADER
        + """
__global__ void uneven(const float* a, float* b) {
  float v = a[threadIdx.x];
  if (threadIdx.x < 64) for (int k = 0; k < 500; ++k) v = v * 1.5f + 0.5f;
  __syncthreads();
  b[blockIdx.x * 256 + threadIdx.x] = v;
}
"""
        + _main("uneven<<<228, 256>>>(a, b)")
    )
    assert _stalls(ran.instructions(), "s_barrier", "barrier") > 0.5


def test_a_better_access_pattern_is_faster(run: Run) -> None:
    def time_of(index: str) -> float:
        kernel = (
            "__global__ void move(const float* a, float* b) { int x = blockIdx.x * 64 + threadIdx.x;"
            f" int y = blockIdx.y * 4 + threadIdx.y; b[y * 2048 + x] = a[{index}]; }}"
        )
        return run(HEADER + kernel + _main("move<<<dim3(32, 512), dim3(64, 4)>>>(a, b)")).times()[0]

    assert time_of("x * 2048 + y") > 1.5 * time_of("y * 2048 + x")
