"""hipRAND and rocRAND without ROCm: the generators of kernels, and the library that fills memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hipscope.analysis.build_files.rocm_folder import installed
from hipscope.analysis.config import Config
from hipscope.analysis.runs.check_project import check_project
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from tests.emulator.recorded_run import HEADER, Run

pytestmark = pytest.mark.skipif(
    find_toolchain(Config()).rocm_path is not None or installed("hiprand") or installed("rocrand"),
    reason="real headers of hipRAND are here",
)
KERNELS = (
    HEADER
    + """
#include <hiprand/hiprand_kernel.h>
#include <rocrand/rocrand_kernel.h>
#define SAME(a, b) do { if ((a) != (b)) { \\
    std::printf("line %d: %u and %u\\n", __LINE__, a, b); std::exit(2); } } while (0)

template <class State>
__global__ void jumps(unsigned* out, int sixteenths) {
  State a, b;
  hiprand_init(99ULL, threadIdx.x, 3ULL, &a);
  b = a;
  for (unsigned i = 0; i < threadIdx.x * 7; ++i) hiprand(&a);
  skipahead((unsigned long long)threadIdx.x * 7, &b);
  out[4 * threadIdx.x] = hiprand(&a);
  out[4 * threadIdx.x + 1] = hiprand(&b);
  for (int i = 0; i < sixteenths; ++i) skipahead(1ULL << 63, &a);
  skipahead_sequence(1ULL, &b);
  out[4 * threadIdx.x + 2] = hiprand(&a);
  out[4 * threadIdx.x + 3] = hiprand(&b);
}
/// A jump is as many steps, and subsequences begin as far apart as they say.
template <class State>
void check(int sixteenths) {
  unsigned* d;
  CHECK(hipMalloc(&d, 1024));
  jumps<State><<<1, 64>>>(d, sixteenths);
  std::vector<unsigned> h(256);
  CHECK(hipMemcpy(h.data(), d, 1024, hipMemcpyDeviceToHost));
  for (int i = 0; i < 256; i += 2) SAME(h[i], h[i + 1]);
}

__global__ void draw(unsigned* out, double* normal) {
  hiprandStateXORWOW_t x;
  hiprandStatePhilox4_32_10_t p, zero;
  hiprandStateMRG32k3a_t m;
  hiprand_init(1234ULL, 9 * 1237ULL, 14ULL, &x);
  hiprand_init(1234ULL, 9 * 1237ULL, 14ULL, &p);
  hiprand_init(1234ULL, 0ULL, 5ULL, &m);
  hiprand_init(0ULL, 0ULL, 0ULL, &zero);
  for (int i = 0; i < 3; ++i) {
    out[i] = hiprand(&x);
    out[3 + i] = hiprand(&p);
    out[6 + i] = hiprand(&m);
    out[9 + i] = hiprand(&zero);
  }
  normal[0] = hiprand_normal(&x);
  normal[1] = hiprand_normal_double(&p);
}
"""
)


def test_jumps_are_as_many_steps(run: Run) -> None:
    body = """
int main() {
  check<hiprandStateXORWOW_t>(16);
  check<hiprandStateMRG32k3a_t>(16);
  check<hiprandStatePhilox4_32_10_t>(8);
}
"""
    ran = run(KERNELS + body)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_generators_of_kernels_give_the_numbers_of_rocrand(run: Run) -> None:
    """Philox of zeros is in its authors' tests (Random123); the others were drawn with rocRAND 5.3.3's headers."""
    body = """
int main() {
  unsigned* d; double* n;
  CHECK(hipMalloc(&d, 256)); CHECK(hipMalloc(&n, 256));
  draw<<<1, 1>>>(d, n);
  std::vector<unsigned> h(12);
  CHECK(hipMemcpy(h.data(), d, 48, hipMemcpyDeviceToHost));
  for (unsigned v : h) std::printf("%u ", v);
}
"""
    ran = run(KERNELS + body)
    assert ran.returncode == 0, ran.stdout
    numbers = [int(word) for word in ran.stdout.split()]
    assert numbers[:9] == [
        3310224902, 2650880429, 555887215, 3788680628, 28903619, 2198642612, 3799171328, 3088946274, 3497723810,
    ]  # fmt: skip
    assert numbers[9:] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C]


HOST = """
#include <hiprand/hiprand.h>
#include <rocrand/rocrand.h>
#include <cmath>
#define OK(call) do { if (int e = (int)(call)) { \\
    std::printf("line %d: %d\\n", __LINE__, e); std::exit(2); } } while (0)
