"""What a kernel's calls of helpers stand for: the access behind the call, or the reason why it is unknown."""

from __future__ import annotations

import pytest

from hipscope.analysis.source.functions import callables_in
from hipscope.analysis.source.inlining import see_through
from hipscope.analysis.source.nodes import text_of
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.structures import definitions_in
from hipscope.analysis.source.syntax import KernelSyntax, Subscript
from hipscope.formulas.facts.lane_model import NotStatic, evaluate, wave_values
from hipscope.formulas.facts.launch_facts import LaunchFact

VIEW = """
#define HD __host__ __device__ __forceinline__
template <typename T> struct View {
  T* data; int nx, ld;
  HD T& at(int i, int j) { return data[i * ld + j]; }
  HD const T& at(int i, int j) const { return data[i * ld + j]; }
  HD T operator()(int i, int j) const { return this->data[flat(i, j)]; }
  HD T* operator[](int i) const { return data + i * ld; }
  HD int flat(int i, int j) const { const int row = i * ld; return row + j; }
  HD T* row(int i) const { return &data[i * ld]; }
  HD T clamped(int i) const { if (i < 0) i = 0; return data[i]; }
  HD T narrow(short i) const { return data[i]; }
  HD T with_default(int i, int j = 0) const { return data[i + j]; }
  HD T outside(int i) const;
};
template <typename T> HD T View<T>::outside(int i) const { return data[i + nx]; }
struct Pair { View<float> in, out; };
template <typename T> struct Sized { T* data; int nx, ld; HD T& at(int i, int j) const { return data[i * ld + j]; } };
struct Image : Sized<float> { int depth; HD float& pixel(int i) { return at(i, depth); } };
struct Hiding : Image { HD float& at(int i, int j) const { return data[j * ld + i]; } };
struct Twice : Image { int ld; };
"""
FREE = """
constexpr int kStride = 40;
__device__ constexpr int kSteps[3] = {5, -1, 7};
#define IDX(i, j, ld) ((i) * (ld) + (j))
#define LOOSE(i, j, ld) (i) * (ld) + (j)
#define BY_COLUMN(i, j, ld) ((j) + ld * (i))
#define BACKWARDS(i, last, ld) ( ld * 2 * ( last )  - (ld) * (i))
#define FROM_END(i, last) ((last) - (i) * 3)
#define AT(p, i) p[i]
#define CELL(a, i, j) (a[i][(j) + 1])
__device__ __forceinline__ int idx(int r, int c, int ld) { return r * ld + c; }
__device__ inline float& element(float* p, int r, int c) { return p[idx(r, c, kStride)]; }
__device__ inline float difference(const float* p, int i) { return p[i + 1] - p[i - 1]; }
__device__ int collides(int i) { return i + y; }
__device__ int gid() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ int cut(int i) { while (i > 9) i -= 9; return i; }
__device__ float square(float x) { float t = x; t *= x; return t; }
__device__ unsigned char byte_of(int i) { return i; }
"""


def seen(statement: str, parameters: str = "View<float> g, float* p, int n", **types: str) -> KernelSyntax:
    text = f"{VIEW}{FREE}__global__ void k({parameters}) {{\n  int x = threadIdx.x, y = threadIdx.y;\n{statement}\n}}\n"
    texts = [text.encode()]
    return see_through(parse(texts[0]).kernels[0], callables_in(texts), definitions_in(texts), types)


def places(kernel: KernelSyntax) -> list[tuple[str, str, str]]:
    return [(s.base, _plain(s), s.use) for s in kernel.subscripts]


def _plain(subscript: Subscript) -> str:
    return ",".join(text_of(i).replace(" ", "") for i in subscript.indices)


