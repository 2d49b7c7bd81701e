"""Sine and cosine together, and cheaper calls: the values that the functions gave, or as near to the truth."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from hipscope.analysis.source.parse import parse
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Refusal
from tests.formulas.propose.rules.cases import ask, candidates, output_of

HEAD = """#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstring>
#include <vector>
"""
# Every size of argument: the reduction of small ones, that of large ones, and what is no number.
PROGRAM = (
    HEAD
    + """
template <typename T>
__global__ void both(T* out, const T* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const T x = in[i];
  out[2 * i] = sin(x);
  out[2 * i + 1] = cos(x);
}
template <typename T>
void show() {
  std::vector<T> host;
  const T step = 1.03;
  for (int k = 0; k < 1022; ++k) host.push_back((k % 2 ? -1e-3 : 1e-3) * std::pow(step, k));
  host.push_back(INFINITY);
  host.push_back(NAN);
  T *in, *out;
  (void)hipMalloc(&in, 1024 * sizeof(T));
  (void)hipMalloc(&out, 2048 * sizeof(T));
  (void)hipMemcpy(in, host.data(), 1024 * sizeof(T), hipMemcpyHostToDevice);
  both<<<4, 256>>>(out, in, 1024);
  host.resize(2048);
  (void)hipMemcpy(host.data(), out, 2048 * sizeof(T), hipMemcpyDeviceToHost);
  unsigned long hash = 0;
  for (const T& value : host) {
    unsigned long bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    hash = hash * 1099511628211ul + bits;
  }
  printf("%lx\\n", hash);
}
int main() {
  show<float>();
  show<double>();
  return hipDeviceSynchronize();
}
"""
)
POWERS = (
    HEAD
    + """
__global__ void powers(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  float* mine = out + 8 * i;
  mine[0] = powf(x, 2.0f);
  mine[1] = powf(x, -2.0f);
  mine[2] = powf(x, 3.0f);
  mine[3] = powf(x, 0.5f);
  mine[4] = powf(x, 1.5f);
  mine[5] = 3.0f / sqrtf(x);
  mine[6] = powf(2.0f, x) + powf(2.0f, i);
  mine[7] = powf(x, 4.0f);
}
int main() {
  std::vector<float> host;
  for (int k = 0; k < 64; ++k) host.push_back(0.01f + 0.37f * k);
  float *in, *out;
  (void)hipMalloc(&in, 256);
  (void)hipMalloc(&out, 2048);
  (void)hipMemcpy(in, host.data(), 256, hipMemcpyHostToDevice);
  powers<<<1, 64>>>(out, in, 64);
  host.resize(512);
  (void)hipMemcpy(host.data(), out, 2048, hipMemcpyDeviceToHost);
  for (float value : host) printf("%.9g\\n", value);
  return hipDeviceSynchronize();
}
"""
)


def test_sine_and_cosine_are_the_same_bit_for_bit(tmp_path: Path) -> None:
    source = PROGRAM.encode()
    (rewritten,) = candidates(ask("sincos", source, LaunchFacts()))
    assert rewritten.exact
    before, after = output_of(source, tmp_path / "before"), output_of(rewritten.text, tmp_path / "after")
    assert len(before.split()) == 2
    assert before == after


def test_cheaper_calls_are_within_two_units_in_the_last_place(tmp_path: Path) -> None:
    (rewritten,) = candidates(ask("cheaper_calls", POWERS.encode(), LaunchFacts()))
    assert not rewritten.exact
    assert rewritten.assumes == ("`x` is never below 0",)
    assert b"powf(" not in rewritten.text
    values = [float(line) for line in output_of(rewritten.text, tmp_path / "after").split()]
    for k in range(64):
        x = 0.01 + 0.37 * k
        true = (x**2, x**-2, x**3, x**0.5, x**1.5, 3 / math.sqrt(x), 2**x + 2**k, x**4)
        # The argument itself is rounded: half a unit, times the exponent.
        assert values[8 * k : 8 * k + 8] == pytest.approx(true, rel=max(6, x) * 2**-23)


@pytest.mark.parametrize(("exponent", "units"), [(5, "2"), (6, "2.5"), (7, "3"), (8, "3.5"), (12, "5.5")])
def test_products_for_a_higher_power_say_how_far_off_they_may_be(
    tmp_path: Path, exponent: int, units: str
) -> None:
    text = re.sub(r"mine\[[1-7]\] = .*?;\n", "", POWERS).replace("powf(x, 2.0f)", f"powf(x, {exponent})")
    (rewritten,) = candidates(ask("cheaper_calls", text.encode(), LaunchFacts()))
    assert f"off by at most {units} units in the last place" in rewritten.title
    assert b"powf(" not in rewritten.text
    values = [float(line) for line in output_of(rewritten.text, tmp_path / "after").split()]
    single = np.float32
    true = [float(single(0.01) + single(0.37) * single(k)) ** exponent for k in range(64)]
    assert values[::8] == pytest.approx(true, rel=(float(units) + 0.5) * 2**-23)


def test_what_is_as_accurate_is_also_offered_without_the_rest() -> None:
    source = b"__global__ void k(float* out, float x) { out[0] = powf(x, 6.0f) + powf(x, 2.0f); }\n"
    both, accurate = candidates(ask("cheaper_calls", source, LaunchFacts()))
    assert b"to_the_sixth(x) + squared(x)" in both.text
    assert b"powf(x, 6.0f) + squared(x)" in accurate.text
    assert b"to_the_sixth" not in accurate.text
    assert accurate.title == "Cheaper functions that are as accurate (line 1)"


@pytest.mark.parametrize(
    "body",
    [
        "float a = in[i]; out[i] = sinf(a); a += 1.0f; out[0] = cosf(a);",
        "float a = in[i]; float& b = a; out[i] = sinf(a); b += 1.0f; out[0] = cosf(a);",
        "float a = in[i]; float* b = &a; out[i] = sinf(a); *b = 2.0f; out[0] = cosf(a);",
        "out[i] = sinf(in[i]); out[i + 1] = cosf(in[i]);",
        "float a = in[i]; auto more = [&] { a += 1.0f; return a; }; out[i] = sinf(a); more(); out[0] = cosf(a);",
        "__shared__ float a; a = in[i]; out[i] = sinf(a); __syncthreads(); out[0] = cosf(a);",
        "float a = in[i]; if (a > 0.0f) out[i] = sinf(a); else out[i] = cosf(a);",
        "float a = in[i]; out[i] = sinf(a); again: out[0] = cosf(a); if (out[0] > 0.5f) goto again;",
        "float a = in[i]; out[i] = sinf(a) + cosf(a + 1.0f);",
    ],
    ids=("changed", "reference", "pointer", "memory", "lambda", "shared", "branches", "label", "another"),
)
def test_what_may_have_another_value_or_another_path_is_left_alone(body: str) -> None:
    text = f"__global__ void k(float* out, const float* in) {{ int i = threadIdx.x; {body} }}"
    assert parse(text.encode()).kernels
    assert isinstance(ask("sincos", text.encode(), LaunchFacts()), Refusal)


@pytest.mark.parametrize(
    "call", ["powf(x, y)", "powf(x, 5.5f)", "powf(x, 9)", "1.0 / sqrtf(x)", "sqrtf(x) / x", "pow(y, 2) / 3"]
)
def test_other_calls_are_left_alone(call: str) -> None:
    text = f"__global__ void k(float* out, float x, struct T y) {{ out[0] = {call}; }}"
    assert isinstance(ask("cheaper_calls", text.encode(), LaunchFacts()), Refusal)
