"""Texts that would be wrong are refused by the rules themselves, before any judge: another name, another work-item.

Each row is a kernel in which what a rule needs is broken in one way; the sound kernel of that rule is offered an edit.
"""

from __future__ import annotations

import pytest

from hipscope.analysis.source.functions import callables_in
from hipscope.analysis.source.inlining import see_through
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.structures import definitions_in
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts
from hipscope.formulas.propose.candidate import Proposal, Refusal
from hipscope.formulas.propose.rules import ask_recipe
from tests.formulas.propose.rules.cases import BY_NAME

FILE = """#include <hip/hip_runtime.h>
#define ADVANCE(v) v += 7
#define STEP ++a
__device__ void advance(int& v) { v += 7; }
__device__ void reset(int* p) { *p = 0; }
__device__ void publish(int* p) { *p = 1; __threadfence(); }
#define PUBLISH(p) publish(p)
"""
SOUND = {
    "division": (
        "int* out, int a, int b",
        "int q = a / b; out[0] = q + a % b; a = 1;",
    ),
    "xcd_remap": (
        "int* data, int* flags",
        "int b = blockIdx.x; data[b] = flags[b];",
    ),
    "block_reduce": (
        "int* sum, const int* in",
        "int i = blockIdx.x * blockDim.x + threadIdx.x; atomicAdd(sum, in[i]);",
    ),
    "fewer_workgroups": (
        "int* sum, const int* in, int n",
        (
            "int mine = 0; for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)"
            " mine += in[i]; atomicAdd(sum, mine);"
        ),
    ),
    "block_coarsening": (
        "int* sum, const int* in",
        "int i = blockIdx.x * blockDim.x + threadIdx.x; atomicAdd(sum, in[i]);",
    ),
    "reciprocal": (
        "float* out, float d, int n",
        "for (int i = 0; i < n; ++i) { out[i] = out[i] / d; }",
    ),
    "sincos": (
        "float* out, float x",
        "float s = sinf(x); out[0] = s + cosf(x);",
    ),
    "register_sum": (
        "int* sum, const int* in, int n",
        "for (int i = 0; i < n; ++i) { atomicAdd(&sum[threadIdx.x], in[i]); }",
    ),
    "restrict": (
        "float* out, const float* in",
        "out[threadIdx.x] = in[threadIdx.x];",
    ),
}
WRONG = {
    ("division", "int* out, int a, int b"): (
        "int q = a / b; advance(a); out[0] = q + a % b;",
        "int q = a / b; ADVANCE(a); out[0] = q + a % b;",
        "int q = a / b; STEP; out[0] = q + a % b;",
        "int q = a / b; int& r = a; r += 3; out[0] = q + a % b;",
        "int& r = b; int q = a / b; r = 5; out[0] = q + a % b;",
        "int q = a / b; reset(&a); out[0] = q + a % b;",
        "int* p = &a; int q = a / b; *p = 9; out[0] = q + a % b;",
        "int q = a / b; std::swap(a, b); out[0] = q + a % b;",
        'int q = a / b; asm volatile("v_add_u32 %0, %0, 1" : "+v"(a)); out[0] = q + a % b;',
        "auto move = [&] { a += 5; }; int q = a / b; move(); out[0] = q + a % b;",
        "int q = a / b; { int a = 77; out[0] = q + a % b; }",
        "int q = a / b; (a) = 3; out[0] = q + a % b;",
        "int q = a / b; *&a = 3; out[0] = q + a % b;",
        "int q = a / b; (b > 2 ? a : b) = 3; out[0] = q + a % b;",
        "int q = a / b; for (; a < 100; a += 3) { out[a] = q + a % b; }",
        "int q = a / b; while (a-- > 0) out[0] += q + a % b;",
        "int q = a / b, c = a++; out[0] = q + a % b + c;",
        "int q = a / b; std::tie(a, b) = unknown_pair(); out[0] = q + a % b;",
        "int q = a / b; if ((a = out[3]) > 2) out[0] = q + a % b;",
    ),
    ("division", "int* out, volatile int a, int b"): (
        "int q = a / b; out[0] = q + a % b;",
    ),
    ("division", "int* out, int n, int b"): (
        "volatile int a = n; int q = a / b; out[0] = q + a % b;",
        ("__shared__ int a; if (threadIdx.x == 0) a = n; __syncthreads(); int q = a / b; __syncthreads(); if "
        "(threadIdx.x == 0) a = 5; __syncthreads(); out[threadIdx.x] = q + a % b;"),
    ),
    ("xcd_remap", "int* data, int* flags"): (
        ('int b = blockIdx.x; if (b > 0) while (flags[b - 1] == 0) __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, '
        '"agent"); data[b] = data[b - 1] + 1; __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent"); flags[b] = 1;'),
        "int b = blockIdx.x; while (b > 0 && flags[b - 1] == 0) {} data[b] = 1; flags[b] = 1;",
        "int b = blockIdx.x; int seen = 0; do { seen = flags[b - 1]; } while (!seen); data[b] = 1;",
        "int b = blockIdx.x; while (true) { if (__builtin_nontemporal_load(&flags[b]) != 0) break; } data[b] = 1;",
        'int b = blockIdx.x; asm volatile("s_waitcnt vmcnt(0)" ::: "memory"); data[b] = 1;',
        "int b = blockIdx.x; publish(&flags[b]); data[b] = 1;",
        "int b = blockIdx.x; PUBLISH(&flags[b]); data[b] = 1;",
        "int b = blockIdx.x; while (flags[b] == 0) __builtin_amdgcn_s_sleep(2); data[b] = 1;",
    ),
    ("xcd_remap", "int* data, std::atomic<int>* flags"): (
        "int b = blockIdx.x; data[b] = flags[b - 1].load();",
    ),
    ("xcd_remap", "int* data, volatile int* flags"): (
        "int b = blockIdx.x; data[b] = flags[b];",
    ),
    ("block_reduce", "int* sum, const int* in, int* flag"): (
        ('int i = blockIdx.x * blockDim.x + threadIdx.x; atomicAdd(sum, in[i]); '
        '__builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent"); flag[blockIdx.x] = 1;'),
        ('int i = blockIdx.x * blockDim.x + threadIdx.x; atomicAdd(sum, in[i]); asm volatile("s_waitcnt vmcnt(0)" '
        '::: "memory"); flag[blockIdx.x] = 1;'),
        "int i = blockIdx.x * blockDim.x + threadIdx.x; atomicAdd(sum, in[i]); publish(&flag[blockIdx.x]);",
        "int i = blockIdx.x * blockDim.x + threadIdx.x; while (flag[0] == 0) {} atomicAdd(sum, in[i]);",
    ),
    ("fewer_workgroups", "int* sum, const int* in, int n, int* flag"): (
        ('int mine = 0; for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) '
        'mine += in[i]; __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent"); atomicAdd(sum, mine);'),
        ("int mine = 0; while (flag[0] == 0) {} for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += "
        "gridDim.x * blockDim.x) mine += in[i]; atomicAdd(sum, mine);"),
    ),
    ("block_coarsening", "int* sum, const int* in, int* flag"): (
        "int i = blockIdx.x * blockDim.x + threadIdx.x; while (flag[blockIdx.x] == 0) {} atomicAdd(sum, in[i]);",
        ('int i = blockIdx.x * blockDim.x + threadIdx.x; atomicAdd(sum, in[i]); '
        '__builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");'),
    ),
    ("reciprocal", "float* out, float d, int n"): (
        "for (int i = 0; i < n; ++i) { out[i] = out[i] / d; scale(d); }",
        "float& r = d; for (int i = 0; i < n; ++i) { out[i] = out[i] / d; r *= 2.0f; }",
        'for (int i = 0; i < n; ++i) { out[i] = out[i] / d; asm volatile("v_add_f32 %0, %0, 1.0" : "+v"(d)); }',
    ),
    ("sincos", "float* out, float x"): (
        "float s = sinf(x); ADVANCE(x); out[0] = s + cosf(x);",
        "float s = sinf(x); float& r = x; r = 2.0f; out[0] = s + cosf(x);",
        'float s = sinf(x); asm volatile("v_add_f32 %0, %0, 1.0" : "+v"(x)); out[0] = s + cosf(x);',
        "auto f = [&] { x = 2.0f; }; float s = sinf(x); f(); out[0] = s + cosf(x);",
    ),
    ("register_sum", "int* sum, const int* in, int n, int* flag"): (
        "for (int i = 0; i < n; ++i) { atomicAdd(&sum[threadIdx.x], in[i]); publish(&flag[0]); }",
    ),
    ("register_sum", "int* sum, const int* in, int n, int t"): (
        "for (int i = 0; i < n; ++i) { atomicAdd(&sum[t], in[i]); advance(t); }",
        "int& r = t; for (int i = 0; i < n; ++i) { atomicAdd(&sum[t], in[i]); ++r; }",
    ),
    ("restrict", "float* out, const float* in, int* flag"): (
        "while (flag[blockIdx.x] == 0) {} out[threadIdx.x] = in[threadIdx.x];",
        "out[threadIdx.x] = in[threadIdx.x]; __threadfence(); flag[blockIdx.x] = 1;",
    ),
}  # fmt: skip


