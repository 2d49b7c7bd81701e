"""What stops a kernel, as the program and its record tell it, and waiting that must not be taken for that."""

from __future__ import annotations

import pytest

from tests.emulator.recorded_run import HEADER, Run


def test_a_store_out_of_bounds_names_the_kernel_and_the_block(run: Run) -> None:
    ran = run(
        HEADER
        + """
__global__ void overrun(int* p) { p[threadIdx.x + 60] = 1; }
int main() { int* p; CHECK(hipMalloc(&p, 400)); overrun<<<1, 64>>>(p);
  std::printf("%s\\n", hipGetErrorName(hipDeviceSynchronize())); }
"""
    )
    assert ran.stdout == "hipErrorIllegalAddress\n"
    assert ran.stderr.startswith(
        "hipscope emulator: kernel _Z7overrunPi: out-of-bounds store of 4 bytes at 0x7e"
    )
    assert "0 bytes after the end of a block of 400 bytes" in ran.stderr
    assert ran.stderr.count("\n") == 1
    (fault,) = ran.faults()
    assert (fault.kind, fault.kernel) == ("out_of_bounds", "_Z7overrunPi")
    assert fault.instruction is not None
    assert fault.instruction.startswith("global_store_dword")


def test_a_stray_access_beside_a_variable_names_it(run: Run) -> None:
    ran = run(
        HEADER
        + """
__device__ int few[3];
__global__ void overrun(int* p) { p[threadIdx.x] = few[threadIdx.x + 100000]; }
int main() { int* p; CHECK(hipMalloc(&p, 400)); overrun<<<1, 64>>>(p); hipDeviceSynchronize(); }
"""
    )
    assert "after the end of the device variable `few` of 12 bytes" in ran.stderr


def test_scalar_loads_that_the_compiler_widened_may_reach_behind_the_last_variable(run: Run) -> None:
    """Three dwords at a multiple of 8 bytes become one load of four, of which the last is not used."""
    ran = run(
        HEADER
        + """
__constant__ int three[3];
__global__ void sum(int* p) { p[threadIdx.x] = three[0] + 2 * three[1] + 3 * three[2]; }
int main() {
  int values[3] = {1, 20, 300}, *p; CHECK(hipMemcpyToSymbol(HIP_SYMBOL(three), values, sizeof values));
  CHECK(hipMalloc(&p, 256)); sum<<<1, 64>>>(p); CHECK(hipMemcpy(values, p, 4, hipMemcpyDeviceToHost));
  std::printf("%d\\n", values[0]); }
"""
    )
    assert (ran.stdout, ran.stderr) == ("941\n", "")


@pytest.mark.parametrize("bytes_", [65536, 100_004, 1 << 20])
def test_larger_blocks_end_where_they_end_and_are_gone_when_freed(bytes_: int, run: Run) -> None:
    """What is known of whole regions of memory at once holds neither behind a block nor once it is freed."""
    program = (
        HEADER
        + """
__global__ void touch(char* p, long first) { *(int*)(p + first + 4 * threadIdx.x) = 1; }
int main(int argc, char** argv) {
  const long bytes = BYTES; char *before, *p; CHECK(hipMalloc(&before, bytes)); CHECK(hipMalloc(&p, bytes));
  for (long at = 0; at + 256 <= bytes; at += 256) touch<<<1, 64>>>(p, at);
  touch<<<1, 64>>>(p, bytes - 256); CHECK(hipDeviceSynchronize());
  if (FREED) { CHECK(hipFree(p)); touch<<<1, 64>>>(p, bytes / 2 / 256 * 256); }
  else { touch<<<1, 64>>>(p, bytes - 252); }
  std::printf("%s\\n", hipGetErrorName(hipDeviceSynchronize())); }
"""
    ).replace("BYTES", str(bytes_))
    for freed in ("false", "true"):
        ran = run(program.replace("FREED", freed))
        assert ran.stdout == "hipErrorIllegalAddress\n", freed
        assert "out-of-bounds store of 4 bytes" in ran.stderr


def test_a_store_far_from_everything_names_no_block_that_has_nothing_to_do_with_it(run: Run) -> None:
    ran = run(
        HEADER
        + """
__global__ void overrun(int* p) { p[(threadIdx.x + 1) * 1000000] = 1; }
int main() { int* p; CHECK(hipMalloc(&p, 400)); overrun<<<1, 64>>>(p);
  std::printf("%s\\n", hipGetErrorName(hipDeviceSynchronize())); }
"""
    )
    assert ran.stdout == "hipErrorIllegalAddress\n"
    assert "no block of device memory is near" in ran.stderr


