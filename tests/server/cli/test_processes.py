"""Programs of several processes: forked ones, ranks side by side, one program after the other."""

from __future__ import annotations

import json

import pytest

from tests.server.command_line import Cli

FORKED = """\
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>
__global__ void even(int* p) { p[threadIdx.x + OFFSET] = threadIdx.x; }
__global__ void odd(int* p) { p[threadIdx.x] = 2 * threadIdx.x; }
__global__ void all(int* p) { p[threadIdx.x + blockIdx.x * blockDim.x] += 1; }
int main() {
  for (int rank = 0; rank < 3; ++rank) {
    if (fork() != 0) continue;
    int* p;
    if (hipMalloc(&p, 4096 * 4) != hipSuccess || hipMemset(p, 0, 4096 * 4) != hipSuccess) _exit(2);
    for (int k = 0; k <= rank; ++k) {
      if (rank % 2 == 0) even<<<1, 64>>>(p);
      else odd<<<1, 64>>>(p);
    }
    all<<<64, 64>>>(p);
    int back;
    if (hipMemcpy(&back, p + 5, 4, hipMemcpyDeviceToHost) != hipSuccess) _exit(3);
    std::printf("rank %d has %d\\n", rank, back);
    std::fflush(stdout);
    std::exit(0);
  }
  int bad = 0, status;
  while (wait(&status) > 0) bad += status != 0;
  return bad;
}
"""


def launches(report: str) -> dict[str, int]:
    """Short name of each kernel -> its launches."""
    return {k["name"].partition("(")[0]: k["dispatches"] for k in json.loads(report)["kernels"]}


def test_what_forked_children_launch_is_one_profile(cli: Cli) -> None:
    outcome = cli("profile", "--format", "json", cli.write(FORKED.replace("OFFSET", "0")))
    assert outcome.code == 0, outcome.stderr
    assert launches(outcome.stdout) == {"even": 4, "odd": 2, "all": 3}


@pytest.mark.slow
def test_a_defect_in_any_child_is_found(cli: Cli) -> None:
    assert "No defect in 9 dispatches" in cli("check", cli.write(FORKED.replace("OFFSET", "0"))).stdout
    outcome = cli("check", cli.write(FORKED.replace("OFFSET", "4096")))
    assert outcome.code == 1
    assert "out-of-bounds: store of 4 bytes" in outcome.stdout
    assert "kernel even(int*)" in outcome.stdout


RANK = """\
#include <hip/hip_runtime.h>
#include <cstdlib>
__global__ void first(float* p) { p[threadIdx.x] = 0.5f * p[threadIdx.x]; }
__global__ void second(float* p) { for (int i = 0; i < 100; ++i) p[threadIdx.x] += 0.5f; }
int main(int count, char** words) {
  float* p;
  if (hipMalloc(&p, 256) != hipSuccess || hipMemset(p, 0, 256) != hipSuccess) return 2;
  for (int k = 0; k < 3; ++k) {
    if (std::atoi(words[1]) == 0) first<<<1, 64>>>(p);
    else second<<<1, 64>>>(p);
  }
  return hipDeviceSynchronize() != hipSuccess;
}
"""


@pytest.mark.parametrize("how", ["./app 0 & ./app 1 & wait", "./app 0; ./app 1; ./app 1"])
def test_ranks_with_kernels_of_their_own_are_not_mixed_up(cli: Cli, how: str) -> None:
    cli.write(RANK, "app.hip")
    cli.write("app: app.hip\n\thipcc -O2 app.hip -o app\n", "Makefile")
    cli.write(f"build = 'make'\nrun = \"sh -c '{how}'\"\n", "hipscope.toml")
    outcome = cli("profile", "--format", "json", str(cli.folder))
    assert outcome.code == 0, outcome.stderr
    assert launches(outcome.stdout) == {"first": 3, "second": 3 * how.count("app 1")}
    report = json.loads(outcome.stdout)
    lines = {k["name"].partition("(")[0]: {row["line"] for row in k["lines"]} for k in report["kernels"]}
    assert lines["first"] <= {3}
    assert lines["second"] <= {4}


@pytest.mark.slow
def test_launches_of_any_child_are_recorded_for_a_proof(cli: Cli) -> None:
    reference = cli.write(FORKED.replace("OFFSET", "0"), "reference.hip")
    same = cli.write(FORKED.replace("OFFSET", "0").replace("2 * threadIdx.x", "threadIdx.x << 1"), "same.hip")
    wrong = cli.write(
        FORKED.replace("OFFSET", "0").replace("2 * threadIdx.x", "3 * threadIdx.x"), "wrong.hip"
    )
    equal = cli("validate", "--kernel", "odd", reference, same)
    assert equal.code == 0, equal.stdout + equal.stderr
    other = cli("validate", "--kernel", "odd", reference, wrong)
    assert other.code == 1, other.stdout + other.stderr
