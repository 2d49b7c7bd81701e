"""Kernels without a program on the command line: every command takes their benches."""

from __future__ import annotations

import json

import pytest

from tests.server.command_line import Cli

HEADER = """#pragma once
// hipscope: bench sums<float> grid=ceil(columns/256) block=256 matrix=[rows,columns]:uniform out=[columns]
// hipscope:   rows=256 columns=1024 repeat=1 warmup=0
// hipscope: bench copy grid=4 block=64 in=[n]:normal out=[n] n=256
template <class T>
__global__ void sums(const T* matrix, T* out, int rows, int columns) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns) return;
    T sum = 0;
#pragma unroll 1
    for (int row = 0; row < rows; ++row) sum += matrix[row * columns + column];
    out[column] = sum;
}
__global__ void copy(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}
"""


@pytest.mark.slow
def test_a_header_is_profiled_and_checked_by_its_benches(cli: Cli) -> None:
    header = cli.write(HEADER, "kernels.cuh")

    profiled = cli("profile", header, "--bench", "copy", "--format", "json")

    report = json.loads(profiled.stdout)
    assert (profiled.code, [k["name"].partition("(")[0] for k in report["kernels"]]) == (0, ["copy"])
    assert report["kernels"][0]["file"] == str(cli.folder / header)
    assert "bench_kernels" not in json.dumps(report["sources"])
    checked = cli("check", header)
    assert (checked.code, checked.stdout.strip()) == (0, "No defect in 4 dispatches.")


def test_emulate_builds_a_bench_and_shows_what_it_prints(cli: Cli) -> None:
    header = cli.write(HEADER, "kernels.cuh")

    done = cli("emulate", "--kernel-trace", "--bench", "sums", "-d", "out", "--", header)

    assert done.code == 0
    assert done.stdout.startswith("sums<float>\n  out: floats ")
    assert len(list((cli.folder / "out").rglob("*_kernel_trace.csv"))) == 1


@pytest.mark.parametrize("command", ["profile", "check", "optimize", "prompt"])
def test_a_bench_that_is_not_there_is_bad_input(cli: Cli, command: str) -> None:
    outcome = cli(command, cli.write(HEADER, "kernels.cuh"), "--bench", "sum")

    assert outcome.code == 2
    assert "there is no bench `sum`" in outcome.line


@pytest.mark.slow
def test_a_rewrite_of_a_header_is_proved_by_its_bench_and_written_into_it(cli: Cli) -> None:
    header = cli.write(HEADER, "kernels.cuh")

    done = cli("optimize", header, "--bench", "sums", "--apply")

    assert done.code == 0, done.stderr
    changed = (cli.folder / header).read_text()
    assert changed != HEADER
    assert changed.startswith(HEADER.partition("template")[0])
    validated = cli("validate", "--kernel", "sums", "--bench", "sums", header, cli.write(HEADER, "old.cuh"))
    assert validated.code == 0, validated.stdout