def test_a_kernel_with_an_instruction_that_is_not_emulated_does_not_start(run: Run) -> None:
    ran = run(
        HEADER
        + """
__global__ void odd(int* p) { *p = 1; asm volatile("s_setvskip s0, 0"); }
int main() { int* p; CHECK(hipMalloc(&p, 4)); CHECK(hipMemset(p, 0, 4)); odd<<<1, 64>>>(p);
  std::printf("%s\\n", hipGetErrorName(hipDeviceSynchronize())); }
"""
    )
    assert ran.stdout == "hipErrorLaunchFailure\n"
    assert "cannot emulate s_setvskip at 0x" in ran.stderr
    assert [f.kind for f in ran.faults()] == ["unsupported"]


def test_a_kernel_that_never_ends_is_stopped_by_the_instruction_limit(run: Run) -> None:
    ran = run(
        HEADER
        + """
__global__ void hang(volatile int* p) { while (*p == 0) {} }
int main() { int* p; CHECK(hipMalloc(&p, 4)); CHECK(hipMemset(p, 0, 4)); hang<<<4, 64>>>(p);
  std::printf("%s\\n", hipGetErrorName(hipDeviceSynchronize())); }
""",
        HIPSCOPE_MAX_INSTRUCTIONS="100000",
    )
    assert ran.stdout == "hipErrorLaunchFailure\n"
    assert "runaway kernel" in ran.stderr


def test_workgroups_that_wait_for_each_other_make_progress(run: Run) -> None:
    text = (
        HEADER
        + """
__global__ void chain(int* flag) {  // each workgroup waits for the one after it
  if (threadIdx.x == 0) {
    if (blockIdx.x + 1 < gridDim.x)
      while (__hip_atomic_load(&flag[blockIdx.x + 1], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) {}
    __hip_atomic_store(&flag[blockIdx.x], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  }
}
int main() { int* f; CHECK(hipMalloc(&f, 80)); CHECK(hipMemset(f, 0, 80)); chain<<<20, 64>>>(f);
  CHECK(hipDeviceSynchronize()); std::puts("PASS"); }
"""
    )
    assert run(text, threads=1).stdout == "PASS\n"
    assert run(text, threads=1, HIPSCOPE_OUT="").stdout == "PASS\n"


LDS_OVERRUN = (
    HEADER
    + """
__global__ void overrun(int* p, int n) {
  __shared__ int own[64];
  own[threadIdx.x] = n;
  __syncthreads();
  STORE
  __syncthreads();
  p[threadIdx.x] = own[threadIdx.x];
}
int main() { int* p; CHECK(hipMalloc(&p, 400)); overrun<<<1, 64>>>(p, 40);
  std::printf("%s\\n", hipGetErrorName(hipDeviceSynchronize())); }
"""
)


@pytest.mark.parametrize(
    "store",
    [
        "int* either = p[0] == 0 ? own : p; either[threadIdx.x + n] = 1;",
        "volatile int* local = own; local[threadIdx.x + n] = 1;",
    ],
    ids=["flat", "ds"],
)
@pytest.mark.parametrize("profiled", [True, False])
def test_a_store_behind_the_end_of_lds_is_told_as_that(run: Run, store: str, profiled: bool) -> None:
    ran = run(LDS_OVERRUN.replace("STORE", store), **({} if profiled else {"HIPSCOPE_OUT": ""}))
    assert ran.stdout == "hipErrorIllegalAddress\n"
    where = "at LDS offset 256; the workgroup has 256 bytes of LDS, in workgroup (0, 0, 0), lane 24"
    assert f"out-of-bounds store of 4 bytes {where}" in ran.stderr


BUSY = (
    HEADER
    + """
__global__ void busy(int* p, int turns) {
  int v = threadIdx.x;
  for (int k = 0; k < turns; ++k) v = v * 3 + p[(v + k) & 63];
  p[64 + threadIdx.x] = v;
}
int main() { int* p; CHECK(hipMalloc(&p, 512)); busy<<<1000000, 64>>>(p, 2000);
  std::printf("%s\\n", hipGetErrorName(hipDeviceSynchronize())); }
"""
)


@pytest.mark.slow
def test_a_long_healthy_kernel_is_not_called_a_runaway(run: Run) -> None:
    for out in ({}, {"HIPSCOPE_OUT": ""}):
        ran = run(BUSY, HIPSCOPE_TIME_LIMIT_MS="2000", **out)
        assert ran.stdout == "hipErrorLaunchFailure\n"
        assert "runaway" not in ran.stderr
        assert "not finished within " in ran.stderr
        assert (
            " of 1000000 workgroups were done; raise the limit (timeout_s, --timeout of emulate)"
            in ran.stderr
        )


