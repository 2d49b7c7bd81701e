"""From a finding to a verified edit on real programs, and wrong candidates that each gate must stop."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from hipscope.accordo.dispatch.captured import CaptureUnreadable
from hipscope.accordo.replay.replay import ReplayBroken
from hipscope.analysis.config import Config
from hipscope.analysis.errors import BuildFailed, HipscopeError, UsageError
from hipscope.analysis.profile import Kernel
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project
from hipscope.analysis.system.amd_gpu import AmdGpus
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.base import Finding
from hipscope.formulas.detect.registry import find_formula
from hipscope.formulas.judge.bench import Bench, open_bench
from hipscope.formulas.judge.judge import Judgement, judge_candidate
from hipscope.formulas.judge.selection import Offers
from hipscope.formulas.judge.whole_program import try_program
from hipscope.formulas.optimize import kernel_search
from hipscope.formulas.optimize.loop import OptimizeOptions, OptimizeResult, apply_edit, optimize_project
from hipscope.formulas.propose.candidate import Candidate

PROGRAM = """#include <hip/hip_runtime.h>
#include <cstdio>
#include <vector>
constexpr int kBlock = 256;
// Turns each run of 256 elements around and adds the element's place.
__global__ void flip(const float* in, float* out, int n) {
  __shared__ float tile[kBlock];
  const int i = blockIdx.x * kBlock + threadIdx.x;
  if (i < n) tile[threadIdx.x] = in[i];
  __syncthreads();
  const int from = kBlock - 1 - threadIdx.x;
  if (i < n && blockIdx.x * kBlock + from < n) {
    float sum = 0.0f;
    for (int k = 0; k < 12; ++k) sum += tile[from] * (k + 1);
    out[i] = sum + i;
  }
}
int main() {
  const int n = 256 * 40 - 100;
  std::vector<float> in(n), out(n);
  for (int i = 0; i < n; ++i) in[i] = i % 17 - 8.0f;
  float *a, *b;
  (void)hipMalloc(&a, n * sizeof(float));
  (void)hipMalloc(&b, (n + 64) * sizeof(float));
  (void)hipMemcpy(a, in.data(), n * sizeof(float), hipMemcpyHostToDevice);
  flip<<<40, kBlock>>>(a, b, n);
  (void)hipMemcpy(out.data(), b, n * sizeof(float), hipMemcpyDeviceToHost);
  std::printf("out[0] = %g\\n", out[0]);
  return 0;
}
"""
STORE = "out[i] = sum + i;"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench_of(tmp_path_factory.mktemp("flip") / "flip.hip", PROGRAM) as opened:
        yield opened


@contextlib.contextmanager
def bench_of(file: Path, program: str) -> Iterator[Bench]:
    """The bench of the only kernel of a program, which is written to the file."""
    file.write_text(program)
    project = resolve_project(file)
    session = profile_project(project, options=ProfileOptions(backend="emulator", capture_dispatches=()))
    with open_bench(project, session, session.profile.kernels[0]) as opened:
        yield opened


def judged(bench: Bench, old: str, new: str, formula: str | None = None, exact: bool = False) -> Judgement:
    text = PROGRAM.replace(old, new)
    assert text != PROGRAM
    candidate = Candidate("by hand", "", text.encode(), "", exact=exact)
    return judge_candidate(bench, candidate, find_formula(formula) if formula else None)


def test_a_faster_equivalent_kernel_is_accepted_with_its_numbers(bench: Bench) -> None:
    loop = "for (int k = 0; k < 12; ++k) sum += tile[from] * (k + 1);"
    slow = judged(
        bench,
        loop,
        loop + " for (int k = 0; k < 400; ++k) if (in[i] == 1e30f + k) sum += 1.0f;",
    )
    assert slow.stage == "not_faster"
    assert "slower" in slow.reason
    fast = judged(bench, "__syncthreads();", "__syncthreads();\n  // nothing else")
    assert fast.stage == "not_faster"
    assert "1.000x" in fast.reason


@pytest.mark.parametrize(
    ("old", "new", "stage", "reason"),
    [
        ("__syncthreads();", "", "different", "`out`"),
        ("kBlock + threadIdx.x;", "kBlock + threadIdx.x + 1;", "different", "Not equivalent"),
        ("if (i < n && blockIdx", "if (i < n - 1 && blockIdx", "different", "1 of"),
        ("if (i < n && blockIdx", "if (blockIdx.x < 20 && i < n && blockIdx", "different", "elements of `out`"),
        (STORE, STORE + " if (i == 0) out[n] = 1.0f;", "different", "writes where the reference does not"),
        (STORE, STORE + " if (i == 0) out[n + 64] = 1.0f;", "different", "faults"),
        (STORE, STORE + " if (i == 0) out[i] = in[n + 1];", "different", "faults"),
        # Right when workgroups start in order: the next one writes over it.
        (STORE, STORE + " if (threadIdx.x == 255 && i < 5120) out[i + 1] = 0.5f;", "different", "of `out` are wrong"),
        (STORE, "out[i] = 1.0f;", "different", "elements of `out` are wrong"),
        (STORE, "out[i] = in[i];", "different", "elements of `out` are wrong"),
        (STORE, "out[i] = (i % 256 == 7) ? NAN : sum + i;", "different", "nan instead"),
        (STORE, STORE + " const_cast<float*>(in)[i] = 0.0f;", "refused", "casts the const of `in` away"),
        ("if (i < n) tile[threadIdx.x] = in[i];", "if (i < n && i != 9) tile[threadIdx.x] = in[i];",
         "different", "`out`"),
        (STORE, "out[i] = sum == sum ? sum + i : 0.0f;", "different", "NaN or infinite"),
        ("= in[i];", "= fminf(in[i], 1e6f);", "different", "a few large ones"),
        ("int n) {", "long n) {", "refused", "parameters changed"),
        ("kBlock = 256;", "kBlock = 128;", "refused", "outside the kernel"),
        ("__syncthreads();", "if (threadIdx.x < 128) __syncthreads();", "refused", "not all threads"),
        ("float sum = 0.0f;", "float sum = undeclared;", "not_compiled", "line 13: use of undeclared identifier"),
        ("tile[kBlock];", "tile[kBlock * 100];", "not_compiled", "exceeds limit"),
        ("k < 12; ++k", "k < 12; k += (in[i] > 1e30f)", "different", "Not equivalent"),
        (STORE, STORE + " for (int k = 0; k < 60; ++k) if (in[k] == 1234.5f) out[i] = 0.0f;",
         "different", "numbers that a program names"),
    ],
)  # fmt: skip
def test_a_wrong_candidate_is_stopped_with_the_reason(
    bench: Bench, old: str, new: str, stage: str, reason: str
) -> None:
    judgement = judged(bench, old, new)
    assert (judgement.stage, reason in judgement.reason) == (stage, True), judgement.reason


def test_a_rounding_difference_is_refused_where_bit_equality_was_promised(bench: Bench) -> None:
    loop = "for (int k = 0; k < 12; ++k) sum += tile[from] * (k + 1);"
    other = "for (int k = 11; k >= 0; --k) sum += tile[from] * 1.1f * (k + 1) / 1.1f;"
    assert judged(bench, loop, other, exact=True).stage == "different"
    assert judged(bench, loop, other).stage == "not_faster"


@pytest.mark.parametrize(
    ("name", "formula"),
    [  # one for each formula; the others with --exhaustive
        ("lds_column_read.hip", "bankConflict"),
        pytest.param("strided_access.hip", "memoryAccess", marks=pytest.mark.slow),
        pytest.param("contended_atomic.hip", "atomicContention", marks=pytest.mark.slow),
        pytest.param("contended_histogram.hip", "atomicContention", marks=pytest.mark.exhaustive),
        pytest.param("accidental_double.hip", "precision", marks=pytest.mark.slow),
        pytest.param("register_spill.hip", "registerPressure", marks=pytest.mark.slow),
        pytest.param("interleaved_reduction.hip", "bankConflict", marks=pytest.mark.exhaustive),
        pytest.param("divergent_branch.hip", "branchDivergence", marks=pytest.mark.slow),
        pytest.param("slow_division.hip", "precision", marks=pytest.mark.exhaustive),
        pytest.param("xcd_order.hip", "memoryLocality", marks=pytest.mark.slow),
        pytest.param("one_load_in_flight.hip", "latencyHiding", marks=pytest.mark.slow),
        pytest.param("few_workgroups.hip", "launchConfig", marks=pytest.mark.slow),
    ],
)
def test_an_example_gets_a_verified_edit_and_still_passes_its_own_check(
    name: str, formula: str, examples: Path, tmp_path: Path
) -> None:
    file = tmp_path / name
    shutil.copyfile(examples / name, file)
    before = file.read_bytes()
    result = optimize_project(resolve_project(file, config=Config(backend="emulator")))
    assert (result.status, result.formula) == ("verified", formula), result.message
    assert result.speedup is not None
    assert result.speedup >= 1.03
    assert result.verdict is not None
    assert result.verdict.equivalent
    objective = find_formula(formula)
    assert objective is not None
    assert result.before is not None
    assert result.after is not None
    was, now = result.before.metrics, result.after.metrics
    assert any(
        now.get(o.metric, 0.0) < was[o.metric] if o.direction == "down" else now[o.metric] > was[o.metric]
        for o in objective.objectives
        if o.metric in was
    )
    assert file.read_bytes() == before  # only a proposal so far
    assert result.edit is not None
    apply_edit(result.edit)
    again = profile_project(resolve_project(file), options=ProfileOptions(backend="emulator"))
    assert again.profile.program.exit_code == 0
    assert again.profile.program.output.startswith("PASS")
    assert OptimizeResult.model_validate_json(result.model_dump_json(by_alias=True)) == result


def test_every_example_with_a_finding_is_rewritten_above(examples: Path) -> None:
    marks = test_an_example_gets_a_verified_edit_and_still_passes_its_own_check.pytestmark  # type: ignore[attr-defined]
    listed = {getattr(p, "values", p)[0] for p in marks[0].args[1]}
    assert listed == {p.name for p in examples.glob("*.hip") if "hipscope: expect" in p.read_text()}


@pytest.mark.slow
def test_there_is_nothing_to_do_for_a_clean_example(examples: Path) -> None:
    result = optimize_project(resolve_project(examples / "vector_add.hip", config=Config(backend="emulator")))
    assert (result.status, result.edit) == ("nothing_to_do", None)
    assert {(a.recipe, a.outcome) for a in result.attempts} <= {
        ("compiler_hints", "not_faster"), ("launch_shape", "not_faster"), ("xcd_remap", "not_faster"),
    }  # fmt: skip


@pytest.mark.slow
def test_tiles_that_share_lines_are_given_to_one_xcd_though_nothing_was_found(examples: Path) -> None:
    """Rows of 2310 floats end within a line: the workgroups of two XCDs read it from memory, once each."""
    result = optimize_project(
        resolve_project(examples / "tiled_transpose.hip", config=Config(backend="emulator"))
    )
    assert (result.status, result.attempts[0].recipe) == ("verified", "xcd_remap")


GATHER = """#include <hip/hip_runtime.h>
#include <cstdio>
#include <vector>
__device__ float gathered(const float* values, const int* order, int n) {
  float sum = 0.0f;
  int k = 0;
  while (k < n) {
    sum += values[order[k]];
    ++k;
  }
  return sum;
}
__global__ void gather(const float* values, const int* order, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = gathered(values, order + i * n, n);
}
int main() {
  const int n = 64, threads = 1024;
  std::vector<float> values(n * threads), out(threads);
  std::vector<int> order(n * threads);
  for (int i = 0; i < n * threads; ++i) values[i] = i % 17 - 8.0f, order[i] = i * 7919 % (n * threads);
  float *a, *b;
  int* o;
  (void)hipMalloc(&a, values.size() * sizeof(float));
  (void)hipMalloc(&b, threads * sizeof(float));
  (void)hipMalloc(&o, order.size() * sizeof(int));
  (void)hipMemcpy(a, values.data(), values.size() * sizeof(float), hipMemcpyHostToDevice);
  (void)hipMemcpy(o, order.data(), order.size() * sizeof(int), hipMemcpyHostToDevice);
  gather<<<threads / 256, 256>>>(a, o, b, n);
  (void)hipMemcpy(out.data(), b, threads * sizeof(float), hipMemcpyDeviceToHost);
  std::printf("out[7] = %g\\n", out[7]);
  return 0;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("found", [True, False])
def test_a_loop_in_a_helper_is_unrolled_whatever_was_found(tmp_path: Path, found: bool) -> None:
    file = tmp_path / "gather.hip"
    file.write_text(GATHER)
    share = 0.05 if found else 1.0
    result = optimize_project(resolve_project(file, config=Config(backend="emulator", min_share=share)))
    assert result.status == "verified", result.message
    assert bool(result.findings) == found
    assert result.attempts[-1].recipe == "compiler_hints"
    assert result.verdict is not None
    assert result.verdict.bit_exact
    assert result.speedup is not None
    assert result.speedup > 1.3
    assert result.edit is not None
    text = result.edit.applied_to(GATHER.encode()).decode()
    assert "#pragma unroll 8\n" in text.partition("  while (k < n) {")[0]


REGISTERS = """hipFuncAttributes attributes;
  check(hipFuncGetAttributes(&attributes, reinterpret_cast<const void*>(sum_of_squares)));
  std::printf("%d registers\\n", attributes.numRegs);
  """


def contended(file: Path, examples: Path, before_end: str) -> None:
    """The example with more at its end, and fewer values."""
    text = (examples / "contended_atomic.hip").read_text().replace("3000017", "300017")
    file.write_text(text.replace("const bool right", before_end + "const bool right"))


@pytest.mark.slow
def test_output_that_changes_is_a_reason_unless_the_project_ignores_it(
    examples: Path, tmp_path: Path
) -> None:
    file = tmp_path / "registers.hip"
    contended(file, examples, REGISTERS)
    strict = optimize_project(resolve_project(file, config=Config(backend="emulator")))
    assert strict.status == "rejected"
    assert strict.edit is None
    assert "output changes: `10 registers` instead of `" in strict.message
    assert "optimize.ignore_output" in strict.message
    (tmp_path / "hipscope.toml").write_text('[optimize]\nignore_output = ["registers$"]\n')
    assert optimize_project(resolve_project(file)).status == "verified"


def test_a_gpu_that_auto_cannot_use_is_named_in_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus = AmdGpus(("gfx942",), "/dev/kfd: Permission denied", "log in again")
    monkeypatch.setattr("hipscope.analysis.profilers.find_amd_gpus", lambda *_: gpus)
    file = tmp_path / "small.hip"
    file.write_text(
        "#include <hip/hip_runtime.h>\n"
        "__global__ void fill(float* out) { out[threadIdx.x] = 1.0f; }\n"
        "int main() { float* p; if (hipMalloc(&p, 256)) return 1;\n"
        "fill<<<1, 64>>>(p); return hipDeviceSynchronize(); }\n"
    )
    result = optimize_project(resolve_project(file))
    assert result.edit is None
    assert result.notes[0].startswith("the AMD GPU (gfx942) is not used: /dev/kfd: Permission denied")


@pytest.mark.slow
def test_times_that_the_program_prints_may_change(examples: Path, tmp_path: Path) -> None:
    file = tmp_path / "timed.hip"
    contended(
        file,
        examples,
        'float ms = 0;\n  check(hipEventElapsedTime(&ms, from, to));\n  std::printf("GPU: %9.6f ms\\n", ms);\n'
        '  std::printf("host: %ld\\n", (long)std::chrono::steady_clock::now().time_since_epoch().count());\n  ',
    )
    text = file.read_text().replace("#include <cstdio>", "#include <chrono>\n#include <cstdio>")
    launch = "  sum_of_squares<<<"
    events = "  hipEvent_t from, to;\n  check(hipEventCreate(&from));\n  check(hipEventCreate(&to));\n"
    text = text.replace(launch, f"{events}  check(hipEventRecord(from));\n{launch}")
    text = text.replace(
        "  check(hipGetLastError());",
        "  check(hipEventRecord(to));\n  check(hipEventSynchronize(to));\n  check(hipGetLastError());",
    )
    file.write_text(text)
    result = optimize_project(resolve_project(file, config=Config(backend="emulator")))
    assert result.status == "verified"
    said = [note for note in result.notes if note.startswith("Not compared: ")]
    assert len(said) == 2
    assert "`GPU: " in said[0]
    assert "`host: " in said[1]


@pytest.mark.slow
def test_a_rewrite_that_ruins_a_number_which_changes_by_itself_is_refused(tmp_path: Path) -> None:
    with bench_of(tmp_path / "steps.hip", CLOCKED) as bench:
        changed = {
            by: try_program(bench, CLOCKED.replace("x + 1", by).encode(), exact=True)
            for by in ("x + 2", "x + 1e30f")
        }
    assert str(changed["x + 2"].failure).startswith("Launch 1 of the program")  # printed, it could be a time
    failure = changed["x + 1e30f"].failure
    assert failure is not None
    assert failure.startswith("The program's output changes further than from run to run, `rate ")
    assert "where 3 runs of the original print" in failure


@pytest.mark.slow
def test_the_program_may_round_otherwise_where_the_proof_says_so(tmp_path: Path) -> None:
    text = CLOCKED.replace("last / ms", "last * 1.5f").replace("%g", "%.6f")
    rounded = text.replace("x + 1", "x * 1.000001f + 1").encode()
    with bench_of(tmp_path / "steps.hip", text) as bench:
        found = {exact: try_program(bench, rounded, exact=exact) for exact in (True, False)}
        wrong = try_program(bench, text.replace("x + 1", "x * 1.001f + 1").encode(), exact=False)
    assert "`rate 384.000000`" in str(found[True].failure)
    assert found[False].failure is None
    assert found[False].notes[-1] == "Compared within 1e-05 of each number: `rate 384.000000`."
    assert wrong.failure is not None


CLOCKED = """#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void steps(float* out) { const float x = threadIdx.x; out[threadIdx.x] = x + 1; }
int main() {
  float *out = nullptr, last = 0, ms = 0;
  hipEvent_t from, to;
  hipMalloc(&out, 256 * 4);
  hipEventCreate(&from); hipEventCreate(&to);
  hipEventRecord(from);
  steps<<<1, 256>>>(out);
  hipEventRecord(to); hipEventSynchronize(to);
  hipEventElapsedTime(&ms, from, to);
  hipMemcpy(&last, out + 255, 4, hipMemcpyDeviceToHost);
  std::printf("rate %g\\n", last / ms);
}
"""


IN_A_STRUCTURE = """#include <hip/hip_runtime.h>
#include <cstdio>
#include <vector>
#include "grid.h"
__global__ void scale(Grid<float> in, Grid<float> out, float factor) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  const int column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < in.rows && column < in.columns) {
    out.data[row * out.columns + column] = factor * in.data[row * in.columns + column];
  }
}
int main() {
  const int rows = 1000, columns = 960;
  std::vector<float> values(rows * columns, 1.5f);
  float *a, *b;
  (void)hipMalloc(&a, values.size() * 4);
  (void)hipMalloc(&b, values.size() * 4);
  (void)hipMemcpy(a, values.data(), values.size() * 4, hipMemcpyHostToDevice);
  scale<<<dim3(32, 120), dim3(32, 8)>>>({a, rows, columns}, {b, rows, columns}, 2.0f);
  (void)hipMemcpy(values.data(), b, values.size() * 4, hipMemcpyDeviceToHost);
  std::printf("%g\\n", values[777]);
}
"""


@pytest.mark.slow
def test_numbers_in_a_structure_of_a_header_are_known_to_recipes(tmp_path: Path) -> None:
    (tmp_path / "grid.h").write_text("template <typename T> struct Grid { T* data; int rows, columns; };\n")
    file = tmp_path / "scale.hip"
    file.write_text(IN_A_STRUCTURE)
    result = optimize_project(resolve_project(file, config=Config(backend="emulator")))
    assert result.status == "verified", result.message
    assert "index_swap" in [a.recipe for a in result.attempts if a.outcome == "accepted"]


ELEMENTS = """#include <hip/hip_runtime.h>
#include <cstdio>
#include <vector>
#include "types.h"
__global__ void shade(const ELEMENT* in, ELEMENT* out, int width, int height) {
    const int y = blockIdx.x * blockDim.x + threadIdx.x;
    const int x = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    ELEMENT c = in[y * width + x];
    c.x = c.x / 2 + 1;
    out[y * width + x] = c;
}
int main() {
    const int width = 640, height = 512, count = width * height;
    std::vector<ELEMENT> host(count);
    for (int i = 0; i < count; ++i) host[i].x = i % 97;
    ELEMENT *in, *out;
    if (hipMalloc(&in, count * sizeof(ELEMENT)) != hipSuccess) return 1;
    if (hipMalloc(&out, count * sizeof(ELEMENT)) != hipSuccess) return 1;
    (void)hipMemcpy(in, host.data(), count * sizeof(ELEMENT), hipMemcpyHostToDevice);
    shade<<<dim3(height / 32, width / 8), dim3(32, 8)>>>(in, out, width, height);
    (void)hipMemcpy(host.data(), out, count * sizeof(ELEMENT), hipMemcpyDeviceToHost);
    long sum = 0;
    for (const ELEMENT& e : host) sum += e.x;
    printf("%ld\\n", sum);
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("element", ["uchar4", "Cell"])
def test_elements_of_a_vector_or_of_a_structure_have_a_known_size(element: str, tmp_path: Path) -> None:
    (tmp_path / "types.h").write_text("struct Cell { int x; float weight; };\n")
    file = tmp_path / "shade.hip"
    file.write_text(ELEMENTS.replace("ELEMENT", element))
    result = optimize_project(resolve_project(file, config=Config(backend="emulator")))
    assert result.status == "verified", result.message
    assert "index_swap" in [a.recipe for a in result.attempts if a.outcome == "accepted"]


TWO_KERNELS = """#include <hip/hip_runtime.h>
#include <cstdio>
template <int kStride> __global__ void stride(float* data, int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * kStride;
  if (i < n) data[i] = data[i] * 2.0f;
}
__global__ void other(float* data, int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * 16;
  if (i < n) data[i] = data[i] + 2.0f;
}
int main() {
  const int n = 1 << 16;
  float* data;
  (void)hipMalloc(&data, n * 4);
  (void)hipMemset(data, 0, n * 4);
  stride<16><<<16, 256>>>(data, n);
  other<<<16, 256>>>(data, n);
  printf("%d\\n", hipDeviceSynchronize());
}
"""


@pytest.mark.parametrize(
    "failure",
    [
        BuildFailed("no rule", "mend it"),
        UsageError("not built", "mend it"),
        CaptureUnreadable("dispatch_3/buffer_0.after: not part of the capture", "mend it"),
        ReplayBroken("the replay of dispatch 3 failed", "mend it"),
    ],
)
def test_a_kernel_that_cannot_be_tried_does_not_end_the_others(
    failure: HipscopeError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "two.hip"
    file.write_text(TWO_KERNELS)
    asked: list[str] = []

    @contextlib.contextmanager
    def broken(
        _project: object, _session: object, kernel: Kernel, *_rest: object, **_more: object
    ) -> Iterator[Bench]:
        asked.append(kernel.name)
        raise failure
        yield  # type: ignore[unreachable]  # what makes it a generator

    monkeypatch.setattr(kernel_search, "open_bench", broken)
    result = optimize_project(resolve_project(file, config=Config(backend="emulator")))
    assert len(asked) == 2
    assert {(a.formula, a.kernel) for a in result.attempts} == {
        (f.formula, f.kernel) for f in result.findings
    }
    assert {(a.outcome, a.reason) for a in result.attempts} == {
        ("cannot_judge", f"{failure.message} (mend it)")
    }
    assert result.status == "no_improvement"
    assert failure.message in result.message


INSTANCES = """#include <hip/hip_runtime.h>
#include <cstdio>
#include <utility>
template <int n> __global__ void scale(float* data) { data[blockIdx.x * 256 + threadIdx.x] *= n; }
template <int... n> void all(float* data, std::integer_sequence<int, n...>) { (scale<n><<<256, 256>>>(data), ...); }
int main() {
  float* data;
  (void)hipMalloc(&data, 65536 * 4);
  (void)hipMemset(data, 0, 65536 * 4);
  all(data, std::make_integer_sequence<int, 30>());
  printf("%d\\n", hipDeviceSynchronize());
}
"""


def test_the_instances_of_a_template_are_hot_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "instances.hip"
    file.write_text(INSTANCES)
    asked: list[str] = []

    def untried(_project: object, _session: object, kernel: Kernel, *_: object, **_more: object) -> object:
        asked.append(kernel.name)
        raise UsageError("not tried")

    monkeypatch.setattr(kernel_search, "open_bench", untried)
    result = optimize_project(resolve_project(file, config=Config(backend="emulator")))
    assert result.findings == ()
    assert len(asked) == 1
    assert asked[0].startswith("void scale<")


def test_a_finding_that_cannot_be_tried_leaves_those_of_its_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "two.hip"
    file.write_text(TWO_KERNELS)

    def recipes(_bench: Bench, finding: Finding) -> Offers:
        raise UsageError(f"cannot try {finding.formula}")

    monkeypatch.setattr(kernel_search, "ask_recipes", recipes)
    result = optimize_project(
        resolve_project(file, config=Config(backend="emulator")), options=OptimizeOptions(kernel="other")
    )
    untried = [f"cannot try {f.formula}" for f in result.findings]
    assert untried
    assert [a.reason for a in result.attempts][: len(untried)] == untried
    assert result.status == "no_improvement"


def test_bad_options_are_one_clear_line(examples: Path) -> None:
    project = resolve_project(examples / "vector_add.hip", config=Config(backend="emulator"))
    with pytest.raises(UsageError, match="did you mean bankConflict"):
        optimize_project(project, options=OptimizeOptions(formula="bankConflicts"))
    with pytest.raises(UsageError, match="runs no kernel 'nope'"):
        optimize_project(project, options=OptimizeOptions(kernel="nope"))
    with pytest.raises(UsageError, match="unknown rewriter"):
        optimize_project(project, options=OptimizeOptions(rewriter="magic"))


def test_what_a_kernel_leaves_in_a_device_variable_is_part_of_its_result(tmp_path: Path) -> None:
    file = tmp_path / "counter.hip"
    file.write_text(
        "#include <hip/hip_runtime.h>\n__device__ int calls;\n"
        "__global__ void count(int* out) { if (threadIdx.x == 0) calls += 1; out[threadIdx.x] = 1; }\n"
        "int main() { int* p; (void)hipMalloc(&p, 256); count<<<1, 64>>>(p); return hipDeviceSynchronize(); }\n"
    )
    project = resolve_project(file)
    session = profile_project(project, options=ProfileOptions(backend="emulator", capture_dispatches=()))
    with open_bench(project, session, session.profile.kernels[0]) as bench:
        text = file.read_bytes()
        twice = Candidate("by hand", "", text.replace(b"calls += 1", b"calls += 2"), "")
        judgement = judge_candidate(bench, twice)
        assert judgement.stage == "different"
        assert "device variable `calls`" in judgement.reason
        same = Candidate("by hand", "", text.replace(b"calls += 1", b"calls = calls + 1"), "")
        assert judge_candidate(bench, same).stage == "not_faster"
