"""One rule for all commands: sources, arguments after `--`, where results go, and several programs at once."""

from __future__ import annotations

import json

import pytest

from tests.server.command_line import Cli

PROGRAM = """#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void fill(int* p) { p[threadIdx.x] = threadIdx.x; }
int main(int count, char** words) {
  int* p;
  (void)hipMalloc(&p, 256);
  fill<<<1, 64>>>(p);
  for (int i = 1; i < count; ++i) std::printf("%s;", words[i]);
  return hipDeviceSynchronize();
}
"""


@pytest.mark.slow
def test_several_sources_are_several_programs_and_a_failure_leaves_the_others(cli: Cli) -> None:
    for name in ("a.hip", "c.hip"):
        cli.write(PROGRAM, name)
    outcome = cli(
        "profile", "--jobs", "2", "--format", "json", "a.hip", "b.hip", "c.hip", "--", "x y", "--top"
    )
    report = json.loads(outcome.stdout)
    assert outcome.code == 2
    assert report["schema"] == "hipscope.programs/1"
    found = [(p["source"], p["exit_code"], p["report"] is not None) for p in report["programs"]]
    assert found == [("a.hip", 0, True), ("b.hip", 2, False), ("c.hip", 0, True)]
    assert "b.hip: no such file" in report["programs"][1]["error"]["message"]
    outputs = [p["report"]["program"]["output"] for p in report["programs"] if p["report"]]
    assert outputs == ["x y;--top;"] * 2
    shown = cli("profile", "a.hip", "b.hip")
    assert shown.code == 2
    assert shown.stdout.index("a.hip") < shown.stdout.index("fill") < shown.stdout.index("b.hip")


def test_arguments_after_two_dashes_replace_those_of_run(cli: Cli) -> None:
    cli.write(PROGRAM, "main.hip")
    cli.write("app: main.hip\n\thipcc -o $@ $<\n", "Makefile")
    cli.write('build = "make"\nrun = "./app one two"\n', "hipscope.toml")
    said = [
        json.loads(cli("profile", "--format", "json", *words).stdout)["program"]["output"]
        for words in ((), ("--", "three"))
    ]
    assert said == ["one;two;", "three;"]


@pytest.mark.parametrize("command", ["optimize", "prompt"])
def test_a_second_source_is_refused_where_only_one_is_taken(cli: Cli, command: str) -> None:
    outcome = cli(command, "a.hip", "b.hip")
    assert outcome.code == 2
    assert "after `--`" in outcome.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("profile", "x.hip"),
        ("check", "x.hip"),
        ("optimize", "x.hip"),
        ("prompt", "x.hip"),
        ("validate", "--kernel", "k", "x.hip", "y.hip"),
        ("doctor",),
        ("emulator", "--coverage", "x.hip"),
    ],
)
def test_a_place_that_cannot_be_written_to_is_refused_before_anything_is_done(
    cli: Cli, words: tuple[str, ...]
) -> None:
    outcome = cli(*words, "-o", "missing/dir/x.json")
    assert outcome.code == 2
    assert outcome.line.startswith("hipscope: cannot write to missing/dir/x.json")
    assert not (cli.folder / "missing").exists()


@pytest.mark.parametrize("words", [("check",), ("validate", "--kernel", "k", "x.hip", "y.hip")])
def test_commands_that_need_the_emulator_refuse_another_back_end(cli: Cli, words: tuple[str, ...]) -> None:
    outcome = cli(*words, "--backend", "rocm")
    assert outcome.code == 2
    assert f"{words[0]} runs programs on the emulator" in outcome.line


@pytest.mark.parametrize(
    "words", [(), ("--",), ("--", "./nothing"), ("--", "nothing-on-path"), ("--", "y.hip")]
)
def test_emulate_without_a_program_is_bad_input(cli: Cli, words: tuple[str, ...]) -> None:
    cli.write(PROGRAM, "x.hip")
    outcome = cli("emulate", *words)
    assert outcome.code == 2
    assert "program" in outcome.line


def test_check_without_a_source_takes_the_current_directory(cli: Cli) -> None:
    cli.write(PROGRAM)
    outcome = cli("check", "--format", "html", "-o", "page.html")
    assert outcome.code == 0, outcome.stderr
    page = (cli.folder / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "No defect in 1 dispatch" in page


def test_a_read_only_file_is_seen_before_a_rewrite_is_looked_for(cli: Cli) -> None:
    source = cli.write("int main() { this is not compiled }\n")
    (cli.folder / source).chmod(0o444)
    outcome = cli("optimize", "--apply", source)
    assert outcome.code == 2
    assert "the file is read-only" in outcome.line


@pytest.mark.slow
def test_a_report_obeys_columns_and_an_ascii_terminal(cli: Cli) -> None:
    source = cli.write(PROGRAM)
    for columns in (48, 60, 200):
        lines = cli("profile", source, COLUMNS=str(columns)).stdout.splitlines()
        assert max(map(len, lines)) <= columns
        table = next(n for n, line in enumerate(lines) if line.startswith("kernel"))
        assert "100 %" in lines[table + 1]
        assert any(line.strip().startswith("3  ") for line in lines), lines
    plain = cli("profile", source, PYTHONIOENCODING="ascii")
    assert plain.code == 0, plain.stderr
    assert "#### 100 %" in plain.stdout
    assert json.loads(cli("profile", "--format", "json", source, PYTHONIOENCODING="ascii").stdout)["kernels"]


TEMPLATE = """#include <hip/hip_runtime.h>
template <int kSteps> __global__ void column(float* p) {
  __shared__ float tile[32][32];
  for (int r = threadIdx.y; r < 32; r += 8) tile[r][threadIdx.x] = p[r * 32 + threadIdx.x];
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < kSteps; ++k) sum += tile[threadIdx.x][(threadIdx.y + k) % 32];
  p[blockIdx.x * 256 + threadIdx.y * 32 + threadIdx.x] = sum;
}
template <int kSteps> void run(float* p) { column<kSteps><<<8, dim3(32, 8)>>>(p); }
int main() {
  float* p;
  (void)hipMalloc(&p, 1 << 20);
  run<32>(p), run<48>(p), run<64>(p), run<80>(p), run<96>(p);
  return hipDeviceSynchronize();
}
"""


@pytest.mark.slow
def test_the_same_finding_of_a_templates_instances_is_one(cli: Cli) -> None:
    source = cli.write(TEMPLATE)
    report = json.loads(cli("profile", "--format", "json", source).stdout)
    assert len(report["kernels"]) == 5
    (found,) = [f for f in report["findings"] if f["formula"] == "latencyHiding"]
    assert {i["mangled"] for i in found["instances"]} == {k["mangled"] for k in report["kernels"]}
    assert (found["mangled"], found["share"]) == tuple(found["instances"][0][k] for k in ("mangled", "share"))
    shown = cli("profile", source, COLUMNS="200").stdout
    assert shown.count("latencyHiding") == 1
    assert "in 5 instances of the template (column<" in shown
    assert "and 1 more)" in shown
