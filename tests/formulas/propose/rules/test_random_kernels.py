"""Recipes on random kernels: a rewrite is proved, or there is none."""

from __future__ import annotations

import functools
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hipscope.analysis.config import Config
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.judge.bench import Bench, open_bench
from hipscope.formulas.judge.judge import Judgement, admit, prove
from hipscope.formulas.propose.candidate import Candidate
from hipscope.formulas.propose.rules.tiles import register_tile
from tests.formulas.propose.rules.cases import BY_NAME

HARNESS = """#include <hip/hip_runtime.h>
#include <vector>
{kernel}
int main() {{
  std::vector<float> floats(4096);
  std::vector<int> integers(4096);
  for (int i = 0; i < 4096; ++i) {{
    floats[i] = (i * 37 % 101) * 0.25f - 12;
    integers[i] = i * 29 % 97;
  }}
  float *a, *out;
  int *b, *sums;
  (void)hipMalloc(&a, 16384);
  (void)hipMalloc(&b, 16384);
  (void)hipMalloc(&out, 16384);
  (void)hipMalloc(&sums, 16384);
  (void)hipMemcpy(a, floats.data(), 16384, hipMemcpyHostToDevice);
  (void)hipMemcpy(b, integers.data(), 16384, hipMemcpyHostToDevice);
  (void)hipMemset(sums, 0, 16384);
  k<<<9, {threads}>>>(a, b, out, sums, {n}, {w});
  return hipDeviceSynchronize();
}}
"""
PLACES = ("i", "i / w", "i % w", "i & 31", "(i / w + i % w) % n", "b[i] % n", "n - 1 - i", "0")
FLOATS = st.recursive(
    st.one_of(
        st.sampled_from(PLACES).map("a[{}]".format), st.sampled_from(["0.5", "1.5f", "0.1", "i", "(i % w)"])
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map("fmaxf({}, 0.25f)".format),
        inner.map("({} / 3.0)".format),
    ),
    max_leaves=4,
)
COUNTS = st.sampled_from(["1", "b[i]", "b[i] / 3", "(a[i] > 0 ? 1 : 2)"])
BINS = st.sampled_from(["0", "b[i] & 15", "b[i] % 32", "blockIdx.x"])
STATEMENTS = st.one_of(
    FLOATS.map("x += {};".format),
    FLOATS.map("for (int s = 0; s < w; ++s) x += a[(s * n + i) & 4095] * {};".format),
    st.tuples(FLOATS, FLOATS).map(lambda t: f"if ({t[0]} > 1) x = {t[1]};"),
    st.tuples(BINS, COUNTS).map(lambda t: f"atomicAdd(&sums[{t[0]}], {t[1]});"),
    FLOATS.map("out[i] = {};".format),
)
GUARDS = st.sampled_from(["  if (i >= n) return;\n{}", "  if (i < n) {{\n{}  }}\n"])
THROUGH_LDS = "  __shared__ float t[{0}][{0}];\n  const int r = threadIdx.x / {0}, c = threadIdx.x % {0};\n"
STEP_BY_STEP = """  __shared__ float u[{threads}];
  for (int s = 0; s < w; ++s) {{
    u[threadIdx.x] = i + s < n ? {value} : 0.5f;
    __syncthreads();
    x += u[threadIdx.x ^ 1];
    __syncthreads();
  }}
"""


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A program with one kernel `k`, launched once; its workgroups need not fit its sizes."""
    threads = draw(st.sampled_from([64, 128, 256]))
    n = draw(st.sampled_from([threads * 8, threads * 9 - 5, threads * 7 + 1]))
    w = draw(st.sampled_from([3, 16, 37]))
    lines = draw(st.lists(STATEMENTS, min_size=1, max_size=3))
    body = "".join(f"    {line}\n" for line in [*lines, "out[i] = x;"])
    head = "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  float x = 0.0f;\n"
    if draw(st.booleans()) and threads in (64, 256):
        side = {64: 8, 256: 16}[threads]
        head += (
            THROUGH_LDS.format(side)
            + "  t[r][c] = i < n ? a[i] : 0.0f;\n  __syncthreads();\n  x += t[c][r];\n"
        )
    if draw(st.booleans()):
        head += STEP_BY_STEP.format(threads=threads, value=draw(FLOATS))
    kernel = "__global__ void k(const float* a, const int* b, float* out, int* sums, int n, int w) {\n"
    kernel += head + draw(GUARDS).format(body) + "}\n"
    return HARNESS.format(kernel=kernel, threads=threads, n=n, w=w)


def outputs(bench: Bench) -> list[Candidate]:
    """One candidate of each recipe that has any."""
    found = []
    for recipe in BY_NAME.values():
        answer = recipe(bench.original, bench.kernel, None, bench.facts)
        found += answer[:1] if isinstance(answer, list) else []
    return found


@pytest.fixture(autouse=True)
def launches_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(register_tile, "_LEAST_WAVES", 1)


random_ones = functools.partial(
    settings,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.slow
@random_ones(max_examples=2)
@given(programs())
def test_what_a_recipe_makes_of_a_random_kernel_is_equivalent(program: str) -> None:
    check_rewrites(program)


@pytest.mark.slow
@pytest.mark.exhaustive
@random_ones(max_examples=12)
@given(programs())
def test_what_a_recipe_makes_of_many_random_kernels_is_equivalent(program: str) -> None:
    check_rewrites(program)


def check_rewrites(program: str) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "random.hip"
        file.write_text(program)
        project = resolve_project(file, config=Config(backend="emulator"))
        session = profile_project(project, options=ProfileOptions(backend="emulator", capture_dispatches=()))
        (kernel,) = session.profile.kernels
        with open_bench(project, session, kernel) as bench:
            for candidate in outputs(bench):
                compiled = admit(bench, candidate, bench.run)
                assert not isinstance(compiled, Judgement), (
                    f"{candidate.recipe}: {compiled.reason}\n{program}"
                )
                verdict = prove(bench, candidate, compiled, bench.run)
                kinds = {m.kind for m in verdict.mismatches}
                if candidate.exact or kinds != {"less_precise"}:  # which the recipe does not promise to avoid
                    assert verdict.equivalent, f"{verdict.reason}\n{candidate.text.decode()}"
