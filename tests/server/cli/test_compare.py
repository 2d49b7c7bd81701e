"""`hipscope compare`: what changed between two profiles, and the exit code of a gate."""

import json
import os
import random
import subprocess
from typing import Any

import pytest

from hipscope.server.reports.compare_writer import compare_reports, passed_limits, read_limits
from hipscope.server.reports.report_reader import read_report
from hipscope.server.reports.schema.profile import Report
from tests.fake_rocprofv3 import Answers, install
from tests.server.command_line import Cli

KERNEL = """\
#include <hip/hip_runtime.h>
__global__ void scale(float* p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int n = 0; n < STEPS; n++) p[i] = p[i] * 1.5f + 1.0f;
}
int main() {
  float* p;
  (void)hipMalloc(&p, 4096 * 4);
  scale<<<16, 256>>>(p);
  return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
"""


def slower(data: dict[str, Any], factor: float, **resources: Any) -> Report:
    """The report of PROGRAM with all times `factor` times as long."""
    kernels = [
        kernel | {"time_ns": kernel["time_ns"] * factor, "resources": kernel["resources"] | resources}
        for kernel in data["kernels"]
    ]
    return read_report(data | {"kernels": kernels})


def test_a_kernel_that_takes_11_percent_more_time_passes_a_limit_of_5_and_not_of_20(
    report: Report, report_data: dict[str, Any]
) -> None:
    compared = compare_reports("transpose.hip", report, slower(report_data, 1.11))
    assert [round(k.change or 0, 4) for k in compared.kernels] == [0.11, 0.11]
    passed = passed_limits([compared], read_limits("time>5%"))
    assert [p.message for p in passed] == ["takes 11.0% more time"] * 2
    assert passed_limits([compared], read_limits("time>20%")) == ()
    assert passed_limits([compare_reports("x", report, report)], read_limits("time>0%,finding:new")) == ()


def test_resources_that_grow_and_findings_that_come_pass_their_limits(
    report: Report, report_data: dict[str, Any]
) -> None:
    head = slower(report_data, 0.5, vgprs=64)
    base = slower(report_data | {"findings": []}, 1.0, vgprs=32)
    compared = compare_reports("x", base, head)
    limits = [p.limit for p in passed_limits([compared], read_limits("vgpr>0,vgpr>32,finding:new"))]
    assert sorted(limits) == ["finding:new", "vgpr>0", "vgpr>0"]


def test_a_kernel_with_another_signature_is_the_same_kernel_and_others_are_new_or_gone(
    report: Report, report_data: dict[str, Any]
) -> None:
    first, second = report_data["kernels"]
    renamed = first | {"mangled": "_Z9transposePfll", "name": "transpose(float*, long, long)"}
    new = second | {"mangled": "_Z4fillPf", "name": "fill(float*)"}
    compared = compare_reports(
        "x", report, read_report(report_data | {"kernels": [renamed, new], "findings": []})
    )
    by_name = {kernel.name: kernel for kernel in compared.kernels}
    assert by_name["transpose"].renamed == "transpose(float*, int)"
    assert by_name["fill"].base is None
    assert by_name["copy"].head is None
    assert [p.kernel for p in passed_limits([compared], read_limits("kernel:gone"))] == ["copy"]


def test_times_of_two_devices_are_not_compared(report: Report, report_data: dict[str, Any]) -> None:
    other = read_report(report_data | {"device": report_data["device"] | {"name": "mi300a"}})
    compared = compare_reports("x", report, other)
    assert {k.change for k in compared.kernels} == {None}
    assert compared.kernels[0].not_comparable == "the base is of mi300x, the head of mi300a"


@pytest.mark.parametrize("text", ["time>5", "tmie>5%", "vgpr>1%", "finding:old", "vgpr"])
def test_a_limit_that_is_none_is_named(text: str) -> None:
    with pytest.raises(Exception, match="is no limit"):
        read_limits(text)


