"""Loops whose steps are written out: the text, what is loaded first, and the loops that are left alone."""

from __future__ import annotations

import re

import pytest

from hipscope.analysis.source.functions import callables_in
from hipscope.analysis.source.inlining import see_through
from hipscope.analysis.source.nodes import walk
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.structures import definitions_in
from hipscope.formulas.facts.launch_facts import LaunchFacts, SourceTypes
from hipscope.formulas.propose.hints.counted_loops import stepped_loop
from hipscope.formulas.propose.hints.written_steps import can_be_written, written_out
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
    facts = LaunchFacts(disjoint=frozenset(disjoint))
    loop = stepped_loop(next(n for n in walk(kernel.body_node) if n.type == "for_statement"), kernel, facts)
    assert not isinstance(loop, str)
    return apply_splices(source, [written_out(source, kernel, loop, times)]).decode()


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
        ("const int at = j / 2; p[j] += a[at];", {"p", "a"}, ["p", "a"]),
        ("p[j] = p[j] * a[j];", {"p", "a"}, ["p", "a"]),  # what is assigned is computed first
        ("int at = j / 2; at += n; p[j] += a[at];", {"p", "a"}, ["p"]),
        ("atomicAdd(&p[(int)a[j]], f);", {"p", "a"}, ["a"]),
        ("atomicAdd(&p[j], a[j]);", set(), []),
        ("atomicAdd(p + j, a[j]); p[j] += f;", {"p", "a"}, ["a"]),
        ("float s, c; sincosf(a[j], &s, &c); p[j] += s * c;", {"p", "a"}, ["p", "a"]),
        ("float& q = p[j]; q = a[j];", {"p", "a"}, []),
        ("unknown[j] = a[j];", {"p", "a"}, []),
        ("p[j] = f; p[j] += a[j];", {"p", "a"}, ["a"]),  # its old value is not needed
        ("*p = f; p[j] += a[j];", {"p", "a"}, []),
        ("float* q = p; q[j] += a[j];", {"p", "a"}, []),
    ],
)
def test_only_what_no_other_step_writes_is_loaded_first(
    body: str, disjoint: set[str], first: list[str]
) -> None:
    text = written(body, disjoint)
    copied = [name for name in ("p", "a") if f"auto {name}_1 =" in text]
    unrolled = [
        name
        for name in ("p", "a")
        if re.search(rf"^ +(?:for \(int u = [^()]*\) )?{name}_at\[u\] = {name}\[", text, re.MULTILINE)
    ]
    assert copied + unrolled == first


@pytest.mark.parametrize(
    "change",
    [
        ("p[j] = x", "if (x > f) break; p[j] = x"),
        ("p[j] = x", "if (x > f) j += 1; p[j] = x"),
        ("p[j] = x", "--n; p[j] = x"),
        ("p[j] = x", "__syncthreads(); p[j] = x"),
        ("p[j] = x", "for (int i = 0; i < 2; ++i) if (p[j] > x) return"),
        ("j < n", "j < n && f > 0.0f"),
        ("j < n", "j < (int)a[0]"),
        ("j += ", "j -= "),
        ("int j", "float j"),
    ],
)
def test_a_loop_that_does_not_count_is_left_alone(change: tuple[str, str]) -> None:
    kernel = parse(WRITTEN.replace(*change).encode()).kernels[0]
    loop = next(n for n in walk(kernel.body_node) if n.type == "for_statement")
    assert isinstance(stepped_loop(loop, kernel), str)


def test_a_counter_from_before_the_loop_has_its_value_behind_it() -> None:
    source = b"""__global__ void k(const float* a, float* out, int n) {
  int j;
  float s = 0.0f;
  for (j = threadIdx.x; j < n; j += 64) s += a[j];
  out[j] = s;
}
"""
    kernel = parse(source).kernels[0]
    loop = stepped_loop(next(n for n in walk(kernel.body_node) if n.type == "for_statement"), kernel)
    assert not isinstance(loop, str)
    text = apply_splices(source, [written_out(source, kernel, loop, 2)]).decode()
    assert "0.0f;\n  for (j = threadIdx.x; j + 64LL < n; j += 128) {  // 2 steps at once" in text
    assert "const int j_1 = j + 64;" in text
    assert "  for (; j < n; j += 64) s += a[j];\n  out[j] = s;" in text


@pytest.mark.parametrize(
    ("head", "ahead"),
    [
        ("int i = 0; i < 11; i++", "i + 3 < 11"),
        ("int i = 0; i <= 30; i += 3", "i + 9 <= 30"),
        ("int i = 0; i < 2147483647; i++", "i + 3LL < 2147483647"),
        ("int i = 0; i < n; i++", "i + 3LL < n"),
    ],
)
def test_looking_ahead_takes_64_bits_only_where_numbers_do_not_say_that_32_are_enough(
    head: str, ahead: str
) -> None:
    kernel = f"__global__ void k(const float* a, float* out, int n) {{\n  for ({head}) out[i] = a[i];\n}}\n"
    assert f"for (; {ahead}; " in text_of_loop(kernel, 4)


