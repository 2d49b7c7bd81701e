"""What a statement changes, in every spelling of C++; and what makes memory visible to other work-items."""

from __future__ import annotations

import pytest
from tree_sitter import Node

from hipscope.analysis.kernel.effects import (
    changed_names,
    changed_once_declared,
    publishes,
    relies_on_others,
    spinning_loop,
    unsteady_names,
)
from hipscope.analysis.source.functions import callables_in
from hipscope.analysis.source.inlining import see_through
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.structures import definitions_in
from hipscope.analysis.source.syntax import KernelSyntax

FILE = """
#define SET(v) v = 1
#define SET_LATER(v) SET(v)
#define BUMP ++x
#define TWICE(v) ((v) + (v))
#define MASKED(v) ((v) & 3)
#define IS_ONE(v) ((v) == 1 && (v) <= 2)
#define N 16
__device__ void bump(int& v) { ++v; }
__device__ void store(int* p) { *p = 1; }
__device__ int load(const int* p) { return *p; }
__device__ int look(const int& v) { return v + 1; }
__device__ int twice(int v) { return v + v; }
template <typename T> __device__ void any_of(T&& v) { v = 1; }
struct Pair { int a, b; };
"""


def kernel_of(body: str, parameters: str = "int* out, int n, Pair pair", file: str = FILE) -> KernelSyntax:
    source = f"{file}__global__ void k({parameters}) {{\n{body}\n}}\n".encode()
    return see_through(parse(source).kernels[0], callables_in([source]), definitions_in([source]))


def last_statement(kernel: KernelSyntax) -> Node:
    return [n for n in kernel.body_node.named_children if n.type != "comment"][-1]


@pytest.mark.parametrize(
    "statement",
    [
        "x = 1;", "x += n;", "x <<= 1;", "++x;", "x--;", "(x) = 1;", "((x)) += 1;", "*&x = 1;", "(&x)[0] = 1;",
        "(n ? x : y) = 1;", "(y, x) = 1;", "y = x = 1;", "out[x++] = 1;", "if ((x = n)) y = 1;", "x = n, y = n;",
        "while (x--) y = 1;", "for (x = 0; y < n; ++y) out[y] = 1;",
        "bump(x);", "bump((x));", "any_of(x);", "store(&x);", "unknown(x);", "unknown(&x);", "std::swap(x, y);",
        "std::swap(y, x);", "std::tie(x, y) = unknown_pair();", "y = std::exchange(x, 1);", "object.method(x);",
        "SET(x);", "SET_LATER(x);", "BUMP;", "y = n ? BUMP : 0;",
        'asm volatile("v_mov_b32 %0, 1" : "=v"(x));', 'asm("v_add_u32 %0, %0, %1" : "+v"(x) : "v"(y));',
        "int& r = x;  r = 1;", "auto& r = x; r += 1;", "int& r(x); r = 1;", "int& r{x}; r = 1;",
        "int* p = &x; *p = 1;", "int* p = &x; p[0] = 1;", "int* p = &x; int* q = p; *q = 1;", "int* p; p = &x; ++*p;",
        "auto f = [&] { x = 1; }; f();", "auto f = [&x](int v) { x = v; }; f(n);", "[&] { x = 1; }();",
        "int x = 3;", "for (int x = 0; x < n; ++x) out[x] = 1;", "auto [x, z] = unknown_pair();",
        "if (int x = n) y = 1;",
        "atomicAdd(&x, 1);", "__hip_atomic_store(&x, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);",
        "memcpy(&x, out, 4);", "sincosf(1.0f, &x, &y);",
    ],
)  # fmt: skip
def test_a_change_of_a_variable_is_seen_however_it_is_written(statement: str) -> None:
    block = last_statement(kernel_of(f"int x = n, y = n;\n{{ {statement} }}"))
    assert "x" in changed_names(block)