template <class T> std::vector<T> fetched(const T* from, int n) {
  std::vector<T> h(n);
  CHECK(hipMemcpy(h.data(), from, n * sizeof(T), hipMemcpyDeviceToHost));
  return h;
}
template <class T> void moments(const T* device, int n, double mean, double variance) {
  double sum = 0, squares = 0;
  const auto h = fetched(device, n);
  for (T v : h) sum += v;
  for (T v : h) squares += (v - sum / n) * (v - sum / n);
  const double error = 5 * std::sqrt(variance / n);
  if (std::fabs(sum / n - mean) > error || std::fabs(squares / n / variance - 1) > 0.1) {
    std::printf("mean %g and not %g, variance %g and not %g\\n", sum / n, mean, squares / n, variance);
    std::exit(3);
  }
}
int main() {
  const int n = 20001;
  float* f; double* d; unsigned *u, *w;
  CHECK(hipMalloc(&f, n * 4)); CHECK(hipMalloc(&d, n * 8)); CHECK(hipMalloc(&u, n * 4)); CHECK(hipMalloc(&w, n * 4));
  for (hiprandRngType_t type : {HIPRAND_RNG_PSEUDO_DEFAULT, HIPRAND_RNG_PSEUDO_MRG32K3A,
                                HIPRAND_RNG_PSEUDO_PHILOX4_32_10, HIPRAND_RNG_PSEUDO_MT19937}) {
    hiprandGenerator_t g;
    OK(hiprandCreateGenerator(&g, type));
    OK(hiprandSetPseudoRandomGeneratorSeed(g, 42));
    OK(hiprandGenerateUniform(g, f, n)); moments(f, n, 0.5, 1 / 12.0);
    OK(hiprandGenerateUniformDouble(g, d, n)); moments(d, n, 0.5, 1 / 12.0);
    OK(hiprandGenerateNormal(g, f, n, 3, 2)); moments(f, n, 3, 4);
    OK(hiprandGenerateNormalDouble(g, d, n, -1, 0.5)); moments(d, n, -1, 0.25);
    OK(hiprandGenerateLogNormal(g, f, n, 0, 0.5));
    moments(f, n, std::exp(0.125), (std::exp(0.25) - 1) * std::exp(0.25));
    OK(hiprandGeneratePoisson(g, u, n, 4)); moments(u, n, 4, 4);
    OK(hiprandGeneratePoisson(g, u, n, 200)); moments(u, n, 200, 200);
    OK(hiprandSetPseudoRandomGeneratorSeed(g, 7));
    OK(hiprandGenerate(g, u, n));
    OK(hiprandSetGeneratorOffset(g, 1001));
    OK(hiprandGenerate(g, w, 1000));
    const auto whole = fetched(u, n), later = fetched(w, 1000);
    for (int i = 0; i < 1000; ++i)
      if (later[i] != whole[1001 + i]) { std::puts("the offset is not that of the sequence"); return 4; }
    OK(hiprandDestroyGenerator(g));
  }
  rocrand_generator r;
  OK(rocrand_create_generator(&r, ROCRAND_RNG_PSEUDO_PHILOX4_32_10));
  OK(rocrand_set_seed(r, 5));
  OK(rocrand_generate_normal(r, f, n, 0, 1)); moments(f, n, 0, 1);
  OK(rocrand_destroy_generator(r));
  hiprandGenerator_t host;
  OK(hiprandCreateGeneratorHost(&host, HIPRAND_RNG_PSEUDO_DEFAULT));
  std::vector<float> own(10);
  OK(hiprandGenerateUniform(host, own.data(), 10));
  if (own[9] <= 0 || own[9] > 1) return 5;
  OK(hiprandDestroyGenerator(host));
  if (hiprandCreateGenerator(&host, HIPRAND_RNG_QUASI_SOBOL32) != HIPRAND_STATUS_TYPE_ERROR) return 6;
}
"""


def test_the_library_fills_memory_with_numbers_of_the_distributions(run: Run) -> None:
    ran = run(HEADER + HOST)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    counts = json.loads((ran.out / "library_calls.json").read_text())
    assert counts["hiprandGeneratePoisson"] == 8
    assert counts["rocrand_generate_normal"] == 1


COPIED = """
#include <hip/hip_runtime.h>
#include <hiprand/hiprand_kernel.h>
template <class State> __global__ void begin(State* states) { hiprand_init(7, threadIdx.x, 0, &states[threadIdx.x]); }
template <class State> __global__ void draw(State* states, float* to) {
  State own = states[threadIdx.x];
  to[threadIdx.x] = hiprand_uniform(&own);
  states[threadIdx.x] = own;
}
template <class State> void use(float* to) {
  State* states;
  (void)hipMalloc(&states, 64 * sizeof(State));
  begin<<<1, 64>>>(states);
  draw<<<1, 64>>>(states, to);
}
int main() {
  float* to;
  if (hipMalloc(&to, 256)) return 1;
  use<hiprandStatePhilox4_32_10_t>(to);
  use<hiprandStateXORWOW_t>(to);
  use<hiprandStateMRG32k3a_t>(to);
  return hipDeviceSynchronize();
}
"""


def test_a_state_that_is_copied_whole_has_nothing_unset(tmp_path: Path) -> None:
    source = tmp_path / "main.hip"
    source.write_text(COPIED)
    assert check_project(resolve_project(source)).run.reports == ()
