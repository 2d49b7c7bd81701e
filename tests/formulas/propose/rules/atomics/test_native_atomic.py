"""Compare-and-swap loops: which ones emulate an operation, what takes their place, and that results stay the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hipscope.analysis.source.parse import device_functions
from hipscope.formulas.detect.cas_loops import emulated_at
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Refusal
from hipscope.formulas.propose.rules.atomics import native_atomic
from tests.formulas.propose.rules.cases import ask, candidates, output_of
from tests.unsaved import unsaved


def rewritten(text: str) -> list[str]:
    """The bodies that the recipe gives for a device function, blanks made one. Loops stand on lines of their own."""
    source = re.sub(r"(?<=[;{]) (?=(do|while|for) )", "\n", text).encode()
    (function,) = device_functions(source)
    answer = native_atomic.propose(source, function, None, LaunchFacts())
    if isinstance(answer, Refusal):
        return []
    return [" ".join(c.text.decode().partition("{")[2].rstrip()[:-1].split()) for c in candidates(answer)]


READ = "__hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)"


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        (
            "float add(float* p, float x)",
            (
                "int* a = (int*)p; int old = *a, was; do { was = old; old = atomicCAS(a, was,"
                " __float_as_int(x + __int_as_float(was))); } while (was != old); return __int_as_float(old);"
            ),
            ["int* a = (int*)p; int old = *a, was; old = __float_as_int(atomicAdd(p, x)); return __int_as_float(old);"],
        ),
        (
            "int least(int* p, int x)",
            (
                "int now = *p; while (now > x) { int seen = atomicCAS(p, now, x); if (seen == now) break; now = seen; }"
                " return now;"
            ),
            [
                "int now = *p; now = atomicMin(p, x); return now;",
                f"int now = *p; int found = {READ}; if (x < found) found = atomicMin(p, x); now = found; return now;",
            ],
        ),
        (
            "void most(unsigned* p, unsigned x)",
            "unsigned now = *p; while (now < x) now = atomicCAS(p, now, x);",
            ["atomicMax(p, x);", f"if (x > {READ}) atomicMax(p, x);"],
        ),
        (  # what HeCBench atomicCAS does, with the read in branches of the preprocessor
            "long long most(long long* p, long long x)",
            (
                "\n#ifdef A\n long long r = __atomic_load_n(p, __ATOMIC_RELAXED);\n#else\n long long r = *p;\n#endif\n"
                " while (x > r) { long long o = r; if ((r = (long long)atomicCAS((unsigned long long*)p,"
                " (unsigned long long)o, (unsigned long long)x)) == o) break; } return r;"
            ),
            [
                (
                    "#ifdef A long long r = __atomic_load_n(p, __ATOMIC_RELAXED); #else long long r = *p; #endif"
                    " r = atomicMax(p, x); return r;"
                ),
                (
                    "#ifdef A long long r = __atomic_load_n(p, __ATOMIC_RELAXED); #else long long r = *p; #endif"
                    f" long long found = {READ}; if (x > found) found = atomicMax(p, x); r = found; return r;"
                ),
            ],
        ),
        (
            "long long add(long long* p, long long x)",
            (
                "long long o, n, r = *p; do { o = r; n = o + x; } while ((r = (long long)atomicCAS("
                "(unsigned long long*)p, (unsigned long long)o, (unsigned long long)n)) != o);"
            ),
            ["atomicAdd((unsigned long long*)p, x);"],
        ),
        (  # asked once, for the first step only
            "void swap(int* p, int x)",
            "int o = *p, w; if (o >= x) return; do { w = o; o = atomicCAS(p, w, x); } while (o != w);",
            ["int o = *p, w; if (o >= x) return; atomicExch(p, x);"],
        ),
        (
            "void less(unsigned* p, unsigned x)",
            "unsigned o; do { o = *p; } while (atomicCAS(p, o, o - x) != o);",
            ["atomicSub(p, x);"],
        ),
    ],
    ids=("sum", "minimum", "no-break", "branches", "wide", "asked-once", "difference"),
)  # fmt: skip
def test_a_device_function_becomes_the_operation(head: str, body: str, expected: list[str]) -> None:
    assert rewritten(f"__device__ {head} {{ {body} }}") == expected


@pytest.mark.parametrize(
    "loop",
    [
        "while (atomicCAS(p, 0, 1)) {}",
        "while (true) { int seen = atomicCAS(&p[x], -1, x); if (seen == -1 || seen == x) break; x++; }",
        "int o; do { o = *p; if (o >= 10) break; } while (atomicCAS(p, o, o + 1) != o);",
        "int o = *p, w; do { w = o; o = atomicCAS(p, w, w * x); } while (o != w);",
        "int o = *p, w; do { w = o; o = atomicCAS(p, w, w + x); } while (o != w && --n);",
        "int o = *p, w; do { w = o; o = atomicCAS(p, w, w + x++); } while (o != w);",
        "int o = *p, w; do { w = o; o = atomicCAS(p, w, w + x); p[1] = 0; } while (o != w);",
        "int o = 7; while (o < x) { int w = o; o = atomicCAS(p, w, x); if (o == w) break; }",
        "int o = *p; while (o < x) { int w = o; o = atomicCAS(p, w, n); if (o == w) break; }",
        "int o = *p; while (o < n) { int w = o; o = atomicCAS(p, w, x); if (o == w) break; }",
        "int o = *p; __syncthreads(); while (o < x) { int w = o; o = atomicCAS(p, w, x); if (o == w) break; }",
        "int o = *p, w; do { w = o; o = atomicCAS(p, w, w + (int)(f * w)); } while (o != w);",
        "int o = *p, w; do { w = o; o = atomicCAS(p, w, (int)(__int_as_float(w) + f)); } while (o != w);",
        "int o = *p, w; do { w = o; o = atomicCAS(p, w, (int)(w + f)); } while (o != w);",
        "int o = *p, w; do { w = o; o = atomicCAS(p, w, __float_as_int(__int_as_float(w) + 1.0)); } while (o != w);",
        "int o = *p, w; int& r = w; do { w = o; o = atomicCAS(p, w, w + r); } while (o != w);",
        "int o = *p, w; do { w = o; o = atomicCAS(p + w, w, w + x); } while (o != w);",
        "int o = *p, w, k = 0; do { w = o; o = atomicCAS(p, w, w + x); ++k; } while (o != w); p[1] = k;",
        "int o = *p, w; do { w = o; o = atomicCAS(p, w, w + x); if (o != w) p++; } while (o != w);",
        "unsigned o = *p; while (o < x) { unsigned w = o; o = atomicCAS(p, (int)w, x); if (o == w) break; }",
        "int o = *p; do { o = *p; } while (o < x && atomicCAS(p, o, n) != o);",
        "int o = *p, w; if (o >= x) return; do { w = o; o = atomicCAS(p, w, x); } while (o != w && o < n);",
        "int o = *p; while (o < x) { int w = o; o = atomicCAS(p, w, x); } *p = o;",
        "for (int o = *p;;) { int w = o; o = atomicCAS(p, w, w + x); if (o == w) break; }",
        "int o = *p, w; do { w = o; o = atomicCAS(p, w, w + q[0]); } while (o != w);",
        "volatile int v = x; int o = *p, w; do { w = o; o = atomicCAS(p, w, w + v); } while (o != w);",
        "long long y = x; int o = *p, w; do { w = o; o = atomicCAS(p, w, w + y); } while (o != w);",
        "int o = *p; ++o; while (o < x) { int w = o; o = atomicCAS(p, w, x); if (o == w) break; }",
        "int o = *p, w; do { w = o; o = atomicCAS(p, w, w - x); } while (w != o && o > 0);",
        "int o = *p, w; do { w = o; o = atomicCAS(p, w, x - w); } while (w != o);",
        "int o = *p; atomicCAS(p, o, o + x); for (int k = 0; k < n; ++k) o = atomicCAS(p, o, o + x);",
    ],
    ids=(
        "lock", "hash", "limit", "product", "tries", "counts", "store", "no-read", "other-value", "other-bound",
        "barrier", "double-use", "value-cast", "float-sum", "wider", "reference", "address", "result", "moved",
        "signs", "exchange", "other-end", "goes-on", "endless", "memory",
        "volatile", "wider-integer", "moved-read", "more-ends", "turned", "steps",
    ),
)  # fmt: skip
def test_another_loop_is_left_alone(loop: str) -> None:
    text = f"__global__ void k(int* p, int* q, int x, int n, float f) {{ {loop} }}"
    assert isinstance(ask("native_atomic", text.encode(), LaunchFacts()), Refusal)


def test_the_last_read_value_goes_to_who_uses_it() -> None:
    text = (
        "__device__ float add(float* p, float x, int* seen) { int o = *(int*)p, w; do { w = o; o ="
        " atomicCAS((int*)p, w, __float_as_int(__int_as_float(w) + x)); } while (o != w); *seen = w;"
        " return __int_as_float(o) + x; }"
    )
    assert rewritten(text) == [
        (
            "int o = *(int*)p, w; const float found = atomicAdd(p, x); o = __float_as_int(found);"
            " w = __float_as_int(found); *seen = w; return __int_as_float(o) + x;"
        )
    ]


# Each cell meets numbers of both signs, zeros of both signs, infinities and what is no number.
PROGRAM = """#include <hip/hip_runtime.h>
#include <cmath>
#include <cstdio>
#include <vector>
__global__ void extremes(float* most, double* least, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  const double y = 1.5 * in[i];
  int* place = (int*)&most[i & 7];
  int now = *place;
  while (x > __int_as_float(now)) {
    const int was = now;
    now = atomicCAS(place, was, __float_as_int(x));
    if (now == was) break;
  }
  unsigned long long* cell = (unsigned long long*)&least[i & 7];
  unsigned long long seen = *cell;
  while (y < __longlong_as_double(seen)) {
    const unsigned long long was = seen;
    seen = atomicCAS(cell, was, __double_as_longlong(y));
    if (seen == was) break;
  }
}
int main() {
  const int n = 2048;
  std::vector<float> in(n), most = {-9e9f, -1.0f, NAN, -INFINITY, 0.0f, -0.0f, -500.0f, 9e9f};
  std::vector<double> least = {9e9, 1.0, NAN, INFINITY, 0.0, -0.0, 500.0, -9e9};
  for (int i = 0; i < n; ++i) in[i] = (i * 37 % 401 - 200) * ((i & 7) == 6 ? 1e-40f : 0.25f);
  for (int i = 0; i < n; i += 8) in[i + 4] = -0.0f, in[i + 5] = i % 16 ? 0.0f : NAN;
  in[3] = INFINITY, in[11] = -INFINITY, in[19] = NAN;
  float *a, *c;
  double* b;
  (void)hipMalloc(&a, 32);
  (void)hipMalloc(&b, 64);
  (void)hipMalloc(&c, n * 4);
  (void)hipMemcpy(a, most.data(), 32, hipMemcpyHostToDevice);
  (void)hipMemcpy(b, least.data(), 64, hipMemcpyHostToDevice);
  (void)hipMemcpy(c, in.data(), n * 4, hipMemcpyHostToDevice);
  extremes<<<n / 256, 256>>>(a, b, c, n);
  (void)hipMemcpy(most.data(), a, 32, hipMemcpyDeviceToHost);
  (void)hipMemcpy(least.data(), b, 64, hipMemcpyDeviceToHost);
  for (int k = 0; k < 8; ++k) printf("%g %g\\n", most[k], least[k]);
  return hipDeviceSynchronize();
}
"""


def test_extremes_of_floats_keep_zeros_and_what_is_no_number(tmp_path: Path) -> None:
    source = PROGRAM.encode()
    (rewrite,) = candidates(ask("native_atomic", source, LaunchFacts()))
    assert rewrite.exact
    assert rewrite.assumes == ("what is changed is memory of the device, not of the host",)
    assert b"atomicCAS" not in rewrite.text
    before, after = output_of(source, tmp_path / "before"), output_of(rewrite.text, tmp_path / "after")
    assert before.splitlines()[2:6] == ["nan nan", "inf -inf", "0 0", "-0 -0"]
    assert before == after


def test_a_finding_on_the_loop_can_name_the_operation() -> None:
    file = Path("/k.hip")
    text = PROGRAM.replace(
        "if (i >= n) return;", "if (i >= n) return;\n  while (atomicCAS((int*)most, 0, 1)) {}"
    )
    texts, lines = unsaved(file, text.encode()).texts, text.splitlines()
    at = {n: emulated_at(texts, str(file), n) for n, line in enumerate(lines, 1) if "atomicCAS" in line}
    assert list(at.values()) == ["", "atomicMax", "atomicMin"]
    assert emulated_at(texts, str(file), 9) is None