@pytest.mark.parametrize(
    ("before", "statement"),
    [
        ("int& r = x;", "r = 1;"), ("int& r = x;", "bump(r);"), ("const int& r = x; int& s = x;", "s = 1;"),
        ("int* p = &x;", "*p = 1;"), ("int* p = n ? &x : &y;", "*p = 1;"), ("int* p = &x;", "unknown();"),
        ("int* p = unknown_pointer(&x);", "*p = 1;"), ("auto f = [&] { x = 1; };", "f();"),
        ("auto f = [&](int& v) { v = 1; };", "f(x);"), ("Holder h; h.p = &x;", "*h.p = 1;"),
        ("int* p = &x;", 'asm volatile("" ::: "memory");'),
    ],
)  # fmt: skip
def test_a_change_through_another_name_that_begins_before_is_seen(before: str, statement: str) -> None:
    kernel = kernel_of(f"int x = n, y = n;\n{before}\n{{ {statement} }}")
    assert "x" in changed_names(last_statement(kernel))
    assert "x" in unsteady_names(kernel) | changed_once_declared(kernel)


@pytest.mark.parametrize(
    "statement",
    [
        "y = x;", "y += x * 2;", "out[x] = 1;", "y = twice(x);", "y = look(x);", "y = load(&y) + x;", "y = TWICE(x);",
        "y = MASKED(x);", "y = IS_ONE(x);", "y = min(x, n);", "y = std::max(x, n);", "float z = sqrtf(x);",
        "y = __shfl_down(x, 1);", "y = static_cast<int>(x);", "y = int(x);", "y = x == 1;", "y = x <= N;",
        "out[0] = x;", "pair.a = x;", "for (int i = 0; i < x; ++i) y += i;", "float4 v = make_float4(x, x, x, x);",
        'asm volatile("v_nop" :: "v"(x));', "atomicAdd(&out[0], x);", "y = __popc(x);", "auto z = [=] { return x; }();",
    ],
)  # fmt: skip
def test_a_statement_that_only_reads_a_variable_keeps_it(statement: str) -> None:
    kernel = kernel_of(f"int x = n, y = n;\n{{ {statement} }}")
    assert "x" not in changed_names(last_statement(kernel))


def test_a_part_of_a_variable_counts_as_the_variable_and_its_index_does_not() -> None:
    block = last_statement(kernel_of("int i = n; int a[4];\n{ a[i] = 1; pair.b = 2; }"))
    assert changed_names(block) == {"a", "pair"}


def test_a_function_of_the_file_changes_the_globals_that_it_names() -> None:
    file = (
        FILE
        + "__device__ int counter;\n__device__ void inner() { ++counter; }\n__device__ void count() { inner(); }\n"
    )
    assert "counter" in changed_names(last_statement(kernel_of("{ count(); }", file=file)))


def test_a_name_for_two_variables_counts_as_changed_once_declared() -> None:
    kernel = kernel_of("int q = n / 3;\n{ int n = 5; out[0] = q + n % 3; }")
    assert "n" in changed_once_declared(kernel)
    assert "q" not in changed_once_declared(kernel)


def test_what_others_may_change_is_not_steady() -> None:
    kernel = kernel_of(
        "volatile int v = n; static int s; int w = n;", "int* out, int n, volatile int* flag, int& r"
    )
    assert {"v", "s", "flag", "r"} <= unsteady_names(kernel)
    assert "w" not in unsteady_names(kernel)


@pytest.mark.parametrize(
    "statement",
    [
        "__threadfence();", "__threadfence_block();", "__threadfence_system();",
        '__builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");', "__atomic_thread_fence(__ATOMIC_SEQ_CST);",
        "__atomic_work_item_fence(1, 2, 3);", "std::atomic_thread_fence(std::memory_order_release);",
        '__scoped_atomic_thread_fence(__ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);', "__builtin_amdgcn_s_waitcnt(0);",
        "__hip_atomic_store(&out[0], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);",
        "n = __hip_atomic_load(&out[0], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);",
        "n = __atomic_load_n(&out[0], __ATOMIC_RELAXED);", "__atomic_store_n(&out[0], 1, __ATOMIC_RELEASE);",
        "n = *(volatile int*)out;",
        'asm volatile("s_waitcnt vmcnt(0)" ::: "memory");',
        'asm("v_mov_b32 %0, 1\\n\\tglobal_store_dword %1, %0, off" :: "v"(n), "v"(out));',
        '__asm__("s_nop 0");',
        "cooperative_groups::this_grid().sync();", "auto grid = cg::this_grid(); grid.sync();",
        "__builtin_amdgcn_s_sleep(1);", "__nanosleep(100);", "cuda::atomic_ref<int> r(out[0]); r.store(1);",
        "publish(out);", "PUBLISH(out);", "outer(out);",
    ],
)  # fmt: skip
def test_a_word_by_which_others_see_memory_is_found_also_behind_a_call(statement: str) -> None:
    file = (
        "__device__ void publish(int* p) { p[0] = 1; __threadfence(); }\n#define PUBLISH(p) publish(p)\n"
        "__device__ void outer(int* p) { PUBLISH(p); }\n"
    )
    kernel = kernel_of(statement, file=file)
    assert publishes(kernel.body_node, kernel)
    assert relies_on_others(kernel)


