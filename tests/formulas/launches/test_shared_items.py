"""Kernels in which several lanes share each work-item: their text, what is refused, and that they compute the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.source.parse import parse
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.judge.outcome import Outcome
from hipscope.formulas.launches.more_workgroups import more_workgroups, times
from hipscope.formulas.launches.shared_text import SharedKernel, share_kernel
from hipscope.formulas.optimize.loop import optimize_project
from hipscope.formulas.propose.splice import apply_splices
from tests.emulator.recorded_run import HEADER, Run, runs_in


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Builds a program from its text and runs it on the emulator."""
    return runs_in(tmp_path)


def shared(text: str, *, inner: bool = False, threads: int = 256) -> str:
    """The text with the kernel's work-items shared, or why not."""
    source = text.encode()
    file = parse(source)
    (own,) = file.kernels
    pointers = frozenset(p.name for p in own.parameters if p.pointer)
    found = share_kernel(source, own, file, LaunchFacts(disjoint=pointers), threads, "lanes", inner=inner)
    return (
        apply_splices(source, found.splices).decode()
        if isinstance(found, SharedKernel)
        else f"refused: {found}"
    )


def kernel(body: str, parameters: str = "const float* a, float* out, int n, int m") -> str:
    lines = "".join(f"  {line}\n" for line in body.strip().splitlines())
    return (
        f"__global__ void work({parameters}) {{\n"
        f"  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n{lines}}}\n"
    )


def test_a_sum_over_a_row_is_shared() -> None:
    text = shared(kernel("float s = 0.0f;\nfor (int k = 0; k < m; ++k) s += a[i * m + k];\nout[i] = s;"))
    assert text == (
        "__global__ void work(const float* a, float* out, int n, int m) {\n"
        "  const int lane = threadIdx.x % lanes;\n"
        "  int i = blockIdx.x * (blockDim.x / lanes) + threadIdx.x / lanes;\n"
        "  if (i >= n) return;\n"
        "  float s = 0.0f;\n"
        "  for (int k = lane; k < m; k += lanes) s += a[i * m + k];\n"
        "  for (int offset = lanes / 2; offset > 0; offset /= 2) s += __shfl_xor(s, offset);\n"
        "  if (lane == 0) out[i] = s;\n"
        "}\n"
    )


def test_of_equal_values_the_first_is_kept() -> None:
    body = (
        "float best = 1e30f;\nint at = -1;\nfor (int k = 0; k < m; ++k) {\n"
        "  if (a[k] < best) { best = a[k]; at = k; }\n}\nout[i] = at;"
    )
    assert "other_best < best || (other_best == best && other_at < at)" in shared(kernel(body))
    assert "refused" in shared(kernel(body.replace("<", "<=").replace("k <= m", "k < m")))
    assert "refused" in shared(kernel(body.replace("at = k", "at = 2 * k")))


def test_a_sum_that_begins_with_something_begins_with_it_once() -> None:
    body = "float s = a[i];\nfor (int k = 0; k < m; ++k) s += a[k];\nout[i] = s;"
    assert "  if (lane != 0) s = 0;\n  for (int k = lane;" in shared(kernel(body))