def test_a_loop_that_is_the_only_statement_of_a_branch_stays_one() -> None:
    text = text_of_loop("""__global__ void k(const float* a, float* out, int i, int n) {
  if (n > 4)
    for (; i < n; i += 64) out[i] = a[i];
}
""")
    assert "  if (n > 4)\n    {\n      for (; " in text


def text_of_loop(kernel_text: str, times: int = 2) -> str:
    """The kernel, whose pointers do not overlap, with the steps of its only loop written out."""
    source = kernel_text.encode()
    kernel = see_through(parse(source).kernels[0], callables_in([source]), definitions_in([source]))
    facts = LaunchFacts(disjoint=frozenset(p.name for p in kernel.parameters if p.pointer))
    loop = next(n for n in walk(kernel.body_node) if n.type in ("for_statement", "while_statement"))
    counted = stepped_loop(loop, kernel, facts)
    assert not isinstance(counted, str), counted
    return apply_splices(source, [written_out(source, kernel, counted, times)]).decode()


def test_what_is_loaded_under_a_condition_is_loaded_first_under_the_same_one() -> None:
    text = text_of_loop("""__global__ void k(const int* row, const float* a, float* out, int n) {
  for (int i = threadIdx.x; i < n; i += 64) {
    const int at = row[i];
    if (at < 0) continue;
    if (a[at] > 0.0f) {
      out[i] = a[at];
    }
  }
}
""")
    assert (
        text
        == """__global__ void k(const int* row, const float* a, float* out, int n) {
  {
    int i = threadIdx.x;
    for (; i + 64LL < n; i += 128) {  // 2 steps at once
      int row_at[2];
      #pragma unroll
      for (int u = 0; u < 2; ++u) row_at[u] = row[i + u * 64];
      float a_at[2] = {};
      #pragma unroll
      for (int u = 0; u < 2; ++u) {
        const int at = row_at[u];
        if (at >= 0) a_at[u] = a[at];
      }
      #pragma unroll
      for (int u = 0; u < 2; ++u) {
        const int i_u = i + u * 64;
        const int at = row_at[u];
        if (at < 0) continue;
        if (a_at[u] > 0.0f) {
          out[i_u] = a_at[u];
        }
      }
    }
    for (; i < n; i += 64) {
      const int at = row[i];
      if (at < 0) continue;
      if (a[at] > 0.0f) {
        out[i] = a[at];
      }
    }
  }
}
"""
    )


def test_loads_under_one_condition_stand_together() -> None:
    text = text_of_loop("""__global__ void k(const float* a, const float* b, float* out, int n, bool scaled) {
  for (int i = threadIdx.x; i < n; i += 64) out[i] = scaled && i > 0 ? a[i - 1] * b[i] : 0.0f;
}
""")
    assert (
        """      float a_1{};
      float b_1{};
      if (scaled && i_1 > 0) {
        a_1 = a[i_1 - 1];
        b_1 = b[i_1];
      }
      out[i] = scaled && i > 0 ? a_0 * b_0 : 0.0f;
"""
        in text
    )


@pytest.mark.parametrize(
    ("head", "trips"),
    [
        ("int j = 0; j < 8; j++", 8),
        ("int j = 0; j <= 8; j += 2", 5),
        ("int j = -3; j < 4; j += 3", 3),
        ("int j = 7; j >= 0; j--", 8),
        ("int j = 7; j > 0; j -= 2", 4),
        ("int j = 5; j < 4; j++", 0),
        ("int j = 0; j < n; j++", None),
    ],
)
def test_a_loop_between_numbers_leaves_nothing_over_where_its_steps_fit(head: str, trips: int | None) -> None:
    source = (
        f"__global__ void k(float* p, const float* a, int n) {{ for ({head}) {{ p[j] += a[j]; }} }}".encode()
    )
    kernel = parse(source).kernels[0]
    node = next(n for n in walk(kernel.body_node) if n.type == "for_statement")
    loop = stepped_loop(node, kernel, LaunchFacts(disjoint=frozenset({"p", "a"})))
    assert not isinstance(loop, str)
    assert loop.trips == trips
    text = apply_splices(source, [written_out(source, kernel, loop, 4)]).decode()
    assert text.count("p[j] += a[j]") == (0 if trips == 8 or trips == 4 or trips == 0 else 1)
    assert can_be_written(kernel, loop, 4) == (trips is None or trips >= 4)


