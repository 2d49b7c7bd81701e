"""The drop-in HIP runtime as a program sees it, and what it records."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.emulator.raw import read_run
from tests.emulator.recorded_run import HEADER, VECTOR_ADD, Run


def test_a_program_runs_right_and_its_launches_are_recorded(run: Run) -> None:
    ran = run(VECTOR_ADD)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("PASS\n", "", 0)
    dispatches = ran.dispatches()
    assert [d.kernel for d in dispatches] == ["_Z3addPKfS0_Pfi"] * 3
    assert dispatches[0].grid == (391 * 256, 1, 1)
    assert dispatches[0].counters["SQ_WAVES"] == 391 * 4
    summary = read_run(ran.out)
    assert summary is not None
    assert (summary.dispatches, summary.profiled, summary.partial) == (3, 3, None)
    assert len(list((ran.out / "code_objects").glob("*.co"))) == 1


def test_counts_of_a_coalesced_kernel_are_exact(run: Run) -> None:
    loads = [i for i in run(VECTOR_ADD).instructions() if i.text.startswith("global_load_dword ")]
    # 100000 lanes in 1563 waves, the last one with 32 lanes; two 128-byte lines for each full wave.
    assert [(i.hits, i.lanes) for i in loads] == [(1563, 100000)] * 2
    for load in loads:
        assert load.memory is not None
        assert load.memory["lines_used"] == load.memory["lines_needed"] == 3125


def test_counters_follow_the_hardware_for_a_64_bit_copy(run: Run) -> None:
    ran = run(
        HEADER
        + """
__global__ void copy(const double* a, double* b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; b[i] = a[i];
}
int main() {
  double *a, *b; CHECK(hipMalloc(&a, 8 << 16)); CHECK(hipMalloc(&b, 8 << 16));
  copy<<<256, 256>>>(a, b); CHECK(hipDeviceSynchronize());
}
"""
    )
    counters = ran.dispatches()[0].counters
    waves = counters["SQ_WAVES"]
    # Measured on MI300: per 64-lane b64 access 64 accesses, 16 cache accesses, 4 reads of 128 B, 8 writes of 64 B.
    assert counters["TCP_TOTAL_ACCESSES_sum"] == 2 * 64 * waves
    assert counters["TCP_TOTAL_CACHE_ACCESSES_sum"] == 2 * 16 * waves
    assert counters["TCP_TCC_READ_REQ_sum"] == pytest.approx(4 * waves)
    assert counters["TCP_TCC_WRITE_REQ_sum"] == 8 * waves


def test_a_run_without_settings_writes_nothing_and_is_right(run: Run, tmp_path: Path) -> None:
    ran = run(VECTOR_ADD, HIPSCOPE_OUT="")
    assert ran.stdout == "PASS\n"
    assert not (tmp_path / "run1" / "out").exists()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("int *p; CHECK(hipMalloc(&p, 4)); CHECK(hipFree(p)); CHECK(hipFree(p));", "hipErrorInvalidValue"),
        ("void *p; CHECK(hipMalloc(&p, size_t(1) << 42));", "hipErrorOutOfMemory"),
        ("char *p; CHECK(hipMalloc(&p, 8)); char h[16]; CHECK(hipMemcpy(p, h, 16, hipMemcpyHostToDevice));",
         "hipErrorInvalidValue"),
        ("empty<<<1, 2048>>>(); CHECK(hipGetLastError());", "hipErrorInvalidConfiguration"),
        ("empty<<<0, 64>>>(); CHECK(hipGetLastError());", "hipErrorInvalidConfiguration"),
        ("empty<<<1, 64, 100000>>>(); CHECK(hipGetLastError());", "hipErrorInvalidConfiguration"),
        ("CHECK(hipSetDevice(3));", "hipErrorInvalidDevice"),
        ("hipEvent_t v; CHECK(hipEventCreate(&v)); float t; CHECK(hipEventElapsedTime(&t, v, v));",
         "hipErrorInvalidHandle"),
        ("hipArray_t array; auto d = hipCreateChannelDesc<float>(); CHECK(hipMallocArray(&array, &d, 8, 8));",
         "hipErrorNotSupported"),
    ],
)  # fmt: skip
def test_a_wrong_call_returns_the_error_that_hip_documents(run: Run, body: str, expected: str) -> None:
    ran = run(f'{HEADER}__global__ void empty() {{}}\nint main() {{ {body} std::puts("none"); }}')
    assert ran.stdout == f"{expected}\n"


def test_an_unsupported_function_says_its_name_once(run: Run) -> None:
    body = "for (int i = 0; i < 3; ++i) (void)hipMallocArray(nullptr, nullptr, 8, 8, 0);"
    ran = run(f"{HEADER}int main() {{ {body} }}")
    assert (
        ran.stderr == "hipscope emulator: hipMallocArray is not emulated; it returns hipErrorNotSupported\n"
    )


def test_device_variables_managed_memory_and_pitched_copies_work(run: Run) -> None:
    ran = run(
        HEADER
        + """