def test_two_saved_profiles_are_compared_and_the_gate_leaves_with_5(
    cli: Cli, report_data: dict[str, Any]
) -> None:
    base = cli.write(json.dumps(report_data), "base.json")
    kernels = [kernel | {"time_ns": kernel["time_ns"] * 1.5} for kernel in report_data["kernels"]]
    head = cli.write(json.dumps(report_data | {"kernels": kernels}), "head.json")
    shown = cli("compare", base, head)
    assert shown.code == 0
    assert "+50.0%" in shown.stdout
    gate = cli("compare", base, head, "--fail-on", "time>5%", "--format", "json")
    assert gate.code == 5
    found = json.loads(gate.stdout)
    assert found["schema"] == "hipscope.compare/1"
    assert [p["limit"] for p in found["passed_limits"]] == ["time>5%", "time>5%"]
    assert cli("compare", base, base, "--fail-on", "time>0%").code == 0
    wrong = cli("compare", base, "nothing.json")
    assert wrong.code == 2
    assert "nothing.json" in wrong.line


@pytest.mark.parametrize(
    ("before", "after", "failed"),
    [
        ("1 run\nPASS\n", "1 run\nFAIL\n", True),
        ("PASS\n", "sum: mismatch at 7\nPASS\n", True),
        ("FAIL\n", "FAIL again\n", False),
        ("0 failures\n", "0 failures\n", False),
        ("failsafe\n", "failsafe mode, failover\n", False),
    ],
)
def test_a_head_whose_own_check_fails_is_named_and_not_compared(
    cli: Cli, report_data: dict[str, Any], before: str, after: str, failed: bool
) -> None:
    """Many programs leave with 0 all the same."""
    for name, output in (("base", before), ("head", after)):
        program = report_data["program"] | {"output": output}
        cli.write(json.dumps(report_data | {"program": program}), f"{name}.json")
    done = cli("compare", "base.json", "head.json", "--fail-on", "time>5%")
    assert done.code == (4 if failed else 0), done.stdout
    assert ("its own check fails" in done.stdout) == failed


def test_two_revisions_are_profiled_and_a_program_that_fails_leaves_the_others(
    cli: Cli,
) -> None:
    folder = cli.folder

    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=folder, check=True)

    git("init", "-q")
    (folder / "scale.hip").write_text(KERNEL.replace("STEPS", "4"))
    (folder / "broken.hip").write_text(KERNEL.replace("STEPS", "4"))
    git("add", ".")
    git("commit", "-qm", "base")
    (folder / "scale.hip").write_text(KERNEL.replace("STEPS", "4000"))
    (folder / "broken.hip").write_text(KERNEL)
    git("add", ".")
    git("commit", "-qm", "head")
    before = sorted(path.name for path in (folder / ".git").iterdir())
    done = cli(
        "compare", "HEAD~1", "HEAD", "scale.hip", "broken.hip", "--backend", "emulator", "--fail-on", "time>10%",
        "--format", "json",
    )  # fmt: skip
    assert done.code == 5, done.stderr
    found = json.loads(done.stdout)
    scale, broken = found["programs"]
    assert scale["kernels"][0]["change"] > 1
    assert "STEPS" in broken["failed"]
    assert [p["kernel"] for p in found["passed_limits"]] == ["scale"]
    assert sorted(path.name for path in (folder / ".git").iterdir()) == before


def test_programs_are_profiled_and_compared_with_each_other_and_with_saved_profiles(cli: Cli) -> None:
    for name, steps in (("short.hip", "4"), ("long.hip", "4000")):
        (cli.folder / name).write_text(KERNEL.replace("STEPS", steps))
    saved = cli("profile", "short.hip", "--backend", "emulator", "--format", "json", "-o", "short.json")
    assert saved.code == 0, saved.stderr
    emulated = ("--backend", "emulator", "--format", "json")
    of_two = cli("compare", "short.hip", "long.hip", *emulated)
    with_saved = cli("compare", "short.json", "long.hip", *emulated)
    for done in (of_two, with_saved):
        assert done.code == 0, done.stderr
        (kernel,) = json.loads(done.stdout)["programs"][0]["kernels"]
        assert kernel["change"] > 1
    wrong = cli("compare", "short.hip", "HEAD~1")
    assert wrong.code == 2
    assert "HEAD~1" in wrong.line


