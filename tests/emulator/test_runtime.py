"""The drop-in HIP runtime as a program sees it, and what it records: calls, faults, capture and replay, timing."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hipscope.accordo.capture import read_dispatch
from hipscope.analysis.build import build_program
from hipscope.analysis.config import Config
from hipscope.analysis.project import resolve_project
from hipscope.analysis.toolchain import find_toolchain
from hipscope.emulator.devices import write_device_config
from hipscope.emulator.raw import RawInstruction, read_dispatches, read_faults, read_profile, read_run
from hipscope.emulator.runner import EmulatorOptions, emulator_environment, replay_executable

HEADER = """
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
#define CHECK(call) do { hipError_t e = (call); if (e != hipSuccess) { \\
    std::printf("%s\\n", hipGetErrorName(e)); std::exit(1); } } while (0)
"""

VECTOR_ADD = (
    HEADER
    + """
__global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
int main() {
  const int n = 100000;
  std::vector<float> h(n), r(n);
  for (int i = 0; i < n; ++i) h[i] = i;
  float *a, *b, *c;
  CHECK(hipMalloc(&a, n * 4)); CHECK(hipMalloc(&b, n * 4)); CHECK(hipMalloc(&c, n * 4));
  CHECK(hipMemcpy(a, h.data(), n * 4, hipMemcpyHostToDevice));
  CHECK(hipMemcpy(b, h.data(), n * 4, hipMemcpyHostToDevice));
  for (int k = 0; k < 3; ++k) add<<<(n + 255) / 256, 256>>>(a, b, c, n);
  CHECK(hipDeviceSynchronize());
  CHECK(hipMemcpy(r.data(), c, n * 4, hipMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) if (r[i] != 2.0f * i) { std::puts("FAIL"); return 1; }
  std::puts("PASS");
}
"""
)


@dataclass(frozen=True)
class Ran:
    """One run: what the program printed, and where its output lies."""

    out: Path
    capture: Path
    stdout: str
    stderr: str
    returncode: int

    def faults(self) -> tuple[Any, ...]:
        return read_faults(self.out)

    def dispatches(self) -> list[Any]:
        return list(read_dispatches(self.out))

    def instructions(self, dispatch: int = 1) -> tuple[RawInstruction, ...]:
        profile = read_profile(self.out, dispatch)
        assert profile is not None
        return profile.instructions

    def times(self) -> list[float]:
        return [d.end_ns - d.start_ns for d in self.dispatches() if d.profiled]


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Build a program from its text and run it on the emulator: `run(text, threads=2, HIPSCOPE_X="1")`."""
    count = 0

    def built_and_run(
        text: str, *, device: str = "mi300a", threads: int = 2, capture: bool = False, **env: str
    ) -> Ran:
        nonlocal count
        count += 1
        folder = tmp_path / f"run{count}"
        folder.mkdir()
        source = tmp_path / "program.hip"
        source.write_text(text)
        config = Config()
        toolchain = find_toolchain(config)
        built = build_program(resolve_project(source, config=config), toolchain)
        options = EmulatorOptions(
            out=folder / "out",
            objdump=toolchain.objdump,
            device_config=write_device_config(device, folder / "device.txt"),
            cache=tmp_path / "cache",
            threads=threads,
            capture=folder / "capture" if capture else None,
        )
        done = subprocess.run(
            built.argv,
            env={**os.environ, **built.env, **emulator_environment(options), **env},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Ran(folder / "out", folder / "capture", done.stdout, done.stderr, done.returncode)

    return built_and_run


def replay(dispatch: Path, out: Path, *arguments: str) -> dict[str, Any]:
    """Run hipscope-replay on a captured dispatch; its result.json."""
    toolchain = find_toolchain(Config())
    argv = [
        str(replay_executable()),
        "--dispatch",
        str(dispatch),
        "--out",
        str(out),
        "--objdump",
        str(toolchain.objdump),
    ]
    subprocess.run(
        [*argv, "--code-object", str(dispatch / "code_object.co"), *arguments], check=True, timeout=60
    )
    result: dict[str, Any] = json.loads((out / "result.json").read_text())
    return result


# ---- running and recording ----


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


# ---- faults ----


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


# ---- capture and replay ----


def test_a_replayed_dispatch_leaves_the_same_bytes(run: Run, tmp_path: Path) -> None:
    ran = run(VECTOR_ADD, capture=True)
    (dispatch,) = ran.capture.iterdir()  # one for each launch shape
    meta = json.loads((dispatch / "meta.json").read_text())
    assert meta["complete"] is True
    assert [b["referenced_by"] for b in meta["buffers"]] == [[0], [1], [2]]
    buffers = read_dispatch(dispatch).buffers
    assert buffers[2].before() == bytes(400000)
    for seed in ("0", "7"):
        out = tmp_path / f"replay{seed}"
        assert replay(dispatch, out, "--seed", seed)["status"] == "ok"
        for buffer in range(3):
            assert (out / f"buffer_{buffer}.after").read_bytes() == buffers[buffer].after()


def test_a_replay_tells_which_bytes_are_read_and_written_and_how_long_it_took(
    run: Run, tmp_path: Path
) -> None:
    ran = run(VECTOR_ADD, capture=True)
    dispatch = ran.capture / "dispatch_1"
    config = write_device_config("mi300a", tmp_path / "device.txt")
    result = replay(dispatch, tmp_path / "r", "--trace-access", "--profile", "--device-config", str(config))
    assert result["time_ns"] == pytest.approx(ran.times()[0], rel=0.05)
    read_first, written = 1 | 4, 2
    assert set((tmp_path / "r" / "access_0.bin").read_bytes()) == {read_first}
    assert set((tmp_path / "r" / "access_2.bin").read_bytes()) == {written}
    assert (tmp_path / "r" / "profile_1.json").exists()


def test_what_the_reference_writes_first_is_undefined_for_the_sanitizers(run: Run, tmp_path: Path) -> None:
    ran = run(
        HEADER
        + """
__global__ void more(float* out) { out[threadIdx.x] += 1; }
int main() { float* p; CHECK(hipMalloc(&p, 256)); CHECK(hipMemset(p, 0, 256)); more<<<1, 64>>>(p);
  CHECK(hipDeviceSynchronize()); }
""",
        capture=True,
    )
    dispatch = ran.capture / "dispatch_1"
    mask = tmp_path / "mask"
    mask.mkdir()
    (mask / "access_0.bin").write_bytes(
        bytes([2]) * 100 + bytes([7]) * 156
    )  # 25 floats written, the others read first

    def defects(name: str, *options: str) -> list[tuple[str, int]]:
        replay(dispatch, tmp_path / name, "--sanitize", "all", *options)
        reports = json.loads((tmp_path / name / "sanitize.json").read_text())["reports"]
        return [(report["class"], report["count"]) for report in reports]

    assert defects("plain") == []
    assert defects("masked", "--poison", "1", "--poison-mask", str(mask)) == [("uninitialised-read", 25)]


def test_poison_shows_in_what_a_kernel_does_not_write(run: Run, tmp_path: Path) -> None:
    ran = run(
        HEADER
        + """
__global__ void half(float* out) { if (threadIdx.x % 2 == 0) out[threadIdx.x] = 1; }
int main() { float* p; CHECK(hipMalloc(&p, 256)); CHECK(hipMemset(p, 0, 256)); half<<<1, 64>>>(p);
  CHECK(hipDeviceSynchronize()); }
""",
        capture=True,
    )
    dispatch = ran.capture / "dispatch_1"
    replay(dispatch, tmp_path / "reference", "--trace-access")
    mask = tmp_path / "mask"
    mask.mkdir()
    (mask / "access_0.bin").write_bytes(bytes([2]) * 256)  # a reference that writes every byte
    replay(dispatch, tmp_path / "poisoned", "--poison", "1", "--poison-mask", str(mask))
    after = (tmp_path / "poisoned" / "buffer_0.after").read_bytes()
    assert after[0:4] == b"\0\0\x80?"
    assert after[4:8] != bytes(4)
    poison = ("--poison", "1", "--poison-mask", str(mask), "--poison-fill", "0=0000807f")
    replay(dispatch, tmp_path / "infinite", *poison)
    after = (tmp_path / "infinite" / "buffer_0.after").read_bytes()
    assert after[0:12] == b"\0\0\x80?" + b"\0\0\x80\x7f" + b"\0\0\x80?"


# ---- timing ----


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
        + " b[i] = a[(i * 997) & 0x3fffff] * 2; }"
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
