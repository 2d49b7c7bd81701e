"""Reading HIP source: what is found, at which bytes, and what the reader makes of broken or unusual text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hipscope.analysis.source.nodes import child_of, text_of, walk
from hipscope.analysis.source.parse import device_functions, parse
from hipscope.formulas.propose.splice import OverlappingSplices, Splice, apply_splices

REDUCE = b"""#include <hip/hip_runtime.h>
#define TILE 32
constexpr int kRows = 8;
template <typename T, int N = 4>
__launch_bounds__(256) __global__ void reduce(const T* __restrict__ in, float* const out, int n, float v[]) {
  __shared__ float tile[TILE][32];
  extern __shared__ char dyn[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int r = 0; r < 32; r += 8) tile[threadIdx.y + r][threadIdx.x] = in[i + r];
  __syncthreads();
  if (i < n) atomicAdd(&out[0], tile[threadIdx.x][0]);
  int before = atomicAdd((int*)v, 1);
}
int main() {
  reduce<float><<<dim3(4), 256, 64>>>(a, b, 1024, c);
  hipLaunchKernelGGL((reduce<float, 3>), dim3(1), dim3(2), 0, 0, a, b, 1, c);
}
"""


def test_a_kernel_is_found_with_its_head_parameters_and_exact_span() -> None:
    (kernel,) = parse(REDUCE).kernels
    assert kernel.name == "reduce"
    assert kernel.template_head == "<typename T, int N = 4>"
    assert kernel.attributes == ("__launch_bounds__(256)", "__global__")
    assert REDUCE[kernel.span.start : kernel.span.end].startswith(b"template <typename T")
    assert REDUCE[kernel.span.start : kernel.span.end].endswith(b"1);\n}")
    assert (kernel.span.line, kernel.span.end_line) == (4, 13)
    assert [(p.name, p.element_type, p.pointer, p.const_pointee) for p in kernel.parameters] == [
        ("in", "T", True, True),
        ("out", "float", True, False),
        ("n", "int", False, False),
        ("v", "float", True, False),
    ]


def test_a_pointer_keeps_its_name_wherever_restrict_stands_among_its_qualifiers() -> None:
    source = b"""__device__ float first(const float* const __restrict p) { return p[0]; }
