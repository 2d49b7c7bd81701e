"""Recipe output before the real judge: what the recipe writes is proved equivalent, and a slip in it is rejected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from hipscope.analysis.config import Config, OptimizeConfig
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.judge.bench import Bench, open_bench
from hipscope.formulas.judge.judge import Judgement, admit, judge_candidate, prove
from hipscope.formulas.propose.candidate import Candidate
from hipscope.formulas.propose.rules.tiles import register_tile
from tests.formulas.propose.rules.cases import BY_NAME

PROGRAM = """#include <hip/hip_runtime.h>
#include <cstdio>
#include <vector>
__global__ void literals(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 0.3 + 1.0 / (2.0 + in[i] * in[i]);
}
__global__ void tree(const int* in, int* out, int n) {
  __shared__ int sums[128];
  const unsigned tid = threadIdx.x;
  const unsigned i = blockIdx.x * blockDim.x + tid;
  sums[tid] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned s = 1; s < blockDim.x; s *= 2) {
    if (tid % (2 * s) == 0) sums[tid] += sums[tid + s];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = sums[0];
}
__global__ void halves(const float* in, float* out, int n) {
  __shared__ float sums[128];
  const unsigned tid = threadIdx.x;
  const unsigned i = blockIdx.x * blockDim.x + tid;
  sums[tid] = i < n ? in[i] * 0.3f : 0.0f;
  for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
    __syncthreads();
    if (tid < s) sums[tid] += sums[tid + s];
  }
  if (tid == 0) out[blockIdx.x] = sums[0];
}
__global__ void rows(const float* in, float* out, int width, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int y = i / width;
  const int x = i % width;
  out[i] = in[y] + 2.0f * x;
}
__global__ void scaled(const float* in, const float* factor, float* out, float* twice, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = in[i] * factor[0];
  twice[i] = 2.0f * in[i] * factor[0];
}
__global__ void columns(const float* in, float* out, int width, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  for (int y = 0; y < width; ++y) sum += in[y * n + i];
  out[i] = sum;
}
__global__ void fast(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = expf(-0.01f * in[i] * in[i]) + in[i] / 3.0f;
}
__global__ void kinds(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float t = in[i];
  if (in[i] > 3.0f) {
    for (int step = 0; step < 20; ++step) t -= 0.25f * (t - 2.0f);
  } else {
    for (int step = 0; step < 20; ++step) t -= 0.125f * (t - 5.0f);
  }
  out[i] = t;
}
__global__ void looped(const float* in, float* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float t = in[i];
    for (int step = 0; step < 12; ++step) t = t * 0.5f + in[i];
    out[i] = t;
  }
}
__global__ void divided(const float* in, float* out, float scale, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float t = in[i];
  for (int step = 0; step < 12; ++step) t = (t + 1.0f) / scale;
  out[i] = t;
}
__global__ void filtered(const float* in, float* out, int taps, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  for (int q = 0; q < taps; ++q) {
    if (i + q < n) sum += in[i + q];
  }
  out[i] = sum;
}
__global__ void tiled(const float* in, float* out, int width, int n) {
  __shared__ float tile[128];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  for (int t = 0; t < width; ++t) {
    tile[threadIdx.x] = i + t < n ? in[i + t] : 1.0f;
    __syncthreads();
    sum = sum * 0.5f + tile[threadIdx.x ^ 1];
    __syncthreads();
  }
  if (i < n) out[i] = sum;
}
__global__ void edges(const float* in, const float* factor, float* out, int n) {
  __shared__ float tile[130];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  tile[threadIdx.x + 1] = in[i];
  if (threadIdx.x == 0) tile[0] = i > 0 ? in[i - 1] : 0.0f;
  if (threadIdx.x == blockDim.x - 1 || i == n - 1) tile[threadIdx.x + 2] = in[i + 1];
  __syncthreads();
  out[i] = tile[threadIdx.x] + tile[threadIdx.x + 2] * factor[i & 15];
}
__global__ void counted(const int* in, int* out, int n) {
  __shared__ int some;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) some = 0;
  __syncthreads();
  if (i < n && in[i % 16384] > 9) atomicAdd(&some, in[i % 16384] & 15);
  __syncthreads();
  if (threadIdx.x == blockDim.x - 1) atomicAdd(out, some * (blockIdx.x % 5 + 1));
}
__global__ void summed(const int* in, int* out, int* most, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (in[i] & 1) atomicAdd(&out[threadIdx.x], in[i] & 15);
    atomicMax(most + threadIdx.x, in[i] & 255);
  }
}
__global__ void chained(const float* in, float* out, int taps, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int k = i % 3; k < taps; ++k) {
    out[i] = out[i] * 0.5f + in[i + k];
    if (in[i + k] > 20.0f) continue;
    out[i] -= in[k];
  }
}
__global__ void pairs(const float* in, float* out, int* near, int width, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float sum = 0.0f;
    int count = 0;
    for (int j = 0; j < width; ++j) {
      const float distance = in[j] - in[i];
      if (j != i && distance < 4.0f) ++count;
      sum += distance * distance;
    }
    out[i] = sum;
    atomicAdd(&near[threadIdx.x & 7], count);
  }
}
__global__ void multiplied(const float* in, float* out, int width, int n) {
  const int row = blockIdx.y * 16 + threadIdx.y;
  const int col = blockIdx.x * 16 + threadIdx.x;
  if (row < n && col < n) {
    float sum = out[row * n + col];
    for (int k = 0; k < width; ++k) sum += in[row * width + k] * in[k * n + col];
    out[row * n + col] = sum;
  }
}
__global__ void gathered(const float* in, float* out, int n) {
  __shared__ float parts[128];
  const int i = blockIdx.x * 128 + threadIdx.x;
  parts[threadIdx.x] = i < n ? in[i] * 0.3f : 0.0f;
  __syncthreads();
  if (threadIdx.x == 0) {
    float sum = 0.0f;
    for (int t = 0; t < 128; ++t) sum += parts[t];
    out[blockIdx.x] = sum;
  }
}
__global__ void searched(const float* in, float* out, int n) {
  __shared__ float parts[128];
  const int i = blockIdx.x * 128 + threadIdx.x;
  parts[threadIdx.x] = i < n ? in[i] : 0.0f;
  __syncthreads();
  if (threadIdx.x == 0) {
    float best = -1.0f;
    int at = -1;
    for (int t = 0; t < 128; ++t) {
      if (fabsf(parts[t]) > fabsf(best)) {
        best = parts[t];
        at = t;
      }
    }
    out[2 * blockIdx.x] = best;
    out[2 * blockIdx.x + 1] = at;
  }
}
__global__ void periodic(const float* in, float* out, int width, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int x = i % width;
  const int y = i / width;
  const int right = i - x + (x + 1) % width;
  const int left = i - x + (width + x - 1) % width;
  const int other = (y + 1) % width * width + x;
  out[i] = in[right] - 2.0f * in[left] + 0.5f * in[other];
}
int main(int argc, char**) {
  const int block = argc > 1 ? 256 : 128;
  const int n = 2600;
  std::vector<float> host(16384);
  for (int i = 0; i < 16384; ++i) host[i] = i % 37 - 11.0f;
  float *in, *out, *twice, *factor;
  (void)hipMalloc(&in, 65536);
  (void)hipMalloc(&out, 65536);
  (void)hipMalloc(&twice, 65536);
  (void)hipMalloc(&factor, 64);
  (void)hipMemcpy(in, host.data(), 65536, hipMemcpyHostToDevice);
  (void)hipMemcpy(factor, host.data(), 64, hipMemcpyHostToDevice);
  literals<<<41, 64>>>(in, out, n);
  tree<<<21, 128>>>((const int*)in, (int*)out, n);
  halves<<<21, 128>>>(in, out, n);
  rows<<<21, 128>>>(in, out, 37, n);
  scaled<<<21, 128>>>(in, factor, out, twice, n);
  multiplied<<<dim3(4, 4), dim3(16, 16)>>>(in, out, 37, 50);
  columns<<<5, 128>>>(in, out, 23, 600);
  fast<<<41, 64>>>(in, out, n);
  kinds<<<21, 128>>>(in, out, n);
  looped<<<5, block>>>(in, out, n);
  divided<<<21, 128>>>(in, out, 1.7f, n);
  filtered<<<21, 128>>>(in, out, 5, n);
  tiled<<<21, 128>>>(in, out, 5, n);
  edges<<<21, 128>>>(in, factor, out, n);
  summed<<<4, 128>>>((const int*)in, (int*)twice, (int*)out, n);
  chained<<<21, 128>>>(in, out, 4, n);
  counted<<<301, 128>>>((const int*)in, (int*)twice, 301 * 128 - 50);
  pairs<<<259, 64>>>(in, out, (int*)twice, 9, 16384);
  gathered<<<21, 128>>>(in, out, n);
  searched<<<21, 128>>>(in, out, n);
  periodic<<<21, 128>>>(in, out, 37, n);
  return hipDeviceSynchronize();
}
"""
TURNED = """#include <hip/hip_runtime.h>
#include <vector>
__global__ void turned(const float* in, float* out) {
  __shared__ float tile[128][128];
  for (unsigned r = threadIdx.y; r < 128; r += blockDim.y) {
    for (unsigned c = threadIdx.x; c < 128; c += blockDim.x) tile[r][c] = in[r * 128 + c];
  }
  __syncthreads();
  for (unsigned r = threadIdx.y; r < 128; r += blockDim.y) {
    for (unsigned c = threadIdx.x; c < 128; c += blockDim.x) out[r * 128 + c] = tile[c][r];
  }
}
int main() {
  std::vector<float> host(16384);
  for (int i = 0; i < 16384; ++i) host[i] = i % 37 - 11.0f;
  float *in, *out;
  (void)hipMalloc(&in, 65536);
  (void)hipMalloc(&out, 65536);
  (void)hipMemcpy(in, host.data(), 65536, hipMemcpyHostToDevice);
  turned<<<1, dim3(64, 8)>>>(in, out);
  return hipDeviceSynchronize();
}
"""
# Recipe, kernel, and slips: a text of the recipe's output and what stands there instead.
JUDGED = [
    ("float_math", "literals", [("0.3f", "0.31f"), ("2.0f +", "2.0f -")]),
    ("xcd_remap", "literals", [("+ rank;", "+ rank / 2;"), (": rest)", ": 0)")]),
    ("sequential_tree", "tree", [("left / 2)", "left / 2 - 1)"), ("sums[tid + half]", "sums[tid + half - 1]")]),
    ("wave_tree", "halves", [("warpSize / 2;", "warpSize / 4;"), ("+= other", "+= 2 * other")]),
    ("wave_sum", "gathered", [("warpSize / 2;", "warpSize / 4;"), ("t = threadIdx.x;", "t = threadIdx.x / 2;")]),
    (
        "wave_search",
        "searched",
        [
            ("offset *= 2", "offset *= 4"),
            ("begin = threadIdx.x * per_lane", "begin = threadIdx.x"),
            ("fabsf(other_best) >", "fabsf(other_best) >="),
            ("fabsf(parts[t]) >", "fabsf(parts[t]) >="),
        ],
    ),
    ("wrap_around", "periodic", [("x + 1 : 0", "x + 1 : 1"), ("x > 0 ?", "x > 1 ?"), ("? y + 1 :", "? y :")]),
    ("division", "rows", [("i - y * width", "i - y * n"), ("unsigned>(i) /", "unsigned>(i + 1) /")]),
    ("restrict", "scaled", [("in[i] * factor[0];\n  twice", "in[0] * factor[0];\n  twice")]),
    ("fast_math", "fast", [("__expf(", "__exp10f("), ("rcpf(3.0f)", "rcpf(3.001f)")]),
    ("merge_branches", "kinds", [("0.25f : 0.125f", "0.125f : 0.25f"), ("> 3.0f", ">= 3.0f")]),
    ("fixed_trips", "filtered", [("q < 5", "q < 4"), ("int q = 0; q < taps", "int q = 1; q < taps")]),
    ("masked_loads", "filtered", [("? i + q : 0", "? i : 0"), ("inside ? next_sum : sum", "next_sum")]),
    ("prefetch", "tiled", [("load_next(t + 1)", "load_next(t)"), ("load_next(0)", "load_next(1)")]),
    ("hoist_loads", "edges", [("= in[i - 1];", "= in[i];"), ("in_value_2 = in[i + 1]", "in_value_2 = in[i]")]),
    (
        "block_coarsening",
        "counted",
        [
            ("block = blockIdx.x;", "block = blockIdx.x + 1;"),
            ("block < gridDim.x", "block + 1 < gridDim.x"),
            ("__syncthreads();  // the next", "// the next"),
        ],
    ),
    ("wave_reduce", "counted", [("offset = warpSize / 2", "offset = warpSize / 4"), ("% warpSize == 0", "% 32 == 0")]),
    ("register_sum", "summed", [("loop_sum += ", "loop_sum = "), ("max(loop_value, ", "max(0, ")]),
    ("scalar_replacement", "chained", [("(i % 3) < taps", "(i % 3) < taps - 1"), ("out[i] = out_value;", ";")]),
    (
        "lds_tile",
        "multiplied",
        [
            ("row < n ? in", "row < n - 1 ? in"),
            ("first_k + tile_k <= width", "first_k + tile_k - 1 <= width"),
            ("in_tile[step][threadIdx.y]", "in_tile[step][threadIdx.x]"),
            ("k = first_k; k < width", "k = 0; k < width"),
            ("__syncthreads();\n    }", "}"),
        ],
    ),
    (
        "register_tile",
        "pairs",
        [
            ("inside[t] && i[t] < n", "inside[t] && i[t] < n - 1"),
            ("if (inside[t]) atomicAdd", "atomicAdd"),
            ("outputs + (inside[t] ? t : 0)", "outputs"),
            ("gridDim.x + outputs - 1", "gridDim.x"),
        ],
    ),
    ("reciprocal", "divided", [("1.0f / scale", "1.001f / scale"), ("(t + 1.0f)", "(t + 1.01f)")]),
]  # fmt: skip


class Benches(dict[str, Bench]):
    """Benches by kernel, opened when they are first asked for."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        super().__init__()
        self.folder, self.stack = folder, stack

    def __missing__(self, name: str) -> Bench:
        file = self.folder / f"{name}.hip"
        file.write_text(TURNED if name == "turned" else PROGRAM)
        # Only a user who has asked for fast arithmetic gets it, and then double precision is no measure.
        optimize = OptimizeConfig(fast_math=name == "fast")
        project = resolve_project(file, config=Config(backend="emulator", optimize=optimize))
        session = profile_project(project, options=ProfileOptions(backend="emulator", capture_dispatches=()))
        kernel = next(k for k in session.profile.kernels if k.name.startswith(name))
        self[name] = self.stack.enter_context(open_bench(project, session, kernel))
        return self[name]