def answer(rule: str, parameters: str, body: str) -> Proposal:
    """What a rule says of a kernel whose launches allow as much as can be."""
    source = f"{FILE}__global__ void k({parameters}) {{\n{body}\n}}\n".encode()
    kernel = see_through(parse(source).kernels[0], callables_in([source]), definitions_in([source]))
    pointers = [p.name for p in kernel.parameters if p.pointer]
    numbers = {p.name: 1024 for p in kernel.parameters if not p.pointer}
    launch = LaunchFact((262144, 1, 1), (256, 1, 1), 0, numbers, dict.fromkeys(pointers, 1 << 20))
    facts = LaunchFacts((launch,), xcds=8, threads=256, written=256, disjoint=frozenset(pointers))
    return ask_recipe(BY_NAME[rule], source, kernel, None, facts)


@pytest.mark.parametrize("rule", SOUND)
def test_the_sound_kernel_of_a_rule_is_offered_an_edit(rule: str) -> None:
    assert isinstance(answer(rule, *SOUND[rule]), list)


@pytest.mark.parametrize(
    ("rule", "parameters", "body"), [(*key, body) for key, bodies in WRONG.items() for body in bodies]
)
def test_a_rule_refuses_what_would_be_wrong(rule: str, parameters: str, body: str) -> None:
    said = answer(rule, parameters, body)
    assert isinstance(said, Refusal), said
    assert "defect" not in said.reason
