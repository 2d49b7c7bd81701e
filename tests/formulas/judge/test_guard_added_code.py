"""What may change beside a kernel: device functions that no host code can run, and nothing that checks results."""

from __future__ import annotations

import pytest

from hipscope.analysis.source.parse import parse
from hipscope.formulas.judge.guard import check_source
from hipscope.formulas.judge.guard_added_code import rewritten_functions

SOURCE = b"""#include <hip/hip_runtime.h>
#include <cmath>
constexpr float kLimit = 1e-3f;
#define STEPS 64
__device__ inline float scaled(float x) { return x * 0.5f; }
__device__ float summed(const float* p, int n) {
  float s = 0.0f;
  for (int j = 0; j < n; ++j) s += p[j];
  return s;
}
__host__ __device__ inline float both(float x) { return x + kLimit; }
__device__ auto guessed(float x) { return x; }
__device__ float twin(float x) { return x; }
__device__ float twin(double x) { return x; }
__global__ void k(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = scaled(summed(in + i * STEPS, STEPS)) + both(guessed(twin(in[i])));
}
static float expected(const float* in, int i) {
  float s = 0.0f;
  for (int j = 0; j < STEPS; ++j) s += in[i * STEPS + j];
  return s * 0.5f + both(in[i]);
}
int main() {
  float host[STEPS * 8] = {}, out[8] = {};
  for (int i = 0; i < 8; ++i)
    if (std::fabs(out[i] - expected(host, i)) > kLimit) return 1;
  return 0;
}
"""
LOOP = b"for (int j = 0; j < n; ++j) s += p[j];\n  return s;"
FASTER = b"float t = 0.0f;\n  for (int j = 0; j < n; j += 2) { s += p[j]; t += p[j + 1]; }\n  return s + t;"
KERNEL = b"if (i < n) out[i] ="


def refusals(
    *changes: tuple[bytes, bytes], source: bytes = SOURCE, others: tuple[bytes, ...] = ()
) -> tuple[str, ...]:
    text = source
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    kernel = parse(source).kernel("k")
    assert kernel is not None
    return check_source(source, text, kernel, others=others)


def test_a_device_function_may_change_with_the_kernel_and_without_it() -> None:
    assert refusals((LOOP, FASTER)) == ()
    assert refusals((LOOP, FASTER), (KERNEL, b"if (i >= n) return;\n  out[i] =")) == ()
    assert refusals((LOOP, FASTER), (b"x * 0.5f", b"0.5f * x")) == ()


def test_the_functions_that_change_are_named() -> None:
    kernel = parse(SOURCE).kernel("k")
    assert kernel is not None
    text = SOURCE.replace(LOOP, FASTER).replace(b"x * 0.5f", b"0.5f * x")
    assert [f.name for f, _ in rewritten_functions(SOURCE, text, kernel, ()).changed] == ["scaled", "summed"]
    assert rewritten_functions(SOURCE, SOURCE, kernel, ()).changed == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"> kLimit) return 1", b"> 10 * kLimit) return 1"),  # the check itself
        (b"> kLimit) return 1", b"> kLimit) return 0"),
        (b"i < 8; ++i)\n    if", b"i < 1; ++i)\n    if"),  # fewer results are compared
        (b"kLimit = 1e-3f", b"kLimit = 1e3f"),  # a constant that kernel and check share
        (b"#define STEPS 64", b"#define STEPS 1"),
        (b"return s * 0.5f", b"return s * 0.25f"),  # the host's reference
        (b"return x + kLimit", b"return x"),  # a function that the reference calls, too
        (b"j < STEPS; ++j) s +=", b"j < 1; ++j) s +="),
        (b"__device__ auto guessed(float x) { return x", b"__device__ auto guessed(float x) { return (double)x"),
        (b"twin(float x) { return x", b"twin(float x) { return -x"),  # which of two is meant is not certain
        (b"twin(double x) { return x; }\n", b"twin(double x) { return x; }\nstatic int loaded = 1;\n"),
        (b"#include <cmath>", b"#include <cmath>\n#define fabs(x) 0.0f"),
    ],
)  # fmt: skip
def test_whatever_the_host_reads_stays_as_it_is(old: bytes, new: bytes) -> None:
    found = "; ".join(refusals((LOOP, FASTER), (old, new)))
    assert "changes text outside" in found or "beside the kernel: `static int" in found, found


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b"__device__ float summed", b"__host__ __device__ float summed", "`__host__` is new"),
        (b"__device__ float summed", b"static __device__ float summed", "outside|attribute"),
        (b"summed(const float* p", b"summed(float* p", "parameters changed"),
        (b"__device__ float summed", b"__device__ double summed", "return type"),
        (b"s += p[j];", b"s += p[j]; __syncthreads();", "barrier"),
        (b"s += p[j];", b's += p[j]; asm volatile("s_nop 0");', "inline assembly"),
        (b"s += p[j];", b"s += p[j] + clock();", "clock"),
        (b"float s = 0.0f;\n  for", b"static float s = 0.0f;\n  for", "keeps static state"),
        (b"s += p[j];\n  return s;\n}", b"s += p[j];\n  return s;\n}\nstatic int more = 0;", "outside"),
    ],
)
def test_a_device_function_changes_in_its_body_only(old: bytes, new: bytes, reason: str) -> None:
    found = "; ".join(refusals((old, new)))
    assert any(part in found for part in reason.split("|")), found


@pytest.mark.parametrize(
    "prelude",
    [
        b"#pragma clang force_cuda_host_device begin\n",
        b"#define __device__ __attribute__((device)) __attribute__((host))\n",
        b'_Pragma("clang force_cuda_host_device begin")\n',
    ],
)
def test_a_function_that_is_made_one_of_the_host_as_well_stays(prelude: bytes) -> None:
    assert refusals((LOOP, FASTER), source=prelude + SOURCE)
    kernel = parse(SOURCE).kernel("k")
    assert kernel is not None
    assert check_source(SOURCE, SOURCE.replace(LOOP, FASTER), kernel, headers=(prelude,))


def test_a_macro_of_a_header_before_a_function_keeps_it_as_it_is() -> None:
    source = SOURCE.replace(b"__device__ float summed", b"SHARED __device__ float summed")
    kernel = parse(source).kernel("k")
    assert kernel is not None
    text = source.replace(LOOP, FASTER)
    assert check_source(source, text, kernel, headers=(b"#define SHARED __host__\n",))


def test_a_helper_has_a_name_that_no_file_of_the_program_uses() -> None:
    """A file that includes this one may call a function of that name: a better match would take its place."""
    helper = (
        b"__global__ void k(",
        b"static constexpr float bound(float) { return 1e9f; }\n__global__ void k(",
    )
    changed = (KERNEL, b"if (i >= n) return;\n  out[i] =")
    assert refusals(helper, changed) == ()
    including = (
        b'#include "limits.h"\n#include "kernels.hip"\nbool wrong(float e) { return e > bound(1e-3f); }\n'
    )
    assert "`bound` is used" in "; ".join(refusals(helper, changed, others=(including,)))
