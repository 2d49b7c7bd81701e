"""Loops whose steps are written out: the text, what is loaded first, and the loops that are left alone."""

from __future__ import annotations

import pytest

from hipscope.analysis.source.nodes import walk
from hipscope.analysis.source.parse import parse
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.hints.written_steps import counted_loop, written_out
from hipscope.formulas.propose.splice import apply_splices

WRITTEN = """__global__ void k(float* p, const float* a, float f, int n) {
  for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < n; j += gridDim.x * blockDim.x) {
    const float x = p[j] * f;
    p[j] = x + a[j];
  }
}
"""


def written(body: str, disjoint: set[str], times: int = 2) -> str:
    """The kernel with the steps of its only loop written out."""
    source = WRITTEN.replace("const float x = p[j] * f;\n    p[j] = x + a[j];", body).encode()
    kernel = parse(source).kernels[0]
    loop = counted_loop(next(n for n in walk(kernel.body_node) if n.type == "for_statement"), kernel)
    assert not isinstance(loop, str)
    return apply_splices(
        source, [written_out(source, kernel, LaunchFacts(disjoint=frozenset(disjoint)), loop, times)]
    ).decode()


def test_steps_are_written_out_with_their_loads_first() -> None:
    text = written("const float x = p[j] * f;\n    p[j] = x + a[j];", {"p", "a"})
    assert (
        text
        == """__global__ void k(float* p, const float* a, float f, int n) {
  {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    for (; j + 1LL * (gridDim.x * blockDim.x) < n; j += 2 * (gridDim.x * blockDim.x)) {  // 2 steps at once
      const int j_1 = j + (gridDim.x * blockDim.x);
      auto p_0 = p[j];
      const auto a_0 = a[j];
      auto p_1 = p[j_1];
      const auto a_1 = a[j_1];
      {
        const float x = p_0 * f;
        p_0 = x + a_0;
        p[j] = p_0;
      }
      {
        const float x = p_1 * f;
        p_1 = x + a_1;
        p[j_1] = p_1;
      }
    }
    for (; j < n; j += gridDim.x * blockDim.x) {
      const float x = p[j] * f;
      p[j] = x + a[j];
    }
  }
}
"""
    )


@pytest.mark.parametrize(
    ("body", "disjoint", "first"),
    [
        ("p[j] += a[j];", {"p"}, ["p", "a"]),
        ("p[j] += a[j];", set(), []),  # they may overlap
        ("p[j] = a[j];", {"a"}, ["a"]),  # nothing of `p` is loaded
        ("p[j + 1] = p[j] + a[j];", {"p", "a"}, ["a"]),  # the next step reads what this one writes
        ("p[j] += a[j * 0];", {"p", "a"}, ["p", "a"]),
        ("p[j * n] += f;", {"p"}, []),  # `n` may be 0: one element for all
        ("if (f > 0.0f) p[j] += a[j];", {"p", "a"}, []),  # perhaps nothing is there
        ("p[j] += f > 0.0f ? a[j] : f;", {"p", "a"}, ["p"]),
        ("const int at = j / 2; p[j] += a[at];", {"p", "a"}, ["p"]),
        ("p[j] = f; p[j] += a[j];", {"p", "a"}, ["a"]),  # its old value is not needed
        ("*p = f; p[j] += a[j];", {"p", "a"}, []),
        ("float* q = p; q[j] += a[j];", {"p", "a"}, []),
    ],
)
def test_only_what_no_other_step_writes_is_loaded_first(
    body: str, disjoint: set[str], first: list[str]
) -> None:
    text = written(body, disjoint)
    assert [name for name in ("p", "a") if f"auto {name}_1 =" in text] == first


@pytest.mark.parametrize(
    "change",
    [
        ("p[j] = x", "if (x > f) break; p[j] = x"),
        ("p[j] = x", "if (x > f) j += 1; p[j] = x"),
        ("p[j] = x", "--n; p[j] = x"),
        ("p[j] = x", "__syncthreads(); p[j] = x"),
        ("p[j] = x", "for (int i = 0; i < 2; ++i) p[j] = x"),
        ("j < n", "j < n && f > 0.0f"),
        ("j < n", "j < (int)a[0]"),
        ("j += ", "j -= "),
        ("int j", "float j"),
    ],
)
def test_a_loop_that_does_not_count_is_left_alone(change: tuple[str, str]) -> None:
    kernel = parse(WRITTEN.replace(*change).encode()).kernels[0]
    loop = next(n for n in walk(kernel.body_node) if n.type == "for_statement")
    assert isinstance(counted_loop(loop, kernel), str)


def test_a_counter_from_before_the_loop_has_its_value_behind_it() -> None:
    source = b"""__global__ void k(const float* a, float* out, int n) {
  int j;
  float s = 0.0f;
  for (j = threadIdx.x; j < n; j += 64) s += a[j];
  out[j] = s;
}
"""
    kernel = parse(source).kernels[0]
    loop = counted_loop(next(n for n in walk(kernel.body_node) if n.type == "for_statement"), kernel)
    assert not isinstance(loop, str)
    text = apply_splices(source, [written_out(source, kernel, LaunchFacts(), loop, 2)]).decode()
    assert "    j = threadIdx.x;\n    for (; j + 64LL < n; j += 128) {  // 2 steps at once" in text
    assert "const auto j_1 = j + 64;" in text
    assert "    for (; j < n; j += 64) s += a[j];\n  }\n  out[j] = s;" in text
