"""The guard: what a candidate may change in the text and in the machine code, and the reason for each refusal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hipscope.analysis.source.parse import device_functions, parse
from hipscope.analysis.toolchain.code_object import CodeObject
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts
from hipscope.formulas.judge.bench import CannotJudge, check_code
from hipscope.formulas.judge.guard import (
    adds_no_names,
    changes_helpers,
    check_code_object,
    check_instructions,
    check_source,
    others_compiled_differently,
)

Compile = Callable[..., CodeObject]

SOURCE = b"""#include <hip/hip_runtime.h>
constexpr int kTile = 64;
__global__ void k(const float* in, float* out, int n) {
  __shared__ float tile[kTile];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? in[i] : 0.0f;
  __syncthreads();
  if (i < n) out[i] = tile[63 - threadIdx.x];
}
__global__ void other(float* out) { out[threadIdx.x] = 1.0f; }
int main() { return 0; }
"""
STORE = b"if (i < n) out[i] = tile[63 - threadIdx.x];"
SYMBOL = "_Z1kPKfPfi"


def refusals(candidate: bytes) -> tuple[str, ...]:
    kernel = parse(SOURCE).kernel("k")
    assert kernel is not None
    return check_source(SOURCE, candidate, kernel)


def with_body(text: bytes) -> bytes:
    return SOURCE.replace(STORE, text + b"\n  " + STORE)


def test_a_change_inside_the_kernel_may_go_on() -> None:
    assert refusals(SOURCE.replace(b"tile[kTile]", b"tile[kTile + 1]")) == ()
    assert refusals(SOURCE.replace(b"__global__ void k", b"__launch_bounds__(64) __global__ void k")) == ()
    assert refusals(with_body(b"#pragma unroll\n  for (int j = 0; j < 2; ++j) { out[0] += 0; }")) == ()


def test_a_loop_that_is_alone_in_another_may_have_a_pragma() -> None:
    nest = b"for (int j = 0; j < 2; ++j)\n    #pragma unroll 2\n    for (int l = 0; l < 2; ++l) out[0] += 0;"
    assert refusals(with_body(nest)) == ()
    assert "syntax error" in refusals(with_body(nest.replace(b"j < 2;", b"j < 2")))[0]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b"kTile = 64", b"kTile = 65", "outside the kernel"),
        (b"return 0", b"return 1", "outside the kernel"),
        (b"out[threadIdx.x] = 1.0f", b"out[threadIdx.x] = 2.0f", "outside the kernel"),
        (b"void k(const float* in", b"void k(float* in", "parameters changed"),
        (b"float* out, int n)", b"float* out, long n)", "parameters changed"),
        (b"void k(", b"void renamed(", "is gone"),
        (b"__global__ void k(", b"template <int N> __global__ void k(", "template head changed"),
        (b"if (i < n) out[i]", b"if (i < n out[i]", "syntax error"),
        (b"__global__ void k(", b"__attribute__((weak)) __global__ void k(", "is new"),
    ],
)
def test_what_is_around_the_body_stays_as_it_is(old: bytes, new: bytes, reason: str) -> None:
    assert reason in " ".join(refusals(SOURCE.replace(old, new)))


HELPER = b"""__host__ __device__ float sum(const float* p, int n) {
  float s = 0.0f;
  for (int j = 0; j < n; ++j) s += p[j];
  return s;
}
"""


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        (b"  for (int j", b"#pragma unroll 4\n  for (int j", False),
        (b"  for (int j", b"  #pragma nounroll\n  for (int j", False),
        (b"  for (int j", b"#pragma clang fp contract(fast)\n  for (int j", True),
        (b"  for (int j = 0", b"#pragma unroll 4\n  for (int j = 1", True),
        (b"__host__ __device__ float sum", b"#pragma unroll 4\n__host__ __device__ float sum", True),
        (b"  for (int j", b"#pragma unroll 4\n  s += 1.0f; for (int j", True),
    ],
)
@pytest.mark.parametrize("behind", [False, True])
def test_around_the_kernel_only_unroll_pragmas_may_change(
    old: bytes, new: bytes, refused: bool, behind: bool
) -> None:
    whole = SOURCE + HELPER if behind else SOURCE.replace(b"__global__ void k", HELPER + b"__global__ void k")
    kernel = parse(whole).kernel("k")
    assert kernel is not None
    text = whole.replace(old, new)
    assert ("outside the kernel" in " ".join(check_source(whole, text, kernel))) == refused
    both = text.replace(b"__global__ void k(", b"__global__ __launch_bounds__(64) void k(")
    assert ("outside the kernel" in " ".join(check_source(whole, both, kernel))) == refused


def test_the_original_is_no_candidate() -> None:
    assert "byte for byte" in refusals(SOURCE)[0]


def beside(text: bytes, *, behind: bool = False) -> tuple[str, ...]:
    """What the guard says of the text before (or behind) the kernel, with the kernel itself changed a little."""
    source = SOURCE.replace(b"0.0f;\n  __sync", b"-0.0f;\n  __sync")
    if behind:
        return refusals(
            source.replace(b"\n}\n__global__ void other", b"\n}\n" + text + b"\n__global__ void other")
        )
    return refusals(source.replace(b"__global__ void k(", text + b"\n__global__ void k("))


@pytest.mark.parametrize(
    "helper",
    [
        b"static __device__ float twice(float x) { return x + x; }",
        b"// Only used below.\nstatic __device__ __forceinline__ float twice(float x) { return x + x; }",
        b"template <typename T>\nstatic __device__ T twice(T x) { return x + x; }",
        b"constexpr int kHalf = 32;",
        b"static constexpr int half(int x) { return x / 2; }",
    ],
)
def test_a_helper_without_state_may_stand_beside_the_kernel(helper: bytes) -> None:
    assert beside(helper) == ()
    assert beside(helper, behind=True) == ()


@pytest.mark.parametrize(
    ("helper", "reason"),
    [
        (b"__device__ int answer() { return 42; }", "not `static __device__`"),
        (b"static int answer() { return 42; }", "not `static __device__`"),
        (b"__device__ int calls;", "beside the kernel: `__device__ int calls;`"),
        (b"static int calls;", "beside the kernel"),
        (b"constexpr int first = 1, kTile2 = 2;", "beside the kernel"),
        (b"#define other nothing", "beside the kernel"),
        (b"using namespace std;", "beside the kernel"),
        (b"static __global__ void second() {}", "beside the kernel: another kernel"),
        (b"static __device__ void other(float* p) { *p = 1; }", "`other` is used in the file already"),
        (b"static __device__ int main2(int tile) { return tile; }\nconstexpr int in = 3;", "`in` is used"),
        (b"static __device__ int __answer() { return 42; }", "name of the implementation"),
        (b"static __device__ int answer() { static int n = 0; return ++n; }", "keeps s"),
        (b"static __device__ int answer() { return clock(); }", "reads a clock"),
        (b'static __device__ void nop() { asm volatile("s_nop 0"); }', "inline assembly"),
        (b"static __device__ long answer(float* p) { return (long)p; }", "pointers into integers"),
        (b"static __device__ void all() { __syncthreads(); }", "has a barrier"),
    ],
)
def test_a_helper_with_state_or_a_known_name_is_refused(helper: bytes, reason: str) -> None:
    assert reason in "; ".join(beside(helper)), beside(helper)


def test_a_pointer_becomes_restrict_only_when_the_launches_show_nothing_else_there() -> None:
    text = SOURCE.replace(b"float* out, int n)", b"float* __restrict__ out, int n)")
    kernel = parse(SOURCE).kernel("k")
    assert kernel is not None
    assert "`out` becomes __restrict__" in refusals(text)[0]
    assert "`out` becomes __restrict__" in check_source(SOURCE, text, kernel, {"in"})[0]
    assert check_source(SOURCE, text, kernel, {"out"}) == ()


def test_a_constant_pointer_may_become_restrict() -> None:
    source = SOURCE.replace(b"float* out, int n)", b"float* const out, int n)")
    kernel = parse(source).kernel("k")
    assert kernel is not None
    for promised in (b"float* __restrict__ const out", b"float *const __restrict__ out"):
        assert check_source(source, source.replace(b"float* const out", promised), kernel, {"out"}) == ()
        assert check_source(source, source.replace(b"float* const out", promised), kernel, {"in"}) != ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'asm volatile("s_nop 0");', "inline assembly"),
        (b'printf("%d", n);', "prints"),
        (b"int* p = (int*)malloc(4); free(p);", "allocates"),
        (b"static int calls = 0; ++calls;", "static state"),
        (b"extern __shared__ float more[];", "dynamic LDS"),
        (b"long long t = clock64();", "clock"),
        (b"__builtin_trap();", "traps"),
        (b"volatile const float* v = in;", "volatile"),
        (b"size_t address = (size_t)in;", "pointers into integers"),
        (b"auto address = reinterpret_cast<unsigned long long>(out);", "pointers into integers"),
        (b"#include <cmath>\n", "includes a file"),
        (b"#define float double\n", "macro"),
        (b"#pragma clang fp reassociate(on)\n", "directive"),
        (b"while (atomicAdd((int*)out, 0) < 4) {}", "waits for other workgroups"),
        (b"int line = __COUNTER__;", "__COUNTER__"),
    ],
)
def test_what_no_rewrite_needs_is_refused(text: bytes, reason: str) -> None:
    assert reason in " ".join(refusals(with_body(text)))


@pytest.mark.parametrize(
    "text",
    [
        b"const float4* wide = reinterpret_cast<const float4*>(in);",
        b"int bits = (int)in[i];",
        b"unsigned half = static_cast<unsigned>(in[0]);",
        b"// printf and asm are only mentioned here",
        b"auto twice = [](float v) { return 2 * v; };",
    ],
)
def test_harmless_code_is_not_suspected(text: bytes) -> None:
    assert refusals(with_body(text)) == ()


def test_what_the_original_did_already_may_stay() -> None:
    source = with_body(b'printf("%d", n);')
    kernel = parse(source).kernel("k")
    assert kernel is not None
    assert check_source(source, source.replace(b"kTile]", b"kTile + 1]"), kernel) == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"__syncthreads();", b"if (threadIdx.x < 32) __syncthreads();"),
        (b"  __syncthreads();", b"  if (i >= n) return;\n  __syncthreads();"),
        (b"__syncthreads();", b"for (int j = threadIdx.x; j < 64; j += 7) __syncthreads();"),
    ],
)
def test_a_barrier_that_not_all_threads_reach_is_refused(old: bytes, new: bytes) -> None:
    assert "not all threads of a workgroup reach the barrier" in " ".join(refusals(SOURCE.replace(old, new)))


def launches(threads: int = 64, dynamic_lds: int = 0) -> dict[str, LaunchFacts]:
    return {SYMBOL: LaunchFacts((LaunchFact((640, 1, 1), (threads, 1, 1), dynamic_lds),))}


@pytest.fixture
def original(compile_text: Compile) -> CodeObject:
    return compile_text(SOURCE)


def changed(original: CodeObject, symbol: str, **values: object) -> CodeObject:
    kernels = {**original.kernels, symbol: replace(original.kernels[symbol], **values)}  # type: ignore[arg-type]
    return CodeObject(Path("candidate.co"), kernels)


def test_a_rewrite_of_the_body_keeps_the_code_object_compatible(
    original: CodeObject, compile_text: Compile
) -> None:
    assert (
        check_code_object(original, compile_text(SOURCE.replace(b"[kTile]", b"[kTile + 1]")), launches())
        == ()
    )


def test_another_signature_is_seen_in_the_machine_code(original: CodeObject, compile_text: Compile) -> None:
    text = SOURCE.replace(b"float* out, int n)", b"float* out, long n)")
    reasons = " ".join(check_code_object(original, compile_text(text), launches()))
    assert "_Z1kPKfPfi is gone" in reasons
    assert "_Z1kPKfPfl" in reasons


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"lds": 65537}, "bytes of LDS"),
        ({"max_flat_workgroup_size": 32}, "workgroups of 64 threads"),
        ({"vgpr_spills": 3}, "spilled"),
        ({"scratch": 16}, "scratch"),
        ({"wavefront_size": 32}, "wave size"),
        ({"dynamic_stack": True}, "stack of unknown size"),
        ({"arguments": ()}, "lie differently"),
    ],
)
def test_resources_and_layout_must_fit(original: CodeObject, change: dict[str, object], reason: str) -> None:
    assert reason in " ".join(check_code_object(original, changed(original, SYMBOL, **change), launches()))


@pytest.mark.parametrize(("now", "refused"), [(110, False), (130, True)])
def test_a_kernel_that_spills_may_spill_a_little_more(original: CodeObject, now: int, refused: bool) -> None:
    before = changed(original, SYMBOL, vgpr_spills=100, scratch=400)
    reasons = check_code_object(
        before, changed(original, SYMBOL, vgpr_spills=now, scratch=4 * now), launches()
    )
    assert bool(reasons) == refused


def test_dynamic_lds_of_the_launch_counts(original: CodeObject) -> None:
    assert "bytes of LDS" in " ".join(
        check_code_object(original, changed(original, SYMBOL, lds=4096), launches(dynamic_lds=62000))
    )


def test_another_kernel_must_not_change(original: CodeObject) -> None:
    candidate = changed(original, "_Z5otherPf", vgprs=200)
    assert "another kernel" in " ".join(check_code_object(original, candidate, launches()))
    (reason,) = check_code_object(original, candidate, launches(), unknown={"_Z5otherPf"})
    assert reason.startswith("it changes other(float*) as well, of which no launch shows that it may")


def test_another_kernel_that_is_proved_may_change_but_for_its_signature(original: CodeObject) -> None:
    candidate = changed(original, "_Z5otherPf", vgprs=200)
    assert check_code_object(original, candidate, launches(), proved=True) == ()
    assert others_compiled_differently(original, candidate, launches()) == ("_Z5otherPf",)
    other = changed(original, "_Z5otherPf", wavefront_size=32)
    assert "the wave size changed" in " ".join(check_code_object(original, other, launches(), proved=True))


def test_only_text_outside_the_kernel_is_a_helpers() -> None:
    text = b"__device__ void f() {}\n__global__ void k() { f(); }\n"
    kernel = parse(text).kernels[0]
    assert changes_helpers(text, text.replace(b"f() {}", b"f() { }"), kernel)
    assert not changes_helpers(text, text.replace(b"f();", b"f(); f();"), kernel)


FUNCTIONS = b"""#include <hip/hip_runtime.h>
__device__ inline float scaled(float x) { return x * 0.5f; }
__device__ __attribute__((noinline)) float called(float x) { return x * 3.0f; }
__global__ void k(float* out) { out[threadIdx.x] = scaled(out[threadIdx.x]); }
__global__ void too(float* out) { out[threadIdx.x] = 2.0f * scaled(out[threadIdx.x]); }
__global__ void not_too(float* out) { out[threadIdx.x] = 2.0f; }
__global__ void by_call(float* out) { out[threadIdx.x] = called(out[threadIdx.x]); }
"""


def test_a_function_that_the_kernel_calls_may_change_in_its_place() -> None:
    function = device_functions(FUNCTIONS)[0]
    inside = FUNCTIONS.replace(b"x * 0.5f", b"x / 2.0f")
    assert check_source(FUNCTIONS, inside, function) == ()
    assert (
        "outside the function `scaled`"
        in check_source(FUNCTIONS, inside.replace(b"3.0f", b"4.0f"), function)[0]
    )
    host = FUNCTIONS.replace(b"__device__ inline float scaled", b"__host__ __device__ inline float scaled")
    assert check_source(FUNCTIONS, host, function) == ("the attribute `__host__` is new",)
    prints = FUNCTIONS.replace(b"{ return x * 0.5f", b'{ printf("x"); return x * 0.5f')
    assert check_source(FUNCTIONS, prints, function) == ("the new kernel prints",)


def test_other_kernels_that_run_the_changed_function_have_other_code(compile_text: Compile) -> None:
    """None of them needs other registers or memory: only the code shows it."""
    own = {"_Z1kPf": launches()[SYMBOL]}
    before = compile_text(FUNCTIONS)
    inlined, callee = (
        compile_text(FUNCTIONS.replace(old, new))
        for old, new in ((b"x * 0.5f", b"x * 0.7f"), (b"x * 3.0f", b"x * 5.0f"))
    )
    assert others_compiled_differently(before, inlined, own) == ()
    assert others_compiled_differently(before, inlined, own, code=True) == ("_Z3tooPf",)
    # Which kernels call a function that is not inlined is not asked: all of them count.
    assert len(others_compiled_differently(before, callee, own, code=True)) == 3
    assert others_compiled_differently(before, before, own, code=True) == ()


@pytest.mark.parametrize(
    "end",
    [b" /*", b"  // \\", b" //", b" /", b' R"x(', b' "', b" \\", b" // ?? \\\r\n//", b" /* */ /* // */ /*"],
    ids=repr,
)
def test_what_stands_behind_the_kernel_is_read_as_before(end: bytes) -> None:
    """The text behind is the same, byte for byte, and none of it may become a comment, a string or another token."""
    source = SOURCE.replace(b"0.0f;\n  __sync", b"-0.0f;\n  __sync")
    changed = source.replace(b"\n}\n__global__ void other", b"\n}" + end + b"\n__global__ void other")
    original = SOURCE.replace(b"int main", b"/* the host */\nint main")
    kernel = parse(original).kernel("k")
    assert kernel is not None
    found = check_source(original, changed.replace(b"int main", b"/* the host */\nint main"), kernel)
    assert found, changed.decode()


@pytest.mark.parametrize(
    "text",
    [b"}  // done\n", b"} /* done */", b"}\n// a // b /* c\n", b'}\nconstexpr char kMarks[] = "/* // ";'],
)
def test_comments_that_end_may_stand_behind_the_kernel(text: bytes) -> None:
    source = SOURCE.replace(b"0.0f;\n  __sync", b"-0.0f;\n  __sync")
    assert (
        refusals(source.replace(b"\n}\n__global__ void other", b"\n" + text + b"\n__global__ void other"))
        == ()
    )


@pytest.mark.parametrize(
    "word",
    ["__TIMESTAMP__", "__FILE__", "__BASE_FILE__", "__LINE__", "__builtin_LINE()", "__gfx942__",
     "__AMDGCN_WAVEFRONT_SIZE", "__OPTIMIZE__", "__has_builtin(x)", "__clang_major__", "__HIP_DEVICE_COMPILE__"],
)  # fmt: skip
def test_what_differs_by_build_or_place_is_refused(word: str) -> None:
    assert "depends on how or where it is compiled" in "; ".join(
        refusals(with_body(f"n += sizeof({word});".encode()))
    )


@pytest.mark.parametrize(
    ("hidden", "use"),
    [
        (b"#define HERE __FILE__", b"n += sizeof(HERE);"),
        (b"#define AT __LINE__\n#define HERE AT", b"n += HERE;"),
        (b"#define STAMP(x) (x + sizeof(__TIMESTAMP__))", b"n += STAMP(1);"),
        (b"constexpr int kLine = __LINE__;", b"n += kLine;"),
        (b"#ifdef NDEBUG\n#define FAST 1\n#else\n#define FAST 0\n#endif", b"n += FAST;"),
        (
            b"#ifdef __gfx942__\nconstexpr int kFast = 1;\n#else\nconstexpr int kFast = 0;\n#endif",
            b"n += kFast;",
        ),
        (b"#define SLOW NDEBUG\n#if SLOW\n#define FAST 1\n#else\n#define FAST 0\n#endif", b"n += FAST;"),
        (b"__device__ int place() { return __builtin_LINE(); }", b"n += place();"),
        (b"__device__ long now() { return clock64(); }", b"n += now() % 1;"),
        (b"__device__ long now() { return clock64(); }\n#define NOW now()", b"n += NOW % 1;"),
    ],
)
@pytest.mark.parametrize("where", ["source", "header"])
def test_what_differs_by_build_or_place_is_refused_behind_a_name_of_the_project(
    hidden: bytes, use: bytes, where: str
) -> None:
    source = SOURCE if where == "header" else SOURCE.replace(b"constexpr", hidden + b"\nconstexpr", 1)
    kernel = parse(source).kernel("k")
    assert kernel is not None
    headers = [hidden] if where == "header" else []
    candidate = source.replace(STORE, use + b"\n  " + STORE)
    found = "; ".join(check_source(source, candidate, kernel, headers=headers))
    assert "it uses `" in found
    assert "how or where it is compiled" in found or "reads a clock" in found
    used = parse(candidate).kernel("k")
    assert used is not None
    again = candidate.replace(STORE, b"n += 0;\n  " + STORE)
    assert "it uses `" not in "; ".join(check_source(candidate, again, used, headers=headers))


def test_harmless_names_of_the_project_may_be_used() -> None:
    header = b"#ifndef SIZES_H\n#define SIZES_H\n#define SIDE 32  // not NDEBUG\n#endif"
    kernel = parse(SOURCE).kernel("k")
    assert kernel is not None
    candidate = SOURCE.replace(STORE, b"n += SIDE - 32;\n  " + STORE)
    assert check_source(SOURCE, candidate, kernel, headers=[header]) == ()


@pytest.mark.parametrize(
    "condition", ["#ifdef NDEBUG", "#ifndef __gfx942__", "#if FAST", "#if defined(NDEBUG)"]
)
def test_a_conditional_directive_is_refused(condition: str) -> None:
    found = refusals(with_body(f"{condition}\n  n = 0;\n#endif".encode()))
    assert "is compiled otherwise where other macros are defined" in "; ".join(found)


@pytest.mark.parametrize(
    "helper",
    [
        b"constexpr __attribute__((constructor)) int first() { return 1; }",
        b"__attribute__((constructor)) static __device__ int first() { return 1; }",
        b"[[gnu::destructor]] static constexpr int first() { return 1; }",
        b'static __device__ __attribute__((weak, alias("other"))) int first() { return 1; }',
        b'constexpr int first __attribute__((section(".init_array"))) = 3;',
    ],
)
def test_a_helper_that_the_host_runs_is_refused(helper: bytes) -> None:
    assert beside(helper)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"auto all = __syncthreads; if (i == 0) all();", "takes a barrier for a value"),
        (b"auto all = &__builtin_amdgcn_s_barrier; if (i == 0) (*all)();", "takes a barrier for a value"),
        (b"auto all = [] { __syncthreads(); }; if (i == 0) all();", "barrier in a lambda"),
        (b"auto now = clock64; n += now() > 5;", "reads a clock"),
        (b"const auto now = [] { return wall_clock64(); }; n += now() > 5;", "reads a clock"),
        (b"long long (*now)() = &::clock64; n += now() > 5;", "reads a clock"),
    ],
)
def test_a_barrier_or_a_clock_through_a_pointer_or_a_lambda_is_refused(text: bytes, reason: str) -> None:
    assert reason in "; ".join(refusals(with_body(text)))


def test_a_kernel_that_the_compiled_file_does_not_hold_cannot_be_judged(original: CodeObject) -> None:
    kernel: Any = SimpleNamespace(name="elsewhere(float*)")
    with pytest.raises(CannotJudge, match=r"`elsewhere` is not in the code .* kernels\.h is compiled to"):
        check_code(kernel, Path("kernels.h"), original)
    other: Any = SimpleNamespace(name="k(float const*, float*, int)")
    check_code(other, Path("kernels.h"), original)


@pytest.mark.parametrize(
    ("now", "same"),
    [
        (b"  #pragma unroll 4\n  for (int i = 0; i < n; ++i) s += x[i];\n", True),
        (b"  for (int i = 0; i < n; i += 2) s += x[i] + x[i + 1];\n", True),
        (b"  for (int i = 0; i < n; ++i) { const int one = x[i], *at = &s; *at += one; }\n", True),
        (
            b"  // Two steps at once.\n  for (long i = 0; i < n - 1LL; i += 2) s += x[i] + x[i + 1];  // in int\n",
            True,
        ),
        (b"", True),
        (b'  for (int i = 0; i < n; ++i) s += x[i] * *"//" * HERE;\n', False),
        (b"  for (int i = 0; i < n; ++i) s += x[i] * /* // */ HERE;\n", False),
        (b"  /*\n  // */ s += HERE;\n", False),
        (b"  for (int i = 0; i < n; ++i) s += x[i] * HERE;\n", False),  # whatever a header makes of it
        (b"  for (int i = 0; i < n; ++i) s += sizeof(struct host);\n", False),  # a word of another function
    ],
)
def test_names_that_a_change_adds_are_those_that_its_function_neither_had_nor_declares(
    now: bytes, *, same: bool
) -> None:
    was = b"  for (int i = 0; i < n; ++i) s += x[i];\n"
    text = b"int host;\n__global__ void k(int* x, int n) {\n  int s = 0;\n" + was + b"  x[0] = s;\n}\n"
    (kernel,) = parse(text).kernels
    assert adds_no_names(text, text.replace(was, now), kernel) is same


def test_lines_that_stay_between_two_changes_add_no_names() -> None:
    text = (
        b"__device__ void f() {\n  while (go());\n}\nint host;\n__global__ void k() {\n  while (on());\n}\n"
    )
    (kernel,) = parse(text).kernels
    assert adds_no_names(text, text.replace(b"  while", b"  #pragma unroll 4\n  while"), kernel)


def test_machine_code_that_cannot_be_read_is_refused() -> None:
    known = {"s_endpgm": 1, "s_memtime": 1}
    assert check_instructions(known, known) == ()
    assert check_instructions(known, {}) == ("its machine code cannot be disassembled",)
