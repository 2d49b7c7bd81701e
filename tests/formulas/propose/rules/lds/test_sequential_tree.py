"""Interleaved reductions that one wave ends, where workgroups have a power of two of threads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hipscope.analysis.source.parse import parse
from hipscope.formulas.facts.launch_facts import LaunchFacts, SourceTypes
from hipscope.formulas.judge.guard import check_source
from hipscope.formulas.propose.candidate import Refusal
from tests.formulas.propose.rules.cases import ask, candidates, facts_of, read_facts

KERNEL = """// facts: {"launches": [[[65536, 1, 1], [THREADS, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out) {
  extern __shared__ float part[];
  part[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (unsigned step = 1; step < blockDim.x; step *= 2) {
    if (threadIdx.x % (2 * step) == 0) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
"""
HALVED = """  for (unsigned half = blockDim.x / 2; half >= warpSize; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  // One wave has the rest"""


@pytest.mark.parametrize(("threads", "ends"), [(256, True), (64, True), (192, False), (32, False)])
def test_a_wave_ends_what_is_a_power_of_two_from_its_lanes_on(threads: int, *, ends: bool) -> None:
    source = KERNEL.replace("THREADS", str(threads)).encode()

    whole, ended = candidates(ask("sequential_tree", source, read_facts(source)))

    assert "(left + 1) / 2" in whole.text.decode()
    assert (HALVED in ended.text.decode()) == ends
    assert (ended.assumes != ()) == ends
    assert (ended.exact, ended.terms) == (whole.exact, whole.terms) == (False, threads)


ANY_SIZE = """  unsigned left = blockDim.x;
  while (left > warpSize) {
    const unsigned half = (left + 1) / 2;
    if (threadIdx.x < left / 2) part[threadIdx.x] += part[threadIdx.x + half];
    left = half;
    __syncthreads();
  }
  // One wave has the rest: its lanes exchange values without barriers.
  if (threadIdx.x < warpSize) {
    float value = part[threadIdx.x];
    for (unsigned offset = warpSize / 2; offset > 0; offset /= 2) {
      const float other = __shfl_down(value, offset);
      if (threadIdx.x + offset < left) value += other;
    }
    if (threadIdx.x == 0) part[0] = value;
  }
  __syncthreads();
"""


def test_a_wave_ends_what_has_any_size_with_a_test_in_each_step() -> None:
    source = KERNEL.replace("THREADS", "192").encode()
    _, ended = candidates(ask("sequential_tree", source, read_facts(source)))
    assert ANY_SIZE in ended.text.decode()
    assert check_source(source, ended.text, parse(source).kernels[0], frozenset()) == ()


def test_each_of_two_reductions_has_a_name_for_what_is_left() -> None:
    head, loop, tail = KERNEL.replace("THREADS", "192").partition("  for (unsigned step")
    first, end, rest = (loop + tail).partition("  if (threadIdx.x == 0) out")
    source = (head.replace("float part[];", "float part[]; __shared__ float other[192];") + first).encode()
    source += (first.replace("part", "other") + end + rest.replace("part[0]", "part[0] + other[0]")).encode()
    _, ended = candidates(ask("sequential_tree", source, read_facts(source)))
    assert "unsigned left = blockDim.x;" in ended.text.decode()
    assert "unsigned left2 = blockDim.x;" in ended.text.decode()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("float", "short"),
        ("  __syncthreads();\n  for", "  if (in[0] < 0) return;\n  __syncthreads();\n  for"),
    ],
)
def test_no_wave_ends_what_is_not_shuffled_or_has_lost_lanes(old: str, new: str) -> None:
    source = KERNEL.replace("THREADS", "192").replace(old, new).encode()
    assert len(candidates(ask("sequential_tree", source, read_facts(source)))) == 1


CALLED = """#include <hip/hip_runtime.h>
template <typename T, typename F>
__global__ void k(const T* in, T* out, F op) {
  extern __shared__ T part[];
  const unsigned tid = threadIdx.x;
  part[tid] = in[blockIdx.x * blockDim.x + tid];
  __syncthreads();
  for (unsigned step = 1; step < blockDim.x; step *= 2) {
    if (tid % (2 * step) == 0) part[tid] = STEP;
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = part[0];
}
"""


def facts_with(source: bytes, call: str, *, exact: bool) -> LaunchFacts:
    """A launch of 256 threads, and what the compiler would say of a call."""
    start = source.index(call.encode())
    facts = facts_of({"launches": [[[65536, 1, 1], [256, 1, 1]]]})
    types = SourceTypes(
        text=source,
        combining={(start, start + len(call)): exact},
        instances={"T": frozenset({"int", "float"})},
    )
    return replace(facts, types=types)


@pytest.mark.parametrize(
    ("call", "kept"),
    [
        ("op(part[tid], part[tid + step])", "op(part[tid], part[tid + half])"),
        ("op(part[step + tid], part[tid])", "op(part[tid + half], part[tid])"),
        ("F{}(part[tid], part[tid + step])", "F{}(part[tid], part[tid + half])"),
        ("add<T>(part[tid], part[tid + step])", "add<T>(part[tid], part[tid + half])"),
    ],
)
@pytest.mark.parametrize("exact", [True, False])
def test_a_function_that_combines_is_called_for_other_elements(call: str, kept: str, *, exact: bool) -> None:
    source = CALLED.replace("STEP", call).encode()

    whole, ended = candidates(ask("sequential_tree", source, facts_with(source, call, exact=exact)))

    assert f"if (tid < left / 2) part[tid] = {kept};" in whole.text.decode()
    assert (whole.exact, whole.terms) == (exact, 1 if exact else 256)
    in_registers = kept.replace("part[tid + half]", "other").replace("part[tid]", "value")
    assert f"value = {in_registers};" in ended.text.decode()


@pytest.mark.parametrize(
    ("call", "told", "expected"),
    [
        ("op(part[tid], part[tid + step])", "op(", "is not known to combine two numbers in any order"),
        ("op(part[tid], part[tid])", "", "is no addition, minimum or maximum"),
        ("op(part[tid + step], part[tid + step])", "", "is no addition, minimum or maximum"),
        ("op(part[tid], part[tid + step], tid)", "", "`tid` is not the number of the thread"),
        ("op(part[tid], out[tid + step])", "", "is no addition, minimum or maximum"),
    ],
)
def test_a_function_that_nobody_knows_is_refused(call: str, told: str, expected: str) -> None:
    source = CALLED.replace("STEP", call).encode()

    answer = ask("sequential_tree", source, facts_with(source, told or call, exact=True))

    assert isinstance(answer, Refusal)
    assert expected in answer.reason