@pytest.mark.parametrize(
    ("statement", "base", "index", "use"),
    [
        ("g.at(x, y + 1) = 1.0f;", "g.data", "x*g.ld+(y + 1)", "write"),
        ("g.at(x, y) += 1.0f;", "g.data", "x*g.ld+y", "update"),
        ("float v = g(x, y);", "g.data", "((x*g.ld)+y)", "read"),
        ("g[x][y] = 1.0f;", "g.data", "(x*g.ld)+(y)", "write"),
        ("float v = g.row(x)[y];", "g.data", "(x*g.ld)+(y)", "read"),
        ("*g.row(x) = 2.0f;", "g.data", "x*g.ld", "write"),
        ("float v = g.outside(x);", "g.data", "x+g.nx", "read"),
        ("element(p, x, y) = 1.0f;", "p", "(x*kStride+y)", "write"),
        ("AT(p, x + y) = 1.0f;", "p", "x+y", "write"),
        ("*(p + x) = 1.0f;", "p", "x", "write"),
        ("__shared__ float tile[8][9]; CELL(tile, x, y) = 1.0f;", "tile", "x,y+1", "write"),
    ],
)
def test_the_access_behind_a_call_is_seen(statement: str, base: str, index: str, use: str) -> None:
    kernel = seen(statement)
    assert not kernel.through.opaque
    assert places(kernel) == [(base, index.replace(" ", ""), use)]


@pytest.mark.parametrize(
    ("parameter", "access"),
    [
        ("const float a[][64]", "a[i + 1][j]"),
        ("const float (*a)[64]", "a[i + 1][j]"),
        ("short a[]", "a[i + j]"),
    ],
)
def test_the_access_behind_an_array_as_a_parameter_is_seen(parameter: str, access: str) -> None:
    cell = f"__device__ float cell({parameter}, int i, int j) {{ return {access}; }}\n"
    kernel_text = f"__global__ void k({parameter}, float* out) {{ out[0] = cell(a, threadIdx.x, 2); }}"
    texts = [f"{cell}{kernel_text}".encode()]
    kernel = see_through(parse(texts[0]).kernels[0], callables_in(texts), definitions_in(texts))
    assert not kernel.through.opaque
    seen_through = {s.base: tuple(text_of(i).replace(" ", "") for i in s.indices) for s in kernel.subscripts}
    indices = ("threadIdx.x+2",) if "short" in parameter else ("threadIdx.x+1", "2")
    assert seen_through == {"out": ("0",), "a": indices}


@pytest.mark.parametrize(
    ("statements", "base", "index", "use"),
    [
        ("auto h = g; h.at(x, y) = 1.0f;", "g.data", "x*g.ld+y", "write"),
        ("const auto& h = g; float v = h(x, y);", "g.data", "((x*g.ld)+y)", "read"),
        ("const View<float> h = g; h.data[x * h.ld] = 1.0f;", "g.data", "x*g.ld", "write"),
        ("auto h = g; float* row = h.data + x * h.ld; row[y] = 1.0f;", "g.data", "(x*g.ld)+(y)", "write"),
        ("const float* row = p + x * n; float v = row[y + 1];", "p", "(x*n)+(y+1)", "read"),
        ("float* const row = &p[x * n]; *row = 1.0f;", "p", "x*n", "write"),
        ("auto* row = &g.at(x, 0); row[y] = 1.0f;", "g.data", "(x*g.ld+0)+(y)", "write"),
        ("for (int r = 0; r < 4; ++r) { float* row = p + r * n; row[x] = 1.0f; }", "p", "(r*n)+(x)", "write"),
    ],
)
def test_locals_that_are_another_name_are_followed(statements: str, base: str, index: str, use: str) -> None:
    kernel = seen(statements)
    assert not kernel.through.opaque
    assert [(b, i.replace(" ", ""), u) for b, i, u in places(kernel)] == [(base, index, use)]


@pytest.mark.parametrize(
    "statements",
    [
        "float* row = p + x * n; row += n; row[y] = 1.0f;",
        "float* row = p + x; float** q = &row; row[y] = 1.0f;",
        "int r = x; float* row = p + r * n; r = 0; row[y] = 1.0f;",
        "float* row = x < 3 ? p : g.data; row[y] = 1.0f;",
        "float* row = (float*)(char*)p; row[y] = 1.0f;",
        "{ float* row = g.data; } float* row = p + x; row[y] = 1.0f;",
        "for (int r = 0; r < 4; ++r) { float* row = p + r * n; if (x) ++r; row[x] = 1.0f; }",
    ],
)
def test_locals_that_may_be_something_else_are_not(statements: str) -> None:
    assert {s.base for s in seen(statements).subscripts} == {"row"}


