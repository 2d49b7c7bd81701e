"""Rewrites of a model that ask for another launch: what becomes of right and of wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hipscope.analysis.config import Config, LlmConfig, OptimizeConfig
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.optimize.loop import OptimizeOptions, optimize_project
from hipscope.formulas.optimize.result import OptimizeResult
from hipscope.formulas.propose.llm.program import plain_launch

PROGRAM = """#include <hip/hip_runtime.h>
#include <cstdio>
#include <vector>

// Each work-item adds up the whole table for one element.
__global__ void weigh(const float* in, const float* table, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float weight = 0.0f;
  for (int k = 0; k < 32; ++k) weight += table[k] / (1.0f + in[k]);
  out[i] = in[i] * weight;
}

int main() {
  const int n = 1300000;
  std::vector<float> host(n);
  for (int i = 0; i < n; ++i) host[i] = static_cast<float>(i % 97) * 0.125f;
  float *in, *table, *out;
  hipMalloc(&in, n * sizeof(float));
  hipMalloc(&table, 64 * sizeof(float));
  hipMalloc(&out, n * sizeof(float));
  hipMemcpy(in, host.data(), n * sizeof(float), hipMemcpyHostToDevice);
  hipMemcpy(table, host.data() + 7, 64 * sizeof(float), hipMemcpyHostToDevice);
  weigh<<<(n + 255) / 256, 256>>>(in, table, out, n);
  hipMemcpy(host.data(), out, n * sizeof(float), hipMemcpyDeviceToHost);
  double sum = 0.0;
  for (float value : host) sum += value;
  std::printf("%.1f\\n", sum);
  return 0;
}
"""
FOUR = """__global__ void weigh(const float* in, const float* table, float* out, int n) {
  float weight = 0.0f;
  for (int k = 0; k < 32; ++k) weight += table[k] / (1.0f + in[k]);
  for (int j = 0; j < 4; ++j) {
    int i = (blockIdx.x * 4 + j) * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * weight;
  }
}"""


@pytest.fixture
def optimized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Callable[..., Any], wire: ModuleType
) -> Callable[..., OptimizeResult]:
    """What comes of answers of a model, one after the other, to `PROGRAM`."""

    def run(*answers: tuple[str, str], edits: OptimizeConfig | None = None) -> OptimizeResult:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        source = tmp_path / "weigh.hip"
        source.write_text(PROGRAM)
        server = serve(*(wire.Reply(wire.said(kernel, launch=launch)) for kernel, launch in answers))
        llm = LlmConfig(
            model="openai/qwen", api_base=server.url, candidates=1, max_attempts=len(answers), timeout_s=20.0
        )
        config = Config(llm=llm, backend="emulator", optimize=edits or OptimizeConfig())
        project = resolve_project(source, (), config)
        return optimize_project(project, options=OptimizeOptions(rewriter="llm", yes_send=True))

    return run


@pytest.mark.parametrize(
    ("said", "launch"),
    [
        ("workgroups /4", "workgroups /4"),
        ("The launch size is set to `Workgroup 32 x 8`, as F1 asks.", "Workgroup 32 x 8"),
        ("No changes needed for the launch.", ""),
        ("The workgroup size stays.", ""),
        ("{launch}", ""),
        ("", ""),
    ],
)
def test_a_launch_is_read_out_of_prose(said: str, launch: str) -> None:
    assert plain_launch(said) == launch


@pytest.mark.slow
def test_a_launch_that_is_so_already_costs_no_attempt(optimized: Callable[..., OptimizeResult]) -> None:
    result = optimized((FOUR.replace("* 4 + j", "* 4 + 3"), "It has `workgroup 256`, which is kept."))
    assert [a.outcome for a in result.attempts] == ["different"], result.attempts[0].reason


@pytest.mark.slow
def test_fewer_workgroups_that_do_more_each_are_verified(optimized: Callable[..., OptimizeResult]) -> None:
    result = optimized(
        (FOUR.replace("< 4; ++j", "< 3; ++j"), "workgroups /4"),
        (FOUR.replace("if (i < n) ", ""), "workgroups /4"),
        (FOUR.replace("weight += table[k]", "weight -= table[k]"), "workgroups /4"),
        (FOUR, "workgroup 4096"),
        (FOUR, "workgroups /4"),
    )
    assert [a.outcome for a in result.attempts] == [
        "different", "different", "different", "refused", "accepted",
    ], [a.reason for a in result.attempts]  # fmt: skip
    assert "these are possible: 64, 128, 512, 1024" in result.attempts[3].reason
    assert result.status == "verified"
    assert result.speedup is not None
    assert result.speedup > 1.5
    assert "+  weigh<<<((n + 255) / 256 + 3) / 4, 256>>>(in, table, out, n);" in (result.diff or "")


@pytest.mark.slow
def test_a_launch_stays_where_the_settings_say_so(optimized: Callable[..., OptimizeResult]) -> None:
    result = optimized((FOUR, "workgroups /4"), edits=OptimizeConfig(edits=["kernel"]))
    assert [a.outcome for a in result.attempts] == ["refused"]
    assert "`optimize.edits` leaves launches as they are" in result.attempts[0].reason