def test_a_kernel_of_another_name_is_found_by_its_text_and_the_lines_that_became_slower_are_told(
    cli: Cli,
) -> None:
    cli.write(KERNEL.replace("STEPS", "8"), "base.hip")
    lines = (
        KERNEL.replace("STEPS", "64").replace("scale", "rescaled").replace("(float* p)", "(float* p, int)")
    )
    cli.write(
        lines.replace(">>>(p)", ">>>(p, 1)").replace("  int i", "  // a line more\n  int i"), "head.hip"
    )
    done = cli("compare", "base.hip", "head.hip", "--backend", "emulator", "--format", "json")
    (kernel,) = json.loads(done.stdout)["programs"][0]["kernels"]
    assert (kernel["renamed"], kernel["name"]) == ("scale(float*)", "rescaled")
    slowest = kernel["moved_lines"][0]
    assert (slowest["base_line"], slowest["head_line"]) == (4, 5)
    assert slowest["head_ns"] > slowest["base_ns"] > 0
    shown = cli("compare", "base.hip", "head.hip", "--backend", "emulator")
    assert "was scale(float*)" in shown.stdout
    assert "line 5:" in shown.stdout


def test_kernels_that_do_different_things_are_not_taken_for_renamed_ones(cli: Cli) -> None:
    cli.write(KERNEL.replace("STEPS", "8"), "base.hip")
    other = KERNEL.replace("scale", "ends").replace(
        "for (int n = 0; n < STEPS; n++) p[i] = p[i] * 1.5f + 1.0f;",
        "__shared__ float t[256]; t[threadIdx.x] = p[i]; __syncthreads(); if (i % 2) p[i] = t[255 - i % 64];",
    )
    cli.write(other, "head.hip")
    done = cli("compare", "base.hip", "head.hip", "--backend", "emulator", "--format", "json")
    found = {
        k["name"]: (k["base"] is None, k["head"] is None)
        for k in json.loads(done.stdout)["programs"][0]["kernels"]
    }
    assert found == {"ends": (True, False), "scale": (False, True)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("longer", "noise", "code"),
    [(1.11, 0.02, 5), (1.04, 0.02, 0), (1.11, 0.4, 0)],
    ids=["slower", "near", "noisy"],
)
def test_on_a_gpu_a_change_is_that_of_runs_in_turn_and_a_limit_asks_for_all_of_its_interval(
    cli: Cli, longer: float, noise: float, code: int
) -> None:
    tools = cli.folder / "tools"
    tools.mkdir()
    dice = random.Random(7)
    runs = [
        [[100_000 * factor * (1 + dice.uniform(-noise, noise))] for _ in range(1 + 20)]
        for factor in (1.0, longer)
    ]
    install(tools, Answers(kernel="scale(float*)", series=runs, counters={"SQ_WAVES": 64.0}))
    for name, steps in (("base.hip", "8"), ("head.hip", "9")):
        cli.write(KERNEL.replace("STEPS", steps), name)
    done = cli(
        *("compare", "base.hip", "head.hip", "--backend", "rocm", "--fail-on", "time>5%", "--format", "json"),
        PATH=f"{tools}{os.pathsep}{os.environ['PATH']}",
    )
    assert done.code == code, done.stderr
    (kernel,) = json.loads(done.stdout)["programs"][0]["kernels"]
    found = kernel["measured"]
    assert found["pairs"] == 20
    assert found["low"] < kernel["change"] < found["high"]
    assert found["low"] < longer - 1 < found["high"]
    assert (found["low"] > 0.05) == (code == 5)