@pytest.fixture(autouse=True)
def launches_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones are quick, and show as much of what a rewrite computes."""
    monkeypatch.setattr(register_tile, "_LEAST_WAVES", 1)


@pytest.fixture(scope="module")
def benches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Benches]:
    with ExitStack() as stack:
        yield Benches(tmp_path_factory.mktemp("judged"), stack)


def proposed(bench: Bench, recipe: str) -> Candidate:
    facts = replace(bench.facts, needs=None)  # as if nothing were known of spills: no kernel here has any
    answer = BY_NAME[recipe](bench.original, bench.kernel, None, facts)
    assert isinstance(answer, list), answer
    return answer[0]


@pytest.mark.slow
def test_whether_a_run_decides_the_size_of_the_workgroups_is_known(benches: Benches) -> None:
    assert benches["columns"].facts.written == 128
    assert benches["looped"].facts.threads == 128
    assert benches["looped"].facts.written is None


@pytest.mark.slow
@pytest.mark.parametrize(("recipe", "kernel", "slips"), JUDGED, ids=[f"{r}-{k}" for r, k, _ in JUDGED])
def test_the_recipe_is_proved_and_a_slip_in_it_is_not(
    recipe: str, kernel: str, slips: list[tuple[str, str]], benches: Benches
) -> None:
    bench = benches[kernel]
    candidate = proposed(bench, recipe)
    compiled = admit(bench, candidate, bench.run)
    assert not hasattr(compiled, "stage"), compiled
    verdict = prove(bench, candidate, compiled, bench.run)
    assert verdict.equivalent, verdict.reason
    for right, wrong in slips:
        text = candidate.text.replace(right.encode(), wrong.encode())
        assert text != candidate.text, candidate.text.decode()
        slip = Candidate("slip", "", text, "", exact=candidate.exact)
        assert is_rejected(bench, slip), wrong


def is_rejected(bench: Bench, slip: Candidate) -> bool:
    """Whether the judge, or the proof where the slip is too slow to be asked for one, finds it different."""
    judged = judge_candidate(bench, slip).stage
    if judged != "not_faster":
        return judged in ("different", "refused")
    compiled = admit(bench, slip, bench.run)
    return isinstance(compiled, Judgement) or not prove(bench, slip, compiled, bench.run).equivalent


VIEW = """#pragma once
#define HD __host__ __device__ __forceinline__
template <typename T> struct View {
  T* data;
  int nx, ny;
  HD T& at(int i, int j) { return data[i * ny + j]; }
  HD T operator()(int i, int j) const { return data[i * ny + j]; }
};
"""
VIEWED = """#include <hip/hip_runtime.h>
#include <vector>
#include "view.hpp"
template <typename T> __global__ void viewed(const View<T> in, View<T> out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < in.nx && y < in.ny) out.at(x, y) = T(2) * in(x, y) + T(x);
}
int main() {
  std::vector<float> host(120 * 70);
  for (int i = 0; i < 120 * 70; ++i) host[i] = i % 37 - 11.0f;
  View<float> in{nullptr, 120, 70}, out{nullptr, 120, 70};
  (void)hipMalloc(&in.data, host.size() * 4);
  (void)hipMalloc(&out.data, host.size() * 4);
  (void)hipMemcpy(in.data, host.data(), host.size() * 4, hipMemcpyHostToDevice);
  viewed<<<dim3(8, 5), dim3(16, 16)>>>(in, out);
  return hipDeviceSynchronize();
}
"""


@pytest.mark.slow
def test_accessors_in_a_header_are_seen_through_and_what_they_hide_is_proved(tmp_path: Path) -> None:
    (tmp_path / "view.hpp").write_text(VIEW)
    (tmp_path / "main.hip").write_text(VIEWED)
    project = resolve_project(tmp_path / "main.hip", config=Config(backend="emulator"))
    session = profile_project(project, options=ProfileOptions(backend="emulator", capture_dispatches=()))
    (kernel,) = session.profile.kernels
    with open_bench(project, session, kernel) as bench:
        assert not bench.kernel.through.opaque
        assert bench.facts.member_pointers == {"in.data": "float", "out.data": "float"}
        assert bench.facts.member_numbers == dict.fromkeys(("in.nx", "in.ny", "out.nx", "out.ny"), "int")
        assert bench.facts.disjoint == {"in.data", "out.data"}
        assert bench.facts.launches[0].buffer_bytes["out.data"] == 4 * 120 * 70
        candidate = proposed(bench, "index_swap")
        compiled = admit(bench, candidate, bench.run)
        assert not hasattr(compiled, "stage"), compiled
        assert prove(bench, candidate, compiled, bench.run).equivalent
        wrong = candidate.text.replace(b"in(x, y)", b"in(y, x)")
        assert judge_candidate(bench, Candidate("slip", "", wrong, "")).stage == "different"


@pytest.mark.slow
def test_members_that_lead_into_one_allocation_are_not_disjoint(tmp_path: Path) -> None:
    (tmp_path / "view.hpp").write_text(VIEW)
    together = VIEWED.replace("(void)hipMalloc(&out.data, host.size() * 4);", "out.data = in.data + 8400;")
    together = together.replace("(&in.data, host.size() * 4)", "(&in.data, host.size() * 8)")
    (tmp_path / "main.hip").write_text(together)
    project = resolve_project(tmp_path / "main.hip", config=Config(backend="emulator"))
    session = profile_project(project, options=ProfileOptions(backend="emulator", capture_dispatches=()))
    with open_bench(project, session, session.profile.kernels[0]) as bench:
        assert not bench.facts.disjoint
        assert bench.facts.launches[0].buffer_bytes["in.data"] == 8 * 120 * 70
        assert bench.facts.launches[0].buffer_bytes["out.data"] == 4 * 120 * 70
