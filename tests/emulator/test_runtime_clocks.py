"""Clocks that kernels read: they advance with what a wave executes, whether it is timed or not."""

from __future__ import annotations

import pytest

from tests.emulator.recorded_run import HEADER, Run

CLOCKS = (
    HEADER
    + """
__device__ float burn(float v, int turns) {
  for (int k = 0; k < turns; ++k) v = v * 1.5f + 0.25f;
  return v;
}
__global__ void measure(long long* few, long long* many, long long* wall, float* out) {
  const long long w = wall_clock64(), a = clock64();
  float v = burn(threadIdx.x, 20);
  asm volatile("" : "+v"(v));
  const long long b = clock64();
  v = burn(v, 2000);
  asm volatile("" : "+v"(v));
  const long long c = clock64();
  out[blockIdx.x * 64 + threadIdx.x] = v;
  few[blockIdx.x] = b - a;
  many[blockIdx.x] = c - b;
  wall[blockIdx.x] = wall_clock64() - w;
}
int main() {
  const int n = 24;
  long long *d, h[3 * n]; float* out;
  CHECK(hipMalloc(&d, sizeof h)); CHECK(hipMalloc(&out, n * 256));
  for (int k = 0; k < 6; ++k) {
    measure<<<n, 64>>>(d, d + n, d + 2 * n, out);
    CHECK(hipMemcpy(h, d, sizeof h, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i) std::printf("%lld %lld %lld\\n", h[i], h[n + i], h[2 * n + i]);
  }
}
"""
)


def read(text: str) -> list[tuple[int, int, int]]:
    rows = [tuple(int(word) for word in line.split()) for line in text.splitlines()]
    return [(few, many, wall) for few, many, wall in rows]


@pytest.mark.parametrize("profiled", [True, False])
def test_clocks_advance_with_the_work_in_every_workgroup(run: Run, profiled: bool) -> None:
    more = {} if profiled else {"HIPSCOPE_OUT": ""}
    ran = run(CLOCKS, **more)
    rows = read(ran.stdout)
    assert len(rows) == 6 * 24, ran.stderr
    for few, many, wall in rows:
        assert few > 0
        assert 20 * few < many < 400 * few
        assert wall > 0
    assert any(many % 4096 for _, many, _ in rows)
    assert run(CLOCKS, **more).stdout == ran.stdout


def test_launches_that_are_not_timed_count_about_as_many_cycles_as_those_that_are(run: Run) -> None:
    rows = read(run(CLOCKS).stdout)
    timed, untimed = rows[0][1], rows[5 * 24][1]
    assert timed / 3 < untimed < timed * 3
