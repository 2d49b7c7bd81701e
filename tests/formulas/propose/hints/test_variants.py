"""What the compiler can be told of a kernel: its hot loops of every form, promises, launch bounds, and the texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.profile import Frame, Instruction, Kernel, KernelName, Resources
from hipscope.analysis.source.parse import device_functions, parse
from hipscope.formulas.facts.called_functions import CalledFunction
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts
from hipscope.formulas.judge.guard import check_pragmas
from hipscope.formulas.propose.hints.variants import (
    Hints,
    LoopHint,
    Variants,
    file_variants,
    function_variants,
    variants_of,
)
from tests.formulas.propose.rules.cases import metadata

FILE = Path("/made/up.hip")
SOURCE = """__device__ float helper(const float* p, int n) {
  float s = 0.0f;
  while (n > 0) {
    s += p[--n];
  }
  return s;
}
__global__ void k(const float* a, float* out, int n) {
  for (int i = 0; i < n; ++i) {
    out[i] = helper(a, i);
    do { out[i] += 1.0f; } while (out[i] < 9.0f);
  }
  for (int i = 0; i < n; ++i) out[i] *= 2.0f;
}
__global__ void other(float* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = 0.0f;
}
"""


NEST = """__global__ void k(const float* a, float* out, int n) {
  float s = 0.0f;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < 4; ++j)
      s += a[4 * i + j];
  out[threadIdx.x] = s;
}
"""


def profiled(cycles: dict[tuple[int, ...], float], branches: dict[int, int] | None = None) -> Kernel:
    """A kernel with an instruction for each inline chain of lines, innermost first, and its cycles.

    `branches` are the instructions by their place that branch, and to which.
    """
    return Kernel(
        name=KernelName("k"),
        mangled="k",
        file=str(FILE),
        line=8,
        dispatches=(),
        resources=Resources(),
        instructions=tuple(
            Instruction(
                index=n,
                address=4 * (n + 1),
                text=_text(n, (branches or {}).get(n)),
                hits=1,
                latency=cost,
                source=tuple(Frame(file=str(FILE), line=line) for line in lines),
            )
            for n, (lines, cost) in enumerate(cycles.items())
        ),
    )


def _text(place: int, target: int | None) -> str:
    return "v_add_f32" if target is None else f"s_cbranch_scc1 {(target - place - 1) % (1 << 16)}"


def variants(cycles: dict[tuple[int, ...], float]) -> Variants:
    kernel = parse(SOURCE.encode()).kernel("k")
    assert kernel is not None
    known = LaunchFacts(
        launches=(LaunchFact((256, 1, 1), (64, 1, 1)),),
        needs=metadata(),
        disjoint=frozenset({"a", "out"}),
        threads=64,
        written=64,
    )
    return variants_of(FILE, SOURCE.encode(), kernel, [profiled(cycles)], known)


@pytest.mark.parametrize(
    ("cycles", "lines"),
    [
        ({(4, 10): 60.0, (11,): 30.0, (13,): 10.0}, [3, 11, 13]),
        ({(4, 10): 95.0, (13,): 5.0}, [3]),  # around the hot loop, nothing of its own
        ({(4, 10): 60.0, (10,): 40.0}, [3, 9]),
        ({(1,): 100.0}, []),
        ({}, []),
    ],
)
def test_loops_of_every_form_are_hot_by_the_cycles_spent_in_them(
    cycles: dict[tuple[int, ...], float], lines: list[int]
) -> None:
    assert [loop.line for loop in variants(cycles).loops] == lines


def nest(cycles: dict[tuple[int, ...], float], branches: dict[int, int]) -> Variants:
    kernel = parse(NEST.encode()).kernels[0]
    return variants_of(FILE, NEST.encode(), kernel, [profiled(cycles, branches)], LaunchFacts())


@pytest.mark.parametrize(
    ("branches", "lines", "leading"),
    [
        ({2: 0}, [3, 4], (0, 1)),  # one loop, with the outer one's counter in it
        ({1: 1}, [4], (0,)),  # the inner one is still there
        ({1: 1, 2: 0}, [4], (0,)),
        ({}, [4], (0,)),  # nothing is left of either
    ],
)
def test_cycles_of_a_loop_that_the_compiler_unrolled_count_for_the_one_around_it(
    branches: dict[int, int], lines: list[int], leading: tuple[int, ...]
) -> None:
    found = nest({(3, 3): 1.0, (5,): 95.0, (3,): 4.0}, branches)
    assert [loop.line for loop in found.loops] == lines
    assert found.leading == leading


def test_the_loop_around_the_call_of_a_helper_is_told_when_the_helpers_is_unrolled() -> None:
    kernel = parse(SOURCE.encode()).kernel("k")
    assert kernel is not None
    one = profiled({(4, 10): 90.0, (9,): 5.0}, {1: 0})
    found = variants_of(FILE, SOURCE.encode(), kernel, [one], LaunchFacts())
    assert [(loop.line, loop.unrolled) for loop in found.loops] == [(9, False), (3, True)]
    assert found.leading == (0,)  # not one inside the other in the text


def test_loops_of_a_called_function_take_every_form_and_change_nothing_else() -> None:
    source = SOURCE.replace(
        "while (n > 0) {\n    s += p[--n];", "for (int i = 0; i < n; ++i) {\n    s += p[i];"
    ).encode()
    (helper,) = device_functions(source)
    called = CalledFunction(FILE, source, helper, LaunchFacts())
    one = profiled({(4, 30): 60.0, (10,): 40.0})
    found = function_variants(called, Path("/made/kernels.hip"), [one])
    assert found is not None
    assert [(loop.line, loop.share, loop.inside) for loop in found.loops] == [(3, 0.6, True)]
    told = found.candidate(Hints(((0, LoopHint(4, "written")),)))
    assert (told.file, told.function) == (FILE, helper)
    assert told.title == "Do 4 steps of the loop on line 3 of up.hip at once"
    start, end = helper.span.start, helper.span.end
    assert told.text.startswith(source[:start])
    assert told.text.endswith(source[end:])
    assert b"// 4 steps at once" in told.text
    beside = function_variants(called, FILE, [one])
    assert beside is not None
    assert beside.file is None
    assert function_variants(called, FILE, [profiled({(10,): 40.0})]) is None


def test_loops_of_another_file_are_told_to_be_copied_and_nothing_that_needs_its_function() -> None:
    kernel = parse(NEST.encode()).kernels[0]
    found = file_variants(FILE, SOURCE.encode(), kernel, [profiled({(4, 30): 60.0, (9,): 40.0})])
    assert found is not None
    assert [(loop.line, loop.inside, loop.counted) for loop in found.loops] == [(3, False, None)]
    told = found.candidate(Hints(((0, LoopHint(4)),)))
    assert (told.file, told.function) == (FILE, None)
    assert check_pragmas(SOURCE.encode(), told.text) == ()
    assert check_pragmas(SOURCE.encode(), told.text.replace(b"p[--n]", b"p[n--]")) != ()
    assert file_variants(FILE, SOURCE.encode(), kernel, [profiled({(9,): 40.0})]) is None


def test_a_loop_behind_a_macro_is_a_loop() -> None:
    source = """#define LOOP(i, n) for (int i = threadIdx.x; i < n; i += blockDim.x)
