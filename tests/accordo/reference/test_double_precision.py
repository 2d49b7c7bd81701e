"""Double precision as the measure, for each type of float: right rewrites that round otherwise, and wrong ones."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from hipscope.accordo import api as accordo
from hipscope.accordo.model.verdict import Verdict
from hipscope.accordo.oracle.launch import Images
from hipscope.accordo.oracle.source import widened
from hipscope.accordo.proof.validate import validate
from hipscope.accordo.reference.double_precision import Oracles
from hipscope.accordo.reference.prepare import Reference
from hipscope.accordo.reference.run import ReferenceRun
from hipscope.accordo.reference.settings import ReferenceSettings

# Each work-item adds up kTerms numbers; the host gives them both signs and many sizes.
PROGRAM = """#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <hip/hip_bfloat16.h>
#include <cstdio>
#include <vector>
constexpr int kTerms = 64;
constexpr float kWeight = 0.398942280f;
__device__ float weighted(float x) { return x * kWeight; }
__global__ void sum_float(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = 0; k < kTerms; ++k) sum += in[k * n + i];
  out[i] = sum;
}
__global__ void bell_float4(const float4* in, float4* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 v = in[i];
  out[i] = make_float4(weighted(v.x), weighted(v.y), weighted(v.z), weighted(v.w));
}
__global__ void turn_float2(const float2* in, float2* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = make_float2(in[i].x * 0.8f - in[i].y * 0.6f, in[i].x * 0.6f + in[i].y * 0.8f);
}
__global__ void sum_half(const __half* in, __half* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half sum = __float2half(0.0f);
  for (int k = 0; k < kTerms; ++k) sum = __hadd(sum, in[k * n + i]);
  out[i] = sum;
}
__global__ void sum_half2(const __half2* in, __half2* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half2 sum = __floats2half2_rn(0.0f, 0.0f);
  for (int k = 0; k < kTerms; ++k) sum = __hadd2(sum, in[k * n + i]);
  out[i] = sum;
}
__global__ void sum_bfloat(const __bf16* in, __bf16* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = 0; k < kTerms; ++k) sum = (float)(__bf16)(sum + (float)in[k * n + i]);
  out[i] = (__bf16)sum;
}
struct Body { float mass, at; };
__global__ void sum_bodies(const Body* bodies, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float total = 0;
  for (int k = 0; k < kTerms; ++k) total += bodies[k * n + i].mass * bodies[k * n + i].at;
  out[i] = total;
}
__global__ void turn_bodies(const float2* by, Body* bodies, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) bodies[i] = {by[i].x * 0.28f - by[i].y * 0.96f, by[i].x * 0.96f + by[i].y * 0.28f};
}
struct Place { double far, near; };
__global__ void move_places(const float* by, Place* places, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const Place p = {1e6 * by[i], 1e-6 * by[i]};
  places[i] = {p.far * 3.0, p.near / 3.0};
}
__global__ void unrelated(float* p) { asm volatile("s_nop 0"); p[0] = 1; }
static float made(int i) { return ((i * 37 % 101) / 25.0f - 2.0f) * (1 << i % 3); }
template <typename T, typename Make> static T* filled(int count, Make make) {
  std::vector<T> host(count);
  for (int i = 0; i < count; ++i) host[i] = make(i);
  T* device;
  (void)hipMalloc(&device, count * sizeof(T));
  (void)hipMemcpy(device, host.data(), count * sizeof(T), hipMemcpyHostToDevice);
  return device;
}
static unsigned short half_bits(int i) { return 0x3000 + i * 2654435761u % 0x0fff + (i % 3 == 0 ? 0x8000 : 0); }
static unsigned short bfloat_bits(int i) { return 0x3e80 + i * 2654435761u % 0x01ff + (i % 3 == 0 ? 0x8000 : 0); }
int main() {
  const int n = 128, many = n * kTerms;
  float* floats = filled<float>(many, made);
  unsigned short* halves = filled<unsigned short>(2 * many, half_bits);
  unsigned short* bfloats = filled<unsigned short>(many, bfloat_bits);
  char* out;
  (void)hipMalloc(&out, 4096);
  char* outs[9];
  for (char*& p : outs) (void)hipMalloc(&p, 16 * n);
  sum_float<<<2, 64>>>(floats, (float*)outs[0], n);
  bell_float4<<<2, 64>>>((float4*)floats, (float4*)outs[1], n);
  turn_float2<<<2, 64>>>((float2*)floats, (float2*)outs[2], n);
  sum_half<<<2, 64>>>((__half*)halves, (__half*)outs[3], n);
  sum_half2<<<2, 64>>>((__half2*)halves, (__half2*)outs[4], n);
  sum_bfloat<<<2, 64>>>((__bf16*)bfloats, (__bf16*)outs[5], n);
  sum_bodies<<<1, 64>>>((Body*)floats, (float*)outs[6], n / 2);
  turn_bodies<<<2, 64>>>((float2*)floats, (Body*)outs[7], n);
  move_places<<<2, 64>>>(floats, (Place*)outs[8], n);
  unrelated<<<1, 1>>>((float*)out);
  (void)hipDeviceSynchronize();
}
"""
FLOAT_LOOP = "for (int k = 0; k < kTerms; ++k) sum += in[k * n + i];\n  out[i] = sum;"
HALF_LOOP = "for (int k = 0; k < kTerms; ++k) sum = __hadd(sum, in[k * n + i]);"
HALF2_LOOP = "for (int k = 0; k < kTerms; ++k) sum = __hadd2(sum, in[k * n + i]);"
HALF_PAIR = "__hadd(in[k * n + i], in[(k + 1) * n + i])"
HALF2_PAIR = HALF_PAIR.replace("__hadd", "__hadd2")
BFLOAT_LOOP = "for (int k = 0; k < kTerms; ++k) sum = (float)(__bf16)(sum + (float)in[k * n + i]);"
TREE = """float part[kTerms];
  for (int k = 0; k < kTerms; ++k) part[k] = in[k * n + i];
  for (int half_ = kTerms / 2; half_ > 0; half_ /= 2)
    for (int k = 0; k < half_; ++k) part[k] += part[k + half_];
  out[i] = part[0];"""

BODIES_LOOP = "for (int k = 0; k < kTerms; ++k) total"

Compare = Callable[[str, str, str], Verdict]


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compare]:
    """Each kernel is recorded and prepared once for all candidates."""
    folder = tmp_path_factory.mktemp("precision")
    (folder / "reference.hip").write_text(PROGRAM)
    with ExitStack() as recordings:

        @functools.cache
        def prepared(kernel: str) -> tuple[accordo.Recording, Reference]:
            recording = recordings.enter_context(accordo.capture(folder / "reference.hip", kernel=kernel))
            return recording, accordo.prepare(recording)

        def compare(kernel: str, old: str, new: str) -> Verdict:
            assert PROGRAM.count(old) == 1
            recording, reference = prepared(kernel)
            candidate = (
                folder / f"candidate_{len(list(folder.iterdir()))}.hip"
            )  # a recording reads a file once
            candidate.write_text(PROGRAM.replace(old, new))
            return validate(reference, accordo.code_object_of(recording, candidate).path)

        yield compare


@pytest.mark.parametrize(
    ("kernel", "old", "new"),
    [
        pytest.param("sum_float", FLOAT_LOOP, TREE, marks=pytest.mark.slow),
        ("sum_float", "k = 0; k < kTerms; ++k) sum +=", "k = kTerms - 1; k >= 0; --k) sum +="),
        pytest.param("bell_float4", "weighted(v.w)", "kWeight * v.w", marks=pytest.mark.slow),
        pytest.param("turn_float2", "in[i].x * 0.8f - in[i].y * 0.6f", "fmaf(in[i].x, 0.8f, in[i].y * -0.6f)",
                     marks=pytest.mark.slow),
        pytest.param("sum_half", HALF_LOOP, HALF_LOOP.replace("++k", "k += 2").replace("in[k * n + i]", HALF_PAIR),
                     marks=pytest.mark.slow),
        pytest.param("sum_half2", HALF2_LOOP, HALF2_LOOP.replace("++k", "k += 2").replace("in[k * n + i]", HALF2_PAIR),
                     marks=pytest.mark.slow),
        pytest.param("sum_bfloat", BFLOAT_LOOP, BFLOAT_LOOP.replace(
            "(float)(__bf16)(sum + (float)in[k * n + i])", "sum + (float)in[k * n + i]"), marks=pytest.mark.slow),
        ("sum_bodies", BODIES_LOOP, "for (int k = kTerms - 1; k >= 0; --k) total"),
    ],
)  # fmt: skip
def test_another_right_rounding_is_accepted(compared: Compare, kernel: str, old: str, new: str) -> None:
    verdict = compared(kernel, old, new)
    assert verdict.equivalent, verdict.explain()
    assert not [note for note in verdict.notes if "double" in note]


@pytest.mark.parametrize(
    ("kernel", "old", "new"),
    [
        ("sum_float", "out[i] = sum;\n}\n__global__ void bell", "out[i] = sum * 1.00001f;\n}\n__global__ void bell"),
        ("bell_float4", "weighted(v.w)", "v.w * 0.398942f"),
        ("turn_float2", "in[i].x * 0.6f", "in[i].x * 0.599998f"),
        ("sum_half", HALF_LOOP, HALF_LOOP.replace("k < kTerms", "k < kTerms - 1")),
        ("sum_half2", HALF2_LOOP, HALF2_LOOP.replace("k < kTerms", "k < kTerms - 1")),
        pytest.param("sum_bfloat", "out[i] = (__bf16)sum;", "out[i] = (__bf16)(sum * 1.1f);", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_a_wrong_result_is_rejected(compared: Compare, kernel: str, old: str, new: str) -> None:
    verdict = compared(kernel, old, new)
    assert verdict.outcome == "different", verdict.explain()


@pytest.mark.parametrize(
    ("kernel", "old", "new", "outcome"),
    [
        ("turn_bodies", "by[i].x * 0.28f - by[i].y * 0.96f", "0.28f * (by[i].x - by[i].y * 3.4285715f)", "equivalent"),
        ("move_places", "p.far * 3.0", "p.far + p.far + p.far", "equivalent"),
        ("move_places", "p.near / 3.0", "p.near * (1.0 / 3.0)", "equivalent"),
        ("move_places", "p.near / 3.0", "p.near / 3.0 * (1 + 1e-9)", "different"),
    ],
)  # fmt: skip
def test_members_of_structures_are_as_exact_as_the_smallest_asks_for(
    compared: Compare, kernel: str, old: str, new: str, outcome: str
) -> None:
    """A tolerance by members of all sizes would hide what goes wrong in the small ones."""
    verdict = compared(kernel, old, new)
    assert verdict.outcome == outcome, verdict.explain()


def test_an_element_that_hardly_moves_in_four_runs_may_do_so_by_chance(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[int] = []

    def nudged(_self: Oracles, _run: object, seed: int, _cancel: object) -> Images:
        asked.append(seed)
        return {3: np.array([2.0 if seed > 4 else 0.0, 2.0])}

    monkeypatch.setattr(Oracles, "images", lambda *_, **__: {3: np.zeros(2)})
    monkeypatch.setattr(Oracles, "_nudged", nudged)
    run = cast("ReferenceRun", SimpleNamespace(label="some inputs"))
    oracles = Oracles(cast("ReferenceSettings", None), run, (), tmp_path)
    assert oracles.roundings(run)[3].tolist() == [0, 2]
    assert oracles.roundings(run, more=True)[3] == pytest.approx([2 * (12 / 16) ** 0.5, 2])
    oracles.roundings(run)
    assert asked == list(range(1, 17))


def test_only_the_kernel_and_what_it_uses_are_widened() -> None:
    text, why = widened(PROGRAM, "bell_float4")
    assert text is not None, why
    added = text.split('extern "C++"')[1].split("} }")[0]
    assert "make_double4(weighted(v.x)" in added
    assert "constexpr double kWeight = 0.398942280;" in added
    assert "double weighted(double x)" in added
    assert "sum_float" not in added
    assert "kTerms" not in added
    assert text.replace(f'\nextern "C++"{added}}} }}\n', "") == PROGRAM


def test_what_a_kernel_uses_of_other_files_is_widened_too() -> None:
    types = "struct Cell { float value; };\n#define HALF 0.5f\n"
    helpers = "__device__ float bump(const Cell& c) { return sqrtf(c.value) + HALF; }\nfloat unused();\n"
    text = "__global__ void k(const Cell* in, float* out) { out[0] = bump(in[0]); }\n"
    wide, why = widened(text, "k", (), (types, helpers))
    assert wide is not None, why
    added = wide.split('extern "C++"')[1]
    assert "struct Cell { double value; };" in added
    assert "__device__ double bump(const Cell& c) { return sqrt(c.value) + HALF; }" in added
    assert "#define HALF 0.5\n" in wide
    assert "unused" not in wide


def test_of_two_definitions_for_two_cases_the_compiler_chooses_as_for_the_kernel() -> None:
    """The last one is not the one that counts: here it makes nothing wider, as it is double already."""
    types = """#ifndef TYPES_H
