"""Launch edits of small programs: what is verified, and what the proof and the whole program refuse."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from hipscope.accordo.dispatch.captured import CapturedDispatch
from hipscope.analysis.config import Config, OptimizeConfig
from hipscope.analysis.run import Run
from hipscope.analysis.semantics.records import Place
from hipscope.analysis.source.parse import parse
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.judge import timed_replay
from hipscope.formulas.judge.bench import Bench
from hipscope.formulas.launches import judge_launches
from hipscope.formulas.launches.numbers import LaunchEdit, in_host_function, renumbered
from hipscope.formulas.optimize.loop import optimize_project
from hipscope.formulas.optimize.result import OptimizeResult
from hipscope.formulas.propose.candidate import Candidate

PROGRAM = """#include <hip/hip_runtime.h>
#include <cstdio>
#include <vector>
{constants}
{kernel}
int main() {{
  const int n = {n};
  std::vector<float> host(n);
  for (int i = 0; i < n; ++i) host[i] = static_cast<float>(i % 97);
  float *in, *out;
  hipMalloc(&in, n * sizeof(float));
  hipMalloc(&out, n * sizeof(float));
  hipMemcpy(in, host.data(), n * sizeof(float), hipMemcpyHostToDevice);
  hipMemset(out, 0, n * sizeof(float));
  {launch}
  hipMemcpy(host.data(), out, n * sizeof(float), hipMemcpyDeviceToHost);
  double sum = 0.0;
  for (float value : host) sum += value;
  std::printf("%.6f\\n", sum);
  return 0;
}}
"""
STRIDED = """__global__ void work(const float* in, float* out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float value = in[i];
    for (int k = 0; k < 40; ++k) value = value * 0.5f + 1.0f;
    out[i] = value;
  }
}"""
FIXED = STRIDED.replace("blockDim.x", "1024")
PER_GROUP = """__global__ void work(const float* in, float* out, int n) {
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  atomicAdd(&out[blockIdx.x], sum);
}"""
ROUNDED_DOWN = """__global__ void work(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = in[i];
  for (int k = 0; k < 400; ++k) value = value * 0.5f + 1.0f;
  out[i] = value + n;
}"""


def optimized(folder: Path, kernel: str, launch: str, constants: str = "", n: int = 20000) -> OptimizeResult:
    file = folder / "program.hip"
    file.write_text(PROGRAM.format(constants=constants, kernel=kernel, launch=launch, n=n))
    config = Config(backend="emulator", optimize=OptimizeConfig(edits=["launch"]))
    return optimize_project(resolve_project(file, config=config))


def added(result: OptimizeResult) -> list[str]:
    lines = (result.diff or "").splitlines()
    return [line[1:].strip() for line in lines if line.startswith("+") and not line.startswith("+++")]


def test_shapes_are_ranked_on_the_longest_launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    timed: list[tuple[int, ...]] = []
    in_shape = judge_launches._in_shape

    def noted(
        bench: Bench, edit: LaunchEdit, work: Path, run: Run, launches: Sequence[CapturedDispatch]
    ) -> object:
        timed.append(tuple(d.id for d in launches))
        return in_shape(bench, edit, work, run, launches)

    monkeypatch.setattr(judge_launches, "_in_shape", noted)
    monkeypatch.setattr(timed_replay, "_LONG", 1.0)
    launches = "work<<<2, 1024>>>(in, out, 2000); work<<<8, 1024>>>(in, out, n);"
    result = optimized(tmp_path, STRIDED, launches)
    assert result.status == "verified", result.message
    ranked = [ids for ids in timed if len(ids) == 1]
    in_full = [ids for ids in timed if len(ids) == 2]
    assert set(ranked) == {(2,)}
    assert len(ranked) > len(in_full)
    assert 1 <= len(in_full) <= 3


@pytest.mark.parametrize(
    ("text", "host"),
    [
        (b"int main() { k<<<2, 256>>>(); }", True),
        (b"void run(int n) { const int block = 256; k<<<n / block, block>>>(); }", True),
        (b"#define BLOCK 256\nint main() { k<<<2, BLOCK>>>(); }", False),
        (b"constexpr int block = 256;\nint main() { k<<<2, block>>>(); }", False),
        (b"__device__ int size() { return 256; }", False),
        (b"template <int n> void run() { k<n><<<2, 256>>>(); }", False),
        (b"int main() { launch([=] __device__ (int i) { return i * 256; }); }", False),
    ],
)
def test_a_number_in_a_function_of_the_host_reaches_no_kernel(text: bytes, host: bool) -> None:
    at = text.index(b"256")
    place = Place(Path("a.hip"), (at, at + 3))
    assert in_host_function(parse(text).root, place) == host


@pytest.mark.parametrize(
    ("text", "values", "becomes"),
    [
        (b"dim3 grid(w / 16, h / 16);", (64, 1), b"dim3 grid(w / 64, h);"),
        (b"dim3 grid((w + 15)/16, f(h)/16);", (0, 1, 1), b"dim3 grid((w), f(h));"),
        (b"dim3 block(16, 16);", (64, 1), b"dim3 block(64, 1);"),
        (b"dim3 grid(w / 16u, -16);", (1, 0), b"dim3 grid(w / 1, -0);"),
    ],
)
def test_what_divides_by_one_or_adds_nothing_is_left_out(
    text: bytes, values: tuple[int, ...], becomes: bytes
) -> None:
    spans = [m.span() for m in re.finditer(rb"(?<![a-z])1[56]u?", text)]
    assert renumbered(text, dict(zip(spans, values, strict=True))) == becomes


@pytest.mark.slow
def test_more_workgroups_are_a_verified_edit(tmp_path: Path) -> None:
    result = optimized(tmp_path, STRIDED, "work<<<2, 1024>>>(in, out, n);")

    assert result.status == "verified", result.message
    assert len(added(result)) == 1
    assert added(result)[0].startswith("work<<<")
    assert result.speedup is not None
    assert result.speedup > 1.5
    assert result.compiles < len(result.attempts) + 6  # the kernel is the same in all shapes
    assert any("timed at this size of the problem" in note for note in result.notes)


@pytest.mark.slow
def test_a_constant_is_edited_for_all_of_its_uses(tmp_path: Path) -> None:
    launch = "work<<<(n + kBlock - 1) / kBlock, kBlock>>>(in, out, n);"
    result = optimized(
        tmp_path, STRIDED.replace("< 40", "< 4000"), launch, "constexpr int kBlock = 1024;", 40000
    )

    assert result.status == "verified", result.message
    (line,) = added(result)
    assert line.startswith("constexpr int kBlock = ")


@pytest.mark.slow
def test_a_size_that_another_kernel_has_in_its_type_is_edited_for_both_beside_a_library(
    tmp_path: Path,
) -> None:
    other = """template <int size> __global__ void more(const float* in, float* out, int n) {
  const int i = blockIdx.x * size + threadIdx.x;
  if (i < n) out[i] += in[i];
}
"""
    launch = (
        "work<<<(n + kBlock - 1) / kBlock, kBlock>>>(in, out, n); "
        "more<kBlock><<<(n + kBlock - 1) / kBlock, kBlock>>>(in, out, n); "
        "twice<<<1, 64>>>(out);"
    )
    library = tmp_path / "rocm" / "include" / "twice.hpp"
    library.parent.mkdir(parents=True)
    library.write_text("static __global__ void twice(float* p) { p[threadIdx.x] *= 2.0f; }\n")
    kernel = f'#include "{library}"\n{other}' + STRIDED.replace("< 40", "< 4000")
    result = optimized(tmp_path, kernel, launch, "constexpr int kBlock = 1024;", 40000)

    assert result.status == "verified", result.message
    (line,) = added(result)
    assert line.startswith("constexpr int kBlock = ")

    wrong = kernel.replace("if (i < n)", "if (i < n && threadIdx.x < 1023)")
    result = optimized(tmp_path, wrong, launch, "constexpr int kBlock = 1024;", 40000)
    assert result.edit is None, result.diff


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "launch"),
    [
        (FIXED, "work<<<2, 1024>>>(in, out, n);"),  # the size stands in the kernel, too
        (PER_GROUP, "work<<<2, 1024>>>(in, out, n);"),  # each workgroup has an element of its own
        (ROUNDED_DOWN, "work<<<n / 64, 64>>>(in, out, n);"),  # the rest of a larger step is left out
    ],
)
def test_an_edit_that_changes_what_is_done_is_refused(tmp_path: Path, kernel: str, launch: str) -> None:
    result = optimized(tmp_path, kernel, launch, n=64 * 300)

    assert result.edit is None or (kernel == FIXED and "1024>>>" in added(result)[0]), result.diff
    assert all(a.outcome != "accepted" or "1024>>>" in a.diff for a in result.attempts)
    if kernel == PER_GROUP:  # nothing went wrong: the kernel is one that no other shape is for
        assert (result.status, result.attempts[-1].outcome) == ("no_improvement", "no_recipe")
        assert "`work` relies on the shape of its launches" in result.attempts[-1].reason


def test_shared_items_that_differ_are_no_matter_of_the_shape_alone() -> None:
    bench = cast("Bench", SimpleNamespace(kernel=SimpleNamespace(name="work")))
    failure = "1 of 16 elements of `out` are wrong"
    said = {
        recipe: judge_launches._own_shape(
            bench, Candidate(recipe=recipe, title="Other shape", text=b"", expected=""), failure
        ).reason
        for recipe in ("shared_items", "launch_shape")
    }
    assert said["shared_items"] == f"shared_items does not apply: {failure}."
    assert "relies on the shape of its launches. Other shape: 1 of 16" in said["launch_shape"]


def test_launches_are_left_alone_where_only_kernels_may_be_edited(tmp_path: Path) -> None:
    file = tmp_path / "program.hip"
    launch = "work<<<2, 1024>>>(in, out, n);"
    file.write_text(PROGRAM.format(constants="", kernel=STRIDED, launch=launch, n=20000))
    config = Config(backend="emulator", optimize=OptimizeConfig(edits=["kernel"]))
    result = optimize_project(resolve_project(file, config=config))

    assert {a.outcome for a in result.attempts if a.recipe == "launch_shape"} <= {"advice"}
    assert f"-  {launch}" not in (result.diff or "")


@pytest.mark.slow
def test_a_size_that_is_worse_for_another_kernel_is_written_at_the_own_launch(tmp_path: Path) -> None:
    rows = """__global__ void work(const float* in, float* out, int n) {
  for (int i = threadIdx.x; i < 40; i += blockDim.x) out[blockIdx.x * 40 + i] = in[blockIdx.x * 40 + i] * 2.0f;
}
"""
    result = optimized(
        tmp_path,
        rows + STRIDED.replace("work", "other").replace("< 40", "< 60"),
        "other<<<16, BLOCK>>>(in, out, n);\n  for (int k = 0; k < 8; ++k) work<<<n / 40, BLOCK>>>(in, out, n);",
        "#define BLOCK 1024",
        80000,
    )

    assert result.status == "verified", result.message
    assert any("becomes slower" in attempt.reason for attempt in result.attempts)
    (line,) = added(result)
    assert re.search(r"work<<<n / 40, (64|128|256|512)>>>", line)
