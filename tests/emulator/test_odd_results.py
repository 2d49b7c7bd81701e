"""Results that come to the host and tell nothing: all NaN, or of memory that nothing has written."""

from __future__ import annotations

import pytest

from hipscope.emulator.raw import read_run
from tests.emulator.recorded_run import HEADER, Run

PROGRAM = (
    HEADER
    + """
template <class T>
__global__ void fill(T* out, T value, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = value / (value - value);
}
__global__ void count(int* out, int from, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = from;
}
int main() {
  const int n = 300;
  TYPE *a, r[n];
  CHECK(hipMalloc(&a, sizeof r));
  CODE
  CHECK(hipMemcpy(r, a, sizeof r, hipMemcpyDeviceToHost));
}
"""
)
NAN = "every {} of the {} bytes that the program copies to the host is NaN"
LAUNCH = "fill<<<2, 256>>>(a, TYPE(0), n);"


def warnings(run: Run, type_: str, code: str) -> tuple[str, ...]:
    ran = run(PROGRAM.replace("CODE", code).replace("TYPE", type_))
    assert ran.returncode == 0, ran.stderr
    found = read_run(ran.out)
    assert found is not None
    return found.warnings


@pytest.mark.parametrize(("type_", "size"), [("float", 4), ("double", 8)])
def test_results_that_are_all_nan_are_named(run: Run, type_: str, size: int) -> None:
    assert warnings(run, type_, LAUNCH) == (NAN.format(type_, 300 * size),)


def test_memory_that_nothing_has_written_is_named(run: Run) -> None:
    other = "float* b; CHECK(hipMalloc(&b, sizeof r)); fill<<<2, 256>>>(b, 1.0f, n);"
    assert warnings(run, "float", other) == (
        "the program copies 1200 bytes of device memory to the host that nothing has written",
    )


@pytest.mark.parametrize(
    ("type_", "code"),
    [
        ("float", "fill<<<2, 256>>>(a, 1.0f, n);"),  # infinite
        ("float", "fill<<<1, 256>>>(a, 0.0f, n);"),  # some are not written
        ("float", "CHECK(hipMemset(a, 0, sizeof r)); count<<<1, 64>>>((int*)a, 0, 0);"),
        ("int", "count<<<2, 256>>>(a, -1, n);"),
        ("int", "count<<<2, 256>>>(a, -5, n);"),
        (
            "float",
            LAUNCH + "CHECK(hipMemcpy(r, a, 32, hipMemcpyDeviceToHost)); fill<<<2, 256>>>(a, 1.0f, n);",
        ),
    ],
)
def test_other_results_are_not_odd(run: Run, type_: str, code: str) -> None:
    assert warnings(run, type_, code) == ()