#define TYPES_H
#define SINGLE
#ifdef SINGLE
using real = float;
#define HALF 0.5f
#elif defined(LONG)
using real = long double;
#else
using real = double;
#define HALF 0.5
#endif
#endif
"""
    wide, why = widened("__global__ void k(real* p) { *p *= HALF; }\n", "k", (), (types,))
    assert wide is not None, why
    assert "#ifdef SINGLE\nusing real = double;\n#endif" in wide
    assert "#ifdef SINGLE\n#elif defined(LONG)\n#else\nusing real = double;\n#endif" in wide
    assert '#pragma push_macro("HALF")\n#ifdef SINGLE\n#undef HALF\n#define HALF 0.5\n#endif\n' in wide
    assert wide.count("push_macro") == wide.count("pop_macro") == 1
    assert "TYPES_H" not in wide


def test_a_template_is_made_for_the_instance_that_was_launched() -> None:
    text = """#define HALF 0.5f
namespace ns {
template <typename T, int N> __global__ void k(const T* in, T* out) { out[N] = in[N] * HALF; }
}
"""
    wide, why = widened(text, "k", ["void ns::k<float, 64>(float const*, float*)"])
    assert wide is not None, why
    assert "template __global__ void k<double, 64>(double const*, double*);" in wide
    assert '#pragma push_macro("HALF")\n#undef HALF\n#define HALF 0.5\n' in wide
    assert '#pragma pop_macro("HALF")' in wide


def test_in_a_structure_by_value_only_the_pointers_lead_to_doubles() -> None:
    text = """struct Body { float mass; };