def test_a_sum_that_begins_with_zero_above_a_pragma_is_not_set_again() -> None:
    body = "float s = 0;\n#pragma unroll 4\nfor (int k = 0; k < m; ++k) s += a[k];\nout[i] = s;"
    assert "!= 0" not in shared(kernel(body))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("float s = 0;\nfor (int k = 0; k < m; ++k) s = s * a[k] + 1;\nout[i] = s;", "carried from step to step"),
        ("float s = 0;\nfor (int k = 0; k < m; ++k) { s += a[k]; if (s > 9) break; }\nout[i] = s;", "may leave it"),
        ("float s = 0;\nfor (int k = 0; k < m; ++k) { s += a[k]; out[k] = s; }", "the same element|used on"),
        ("float s = 0;\nfor (int k = 0; k < m; ++k) { s += a[k]; k += 1; }\nout[i] = s;", "may change `k` in a step"),
        ("float s = 0;\nfor (int k = 0; k < m; ++k) { s += a[k] * (s > 1); }\nout[i] = s;", "used for more"),
        ("for (int k = 0; k < m; ++k) out[k / 2 + i * m] = a[k];", "same element in several steps"),
        (
            ("for (int k = 0; k < m; ++k) out[i * m + k] = a[k];\nfloat s = 0;\n"
            "for (int k = 1; k < m; ++k) s += out[i * m + k - 1];\nout[i] = s;"),
            "is used on line|several elements|same element",
        ),
        (
            "float s = 0;\nfor (int k = 0; k < m; ++k) s += a[k];\nout[i] = s;\n__syncthreads();",
            "already work together",
        ),
        ("float s = threadIdx.x;\nfor (int k = 0; k < m; ++k) s += a[k];\nout[i] = s;", "otherwise"),
        ("float s = 0;\nfor (int k = 0; k < m; ++k) s += a[k];\nout[i] = s;\ns += out[0];\nout[i] = s;", "may read"),
        ("float s = 0;\nfor (int k = 0; k < m; ++k) s += a[k];\nout[i] = s;\nif (*out > 1) s = 0;", "may store"),
        ('float s = 0;\nfor (int k = 0; k < m; ++k) s += a[k];\nprintf("%f", s);\nout[i] = s;', "prints"),
        ("for (int k = 0; k < m; ++k) { int d = k % 3; out[i * m + k + d] = a[k]; }", "same element"),
        ("for (int k = 0; k < m; ++k) out[k + (int)a[k]] = a[k];", "same element"),
        ("float s = 0;\nfor (int k = 0; k < m; ++k) { s += a[k]; { float s = 1; s += a[0]; } }", "declared in it"),
        ("float s = 0;\nfor (int k = 0; k < m; ++k) s += a[k];\ntotal += s;\nout[i] = s;", "no variable of the kernel"),
        ("double v[4];\nfor (int k = 0; k < m; ++k) v[k % 4] = a[k];\nout[i] = v[1];", "carried|stored"),
    ],
)  # fmt: skip
def test_other_loops_are_left_to_one_lane(body: str, reason: str) -> None:
    text = shared(kernel(body))
    assert text.startswith("refused"), text
    assert re.search(reason, text), text


def test_the_loop_over_the_launch_is_not_shared_again() -> None:
    text = (
        "__global__ void work(const float* a, float* out, int n, int m) {\n"
        "  float s = 0;\n"
        "  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += a[i];\n"
        "  atomicAdd(out, s);\n}\n"
    )
    assert shared(text).startswith("refused")


def test_sums_of_vectors_are_put_together_by_member() -> None:
    body = "float3 s = a[i];\nfor (int k = 0; k < m; ++k) s += a[k];\nout[i] = s;"
    text = shared(kernel(body, "const float3* a, float3* out, int n, int m"))
    assert "if (lane != 0) s.x = s.y = s.z = 0;" in text
    assert "s.z += __shfl_xor(s.z, offset);" in text


def test_inner_loops_are_shared_on_demand() -> None:
    body = (
        "float t = 0;\nfor (int c = 0; c < 4; ++c) {\n  float d = 0;\n"
        "  for (int k = 0; k < m; ++k) d += a[k];\n  t += d;\n}\nout[i] = t;"
    )
    assert "for (int c = lane; c < 4; c += lanes)" in shared(kernel(body))
    assert "for (int k = lane; k < m; k += lanes)" in shared(kernel(body), inner=True)


@pytest.mark.parametrize(
    ("declared", "grid", "new"),
    [
        ("", "(n + 255) / 256", "(n + 255) / 256 * lanes"),
        ("dim3 grid(n / 256, 2);", "grid", "dim3(grid.x * lanes, grid.y, grid.z)"),
        ("int blocks = n / 256;", "blocks", "blocks * lanes"),
        ("", "dim3(n / 256 + 1, 2)", "dim3((n / 256 + 1) * lanes, 2)"),
        ("", "config.grid", None),
    ],
)
def test_the_host_launches_as_many_times_the_workgroups(declared: str, grid: str, new: str | None) -> None:
    text = f"void run(int n) {{\n  {declared}\n  work<<<{grid}, 256>>>(n);\n}}\n"
    splices = more_workgroups(text.encode(), parse(text.encode()), "work", 1, times("lanes"))
    if new is None:
        assert isinstance(splices, str)
    else:
        assert not isinstance(splices, str)
        assert f"work<<<{new}, 256>>>(n)" in apply_splices(text.encode(), splices).decode()


