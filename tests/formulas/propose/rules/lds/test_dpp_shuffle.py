"""Exchanges of lanes by DPP: each lane gets what `__shfl_xor` gives it, whichever lanes are active."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.source.parse import device_functions
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Refusal
from hipscope.formulas.propose.rules.lds import dpp_shuffle
from tests.formulas.propose.rules.cases import ask, candidates, output_of

# Lanes ask only lanes that are active, too: of others HIP says nothing.
PROGRAM = """#include <hip/hip_runtime.h>
#include <cstdio>
#include <vector>
template <typename T>
__global__ void exchanged(T* out, int among) {
  const int lane = threadIdx.x;
  const T own = static_cast<T>(lane * 1000003 + 17);
  int at = lane;
  for (int mask = 32; mask > 0; mask >>= 1) {
    out[at += 64] = __shfl_xor(own, mask);
    out[at += 64] = __shfl_xor(own, mask, 16);
    out[at += 64] = __shfl_xor(own, mask, among);
    if (lane == 5 || lane == (5 ^ mask)) out[at += 64] = __shfl_xor(own, mask); else at += 64;
  }
  out[at += 64] = __shfl_xor(own, 4) + __shfl_xor(__shfl_xor(own, 2), 1);
}
template <typename T>
void show(int among) {
  std::vector<T> host(1664);
  T* out;
  (void)hipMalloc(&out, host.size() * sizeof(T));
  (void)hipMemset(out, 0, host.size() * sizeof(T));
  exchanged<<<1, 64>>>(out, among);
  (void)hipMemcpy(host.data(), out, host.size() * sizeof(T), hipMemcpyDeviceToHost);
  unsigned long hash = 0;
  for (const T& value : host) hash = hash * 1099511628211ul + static_cast<unsigned long>(static_cast<long>(value));
  printf("%lx\\n", hash);
}
int main() {
  show<int>(4);
  show<float>(8);
  show<double>(32);
  show<short>(64);
  return hipDeviceSynchronize();
}
"""


def test_every_lane_gets_what_it_got(tmp_path: Path) -> None:
    source = PROGRAM.encode()
    (rewritten,) = candidates(ask("dpp_shuffle", source, LaunchFacts()))
    assert rewritten.exact
    before, after = output_of(source, tmp_path / "before"), output_of(rewritten.text, tmp_path / "after")
    assert len(before.split()) == 4
    assert before == after


def test_a_helper_that_is_there_is_used_again() -> None:
    first = b"__device__ int a(int x) {\n  return x + __shfl_xor(x, 1);\n}\n"
    second = b"__global__ void b(int* x) {\n  x[0] = __shfl_xor(x[1], 8);\n}\n"
    (once,) = candidates(dpp_shuffle.propose(first + second, device_functions(first)[0], None, LaunchFacts()))
    (twice,) = candidates(ask("dpp_shuffle", once.text, LaunchFacts()))
    assert twice.text == once.text.replace(b"__shfl_xor(x[1], 8)", b"xor_lane(x[1], 8)")
    helper = device_functions(twice.text)[0]
    assert helper.name == "xor_lane_word"
    assert isinstance(dpp_shuffle.propose(twice.text, helper, None, LaunchFacts()), Refusal)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("x = __shfl_xor(x, 16) + __shfl_xor(x, 32);", "beyond the 16 lanes of a row"),
        ("x = __shfl_down(x, 1);", "exchanges nothing by `__shfl_xor`"),
        ("x = cooperative_groups::coalesced_threads().shfl_xor(x, 1);", "exchanges nothing by `__shfl_xor`"),
    ],
    ids=["far lanes", "another exchange", "a group of any lanes"],
)
def test_other_exchanges_stay(statement: str, reason: str) -> None:
    source = f"__global__ void k(float* out) {{\n  float x = out[threadIdx.x];\n  {statement}\n}}\n"
    answer = ask("dpp_shuffle", source.encode(), LaunchFacts())
    assert isinstance(answer, Refusal)
    assert reason in answer.reason
