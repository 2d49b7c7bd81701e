"""`hipscope resources`: what kernels need, without a run, and limits that end a build."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.server.command_line import Cli
from tests.server.schemas import problems

PROGRAM = """\
#include <hip/hip_runtime.h>
template <int N> __global__ void many(const float* x, float* y, int n) {
  float a[N];
  for (int k = 0; k < N; ++k) a[k] = x[threadIdx.x + k * n];
  for (int k = 0; k < N; ++k) y[threadIdx.x + k * n] = a[k] * a[(k * 7 + 3) % N] + a[(k * 5 + 1) % N];
}
__global__ void indexed(const int* at, float* y) {
  float a[64];
  for (int k = 0; k < 64; ++k) a[k] = y[k * 7];
  y[threadIdx.x] = a[at[threadIdx.x]];
}
__global__ __launch_bounds__(1024) void big_lds(float* y) {
  __shared__ float s[10000];
  s[threadIdx.x] = y[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x ^ 70];
}
__global__ void fine(float* y) { y[threadIdx.x] *= 2; }
void start() {
  many<160><<<1, 256>>>(nullptr, nullptr, 3);
  many<4><<<1, dim3(16, 16)>>>(nullptr, nullptr, 3);
  indexed<<<1, 64>>>(nullptr, nullptr);
  big_lds<<<1, 1024>>>(nullptr);
}
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, builds: Path) -> dict[str, object]:
    """The object of a file without `main`."""
    cli = Cli(tmp_path_factory.mktemp("resources"), builds)
    done = cli("resources", cli.write(PROGRAM), "--format", "json", "--fail-on", "spills>0, occupancy<5")
    assert done.code == 5, done.stderr
    report: dict[str, object] = json.loads(done.stdout)
    assert problems(report) == []
    return report


def test_every_kernel_and_instance_has_its_resources_without_a_run(told: dict[str, object]) -> None:
    rows = {row["name"].partition("(")[0]: row for row in told["sources"][0]["kernels"]}  # type: ignore[index]
    assert list(rows) == ["void many<160>", "void many<4>", "indexed", "big_lds", "fine"]
    many = rows["void many<160>"]
    assert (many["granted"], many["threads"], many["threads_from"]) == (128, 256, "launch")
    assert many["vgpr_spills"] > 0
    assert many["next_step"] == {"resource": "VGPRs", "now": 128, "then": 96, "waves": 5.0}
    assert rows["indexed"]["scratch"] >= 256
    assert (rows["big_lds"]["lds"], rows["big_lds"]["limiter"], rows["big_lds"]["bounded"]) == (
        40000,
        "LDS",
        True,
    )
    assert (rows["fine"]["threads_from"], rows["fine"]["waves"]) == ("assumed", 8.0)


def test_notes_stand_at_the_declaration_of_what_costs(told: dict[str, object]) -> None:
    notes = [(n["line"], n["code"]) for n in told["sources"][0]["notes"]]  # type: ignore[index]
    assert notes == [(2, "launch-bounds"), (2, "spills"), (7, "scratch"), (12, "lds")]


def test_limits_that_are_passed_are_named(told: dict[str, object]) -> None:
    passed = told["exceeded"]
    assert isinstance(passed, list)
    assert [line.partition("(")[0] for line in passed] == [
        "spills>0: void many<160>", "occupancy<5: void many<160>", "occupancy<5: big_lds",
    ]  # fmt: skip


def test_a_limit_that_is_none_is_refused_with_the_names_that_there_are(cli: Cli) -> None:
    done = cli("resources", cli.write(PROGRAM), "--fail-on", "speed>3")
    assert (done.code, done.line) == (2, "hipscope: --fail-on: `speed>3` is no limit")
    assert "occupancy" in done.stderr


def test_a_mask_of_32_bits_is_noted_though_it_does_not_compile(cli: Cli) -> None:
    kernel = "__global__ void k(int* p) { p[0] = __shfl_sync(0xffffffff, p[1], 0); }\n"
    done = cli("resources", cli.write("#include <hip/hip_runtime.h>\n" + kernel))
    assert done.code == 4
    assert "names 32 lanes" in done.stdout
    assert "0xffffffffffffffffull" in done.stdout