__device__ int factor = 3;
__constant__ int table[4];
__managed__ int total;
__global__ void sum(const int* in, size_t pitch, int* out) {
  int x = threadIdx.x, y = threadIdx.y;
  int v = *(const int*)((const char*)in + y * pitch + x * 4);
  atomicAdd(&total, v * factor + table[x & 3]);
  *out = 1;
}
int main() {
  int host[4][8], four = 4, t[4] = {1, 2, 3, 4}, *in, *pinned; size_t pitch;
  for (int y = 0; y < 4; ++y) for (int x = 0; x < 8; ++x) host[y][x] = y * 8 + x;
  CHECK(hipMallocPitch((void**)&in, &pitch, 32, 4)); CHECK(hipHostMalloc((void**)&pinned, 4, 0));
  CHECK(hipMemcpy2D(in, pitch, host, 32, 32, 4, hipMemcpyHostToDevice));
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(factor), &four, 4)); CHECK(hipMemcpyToSymbol(HIP_SYMBOL(table), t, 16));
  total = 10;
  sum<<<1, dim3(8, 4)>>>(in, pitch, pinned); CHECK(hipDeviceSynchronize());
  int back; CHECK(hipMemcpyFromSymbol(&back, HIP_SYMBOL(factor), 4));
  std::printf("%d %d %d\\n", total, back, *pinned);
}
"""
    )
    assert ran.stdout == f"{10 + 4 * sum(range(32)) + 8 * (1 + 2 + 3 + 4)} 4 1\n"


def test_events_measure_modelled_time_and_properties_describe_the_chosen_device(run: Run) -> None:
    ran = run(
        HEADER
        + """
__global__ void spin(float* p) { float v = *p; for (int i = 0; i < 10000; ++i) v = v * 0.5f + 1; *p = v; }
int main() {
  float* p; CHECK(hipMalloc(&p, 4)); hipEvent_t a, b; CHECK(hipEventCreate(&a)); CHECK(hipEventCreate(&b));
  CHECK(hipEventRecord(a)); spin<<<1, 64>>>(p); CHECK(hipEventRecord(b)); CHECK(hipEventSynchronize(b));
  float ms; CHECK(hipEventElapsedTime(&ms, a, b));
  hipDeviceProp_t d; CHECK(hipGetDeviceProperties(&d, 0)); int cus, blocks;
  CHECK(hipDeviceGetAttribute(&cus, hipDeviceAttributeMultiprocessorCount, 0));
  CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, spin, 256, 0));
  std::printf("%d %d %d %s %d %d %d\\n", ms > 0.02 && ms < 1, d.multiProcessorCount, cus, d.name, d.warpSize,
              d.maxThreadsPerBlock, blocks);
}
""",
        device="mi300x",
    )
    assert ran.stdout == "1 304 304 AMD Instinct MI300X 64 1024 8\n"