__global__ void k(const int* const __restrict a, float* volatile __restrict b, int* __restrict__ const c, int n) {
  b[n] = first(b) + a[0] + c[1];
}
"""
    read = parse(source)
    assert read.errors == ()
    assert [(p.name, p.pointer, p.element_type) for p in read.kernels[0].parameters] == [
        ("a", True, "int"),
        ("b", True, "float"),
        ("c", True, "int"),
        ("n", False, "int"),
    ]
    assert all("restrict" in p.type for p in read.kernels[0].parameters[:3])
    assert [f.parameters[0].name for f in device_functions(source)] == ["p"]


def test_the_macro_for_dynamic_lds_declares_an_array() -> None:
    source = b"""__global__ void k(float* out) {
  HIP_DYNAMIC_SHARED( unsigned char, bytes)
  HIP_DYNAMIC_SHARED(float,rows);
  rows[threadIdx.x] = bytes[0];
  out[threadIdx.x] = rows[0];
}
"""
    read = parse(source)
    (kernel,) = read.kernels
    assert read.errors == ()
    assert [(a.name, a.element_type, a.dynamic) for a in kernel.shared] == [
        ("bytes", "unsigned char", True),
        ("rows", "float", True),
    ]
    assert [(s.base, s.use, source[s.span.start : s.span.end]) for s in kernel.subscripts] == [
        ("rows", "write", b"rows[threadIdx.x]"),
        ("bytes", "read", b"bytes[0]"),
        ("out", "write", b"out[threadIdx.x]"),
        ("rows", "read", b"rows[0]"),
    ]
    assert parse(b"#define HIP_DYNAMIC_SHARED(type, var) extern __shared__ type var[];\n").errors == ()


def test_lds_subscripts_barriers_atomics_and_loops_are_found() -> None:
    (kernel,) = parse(REDUCE).kernels
    assert [(a.name, a.dimensions, a.dynamic) for a in kernel.shared] == [
        ("tile", ("TILE", "32"), False),
        ("dyn", ("",), True),
    ]
    assert [(s.base, len(s.indices), s.use) for s in kernel.subscripts] == [
        ("tile", 2, "write"),
        ("in", 1, "read"),
        ("out", 1, "address"),
        ("tile", 2, "read"),
    ]
    assert [b.divergent for b in kernel.barriers] == [None]
    assert [(a.function, a.statement is not None) for a in kernel.atomics] == [
        ("atomicAdd", True),
        ("atomicAdd", False),
    ]


def test_launches_of_both_forms_are_found() -> None:
    first, second = parse(REDUCE).launches
    assert (first.kernel, first.grid, first.block) == ("reduce", "dim3(4)", "256")
    assert (second.kernel, second.block, second.arguments) == ("reduce", "dim3(2)", ("a", "b", "1", "c"))


def test_file_constants_are_found_whether_macro_or_constexpr() -> None:
    assert {name: text_of(node) for name, node in parse(REDUCE).constants.items()} == {
        "TILE": "32",
        "kRows": "8",
    }


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("#ifndef A_H\n#define A_H\n#include <b.h>\n#define N 32\nconst int M = 4;\n#endif  // A_H\n", "NM"),
        ("#pragma once\n#ifndef A_H\n#define A_H\n#define N 32\n#endif\n", "N"),
        ("#ifndef N\n#define N 32\n#endif\n", ""),  # another file may have defined it
        ("#ifndef A\n#define A\n#define M 3\n#else\n#define M 4\n#endif\n", ""),
        ("#ifdef A\n#define A\n#define M 3\n#endif\n", ""),
        ("#define N 3\n#ifndef B\n#define B\n#define M 3\n#endif\n", "N"),
    ],
)  # fmt: skip
def test_constants_in_an_include_guard_are_the_file_s(source: str, names: str) -> None:
    assert "".join(parse(source.encode()).constants) == names


@pytest.mark.parametrize(
    "source",
    [
        b"__global__ void LAUNCH_BOUNDS(256, 2) k(int* p) { p[0] = 1; }",
        b"MY_EXPORT __global__ void k(int* p) { p[0] = 1; }",
        b"__global__ void k(int* p) NO_INLINE { p[0] = 1; }",
        b"__global__ void ATTRIBUTE_A ATTRIBUTE_B(1)\r\nk(int* p)\r\n{\r\n p[0] = 1;\r\n}\r\n",
    ],
)
def test_attribute_macros_do_not_hide_a_kernel(source: bytes) -> None:
    file = parse(source)
    assert [k.name for k in file.kernels] == ["k"]
    assert file.errors == ()


def test_a_kernel_in_capitals_is_not_taken_for_a_macro() -> None:
    assert [k.name for k in parse(b"__global__ void COPY(int* p) { p[0] = 1; }").kernels] == ["COPY"]


def test_broken_code_still_shows_its_kernels_and_says_where_it_is_broken() -> None:
    file = parse(b"__global__ void k(int* p) {\n  if (p[0] > {\n  p[1] = 2;\n}\n")
    assert file.errors != ()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("if (threadIdx.x < 4) __syncthreads();", "thread-dependent condition"),
        ("int i = threadIdx.x; if (i >= n) return; __syncthreads();", "`return` on line 1"),
        ("for (int i = threadIdx.x; i < n; i += 64) { __syncthreads(); }", "thread-dependent condition"),
        ("for (int k = 0; k < n; ++k) { if (p[threadIdx.x]) break; __syncthreads(); }", "`break`"),
        ("bool odd = false; if (threadIdx.x & 1) odd = true; if (odd) __syncthreads();", "`(odd)`"),
        (
            "int i = threadIdx.x; if (i < n) { int i = 0; p[i] = 1; __syncthreads(); }",
            "thread-dependent condition",
        ),
        (
            "for (int i = 0; i < n; ++i) { int i = threadIdx.x; while (i < n) { ++i; __syncthreads(); } }",
            "thread-dep",
        ),
    ],
)
def test_a_barrier_that_not_all_threads_reach_is_recognised(body: str, reason: str) -> None:
    (kernel,) = parse(f"__global__ void k(int* p, int n) {{ {body} }}".encode()).kernels
    assert reason in str(kernel.barriers[0].divergent)


@pytest.mark.parametrize(
    "body",
    [
        "__syncthreads();",
        "if (n > 4) __syncthreads();",
        "for (int k = 0; k < n; ++k) { __syncthreads(); }",
        "if (blockIdx.x == 0) return; __syncthreads();",
        "if (threadIdx.x < 4) { p[0] = 1; } __syncthreads();",
        "for (int i = threadIdx.x; i < n; i += 64) p[i] = 1; for (int i = 0; i < n; ++i) { __syncthreads(); }",
        "if (threadIdx.x < 4) { int i = threadIdx.x; p[i] = 1; } int i = n; if (i > 4) __syncthreads();",
    ],
)
def test_a_barrier_that_all_threads_reach_is_not_suspected(body: str) -> None:
    (kernel,) = parse(f"__global__ void k(int* p, int n) {{ {body} }}".encode()).kernels
    assert kernel.barriers[0].divergent is None


def test_splices_keep_every_other_byte_and_the_line_ends() -> None:
    source = b"a\r\n\tb\r\nc"
    assert apply_splices(source, [Splice(4, 5, b"XY"), Splice(0, 0, b"// \r\n")]) == b"// \r\na\r\n\tXY\r\nc"


def test_overlapping_splices_are_refused() -> None:
    with pytest.raises(OverlappingSplices):
        apply_splices(b"abcdef", [Splice(0, 3, b""), Splice(2, 4, b"")])
    with pytest.raises(ValueError, match="outside"):
        apply_splices(b"abc", [Splice(2, 9, b"")])


@given(st.binary(max_size=60), st.data())
def test_removing_what_was_inserted_gives_the_original_again(source: bytes, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(source)), unique=True, max_size=5))
    inserted = {place: data.draw(st.binary(min_size=1, max_size=5)) for place in places}
    edited = apply_splices(source, [Splice(p, p, text) for p, text in inserted.items()])
    undo, shift = [], 0
    for place in sorted(inserted):
        undo.append(Splice(place + shift, place + shift + len(inserted[place]), b""))
        shift += len(inserted[place])
    assert apply_splices(edited, undo) == source


@given(st.text(alphabet="ab{}()[];<>,=+*&\"'/\\\n #ul__global__ void k(int* p)", max_size=120))
def test_reading_never_fails_and_spans_lie_in_the_text(text: str) -> None:
    source = text.encode()
    for kernel in parse(source).kernels:
        assert 0 <= kernel.span.start < kernel.body.start < kernel.body.end <= kernel.span.end <= len(source)
        assert source[kernel.body.start : kernel.body.start + 1] == b"{"
        assert source[kernel.body.end - 1 : kernel.body.end] == b"}"


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_loop_behind_a_pragma_is_the_body_of_the_loop_around_it(end: bytes) -> None:
    source = end.join(
        [
            b"__global__ void k(float* x, int n) {",
            b"  for (int i = 0; i < n; i++)  // rows",
            b"    // columns",
            b"    #pragma unroll 4",
            b"    for (int j = 0; j < n; j++)",
            b"      x[i * n + j] += 1;",
            b"  if (n > 3)",
            b"#pragma unroll",
            b"    for (int j = 0; j < n; j++) x[j] = 0;",
            b"  x[0] = f(n);",
            b"#pragma unroll 2",
            b"  for (int j = 0; j < n; j++) x[j] = 0;",
            b"}",
        ]
    )
    read = parse(source)
    loops = [node for node in walk(read.root) if node.type == "for_statement"]
    assert read.errors == ()
    assert [child_of(loop, "body").type for loop in loops[:2]] == ["for_statement", "expression_statement"]
    assert text_of(loops[1]) == source[loops[1].start_byte : loops[1].end_byte].decode()
    # One that stands before a statement of a block stays: it is edited in place.
    assert [text_of(node).strip() for node in walk(read.root) if node.type == "preproc_call"] == [
        "#pragma unroll 2"
    ]


@pytest.mark.parametrize(
    "uses", ["MUL_STEP4", "MUL_STEP4 MUL_STEP4\n    MUL_STEP4", "MUL_STEP4 // as often\n"]
)
@pytest.mark.parametrize("where", ["own", "elsewhere"])
def test_kernels_whose_statements_are_macros_are_found(uses: str, where: str) -> None:
    """Templates with macros for statements, an odd number of them, as benchmarks of peak rates have them."""
    macros = "#define MUL_STEP s = s * s * v;\n#define MUL_STEP4 MUL_STEP MUL_STEP MUL_STEP MUL_STEP\n"
    kernels = "".join(
        f"template <class T>\n__global__ void {name}(T *data, int steps, T v) {{\n  T s = data[threadIdx.x];\n"
        f"  for (int j = 0; j < steps; ++j) {{\n    {uses}\n  }}\n  data[threadIdx.x] = s;\n}}\n"
        for name in ("one", "two", "three")
    )
    source = ((macros if where == "own" else "") + kernels).encode()
    read = parse(source)
    assert [k.name for k in read.kernels] == ["one", "two", "three"]
    assert all(source[k.span.start : k.span.end].rstrip().endswith(b"}") for k in read.kernels)
    assert read.errors == () or where == "elsewhere"
