"""The sanitizers: each planted defect is found with its class and line, and clean programs are left alone."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.errors import UsageError
from hipscope.analysis.runs.check_project import CheckResult, check_project
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.sanitize import SanitizerReport
from tests.sampling import sampled

HERE = Path(__file__).parent
PLANTED = sorted((HERE / "planted").glob("*.hip"))
CLEAN = sorted((HERE / "programs").glob("*.hip")) + sorted((HERE.parents[1] / "examples").glob("*.hip"))
DELIBERATE = {"exec_corners": {"divergent-barrier"}}  # it shows what the hardware does with such barriers
_MARK = re.compile(r"// PLANTED ([a-z-]+)")


def check(source: Path) -> CheckResult:
    return check_project(resolve_project(source))


def planted(source: Path) -> set[tuple[str, int]]:
    """Class and line of every defect that the file says it has."""
    lines = source.read_text().splitlines()
    return {(m[1], n) for n, line in enumerate(lines, 1) for m in _MARK.finditer(line)}


def lines_of(report: SanitizerReport) -> set[tuple[str, int]]:
    places = (report.at.position, report.other.position if report.other else None)
    return {(report.defect, p.line) for p in places if p is not None}


def told(result: CheckResult) -> str:
    return "\n".join(
        f"{r.defect} in {r.kernel}: {sorted(lines_of(r))} {r.message} [{r.at.instruction}]"
        for r in result.run.reports
    )


@pytest.mark.parametrize("source", PLANTED, ids=lambda p: p.stem)
def test_each_planted_defect_is_found_on_its_line_and_nothing_else_is_reported(source: Path) -> None:
    expected = planted(source)
    assert len(expected) >= 10
    result = check(source)
    found = [lines_of(r) for r in result.run.reports]
    missed = {mark for mark in expected if not any(mark in lines for lines in found)}
    assert not missed, f"not found: {sorted(missed)}\n{told(result)}"
    strangers = [r for r in result.run.reports if not lines_of(r) & expected]
    assert not strangers, told(result)


@pytest.mark.slow
@pytest.mark.parametrize("source", sampled(CLEAN, 3, lambda p: p.stem), ids=lambda p: p.stem)
def test_a_clean_program_has_no_report(source: Path) -> None:
    result = check(source)
    reports = [r for r in result.run.reports if r.defect not in DELIBERATE.get(source.stem, ())]
    assert not reports, told(result)
    assert not result.faults


def test_a_report_names_kernel_thread_allocation_and_both_host_calls() -> None:
    source = HERE / "planted" / "bounds.hip"
    text = source.read_text().splitlines()
    reports = {r.kernel.partition("(")[0]: r for r in check(source).run.reports}
    past = reports["past_the_end"]
    assert past.count == 28
    assert past.at.workgroup == (1, 0, 0)
    assert past.at.thread == (36, 0, 0)
    assert past.memory is not None
    assert past.memory.write
    assert past.allocation is not None
    assert past.allocation.bytes == 400
    assert past.memory.address == past.allocation.address + 400
    assert "hipMalloc(&a, 400)" in text[past.allocation.allocated_at[0].line - 1]
    past_variable = reports["past_a_variable"].message
    assert past_variable.endswith("after the end of the device variable `few` of 12 bytes")
    freed = reports["after_free"].allocation
    assert freed is not None
    assert freed.freed
    assert "hipFree(freed)" in text[freed.freed_at[0].line - 1]


def test_an_undefined_value_is_told_with_its_use_its_load_and_its_allocation() -> None:
    source = HERE / "planted" / "uninitialised.hip"
    text = source.read_text().splitlines()
    reports = {r.kernel.partition("(")[0]: r for r in check(source).run.reports}
    missing = reports["one_lane_missing"]
    assert missing.at.thread == (5, 0, 0)
    assert missing.count == 1
    assert missing.memory is not None
    assert (missing.memory.space, missing.memory.address, missing.memory.write) == ("lds", 20, False)
    shuffled = reports["through_a_shuffle"]
    assert shuffled.at.thread == (8, 0, 0)
    assert shuffled.memory is not None
    assert shuffled.allocation is not None
    assert shuffled.memory.address - shuffled.allocation.address == 36
    field = reports["read_the_field"]
    assert field.memory is not None
    assert field.allocation is not None
    assert field.memory.address - field.allocation.address == 4
    assert "hipMalloc(&particles" in text[field.allocation.allocated_at[0].line - 1]
    assert reports["half_copied"].count == 32
    assert "leave_a_field_out" not in reports


def test_a_target_whose_fences_are_not_known_is_refused() -> None:
    project = resolve_project(PLANTED[0], config=Config.model_validate({"device": "mi210"}))
    with pytest.raises(UsageError, match="gfx942 and gfx950 order memory, not gfx90a"):
        check_project(project)


def test_only_the_checks_that_were_asked_for_run() -> None:
    source = HERE / "planted" / "uninitialised.hip"
    quiet = check_project(resolve_project(source), checks="bounds,stale").run
    assert not quiet.reports
    assert quiet.checks == ("bounds", "stale")
    assert check_project(resolve_project(source), checks="uninitialised").run.reports


def test_all_classes_are_planted_ten_times() -> None:
    count = Counter(kind for source in PLANTED for kind, _ in planted(source))
    assert count["out-of-bounds"] + count["use-after-free"] >= 10
    kinds = ("divergent-barrier", "misaligned", "data-race", "stale-read", "uninitialised-read")
    assert all(count[kind] >= 10 for kind in kinds)


HANDED_OVER = """
#include <hip/hip_runtime.h>
__global__ void copy(const float* from, float* to) { to[threadIdx.x] = from[threadIdx.x]; }
int main() {
  float *given, *own, *to;
  hipIpcMemHandle_t handle;
  if (hipMalloc(&given, 256) || hipMalloc(&own, 256) || hipMalloc(&to, 256)) return 1;
  if (hipIpcGetMemHandle(&handle, given)) return 1;
  copy<<<1, 64>>>(given, to);
  copy<<<1, 64>>>(own, to);  // the one defect
  return hipDeviceSynchronize();
}
"""


def test_what_another_process_may_have_written_is_initialised(tmp_path: Path) -> None:
    source = tmp_path / "handed_over.hip"
    source.write_text(HANDED_OVER)
    result = check(source)
    assert [(r.defect, r.dispatch) for r in result.run.reports] == [("uninitialised-read", 2)], told(result)


LIBRARY = """
#include <hip/hip_runtime.h>
template <class T>
__global__ void tails(T* to, int count) {
  T last;
  asm volatile("" : "=v"(last));
  to[threadIdx.x] = threadIdx.x < count ? T(threadIdx.x) : last;
}
"""


@pytest.mark.parametrize(("folder", "reported"), [("opt", 0), ("own", 1)])
def test_what_a_librarys_kernel_leaves_unset_is_not_its_callers_defect(
    tmp_path: Path, folder: str, reported: int
) -> None:
    headers = tmp_path / folder / "library"
    headers.mkdir(parents=True)
    (headers / "tails.hpp").write_text(LIBRARY)
    source = tmp_path / "main.hip"
    source.write_text(
        "#include <tails.hpp>\nint main() {\n  int* to;\n  if (hipMalloc(&to, 64 * sizeof(int))) return 1;\n"
        "  tails<<<1, 64>>>(to, 60);\n  return hipDeviceSynchronize();\n}\n"
    )
    config = Config(flags=[f"-isystem{headers}", "-O1"])
    result = check_project(resolve_project(source, config=config))
    assert len(result.run.reports) == reported, told(result)


PATHS = """
#include <hip/hip_runtime.h>
__global__ void paths(int* d, int n) {
  __shared__ int b[32][32];
  int i = threadIdx.x, j = threadIdx.y;
  b[i][j] = d[i * 32 + j];
  __syncthreads();
  for (int k = 0; k < n; ++k) {
    BARRIER;
    int via = 1 << 30;
    if (b[i][k] != 1 << 30 && b[k][j] != 1 << 30) via = b[i][k] + b[k][j];
    if (via < b[i][j]) b[i][j] = via;
  }
  __syncthreads();
  d[i * 32 + j] = b[i][j];
}
int main() {
  int *d, h[1024];
  for (int i = 0; i < 1024; ++i) h[i] = i % 33 == 0 ? 0 : 1 + i * 7919 % 1009;
  if (hipMalloc(&d, sizeof h) || hipMemcpy(d, h, sizeof h, hipMemcpyHostToDevice)) return 1;
  paths<<<1, dim3(32, 32)>>>(d, 32);
  return hipDeviceSynchronize();
}
"""


@pytest.mark.parametrize(
    ("barrier", "races"), [("__syncthreads()", False), ("__builtin_amdgcn_s_barrier()", True)]
)
def test_a_wait_that_the_compiler_leaves_out_before_syncthreads_is_not_the_sources_defect(
    tmp_path: Path, barrier: str, races: bool
) -> None:
    source = tmp_path / "main.hip"
    source.write_text(PATHS.replace("BARRIER", barrier))
    result = check(source)
    assert bool(result.run.reports) == races, told(result)