def test_a_loop_that_goes_down_to_a_limit_in_memory() -> None:
    text = text_of_loop("""__global__ void k(const int* first, const float* a, float* out, int n) {
  for (int i = n - 1; i >= first[n]; --i) out[i] = a[i];
}
""")
    assert (
        """    const auto limit = first[n];
    int i = n - 1;
    for (; i - 1LL >= limit; i -= 2) {  // 2 steps at once
      const int i_1 = i - 1;
"""
        in text
    )
    assert "    for (; i >= limit; --i) out[i] = a[i];" in text


def test_a_while_loop_that_ends_with_its_step() -> None:
    text = text_of_loop("""__global__ void k(const float* a, float* out, int n, int step) {
  int i = threadIdx.x;
  while (i < n) {
    out[i] = a[i];
    i += step;
  }
}
""")
    assert "\n  for (; i < n && i + 1LL * step < n; i += 2 * step) {  // 2 steps at once" in text
    assert "\n    const int i_1 = i + step;" in text
    assert "\n  while (i < n) {\n    out[i] = a[i];\n    i += step;\n  }" in text


def test_a_name_of_another_loop_is_no_hindrance_and_an_outer_one_is_not_confused() -> None:
    text = text_of_loop("""__global__ void k(const float* a, float* out, int n, int at) {
  for (int i = threadIdx.x; i < n; i += 64) {
    float s = a[at];
    if (n > 4) {
      int at = i * 2;
      s += a[at];
    }
    out[i] = s;
  }
  for (int i = 0; i < n; ++i) { int at = i; out[at] += 1.0f; }
}
""")
    assert "at_1" not in text
    assert "a[at]" in text


def test_rows_of_a_step_are_found_before_it() -> None:
    text = text_of_loop("""__global__ void k(const float* a, float* out, int n) {
  for (int i = threadIdx.x; i < n; i += 64) {
    float* to = out + 3 * i;
    const float* row = a + 3 * i;
    to[0] = row[2];
    to[1] = row[0];
  }
}
""")
    assert (
        """        const auto row = a + 3 * i_u;
        a_at[u] = row[2];
        a_at2[u] = row[0];
      }
"""
        in text
    )
    assert "        to[0] = a_at[u];\n        to[1] = a_at2[u];" in text


def test_many_steps_keep_the_body_once_with_its_comments_but_without_a_while_loops_step() -> None:
    text = text_of_loop(
        """__global__ void k(const float* a, float* out, int n, unsigned step, int u) {
  int i = threadIdx.x;
  while (i < n) {
    // the value
    const float x = a[i];  // of this step
    if (x > u) out[i] = x * x;
    // on
    i += step;  // next
    // end
  }
}
""",
        8,
    )
    assert (
        """  for (; i < n && i + 7LL * step < n; i += 8 * step) {  // 8 steps at once
    int i_at[8];
    #pragma unroll
    for (int u2 = 0; u2 < 8; ++u2) i_at[u2] = i + u2 * step;
    float a_at[8];
    #pragma unroll
    for (int u2 = 0; u2 < 8; ++u2) a_at[u2] = a[i_at[u2]];
    #pragma unroll
    for (int u2 = 0; u2 < 8; ++u2) {
      const int i_u2 = i_at[u2];
      // the value
      const float x = a_at[u2];  // of this step
      if (x > u) out[i_u2] = x * x;
    }
  }
  while (i < n) {
    // the value
"""
        in text
    )


@pytest.mark.parametrize(
    ("loaded", "can"),
    [("a[i]", True), ("rows[i][1]", False), ("as_whole(&a[i])", True)],
)
def test_many_steps_need_the_type_of_what_is_loaded(loaded: str, can: bool) -> None:
    source = f"""__global__ void k(const float* a, const float (*rows)[2], float* out, int n) {{
  for (int i = threadIdx.x; i < n; i += 64) out[i] = {loaded};
}}
""".encode()
    kernel = parse(source).kernels[0]
    facts = LaunchFacts(disjoint=frozenset({"a", "rows", "out"}))
    loop = stepped_loop(next(n for n in walk(kernel.body_node) if n.type == "for_statement"), kernel, facts)
    assert not isinstance(loop, str)
    assert can_be_written(kernel, loop, 4)
    assert can_be_written(kernel, loop, 16) is can, written_out(source, kernel, loop, 16)