MAIN = """
#include <vector>
int main() {
  const int n = 200, m = 37;
  std::vector<float> host(n * m);
  for (int i = 0; i < n * m; ++i) host[i] = static_cast<float>((i * 7919) % 23);
  float *a, *out;
  CHECK(hipMalloc(&a, n * m * sizeof(float)));
  CHECK(hipMalloc(&out, n * m * sizeof(float)));
  CHECK(hipMemcpy(a, host.data(), n * m * sizeof(float), hipMemcpyHostToDevice));
  void (*kernels[])(const float*, float*, int, int) = {KERNELS};
  for (auto kernel : kernels) {
    CHECK(hipMemset(out, 0, n * m * sizeof(float)));
    kernel<<<GROUPS, 64>>>(a, out, n, m);
    CHECK(hipMemcpy(host.data(), out, n * m * sizeof(float), hipMemcpyDeviceToHost));
    for (float value : host) std::printf("%g ", value);
    std::printf("\\n");
  }
}
"""
# Small whole numbers: the order of a sum does not show.
BODIES = (
    "float s = a[i];\nfor (int k = 0; k < m; ++k) s += a[i * m + k];\nout[i] = s;",
    """float best = -1.0f;
int at = -1;
for (int k = 0; k < m; ++k) {
  float v = a[i * m + k];
  if (v > best) { best = v; at = k; }
}
out[i] = best * 100 + at;""",
    """float s = 0.0f;
for (int k = 0; k < m; ++k) s = fmaxf(s, a[i * m + k]);
for (int k = 0; k < m; ++k) out[i * m + k] = s - a[i * m + k];""",
    """int s = 0, t = 0;
for (int k = 2; k <= m - 1; k += 3) {
  if (k % 2) continue;
  s += k;
  t |= k;
}
if (s > 3) out[i] = s * 100 + t;""",
    "for (int k = 0; k < m; ++k) atomicAdd(&out[(int)a[i * m + k]], 1.0f);",
    """float t = 0;
for (int c = 0; c < 3; ++c) {
  float d = 1.0f;
  for (int k = c; k < m; ++k) d += a[i * m + k] * c;
  if (d > t) t = d;
}
out[i] = t;""",
)


@pytest.mark.parametrize("lanes", [4, 64])
def test_shared_kernels_compute_the_same(run: Run, lanes: int) -> None:
    names = [f"work{number}" for number in range(len(BODIES))]
    own = [kernel(body).replace("work", name) for name, body in zip(names, BODIES, strict=True)]
    texts = [shared(text, threads=64) for text in own]
    texts.append(shared(own[-1], inner=True, threads=64).replace(names[-1], "inner"))
    assert not [text for text in texts if text.startswith("refused")]
    own.append(own[-1].replace(names[-1], "inner"))
    main = MAIN.replace("KERNELS", ", ".join([*names, "inner"]))
    before = run(HEADER + "".join(own) + main.replace("GROUPS", "4"))
    constant = f"constexpr int lanes = {lanes};\n"
    after = run(HEADER + constant + "".join(texts) + main.replace("GROUPS", "4 * lanes"))
    assert before.stdout.count("\n") == len(own)
    assert after.stdout == before.stdout


ROWS = """#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
__global__ void rows(const float* a, const float* x, float* y, int n, int m) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float sum = 0.0f;
    for (int k = 0; k < m; ++k) sum += a[i * m + k] * x[k];
    y[i] = sum;
  }
}
int main(int argc, char** argv) {
  const int n = 1024, m = 256;
  const dim3 block(BLOCK);
  std::vector<float> host(n * m, 0.5f);
  for (int i = 0; i < n * m; ++i) host[i] = static_cast<float>(i % 97) / 97.0f;
  float *a, *x, *y;
  hipMalloc(&a, n * m * sizeof(float));
  hipMalloc(&x, m * sizeof(float));
  hipMalloc(&y, n * sizeof(float));
  hipMemcpy(a, host.data(), n * m * sizeof(float), hipMemcpyHostToDevice);
  hipMemcpy(x, host.data(), m * sizeof(float), hipMemcpyHostToDevice);
  rows<<<(n + 255) / 256, block>>>(a, x, y, n, m);
  hipMemcpy(host.data(), y, n * sizeof(float), hipMemcpyDeviceToHost);
  std::printf("%.2f %.2f\\n", host[3], host[1000]);
  return 0;
}
"""


@pytest.mark.slow
def test_a_row_for_each_thread_becomes_a_row_for_several_lanes(tmp_path: Path) -> None:
    (tmp_path / "rows.hip").write_text(ROWS.replace("BLOCK", "256"))
    result = optimize_project(resolve_project(tmp_path / "rows.hip", config=Config(backend="emulator")))
    assert result.status == "verified", result.message
    assert "shared_items" in [a.recipe for a in result.attempts if a.outcome is Outcome.ACCEPTED]
    assert "rows<<<(n + 255) / 256 * rows_lanes, block>>>" in (result.diff or "")


@pytest.mark.slow
def test_workgroups_whose_size_a_run_decides_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "rows.hip").write_text(ROWS.replace("BLOCK", "argc > 1 ? std::atoi(argv[1]) : 256"))
    result = optimize_project(resolve_project(tmp_path / "rows.hip", config=Config(backend="emulator")))
    assert "shared_items" not in [attempt.recipe for attempt in result.attempts]