@pytest.mark.parametrize("call", ["ROW(q, x + 1, y)", "LOOSE_ROW(q, x + 1, y)"])
def test_elements_of_rows_behind_a_call_are_stored_to(call: str) -> None:
    rows = (
        "#define ROW(p, i, j) (p[i][j])\n#define LOOSE_ROW(p, i, j) p[i][j]\n"
        f"__global__ void k(float (*q)[8]) {{ int x = threadIdx.x, y = threadIdx.y; {call} = 1.0f; }}\n"
    ).encode()
    kernel = see_through(parse(rows).kernels[0], callables_in([rows]), definitions_in([rows]))
    (access,) = kernel.subscripts
    assert not kernel.through.opaque
    assert (access.base, access.use, access.whole) == ("q", "write", True)
    assert [text_of(index) for index in access.indices] == ["x + 1", "y"]


def test_members_of_a_base_are_followed() -> None:
    kernel = seen("m.at(x, y) = m.pixel(y);", "Image m")
    assert not kernel.through.opaque
    assert [(s.base, _plain(s)) for s in kernel.subscripts] == [
        ("m.data", "x*m.ld+y"),
        ("m.data", "(y)*m.ld+m.depth".replace("(y)", "y")),
    ]


@pytest.mark.parametrize(
    ("parameters", "statement", "reason"),
    [
        ("Hiding m", "m.at(x, y) = 1.0f;", "`at` is defined more than once"),
        ("Twice m", "m.at(x, y) = 1.0f;", None),
    ],
)
def test_what_a_structure_hides_of_its_base_is_not_guessed(
    parameters: str, statement: str, reason: str | None
) -> None:
    kernel = seen(statement, parameters)
    if reason is not None:
        assert reason in kernel.through.opaque[0].sentence
    else:
        assert "m.ld" not in [text_of(s.indices[0]) for s in kernel.subscripts]


def test_members_of_members_and_template_parameters_are_followed() -> None:
    kernel = seen("b.out.at(x, y) = b.in(x, y) + v.at(0, x);", "Pair b, V v", V="View<float>")
    assert not kernel.through.opaque
    assert [s.base for s in kernel.subscripts] == ["b.out.data", "b.in.data", "v.data"]


def test_several_elements_behind_one_call_are_told_from_one() -> None:
    kernel = seen("float v = difference(p, x);")
    assert [(s.base, _plain(s), s.whole) for s in kernel.subscripts] == [
        ("p", "x+1", False),
        ("p", "x-1", False),
    ]


@pytest.mark.parametrize(
    ("index", "stride"),
    [
        ("IDX(x, y, n)", 100),
        ("idx(y, x, n)", 1),
        ("2 * IDX(x, y, n)", 200),
        ("LOOSE(x, y, n)", 100),
        ("BY_COLUMN(x, y, n)", 100),
        ("BY_COLUMN(y, x, n)", 1),
        ("BY_COLUMN(x, y + 1, n)", 100),
        ("BACKWARDS(x, n, n)", -100),
        ("FROM_END(x, n)", -3),
        ("k", 100),
    ],
)
def test_the_lane_model_works_out_what_helpers_compute(index: str, stride: int) -> None:
    kernel = seen(f"int k = idx(x, y, n);\np[{index}] = 1.0f;")
    (access,) = kernel.subscripts
    launch = LaunchFact((64, 4, 1), (64, 4, 1), scalars={"n": 100})
    wave = wave_values(kernel, launch, {}, at=access.node)
    lanes = evaluate(access.indices[0], wave)
    assert lanes[1] - lanes[0] == stride


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (
            "float v = g.clamped(x);",
            "`g.clamped(x)` on line 42 cannot be seen through: `clamped` is more than one",
        ),
        ("float v = g.narrow(x);", "takes `i` as `short`"),
        ("float v = g.with_default(x, y);", "without a name or with a default"),
        ("float v = g.with_default(x);", "no definition of `with_default` takes 1 arguments"),
        ("float v = g.missing(x);", "no definition of `missing`"),
        ("g.at(x++, y) = 1.0f;", "`x++` changes something"),
        ("View<float> h = g; h = View<float>(); h.at(x, y) = 1.0f;", "the value of `h` is unknown"),
        ("View<float> h = g; h.ld = 3; h.at(x, y) = 1.0f;", "the value of `h` is unknown"),
        ("{ View<float> h = g; } View<float> h = make(); h.at(x, y) = 1.0f;", "the value of `h` is unknown"),
        ("g.ld = 3; g.at(x, y) = 1.0f;", "the value of `g` is unknown"),
        ("p[2 * LOOSE(x, y, n)] = 1.0f;", "the text of the macro `LOOSE` is not in parentheses"),
        ("p[collides(x)] = 1.0f;", None),
        ("p[cut(x)] = square(2.0f);", None),
    ],
)
def test_what_cannot_be_seen_through_says_why(statement: str, reason: str | None) -> None:
    found = [o.sentence for o in seen(statement).through.opaque]
    if reason is None:  # no memory is touched, but the value is not known either
        assert not found
    else:
        assert any(reason in sentence for sentence in found), found


