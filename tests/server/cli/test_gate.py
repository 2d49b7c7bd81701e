"""One command over a repository of three programs: table, page and SARIF, 5 for a planted regression, 0 without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.server.ci.stand_in import checkout_with_remote, commit, git
from tests.server.command_line import Cli

PROGRAM = """\
#include <hip/hip_runtime.h>
__global__ void work_NUMBER(float* p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = p[i];
  for (int n = 0; n < 64; n++) v = v * 1.5f + NUMBER.0f;
  p[i] = v;
}
int main() {
  float* p;
  (void)hipMalloc(&p, 4096 * 4);
  for (int n = 0; n < LAUNCHES; n++) work_NUMBER<<<16, 256>>>(p);
  return hipDeviceSynchronize() == hipSuccess ? CODE : 1;
}
"""
LAUNCHES = 18


def program(number: int, launches: int = LAUNCHES, code: int = 0) -> str:
    return (
        PROGRAM.replace("NUMBER", str(number)).replace("LAUNCHES", str(launches)).replace("CODE", str(code))
    )


@pytest.mark.slow
def test_three_programs_of_two_commits_are_one_gate(tmp_path: Path, builds: Path) -> None:
    names = [f"p{n}.hip" for n in range(3)]
    work, _ = checkout_with_remote(tmp_path, {name: program(n) for n, name in enumerate(names)})
    cli = Cli(work, builds)
    (work / "p1.hip").write_text(program(1, LAUNCHES + 2))
    commit(work, "slower")
    (work / "p1.hip").write_text(program(1))
    (work / "p2.hip").write_text(program(2, code=7))
    commit(work, "mended, and another fails its own check")
    out = tmp_path / "out"
    out.mkdir()
    written = [
        word
        for form, name in (
            ("html", "c.html"),
            ("sarif", "c.sarif"),
            ("codequality", "c.json"),
            ("junit", "c.xml"),
        )
        for word in ("--write", f"{form}={out / name}")
    ]
    gate = ("--backend", "emulator", "--fail-on", "time>10%,finding:new")
    slower = cli("compare", "HEAD~2", "HEAD~1", *names, *gate, *written)
    assert slower.code == 5, slower.stderr
    assert "p1.hip: work_1 takes 11." in slower.stdout
    assert slower.stdout.count("work_") == 4
    page = (out / "c.html").read_text()
    assert all(f"work_{n}" in page for n in range(3))
    (run,) = json.loads((out / "c.sarif").read_text())["runs"]
    places = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run["results"]}
    assert places <= set(names)
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == f"{work.as_uri()}/"
    mended = cli("compare", "HEAD~2", "HEAD", *names, *gate, "--format", "json")
    assert mended.code == 4
    programs = json.loads(mended.stdout)["programs"]
    assert [p["program"] for p in programs if p["failed"]] == ["p2.hip"]
    assert "7" in programs[2]["failed"]
    left = [name for name in names if name != "p2.hip"]
    assert cli("compare", "HEAD~2", "HEAD", *left, *gate).code == 0
    assert git(work, "status", "--porcelain") == ""