@pytest.mark.parametrize(("lines", "can"), [(36, True), (45, False)])
def test_a_long_loop_is_not_written_twice(lines: int, *, can: bool) -> None:
    body = "\n".join(f"    sum += in[i + {n}];" for n in range(lines - 1))
    source = (
        "__global__ void k(const float* in, float* out, int n) {\n  float sum = 0.0f;\n"
        f"  for (int i = threadIdx.x; i < n; i += 64) {{\n{body}\n  }}\n  out[threadIdx.x] = sum;\n}}\n"
    ).encode()
    kernel = parse(source).kernels[0]
    (node,) = (n for n in walk(kernel.body_node) if n.type == "for_statement")
    loop = stepped_loop(node, kernel, LaunchFacts())
    assert not isinstance(loop, str)
    assert can_be_written(kernel, loop, 4) is can


def test_what_is_loaded_first_has_the_type_as_the_program_names_it() -> None:
    """lsqt (HeCBench) is built for `float` or `double` by what its `real` is."""
    source = b"""__global__ void k(const real* in, const double* scale, real* out, int n) {
  for (int i = threadIdx.x; i < n; i += 64) out[i] = scale[i] * in[i];
}
"""
    kernel = parse(source).kernels[0]
    types = SourceTypes(elements={"in": "float", "out": "float"}, sizes={"real": 4})
    facts = LaunchFacts(disjoint=frozenset({"in", "scale", "out"}), types=types)
    loop = stepped_loop(next(n for n in walk(kernel.body_node) if n.type == "for_statement"), kernel, facts)
    assert not isinstance(loop, str)
    text = apply_splices(source, [written_out(source, kernel, loop, 8)]).decode()
    assert "real in_at[8];" in text
    assert "double scale_at[8];" in text


def constant(value: str, head: str = "for (int i = 0; i < STEPS; ++i)", times: int = 4) -> str:
    """A kernel whose loop ends at a constant of the file, with steps written out."""
    source = (
        f"{value}\n__global__ void k(const float* a, float* out) {{\n  {head} out[i] = a[i] + 1.0f;\n}}\n"
    ).encode()
    (kernel,) = parse(source).kernels
    facts = LaunchFacts(disjoint=frozenset({"a", "out"}))
    (node,) = (n for n in walk(kernel.body_node) if n.type == "for_statement")
    loop = stepped_loop(node, kernel, facts, source)
    assert not isinstance(loop, str)
    return apply_splices(source, [written_out(source, kernel, loop, times)]).decode()


@pytest.mark.parametrize("value", ["#define STEPS 8", "constexpr int STEPS = 8;", "#define STEPS (8)"])
def test_a_loop_to_a_constant_has_no_steps_left(value: str) -> None:
    assert (
        constant(value).split("\n", 2)[2]
        == """  static_assert(STEPS % 4 == 0, "the loop does 4 steps at once");
  for (int i = 0; i < STEPS; i += 4) {  // 4 steps at once
    float a_at[4];
    #pragma unroll
    for (int u = 0; u < 4; ++u) a_at[u] = a[i + u];
    #pragma unroll
    for (int u = 0; u < 4; ++u) out[i + u] = a_at[u] + 1.0f;
  }
}
"""
    )


@pytest.mark.parametrize(
    ("value", "head", "asserted"),
    [
        ("#define STEPS 10", "for (int i = 2; i < STEPS; ++i)", "(STEPS - 2) % 4 == 0"),
        ("#define STEPS 16", "for (int i = 0; i < STEPS; i += 2)", "STEPS % 8 == 0"),
        ("#define STEPS 10", "for (int i = 0; i < STEPS; ++i)", None),
        ("#define STEPS other(8)", "for (int i = 0; i < STEPS; ++i)", None),
        ("#define STEPS 8", "if (out) for (int i = 0; i < STEPS; ++i)", None),
        ("#define STEPS 7", "for (int i = 0; i <= STEPS; ++i)", None),
    ],
)
def test_what_the_constant_is_taken_for_is_asserted(value: str, head: str, asserted: str | None) -> None:
    text = constant(value, head)
    assert ("static_assert" in text) is (asserted is not None)
    assert asserted is None or f"static_assert({asserted}," in text
    assert ("for (; i <" in text) is (asserted is None)


@pytest.mark.parametrize(("body", "can"), [("tile[i] = 0.0f", False), ("tile[i] = a[i]", True)])
def test_a_loop_that_only_stores_is_left_to_the_compiler(body: str, can: bool) -> None:
    source = f"""__global__ void k(const float* a, float* tile, int n) {{
  for (int i = threadIdx.x; i < n; i += 64) {body};
}}
""".encode()
    (kernel,) = parse(source).kernels
    loop = stepped_loop(next(n for n in walk(kernel.body_node) if n.type == "for_statement"), kernel)
    assert not isinstance(loop, str)
    assert can_be_written(kernel, loop, 4) is can


def test_no_counters_are_kept_for_steps_that_do_not_use_them() -> None:
    text = written("f += 1.0f;", set(), times=16)
    assert "for (int u = 0; u < 16; ++u) f += 1.0f;" in text
    assert "j_at" not in text
