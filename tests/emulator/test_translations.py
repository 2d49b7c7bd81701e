"""Known answers for address translations: a CU holds those of 32 fragments of 2 MiB, and waits for any other."""

from __future__ import annotations

import pytest

from hipscope.emulator.devices import device_table
from tests.emulator.recorded_run import HEADER, Run

STEPS = 2048
HELD = int(device_table()["mi300x"]["utcl1_entries"])
MISS = int(device_table()["mi300x"]["utcl1_miss_cycles"])
FRAGMENTS = (HELD - 1, HELD + 1)  # one more is that of the result

# One lane goes round over lines in fragments of their own; what it reads, a zero, decides on the next address.
ROUND = (
    HEADER
    + f"""
__global__ void visit(const int* a, int fragments, int* out) {{
  int at = 0, found = 0;
  for (int step = 0; step < {STEPS}; ++step) {{
    found += a[(long)at * (2 << 18) + at * 32 + threadIdx.x + found];
    at = at + 1 == fragments ? 0 : at + 1;
  }}
  out[threadIdx.x] = found;
}}
__global__ void at_once(const int* a, int fragments, int* out) {{
  int found = 0;
  for (int step = 0; step < {STEPS} / 64; ++step) {{
    found += a[(long)(threadIdx.x % fragments) * (2 << 18) + threadIdx.x * 32 + found];
  }}
  out[threadIdx.x] = found;
}}
int main() {{
  int *a, *out;
  CHECK(hipMalloc(&a, 160 << 20)); CHECK(hipMalloc(&out, 4096));
  visit<<<1, 1>>>(a, {max(FRAGMENTS)}, out);  // from here on the L2 has all lines
  for (int fragments : {{{", ".join(map(str, FRAGMENTS))}}}) visit<<<1, 1>>>(a, fragments, out);
  at_once<<<1, 64>>>(a, {max(FRAGMENTS)}, out);
  for (int fragments : {{{", ".join(map(str, FRAGMENTS))}}}) at_once<<<1, 64>>>(a, fragments, out);
  CHECK(hipDeviceSynchronize());
}}
"""
)


@pytest.fixture
def cycles(run: Run) -> list[float]:
    """Of the four launches, without those that only bring lines."""
    times = list(run(ROUND, device="mi300x").times())
    return [t * device_table()["mi300x"]["clock_mhz"] / 1e3 for t in times[1:3] + times[4:]]


def test_a_translation_that_was_lost_makes_a_load_wait(cycles: list[float]) -> None:
    held, lost = cycles[:2]
    assert lost - held == pytest.approx(STEPS * MISS, rel=0.1)


def test_translations_of_one_access_come_one_after_the_other(cycles: list[float]) -> None:
    held, lost = cycles[2:]
    assert lost - held == pytest.approx(STEPS // 64 * (HELD + 1) * MISS, rel=0.15)
