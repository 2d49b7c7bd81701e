"""Loops that count: what they count by, and which are refused, by the reason."""

from __future__ import annotations

import pytest

from hipscope.analysis.kernel.effects import changed_names
from hipscope.analysis.source.functions import callables_in
from hipscope.analysis.source.inlining import see_through
from hipscope.analysis.source.nodes import LOOPS, walk
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.structures import definitions_in
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.hints.counted_loops import SteppedLoop, stepped_loop


def read(head: str, body: str = "out[i] = a[i];") -> SteppedLoop | str:
    """The loop in a kernel with some parameters and a counter from before."""
    source = f"""struct Sizes {{ int n; }};
#define SQUARE(x) ((x) * (x))
#define NEXT(x) (x += 2)
__device__ int plain(int x) {{ return x + 1; }}
__device__ int moves(int& x) {{ return ++x; }}
__device__ int lanes(int x) {{ return __shfl_xor(x, 1); }}
__device__ int deeper(int x) {{ return lanes(x) + 1; }}
__global__ void k(const int* a, int* out, const int* ends, int n, int step, unsigned u, size_t big, Sizes sizes) {{
  int j = threadIdx.x;
  int stride = blockDim.x * gridDim.x;
  {head} {{ {body} }}{" while (j < n);" if head == "do" else ""}
}}
""".encode()
    kernel = see_through(parse(source).kernels[0], callables_in([source]), definitions_in([source]))
    facts = LaunchFacts(disjoint=frozenset({"a", "out", "ends"}))
    loop = next(n for n in walk(kernel.body_node) if n.type in LOOPS)
    return stepped_loop(loop, kernel, facts, source)


@pytest.mark.parametrize(
    ("head", "step", "down", "sure"),
    [
        ("for (int i = 0; i < n; ++i)", "1", False, True),
        ("for (int i = j; i < n; i += stride)", "stride", False, True),
        ("for (int i = n; i < 9; i += 4)", "4", False, False),  # `n` may be negative
        ("for (int i = 0; i < n; i += step)", "step", False, False),
        ("for (unsigned i = 0; i < u; i = i + 64)", "64", False, True),
        ("for (int i = n - 1; i >= 0; i--)", "1", True, True),
        ("for (int i = n; i > 0; i -= 2)", "2", True, True),
        ("for (int i = 0; i < sizes.n; ++i)", "1", False, True),
        ("for (int i = 0; i < min(n, step); ++i)", "1", False, True),
        ("for (int i = ends[j]; i < ends[j + 1]; ++i)", "1", False, False),
    ],
)
def test_what_a_loop_counts_by(head: str, step: str, down: bool, sure: bool) -> None:
    loop = read(head)
    assert isinstance(loop, SteppedLoop), loop
    assert (loop.step, loop.down, loop.sure) == (step, down, sure)
    assert loop.hoisted is ("ends" in head)


@pytest.mark.parametrize(
    ("head", "body", "reason"),
    [
        ("for (int i = 0; i < n; i *= 2)", "", "does not go by a step"),
        ("for (int i = 0; i < n && a[i] > 0; ++i)", "", "does not go by a step"),
        ("for (int i = 0; i > n; ++i)", "", "goes away from its bound"),
        ("for (float i = 0; i < n; ++i)", "", "something else than a whole number"),
        ("for (unsigned i = n; i > 0; --i)", "", "may be unsigned"),
        ("for (int i = n; i > u; --i)", "", "may be unsigned"),
        ("for (int i = n; i > 0; i -= blockDim.x)", "", "may be unsigned"),
        ("for (int i = 0; i < n; ++i)", "--n;", "changes its own bounds"),
        ("for (int i = 0; i < n; ++i)", "moves(i);", "may change `i` in a step"),
        ("for (int i = 0; i < n; ++i)", "NEXT(i);", "may change `i` in a step"),
        ("for (int i = 0; i < ends[0]; ++i)", "ends[i] = 0;", "changes its own bounds"),
        ("for (int i = 0; i < *ends; ++i)", "", "changes its own bounds"),
        ("for (int i = 0; i < n; ++i)", "if (a[i]) break;", "can be left in the middle"),
        ("for (int i = 0; i < n; ++i)", "if (a[i]) { if (n) continue; }", "can be left in the middle"),
        ("for (int i = 0; i < n; ++i)", "if (a[i]) return;", "can be left in the middle"),
        ("for (int i = 0; i < n; ++i)", "__syncthreads();", "a barrier, a fence or a wave operation"),
        (
            "for (int i = 0; i < n; ++i)",
            "out[i] = __shfl_down(a[i], 1);",
            "a barrier, a fence or a wave operation",
        ),
        ("for (int i = 0; i < n; ++i)", "out[i] = deeper(a[i]);", "a barrier, a fence or a wave operation"),
        ("for (int i = 0; i < n; ++i)", "group.sync();", "a barrier, a fence or a wave operation"),
        (
            "for (int i = 0; i < n; ++i)",
            "out[i] = Reduce(a).Sum(i);",
            "may change `i` in a step",
        ),
        ("for (int i = 0; i < n; ++i)", "__threadfence();", "a barrier, a fence or a wave operation"),
        ("for (int i = 0; i < n; ++i)", "out[atomicAdd(out, 1)] = i;", "an atomic whose result is used"),
        ("for (int i = 0; i < n; ++i)", "switch (a[i]) { default: break; }", "holds what is not read"),
        ("while (j < n)", "out[j] = 1;", "does not go by a step"),
        ("while (j < n)", "if (a[j]) continue; j += step;", "next step in the middle"),
        ("while (j < n)", "j += step; if (n) out[j] = 0;", "does not end with its step"),
        ("do", "j += step;", "is no `for` loop"),
    ],
)
def test_why_a_loop_is_left_alone(head: str, body: str, reason: str) -> None:
    found = read(head, body)
    assert isinstance(found, str)
    assert reason in found


@pytest.mark.parametrize(
    "body",
    [
        "out[i] = plain(i) + SQUARE(i);",
        "for (int q = 0; q < 3; ++q) { if (a[q]) break; out[i] += a[q]; }",
        "if (a[i] < 0) continue; out[i] = 1;",
        "atomicAdd(&out[a[i]], 1);",
    ],
)
def test_what_a_step_may_hold(body: str) -> None:
    assert isinstance(read("for (int i = 0; i < n; ++i)", body), SteppedLoop)


def test_only_functions_that_take_values_leave_their_arguments_alone() -> None:
    source = b"""__device__ int plain(int x) { return x + 1; }
__device__ void fills(int* x) { x[0] = 1; }
__device__ void moves(int& x) { ++x; }
__global__ void k(int a, int c, int d) { int own[2]; plain(a); fills(own); moves(c); elsewhere(d); }
"""
    statements = parse(source).kernels[0].body_node.named_children[1:]
    assert [sorted(changed_names(s)) for s in statements] == [[], ["own"], ["c"], ["d"]]
