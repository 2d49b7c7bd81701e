"""Grid-stride kernels of which fewer workgroups do the work: the same numbers; and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts
from hipscope.formulas.propose.candidate import Refusal
from tests.formulas.propose.rules.cases import ask, candidates, output_of

PROGRAM = """#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void totals(int* out, const int* in, int n) {
  int own = 0;
  const int first = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = first; i < n; i += blockDim.x * gridDim.x) own += in[i];
  atomicAdd(out, own);
  int largest = 0;
  const unsigned stride = gridDim.x * blockDim.x;
  int i = first;
  while (i < n) {
    largest = max(largest, in[i]);
    i = i + stride;
  }
  atomicMax(out + 1, largest);
}
int main() {
  int host[2], *out, *in;
  static int start[30000];
  for (int i = 0; i < 30000; ++i) start[i] = i * 7 % 1009;
  (void)hipMalloc(&out, sizeof(host));
  (void)hipMemset(out, 0, sizeof(host));
  (void)hipMalloc(&in, sizeof(start));
  (void)hipMemcpy(in, start, sizeof(start), hipMemcpyHostToDevice);
  totals<<<301, 64>>>(out, in, 30000);
  (void)hipMemcpy(host, out, sizeof(host), hipMemcpyDeviceToHost);
  printf("%d %d\\n", host[0], host[1]);
  return hipDeviceSynchronize();
}
"""
LAUNCHED = LaunchFacts(launches=(LaunchFact((301 * 64, 1, 1), (64, 1, 1)),))


def rewritten(before: str = "", after: str = "", facts: LaunchFacts = LAUNCHED) -> str:
    assert before in PROGRAM
    answer = ask("fewer_workgroups", PROGRAM.replace(before, after).encode(), facts)
    return answer.reason if isinstance(answer, Refusal) else candidates(answer)[0].text.decode()


def test_the_first_workgroups_do_the_work_of_all(tmp_path: Path) -> None:
    text = rewritten()
    assert "(gridDim.x + 3) / 4;" in text
    assert "stride = working_blocks * blockDim.x;" in text
    before = output_of(PROGRAM.encode(), tmp_path / "before")
    assert before == output_of(text.encode(), tmp_path / "after")
    assert before.split() == [str(sum(i * 7 % 1009 for i in range(30000))), "1008"]


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("int largest = 0;", "int largest = gridDim.x;", "for more than the step of a loop"),
        ("stride = gridDim.x * blockDim.x;", "stride = n / gridDim.x;", "for more than the step of a loop"),
        ("i = i + stride;", "i = 2 * i + stride;", "for more than the step of a loop"),
        ("i = i + stride;", "i += n / gridDim.x;", "for more than the step of a loop"),
        ("i = i + stride;", "i += gridDim.x - 1;", "for more than the step of a loop"),
        ("i = i + stride;", "i = i - stride;", "for more than the step of a loop"),
        ("i = i + stride;", "i += 1 + stride;", "for more than the step of a loop"),
        (
            "int largest = 0;",
            "int largest = 0; int old = atomicAdd(&out[blockIdx.x], 1);",
            "own: `old` on line 8",
        ),
        (
            "int largest = 0;",
            "Random random(seed, first); int largest = random.next();",
            "own: `first` on line 8",
        ),
        ("i = i + stride;", "i = i + stride; ++i;", "for more than the step of a loop"),
        ("while (i < n)", "while (largest < 5)", "for more than the step of a loop"),
        ("while (i < n)", "while (i < n && largest < 5)", "for more than the step of a loop"),
        ("int largest = 0;", "int largest = 0; if (first < n) out[first] = 1;", "own: `first` on line 8"),
        ("int largest = 0;", "int largest = 0; out[blockIdx.x] = 1;", "own: `blockIdx.x` on line 8"),
        ("own += in[i]", "own += in[i] + first", "own: `first` on line 6"),
        ("own += in[i]", "own += in[i] + blockIdx.x", "own: `blockIdx.x` on line 6"),
        ("atomicMax(out + 1", "__threadfence(); atomicMax(out + 1", "counts with the other workgroups"),
        (
            "= 0;\n  const int",
            "= 0;\n  const dim3 g = gridDim;\n  const int",
            "counts with the other workgroups",
        ),
    ],
)
def test_where_the_grid_is_more_than_a_step_nothing_is_proposed(before: str, after: str, reason: str) -> None:
    assert reason in rewritten(before, after)


def test_a_launch_of_few_workgroups_is_left_alone() -> None:
    few = LaunchFacts(launches=(LaunchFact((64 * 64, 1, 1), (64, 1, 1)),))
    assert "too few" in rewritten(facts=few)