__global__ void k(float* out, int n) {
  LOOP(i, n) {
    out[i] *= 2.0f;
  }
}
"""
    kernel = parse(source.encode()).kernels[0]
    found = variants_of(FILE, source.encode(), kernel, [profiled({(3,): 20.0, (4,): 80.0})], LaunchFacts())
    assert [loop.line for loop in found.loops] == [3]
    text = found.candidate(Hints(((0, LoopHint(8)),))).text.decode()
    assert text == source.replace("  LOOP", "  #pragma unroll 8\n  LOOP")


def test_a_loop_of_another_kernel_is_never_changed() -> None:
    assert variants({(16,): 100.0}).loops == ()


def test_hints_are_told_together_and_change_nothing_else() -> None:
    found = variants({(4, 10): 60.0, (11,): 40.0})
    assert found.bounds == ("64",)
    assert found.can_restrict
    candidate = found.candidate(Hints(((0, LoopHint(4)), (1, LoopHint(1))), restrict=True, bounds="64"))
    expected = (
        SOURCE.replace("  while (n > 0)", "  #pragma unroll 4\n  while (n > 0)")
        .replace("    do {", "    #pragma unroll 1\n    do {")
        .replace(
            "__global__ void k(const float* a, float* out",
            "__global__ __launch_bounds__(64) void k(const float* __restrict__ a, float* __restrict__ out",
        )
    )
    assert candidate.text.decode() == expected
    assert candidate.exact
    assert any("overlapping" in text for text in candidate.assumes)
    assert any("64 threads" in text for text in candidate.assumes)


@pytest.mark.parametrize(
    ("hint", "told", "exact"),
    [
        (LoopHint(4, "step"), "vectorize_width(1) interleave_count(4)", True),
        (LoopHint(2, "vectors"), "vectorize_width(2) interleave_count(1)", False),
    ],
)
def test_steps_done_together_are_a_pragma_of_the_compiler_too(hint: LoopHint, told: str, exact: bool) -> None:
    candidate = variants({(13,): 90.0}).candidate(Hints(((0, hint),)))
    loop = "  for (int i = 0; i < n; ++i) out[i] *="
    assert candidate.text.decode() == SOURCE.replace(loop, f"  #pragma clang loop {told}\n{loop}")
    assert candidate.exact is exact
    assert candidate.terms == (1 if exact else 2)


def test_steps_at_once_say_which_buffers_must_not_overlap() -> None:
    source = b"""__global__ void k(const float* a, float* out, const float* __restrict__ own, int n) {
  for (int i = threadIdx.x; i < n; i += 64) out[i] = a[i];
  for (int i = threadIdx.x; i < n; i += 64) out[i] = own[i];
}
"""
    kernel = parse(source).kernels[0]
    known = LaunchFacts(disjoint=frozenset({"a", "out", "own"}))
    found = variants_of(FILE, source, kernel, [profiled({(2,): 60.0, (3,): 40.0})], known)
    told = [found.candidate(Hints(((number, LoopHint(2, "written")),))).assumes for number in (0, 1)]
    assert told == [
        ("no launch of `k` passes overlapping buffers in `a`, `out` (none did in the recorded launches)",),
        (),
    ]
