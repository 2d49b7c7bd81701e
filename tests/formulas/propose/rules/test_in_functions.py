"""Recipes on the functions that kernels call: what they answer, and that every kernel that runs one is proved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project
from hipscope.analysis.source.functions import callables_in
from hipscope.analysis.source.inlining import see_through
from hipscope.analysis.source.nodes import LOOPS, walk
from hipscope.analysis.source.parse import device_functions
from hipscope.analysis.source.structures import definitions_in
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts, SourceTypes
from hipscope.formulas.judge.bench import Bench, open_bench
from hipscope.formulas.judge.judge import Judgement, admit, prove
from hipscope.formulas.judge.selection import unasked_candidates
from hipscope.formulas.judge.whole_program import Rehearsals
from hipscope.formulas.propose.candidate import Candidate, Refusal
from hipscope.formulas.propose.hints.counted_loops import SteppedLoop, stepped_loop
from hipscope.formulas.propose.hints.early_loads import EarlyLoad, early_loads
from hipscope.formulas.propose.rules.arithmetic import reciprocal
from hipscope.formulas.propose.rules.loops import fixed_trips
from hipscope.formulas.propose.rules.memory import masked_loads

HEADER = """#pragma once
__device__ inline float near(const float* in, int x, int width) {
  float sum = 0.0f;
  for (int k = -8; k < 8; ++k) {
    if (x + k >= 0 && x + k < width) sum += in[x + k];
  }
  return sum;
}
"""
PROGRAM = """#include <hip/hip_runtime.h>
#include <cstdio>
#include <vector>
#include "near.h"
__global__ void first(float* out, const float* in, int width) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x < width) out[x] = near(in, x, width);
}
__global__ void second(float* out, const float* in, int width) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x < width) out[x] = 2.0f * near(in, width - x, width) + 1.0f;
}
__global__ void third(float* out, const float* in, int width) {
  if (threadIdx.x == 0) out[0] = near(in, width - 4, width);
}
int main(int argc, char** argv) {
  const int width = 3000;
  std::vector<float> host(width);
  for (int i = 0; i < width; ++i) host[i] = i % 37 - 11.0f;
  float *in, *out;
  (void)hipMalloc(&in, width * 4);
  (void)hipMalloc(&out, width * 4);
  (void)hipMemcpy(in, host.data(), width * 4, hipMemcpyHostToDevice);
  first<<<12, 256>>>(out, in, width);
  second<<<12, 256>>>(out, in, width);
  THIRD third<<<1, 64>>>(out, in, width);
  (void)hipMemcpy(host.data(), out, width * 4, hipMemcpyDeviceToHost);
  printf("%g %g\\n", host[5], host[2999]);
  return 0;
}
"""
RUN, NOT_RUN = "", "if (argc > 1)"


@contextmanager
def bench_of(folder: Path, third: str) -> Iterator[Bench]:
    (folder / "near.h").write_text(HEADER)
    file = folder / "main.hip"
    file.write_text(PROGRAM.replace("THIRD", third))
    project = resolve_project(file, config=Config(backend="emulator"))
    session = profile_project(project, options=ProfileOptions(backend="emulator", capture_dispatches=()))
    kernel = next(k for k in session.profile.kernels if k.name.startswith("first"))
    with open_bench(project, session, kernel) as bench:
        yield bench


def masked(bench: Bench) -> Candidate:
    return next(c for c in unasked_candidates(bench, ()) if c.recipe == "masked_loads")


@pytest.mark.slow
def test_a_function_of_a_header_is_rewritten_and_proved_for_every_kernel(tmp_path: Path) -> None:
    with bench_of(tmp_path, RUN) as bench:
        candidate = masked(bench)
        assert candidate.file == tmp_path / "near.h"
        assert candidate.title == "Load without a branch (line 5) in `near`"
        compiled = admit(bench, candidate, bench.run)
        assert not isinstance(compiled, Judgement), compiled.reason
        verdict = prove(bench, candidate, compiled, bench.run)
        assert verdict.equivalent, verdict.reason
        with Rehearsals(bench, bench.run) as rehearsals:
            assert rehearsals.finish(candidate.text, exact=True, file=candidate.file).failure is None
        # Right for the first kernel, where no thread has this place at this width; wrong for the second.
        slip = candidate.text.replace(b"x + k >= 0 &&", b"x != 3000 && x + k >= 0 &&")
        assert slip != candidate.text
        wrong = replace(candidate, text=slip)
        compiled = admit(bench, wrong, bench.run)
        assert not isinstance(compiled, Judgement), compiled.reason
        verdict = prove(bench, wrong, compiled, bench.run)
        assert verdict.outcome == "different"


@pytest.mark.slow
def test_a_kernel_that_is_never_launched_stops_the_rewrite_of_what_it_calls(tmp_path: Path) -> None:
    with bench_of(tmp_path, NOT_RUN) as bench:
        candidate = masked(bench)
        compiled = admit(bench, candidate, bench.run)
        assert not isinstance(compiled, Judgement), compiled.reason
        verdict = prove(bench, candidate, compiled, bench.run)
        assert verdict.outcome == "inconclusive"
        assert "another kernel, third(float*, float const*, int), is compiled differently" in verdict.reason


SECOND = """#include <hip/hip_runtime.h>
#include "near.h"
__global__ void second(float* out, const float* in, int width) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x < width) out[x] = 2.0f * near(in, width - x, width) + 1.0f;
}
void run_second(float* out, const float* in, int width) { second<<<12, 256>>>(out, in, width); }
"""
FIRST = """#include <hip/hip_runtime.h>
#include <cstdio>
#include "near.h"
__global__ void first(float* out, const float* in, int width) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x < width) out[x] = near(in, x, width);
}
void run_second(float* out, const float* in, int width);
int main() {
  const int width = 3000;
  float *in, *out, host[2];
  (void)hipMalloc(&in, width * 4);
  (void)hipMalloc(&out, width * 4);
  (void)hipMemset(in, 1, width * 4);
  first<<<12, 256>>>(out, in, width);
  run_second(out, in, width);
  (void)hipMemcpy(host, out, 8, hipMemcpyDeviceToHost);
  printf("%g\\n", host[1]);
  return 0;
}
"""


@contextmanager
def bench_of_two(folder: Path, second: str = SECOND) -> Iterator[Bench]:
    """The first of two sources that are compiled apart and include one header."""
    (folder / "near.h").write_text(HEADER)
    (folder / "first.hip").write_text(FIRST)
    (folder / "second.hip").write_text(second)
    config = Config(build="hipcc first.hip second.hip -o two", run="./two", backend="emulator")
    project = resolve_project(folder, config=config)
    session = profile_project(project, options=ProfileOptions(backend="emulator", capture_dispatches=()))
    kernel = next(k for k in session.profile.kernels if k.name.startswith("first"))
    with open_bench(project, session, kernel) as bench:
        yield bench


@pytest.mark.slow
def test_a_function_is_proved_for_the_kernels_of_every_source_that_includes_it(tmp_path: Path) -> None:
    with bench_of_two(tmp_path) as bench:
        candidate = masked(bench)
        assert bench.other_sources(candidate) == (tmp_path / "second.hip",)
        compiled = admit(bench, candidate, bench.run)
        assert not isinstance(compiled, Judgement), compiled.reason
        verdict = prove(bench, candidate, compiled, bench.run)
        assert verdict.equivalent, verdict.reason
        # Right for the kernel of the first source, where no thread has this place; wrong in the second.
        slip = candidate.text.replace(b"x + k >= 0 &&", b"x != 3000 && x + k >= 0 &&")
        assert slip != candidate.text
        verdict = prove(bench, replace(candidate, text=slip), compiled, bench.run)
        assert verdict.outcome == "different"


@pytest.mark.slow
def test_a_kernel_of_another_source_that_is_never_launched_stops_the_rewrite(tmp_path: Path) -> None:
    idle = SECOND.replace("second<<<", "if (width < 0) second<<<")
    with bench_of_two(tmp_path, idle) as bench:
        candidate = masked(bench)
        compiled = admit(bench, candidate, bench.run)
        assert not isinstance(compiled, Judgement), compiled.reason
        verdict = prove(bench, candidate, compiled, bench.run)
        assert verdict.outcome == "inconclusive"
        assert "the program does not launch it" in verdict.reason


REFERENCES = b"""
__device__ float moved(const float* in, int x, int n) {
  in += n;
  float sum = 0.0f;
  if (x < n) sum += in[x];
  return sum;
}
__device__ float divided(float* out, const float& by, int n) {
  for (int i = 0; i < n; ++i) out[i] = out[i] / by;
  return out[0];
}
__device__ void window(float* out, int& at) {
  for (int i = at - 2; i < at + 2; ++i) out[i] += 1.0f;
}
"""
BY = REFERENCES.index(b"/ by;") + 2
FACTS = LaunchFacts(
    launches=(LaunchFact((256, 1, 1), (64, 1, 1), scalars={"n": 5}, buffer_bytes={"in": 400, "out": 400}),),
    types=SourceTypes(REFERENCES, spans={(BY, BY + 2): "float"}),
)


@pytest.mark.parametrize(
    ("recipe", "name", "reason"),
    [
        (masked_loads, "moved", "`in`, which does not lead to its first element all the time"),
        (reciprocal, "divided", "`by` on line 9 is another name of something that a store may change"),
        (fixed_trips, "window", "no loop has a length that is a small argument"),
    ],
    ids=["masked_loads", "reciprocal", "fixed_trips"],
)
def test_what_a_store_may_change_is_no_number_of_the_thread(recipe: object, name: str, reason: str) -> None:
    function = next(f for f in device_functions(REFERENCES) if f.name == name)
    answer = recipe.propose(REFERENCES, function, None, FACTS)  # type: ignore[attr-defined]
    assert isinstance(answer, Refusal), answer
    assert reason in answer.reason


MEMBERS = b"""
struct Cursor {
  int at, end; float by;
  __device__ void step() { ++at; by *= 2.0f; }
  __device__ void run(float* out, const float* in, int n) {
    for (int i = 0; i < n; ++i) { out[i] += in[i] / by; step(); }
    for (int i = 0; i < end; ++i) out[i] += in[i];
    for (int i = 0; i < n; ++i) out[i] += in[i];
  }
};
"""


def test_a_call_or_a_store_may_change_the_members_of_the_object() -> None:
    (run,) = (f for f in device_functions(MEMBERS) if f.name == "run")
    run = see_through(run, callables_in([MEMBERS]), definitions_in([MEMBERS]))
    assert run.state == {"end", "by"}
    by = MEMBERS.index(b"/ by;") + 2
    left = MEMBERS.index(b"in[i] / by")
    types = SourceTypes(MEMBERS, spans={(by, by + 2): "float", (left, left + 5): "float"})
    facts = replace(FACTS, types=types, disjoint=frozenset({"out", "in"}))
    answer = reciprocal.propose(MEMBERS, run, None, facts)
    assert isinstance(answer, Refusal)
    assert "`by` on line 6 is another name of something that a store may change" in answer.reason
    loops = [stepped_loop(n, run, facts, MEMBERS) for n in walk(run.body_node) if n.type in LOOPS]
    assert loops[1] == "changes its own bounds"
    early = [
        [e.text for e in early_loads(run, loop) if isinstance(e, EarlyLoad)]
        for loop in loops
        if isinstance(loop, SteppedLoop)
    ]
    assert early == [[], ["out[i]", "in[i]"]]


def test_only_functions_with_their_whole_head_are_read() -> None:
    text = b"""
#define BOTH __host__ __device__
#define ONLY static
BOTH __device__ float a(float x) { return x; }
__host__ __device__ float b(float x) { return x; }
constexpr __device__ float c(float x) { return x; }
struct S { float m; __device__ float d(float x) { return x * m + later(x); } };
template <typename T> __device__ float V<T>::operator()(float x) const { float y = x; return y / wide; }
ONLY __device__ float e(float x) { return x; }
namespace n { template <int N> static __device__ __forceinline__ int f(int x) { return x + N; } }
__global__ void g(float* x) { x[0] = 1; }
float h(float x) { return x; }
"""
    host, member, operator, found = device_functions(text)
    assert (host.name, host.member) == ("b", False)
    assert (member.name, member.member, member.state) == ("d", True, frozenset({"m"}))
    assert (operator.name, operator.member, operator.state) == ("operator()", True, frozenset({"wide"}))
    assert (found.name, found.template_head, found.is_kernel) == ("f", "<int N>", False)