VALUES = """
typedef float real;
struct State { real h, hu[2]; };
struct Table { real* values; int n; };
__device__ real slope(real a, real b) { if (a * b <= 0) return 0; return a < b ? a : b; }
__device__ State flux(State s, const State& t) { real f[2][2]; f[0][1] = s.h; State o = {f[0][1] - t.h}; return o; }
__device__ State reset(State& s) { State o = s; s.h = 0; return o; }
__device__ real looked(Table t, int i) { if (i < 0) i = 0; return t.values[i]; }
__device__ real chosen(real x) { real v = x; real* p[1] = {0}; p[0][0] = v; return v; }
"""


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("p[x] = slope(p[y], p[y + 1]);", None),
        ("State s = flux(q[x], q[y]);", None),
        ("State s = reset(q[x]);", "`reset` is more than one"),
        ("p[x] = looked(t, x);", "`looked` is more than one"),
        ("p[x] = chosen(p[y]);", "`chosen` is more than one"),
    ],
)
def test_a_function_of_values_touches_no_memory_itself(statement: str, reason: str | None) -> None:
    head = f"{VALUES}__global__ void k(real* p, State* q, Table t) {{\n"
    texts = [f"{head}  int x = threadIdx.x, y = x * 2;\n{statement}\n}}\n".encode()]
    kernel = see_through(parse(texts[0]).kernels[0], callables_in(texts), definitions_in(texts))
    found = [o.sentence for o in kernel.through.opaque]
    assert [reason is not None and reason in sentence for sentence in found] == [True] * (
        reason is not None
    ), found


def test_a_pointer_in_a_structure_in_memory_has_no_known_target() -> None:
    found = [o.sentence for o in seen("q->data[x] = 1.0f;", "View<float>* q, int n").through.opaque]
    assert found == [
        "`q->data[x]` on line 42 cannot be seen through: it goes through a pointer to a structure"
    ]
    assert not seen("q->ld = 1; int k = q->nx;", "View<float>* q, int n").through.opaque


@pytest.mark.parametrize("index", ["collides(x)", "cut(x)", "byte_of(x)"])
def test_a_value_that_cannot_be_told_is_none(index: str) -> None:
    kernel = seen(f"p[{index}] = 1.0f;")
    assert kernel.subscripts[0].indices[0].id not in kernel.through.meanings


@pytest.mark.parametrize(
    ("index", "reason"),
    [("kSteps[x]", "lies outside of its array"), ("n * kOther[0]", "is read from memory")],
)
def test_an_index_that_a_constant_array_does_not_tell_is_not_guessed(index: str, reason: str) -> None:
    kernel = seen(f"p[{index}] = 1.0f;")
    access = next(s for s in kernel.subscripts if s.base == "p")
    launch = LaunchFact((64, 4, 1), (64, 4, 1), scalars={"n": 100})
    with pytest.raises(NotStatic, match=reason):
        evaluate(access.indices[0], wave_values(kernel, launch, {}, at=access.node))


def test_what_asks_for_the_thread_by_itself_is_known() -> None:
    assert dict(seen("p[gid()] = 1.0f;").through.built_ins) == {"blockIdx": "gid", "threadIdx": "gid"}
    assert not seen("p[idx(x, y, n)] = 1.0f;").through.built_ins


def test_a_comment_and_the_kernel_itself_ask_for_nothing() -> None:
    assert not seen("/* k, gid() */ p[x] = 1.0f; // gid()").through.built_ins
    assert not seen("const int k = blockIdx.x; p[k] = 1.0f;").through.built_ins


def test_a_macro_for_the_thread_number_makes_what_is_computed_from_it_dependent() -> None:
    text = b"#define TID threadIdx.x\n__global__ void k(int* p) { int i = TID * 2; p[i] = 1; }"
    assert "i" in parse(text).kernels[0].thread_dependent
