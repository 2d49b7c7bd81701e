"""Sums of a workgroup in members of a vector in LDS: which are taken, what is added up together, the same numbers."""

from __future__ import annotations

from pathlib import Path

from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Refusal
from tests.formulas.propose.recipes.cases import ask, candidates, output_of

PROGRAM = """#include <hip/hip_runtime.h>
#include <cstdio>
struct Pair { int x, y; };
__global__ void moments(double* out, const int* in, int n) {
  __shared__ double3 sums;
  __shared__ int size;
  if (threadIdx.x == 0) {
    sums = make_double3(0, 0, 0);
    size = 0;
  }
  __syncthreads();
  const double x = in[threadIdx.x];
  atomicAdd(&sums.x, x);
  atomicAdd(&sums.z, x * x);
  __syncthreads();
  if (threadIdx.x == 0) {
    out[0] = sums.x;
    out[1] = sums.y + size;
    out[2] = sums.z;
  }
}
int main() {
  double host[3], *out;
  int start[200], *in;
  for (int i = 0; i < 200; ++i) start[i] = i % 61 - 17;
  (void)hipMalloc(&out, sizeof(host));
  (void)hipMalloc(&in, sizeof(start));
  (void)hipMemcpy(in, start, sizeof(start), hipMemcpyHostToDevice);
  moments<<<1, 200>>>(out, in, 200);
  (void)hipMemcpy(host, out, sizeof(host), hipMemcpyDeviceToHost);
  printf("%g %g %g\\n", host[0], host[1], host[2]);
  return hipDeviceSynchronize();
}
"""
SECOND = "atomicAdd(&sums.z, x * x);"


def rewritten(second: str = SECOND) -> bytes:
    (candidate,) = candidates(ask("wave_reduce", PROGRAM.replace(SECOND, second).encode(), LaunchFacts()))
    return candidate.text


def test_members_of_a_vector_are_added_up_as_before(tmp_path: Path) -> None:
    before, after = (
        output_of(PROGRAM.encode(), tmp_path / "before"),
        output_of(rewritten(), tmp_path / "after"),
    )
    assert before == after
    assert before.split() == ["2226", "0", "89442"]


def test_atomics_one_behind_the_other_are_added_up_together() -> None:
    assert rewritten().count(b"offset > 0") == 1


def test_an_atomic_that_reads_a_sum_is_not_added_up_with_it() -> None:
    assert rewritten("atomicAdd(&size, static_cast<int>(sums.x));").count(b"offset > 0") == 2


def test_a_member_of_an_unknown_structure_is_left_alone() -> None:
    text = PROGRAM.replace("double3 sums", "Pair sums").replace("sums = make_double3(0, 0, 0)", "sums.x = 0")
    answer = ask("wave_reduce", text.encode(), LaunchFacts())
    assert isinstance(answer, Refusal)
    assert "is on a member of `Pair`" in answer.reason