def test_a_kernel_none_of_whose_workgroups_ends_is_a_runaway(run: Run) -> None:
    ran = run(
        HEADER
        + """
__global__ void forever(volatile int* p) { while (blockIdx.x > 1 && *p == 0) {} }
int main() { int* p; CHECK(hipMalloc(&p, 4)); CHECK(hipMemset(p, 0, 4)); forever<<<4, 64>>>(p);
  std::printf("%s\\n", hipGetErrorName(hipDeviceSynchronize())); }
""",
        HIPSCOPE_TIME_LIMIT_MS="2000",
    )
    assert (
        "runaway kernel: it still runs at the end of the program's time; no workgroup ended in the last"
        in ran.stderr
    )
    assert "(2 of 4 had ended); if it should end, raise the limit (timeout_s, " in ran.stderr


# Kernels that have none of their workgroups at its end by the deadline: what they do is told by how their waves get on.
TURNS = (
    HEADER
    + """
#include <cstdlib>
__device__ int work(int v, const int* p, int n) {
  for (int k = 0; k < n; ++k) v = v * 3 + p[(v + k) & 63];
  return v;
}
__global__ void turns(int which, int* p, int n) {
  __shared__ int word;
  if (threadIdx.x == 0) word = 1;
  __syncthreads();
  int v = threadIdx.x;
  volatile int *flag = p, *in_lds = &word;
  if (which == 0) v = work(v, p, n);
  if (which == 1) while (*flag == 0) v = work(v, p, n);
  if (which == 2) while (*flag == 0) {}
  if (which == 3) while (*in_lds != 0) __builtin_amdgcn_s_sleep(1);
  if (which == 4) while (atomicCAS(p, 1, 0) == 0) {}
  if (which == 5) while (__hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) {}
  p[64 + threadIdx.x] = v;
}
int main() {
  int* p; CHECK(hipMalloc(&p, 4096)); CHECK(hipMemset(p, 0, 4096));
  turns<<<64, 256>>>(std::atoi(std::getenv("WHICH")), p, 1000000);
  std::printf("%s\\n", hipGetErrorName(hipDeviceSynchronize()));
}
"""
)
WAYS = ("work", "work again and again", "flag", "flag in LDS", "lock", "flag of another")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("profiled", [True, False])
def test_64_workgroups_that_take_turns_are_a_runaway_only_if_none_gets_on(
    run: Run, way: str, profiled: bool
) -> None:
    out = {} if profiled else {"HIPSCOPE_OUT": ""}
    ran = run(TURNS, HIPSCOPE_TIME_LIMIT_MS="700", WHICH=str(WAYS.index(way)), **out)
    assert ran.stdout == "hipErrorLaunchFailure\n"
    assert ("runaway kernel: it still runs" in ran.stderr) == (not way.startswith("work"))
    assert ("not finished within " in ran.stderr) == way.startswith("work")


KEEP_GOING = (
    HEADER
    + """
__global__ void stray(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] + 1.0f;
}
int main() {
  const int n = 250;  // the launch has 256 work-items
  float *in, *out, h[n];
  CHECK(hipMalloc(&in, n * 4)); CHECK(hipMalloc(&out, 1024 + 4096)); CHECK(hipMemset(in, 0, n * 4));
  stray<<<4, 64>>>(in, out, n);
  CHECK(hipDeviceSynchronize());
  CHECK(hipMemcpy(h, out, n * 4, hipMemcpyDeviceToHost));
  float last[6]; CHECK(hipMemcpy(last, out + n, 24, hipMemcpyDeviceToHost));
  std::printf("%g %g %d\\n", h[0], h[n - 1], last[0] != last[0]);
  stray<<<4, 64>>>(in, in, n);
  std::printf("%s\\n", hipGetErrorName(hipDeviceSynchronize()));
}
"""
)


@pytest.mark.parametrize("profiled", [True, False])
def test_a_run_that_keeps_going_tells_stray_accesses_and_leaves_them_out(run: Run, profiled: bool) -> None:
    ran = run(KEEP_GOING, HIPSCOPE_KEEP_GOING="1", **({} if profiled else {"HIPSCOPE_OUT": ""}))
    assert ran.stdout == "1 1 1\nhipSuccess\n", ran.stderr
    assert ran.stderr.count("(left out)") == 3  # a load, then a load and a store
    assert "out-of-bounds load of 4 bytes at 0x7e" in ran.stderr
    if profiled:
        assert [f.kind for f in ran.faults()] == ["left_out"] * 3
        assert [d.profiled for d in ran.dispatches()] == [True, True]