@pytest.mark.parametrize(
    "statement",
    [
        'asm volatile("v_mov_b32_e32 %0, %1" : "=v"(out[x]) : "v"(out[n]));',
        "out[n] = 1;", "atomicAdd(&out[0], 1);", "__syncthreads();", "n = __shfl_down(n, 1);",
        "// volatile\nout[0] = 1;",
        "int fence = n; out[0] = fence;", "int a = __builtin_nontemporal_load(&out[n]); out[0] = a;",
    ],
)  # fmt: skip
def test_plain_stores_barriers_and_comments_publish_nothing(statement: str) -> None:
    kernel = kernel_of(statement)
    assert not publishes(kernel.body_node, kernel)
    assert not relies_on_others(kernel)


@pytest.mark.parametrize(
    "loop",
    [
        "while (flag[n] == 0);", "while (flag[n] == 0) {}", "while (!flag[n]) { ++spins; }", "do {} while (!flag[n]);",
        "for (; flag[n] == 0;);", "while (true) { if (flag[n]) break; }", "for (;;) { if (flag[n] != 0) return; }",
        "int v; do { v = flag[n]; } while (v == 0);", "int v = 0; while (v == 0) v = *flag;",
        "while (__builtin_nontemporal_load(&flag[n]) == 0);", "while (look_at(flag) == 0);", "while (!queue->ready);",
        "while (true) { int v = flag[n]; if (v) break; }", "while (atomicAdd(&flag[0], 0) < n);",
    ],
)  # fmt: skip
def test_a_loop_that_waits_for_memory_to_change_is_found(loop: str) -> None:
    kernel = kernel_of(f"int spins = 0;\n{loop}", "int* out, int n, int* flag, Queue* queue")
    assert spinning_loop(kernel) is not None
    assert "waits for memory" in relies_on_others(kernel) or "uses" in relies_on_others(kernel)


@pytest.mark.parametrize(
    "loop",
    [
        "for (int i = 0; i < n; ++i) out[i] = 1;", "for (int i = 0; i < out[n]; ++i) sum += i;",
        "while (i < n) { sum += out[i]; i += 4; }", "while (out[i] > 0) { i = out[i]; }", "while (i) i >>= 1;",
        "do { sum += out[i]; } while (++i < n);", "for (int s = blockDim.x / 2; s > 0; s >>= 1) sum += s;",
        "while (out[0] > 1) { out[0] /= 2; }", "while (node != 0) { node = out[node]; }", "for (int& v : list) v = 1;",
        "while ((i = out[node]) >= 0) { node = out[i + n]; }",
        "for (int p = out[n]; p < out[n + 1]; ++p) sum += p;",
        "while (a < b) { int c = (a + b) / 2; if (out[c] < n) a = c + 1; else b = c; }",
    ],
)  # fmt: skip
def test_a_loop_that_moves_by_itself_waits_for_nothing(loop: str) -> None:
    kernel = kernel_of(f"int i = 0, sum = 0, node = n, a = 0, b = n;\n{loop}")
    assert spinning_loop(kernel) is None
    assert relies_on_others(kernel) == ""


def test_a_volatile_helper_for_lds_tells_no_other_workgroup_anything() -> None:
    file = "__device__ void last(volatile int* s, int t) { s[t] += s[t + 32]; }\n"
    in_lds = kernel_of("__shared__ int sums[64];\nlast(sums, threadIdx.x);", file=file)
    assert relies_on_others(in_lds) == ""
    in_memory = kernel_of("last(out, threadIdx.x);", file=file)
    assert relies_on_others(in_memory) == "`last`"
