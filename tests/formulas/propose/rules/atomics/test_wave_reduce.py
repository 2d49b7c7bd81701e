"""Sums of a workgroup in members of a vector in LDS: which are taken, what is added up together, the same numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Refusal
from tests.formulas.propose.rules.cases import ask, candidates, output_of

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


TOTALS = """#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void totals(double* out, const int* in, int n, int kinds) {
  double own[3] = {0, 0, 0};
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    for (int k = 0; k < kinds; ++k) own[k] += in[i] % (k + 2);
  for (int k = 0; k < kinds; ++k) {
    atomicAdd(&out[k], own[k]);
    atomicAdd(&out[3 + k], 1.0);
  }
}
int main() {
  double host[6], *out;
  int start[500], *in;
  for (int i = 0; i < 500; ++i) start[i] = i;
  (void)hipMalloc(&out, sizeof(host));
  (void)hipMemset(out, 0, sizeof(host));
  (void)hipMalloc(&in, sizeof(start));
  (void)hipMemcpy(in, start, sizeof(start), hipMemcpyHostToDevice);
  totals<<<2, dim3(50, 3)>>>(out, in, 500, 3);
  (void)hipMemcpy(host, out, sizeof(host), hipMemcpyDeviceToHost);
  for (double value : host) printf("%g ", value);
  return hipDeviceSynchronize();
}
"""


SECOND_TOTAL = "    atomicAdd(&out[3 + k], 1.0);\n"


def asked_totals(*changes: tuple[str, str]) -> str:
    text = TOTALS
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    answer = ask("wave_reduce", text.encode(), LaunchFacts())
    return answer.reason if isinstance(answer, Refusal) else candidates(answer)[0].text.decode()


def test_elements_that_change_from_step_to_step_are_added_up_as_before(tmp_path: Path) -> None:
    text = asked_totals()
    assert text.count("offset > 0") == 1
    before = output_of(TOTALS.encode(), tmp_path / "before")
    assert before == output_of(text.encode(), tmp_path / "after")
    assert before.split() == ["1500", "2994", "4500", "300", "300", "300"]


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("&out[k]", "&out[0]", "one of the whole workgroup"),
        ("&out[k]", "&out[k + threadIdx.x]", "a different address in each thread"),
        ("&out[k]", "&out[in[k]]", "a different address in each thread"),
        ("int k = 0; k < kinds; ++k) {", "int k = threadIdx.x; k < kinds; ++k) {", "a different address"),
        ("int k = 0; k < kinds; ++k) {", "int k = 0; k < kinds; ++k) { if (own[k] < 0) return;", "not all threads"),
        ("own[k]);", "out[k + 1]);", "also used on line"),
    ],
)  # fmt: skip
def test_other_elements_are_refused(before: str, after: str, reason: str) -> None:
    assert reason in asked_totals((SECOND_TOTAL, ""), (before, after))


def test_an_index_that_a_call_may_have_changed_is_refused() -> None:
    changes = (
        (SECOND_TOTAL, ""),
        ("double own", "int at = 0;\n  move(&at);\n  double own"),
        ("&out[k]", "&out[k + at]"),
    )
    assert "a different address in each thread" in asked_totals(*changes)


def test_an_atomic_that_reads_what_another_one_adds_to_stays_behind_it() -> None:
    text = asked_totals(("1.0);\n", "out[k]);\n"))
    assert text.index("atomicAdd(&out[k], wave_sum)") < text.index("atomicAdd(&out[3 + k], out[k]);")