struct Field { float* data; float at(int i) const { return data[i]; } };
struct Grid { Field in; float *out, *other; const Body* bodies; float scale; int n; };
__global__ void k(Grid g) { g.out[0] = g.scale * g.in.at(0) * g.bodies[0].mass; }
"""
    wide, why = widened(text, "k")
    assert wide is not None, why
    added = wide.split('extern "C++"')[1]
    assert "struct Field { double* data; double at(int i) const { return data[i]; } };" in added
    assert "struct Grid { Field in; double *out, *other; const Body* bodies; float scale; int n; };" in added


@pytest.mark.parametrize("call", ["sincosf(x, &s, &c)", "__sincosf(x, &s, &c)", "sincospif(x, &s, &c)"])
def test_a_function_that_stores_floats_stores_doubles(call: str) -> None:
    wide, why = widened(
        f"__global__ void k(float* p) {{ float x = *p, s, c; {call}; *p = s + tgammaf(c); }}", "k"
    )
    assert wide is not None, why
    added = wide.split('extern "C++"')[1]
    assert f"double x = *p, s, c; {call.strip('_').replace('f(', '(')}; *p = s + tgamma(c);" in added


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("__global__ void k(float* p) { p[0] = __int_as_float(3); }", "it uses `__int_as_float`"),
        ("__global__ void k(int* p) { p[0] = 1; }", "the kernel has no `float`"),
        ("__global__ void other(float* p) { p[0] = 1; }", "the source has no definitions of `k`"),
        ("namespace a { __device__ float f(float x) { return x; } }  __global__ void k(float* p) { *p = a::f(*p); }",
         "it uses `f` by its namespace"),
    ],
)  # fmt: skip
def test_what_words_cannot_widen_is_said(text: str, why: str) -> None:
    assert widened(text, "k") == (None, why)
