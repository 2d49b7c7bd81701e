"""The defences around the proof, each with what it alone stops: the text, the precision, the program, the hardware."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hipscope.accordo.compare.buffers import Errors
from hipscope.accordo.oracle.source import widened
from hipscope.accordo.proof.checks import results
from hipscope.accordo.proof.validate import validate
from hipscope.accordo.reference.prepare import prepare_reference
from hipscope.accordo.replay.replay import ReplayRequest, replay
from hipscope.analysis.config import Config
from hipscope.analysis.devices import find_device
from hipscope.analysis.profile import Dispatch, Kernel, Profile, ProgramRun, Provenance, Resources, Source
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project
from hipscope.analysis.source.parse import parse
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.judge.bench import Bench, OnDemand, open_bench
from hipscope.formulas.judge.guard import check_source
from hipscope.formulas.judge.judge import Judgement, admit, judge_candidate, over_ranges, prove
from hipscope.formulas.judge.outcome import Outcome
from hipscope.formulas.judge.physical_limits import impossible, suspicious
from hipscope.formulas.judge.speed_gate import slower_kernels
from hipscope.formulas.judge.timed_replay import measure
from hipscope.formulas.judge.whole_program import program_difference
from hipscope.formulas.propose.candidate import Candidate

PROGRAM = """#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void bell(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = expf(-0.5f * in[i] * in[i]) * 0.398942280f;
}
int main() {
  const int n = 2000;
  float in[n], out[n];
  for (int i = 0; i < n; ++i) in[i] = i * 0.004f - 4.0f;
  float *a, *b;
  (void)hipMalloc(&a, sizeof in);
  (void)hipMalloc(&b, sizeof out);
  (void)hipMemcpy(a, in, sizeof in, hipMemcpyHostToDevice);
  bell<<<8, 256>>>(a, b, n);
  (void)hipMemcpy(out, b, sizeof out, hipMemcpyDeviceToHost);
  std::printf("%.3f\\n", out[1000]);
}
"""
KERNEL = """__global__ void k(const float* in, float* out, double* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  double wide = in[i];
  volatile int keep = n;
  assert(n > 0);
  if (i < n) out[i] = wide;
  atomicAdd(&sum[0], wide);
}
"""


@contextlib.contextmanager
def bench_of(source: Path, text: str) -> Iterator[Bench]:
    """A bench for the first kernel of a program."""
    source.write_text(text)
    project = resolve_project(source)
    session = profile_project(project, options=ProfileOptions(backend="emulator", capture_dispatches=()))
    with open_bench(project, session, session.profile.kernels[0]) as opened:
        yield opened


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench_of(tmp_path_factory.mktemp("bell") / "bell.hip", PROGRAM) as opened:
        yield opened


def test_less_precision_than_the_reference_is_seen_against_double(bench: Bench) -> None:
    """The result is within the tolerance of the type: only the comparison with double precision sees it."""
    text = PROGRAM.replace("0.398942280f", "0.398942f")
    compiled = admit(bench, Candidate("by hand", "", text.encode(), "", exact=False), bench.run)
    assert not hasattr(compiled, "stage"), compiled
    verdict = validate(bench.reference, compiled.path)
    assert verdict.outcome == "different"
    assert verdict.mismatches[0].kind == "less_precise"
    assert "units in the last place, that of the reference" in verdict.reason
    settings = bench.reference.settings
    off = type(settings)(**{**vars(settings), "without": frozenset({"oracle"}), "work": bench.work / "off"})
    loose = prepare_reference(bench.dispatches, off, bench.reference.signature)
    assert validate(loose, compiled.path).equivalent


def test_another_order_of_rounding_is_no_loss_of_precision(bench: Bench) -> None:
    text = PROGRAM.replace("-0.5f * in[i] * in[i]", "in[i] * (in[i] * -0.5f)")
    compiled = admit(bench, Candidate("by hand", "", text.encode(), "", exact=False), bench.run)
    assert not hasattr(compiled, "stage"), compiled
    assert validate(bench.reference, compiled.path).equivalent


def test_a_decision_on_an_unwritten_value_is_refused_though_all_results_are_right(bench: Bench) -> None:
    """No content of LDS that the replays try takes the branch: only the check of uninitialised reads sees it."""
    end = """0.398942280f;
  if (i < n && in[i] > 1e6f) seen[threadIdx.x] = 1;
  __syncthreads();
  if (i < n && seen[255 - threadIdx.x] == 12345.0f) out[i] = 0;
}"""
    text = PROGRAM.replace("0.398942280f;\n}", end).replace(
        "n) {\n", "n) {\n  __shared__ float seen[256];\n", 1
    )
    compiled = admit(bench, Candidate("by hand", "", text.encode(), "", exact=True), bench.run)
    assert not hasattr(compiled, "stage"), compiled
    verdict = validate(bench.reference, compiled.path)
    assert verdict.outcome == "different"
    assert verdict.mismatches[0].kind == "sanitizer"
    assert "it uses an unwritten value on line 9" in verdict.reason


STRUCTURE = """#include <hip/hip_runtime.h>
struct Params { float* x; const float* y; int n; int mode; float alpha; double beta; };
__global__ void update(Params p) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.n) return;
  float v = p.alpha * p.y[i];
  if (p.mode == 1) v += (float)p.beta;
  p.x[i] = v;
}
int main() {
  float y[300];
  for (int i = 0; i < 300; ++i) y[i] = i * 0.25f;
  float* in;
  Params p{nullptr, nullptr, 300, 0, 0.1f, 0.7};
  (void)hipMalloc(&p.x, sizeof y);
  (void)hipMalloc(&in, sizeof y);
  (void)hipMemcpy(in, y, sizeof y, hipMemcpyHostToDevice);
  p.y = in;
  update<<<2, 256>>>(p);
  return hipDeviceSynchronize();
}
"""


@pytest.fixture(scope="module")
def structure_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench_of(tmp_path_factory.mktemp("structure") / "update.hip", STRUCTURE) as opened:
        yield opened


@pytest.mark.parametrize(
    ("old", "new", "trial"),
    [
        ("  if (p.mode == 1) v += (float)p.beta;\n", "", "argument 1, byte 20 1 instead of 0, other floats"),
        ("(float)p.beta", "0.7f", "argument 1, byte 20 1 instead of 0, other floats"),
        ("p.alpha * p.y[i]", "0.1f * p.y[i]", "other float and bool arguments"),
        ("p.y[i]", "(i * 0.25f)", "inputs permuted"),
    ],
)
def test_what_is_built_in_instead_of_read_from_a_structure_is_refused(
    structure_bench: Bench, old: str, new: str, trial: str
) -> None:
    text = STRUCTURE.replace(old, new)
    compiled = admit(
        structure_bench, Candidate("by hand", "", text.encode(), "", exact=True), structure_bench.run
    )
    assert not hasattr(compiled, "stage"), compiled
    verdict = validate(structure_bench.reference, compiled.path)
    assert (verdict.outcome, verdict.trials[-1].inputs) == ("different", trial)


SAME_POINTER = """#include <hip/hip_runtime.h>
__global__ void product(const float* a, const float* b, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] * b[i];
}
int main() {
  float *a, *out;
  (void)hipMalloc(&a, 500 * sizeof(float));
  (void)hipMalloc(&out, 500 * sizeof(float));
  (void)hipMemset(a, 0x3f, 500 * sizeof(float));
  product<<<8, 64>>>(a, a, out, 500);
  return hipDeviceSynchronize();
}
"""


def test_what_is_right_only_where_two_pointers_are_the_same_is_refused(tmp_path: Path) -> None:
    with bench_of(tmp_path / "product.hip", SAME_POINTER) as bench:
        square = SAME_POINTER.replace("a[i] * b[i]", "a[i] * a[i]")
        compiled = admit(bench, Candidate("by hand", "", square.encode(), "", exact=True), bench.run)
        assert not hasattr(compiled, "stage"), compiled
        verdict = validate(bench.reference, compiled.path)
        assert verdict.outcome == "different"
        assert verdict.trials[-1].inputs == "pointers that share no memory"
        settings = bench.reference.settings
        off = type(settings)(
            **{**vars(settings), "without": frozenset({"pointers_apart"}), "work": bench.work / "off"}
        )
        unaware = prepare_reference(bench.dispatches, off, bench.reference.signature)
        assert validate(unaware, compiled.path).equivalent


@pytest.mark.parametrize(
    ("body", "wide"),
    [
        ("float x = 1.5f * sqrtf(y) + 1e-3F;", "double x = 1.5 * sqrt(y) + 1e-3;"),
        ("// float\n\"float\" 'f' 0x1f", None),
        ("float floats = 2.f;", "double floats = 2.;"),
        ("float4 v; int half = 2;", "double4 v; int half = 2;"),
        ("float w = __int_as_float(3);", None),
    ],
)
def test_a_kernel_in_double_precision_is_made_word_by_word(body: str, wide: str | None) -> None:
    found, _ = widened(f"__global__ void k() {{ {body} }}\n", "k")
    assert (found is None) == (wide is None)
    assert wide is None or wide in (found or "")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("out[i] = wide", "in[i]", "never writes to `out`"),
        ("atomicAdd(&sum[0], wide);", "", "never writes to `sum`"),
        ("out[i] = wide", "out[i] = wide; ((float*)in)[i] = 0", "casts the const of `in` away"),
        ("out[i] = wide", "out[i] = wide; const_cast<float*>(in)[i] = 0", "casts the const of `in` away"),
        ("double wide = in[i]", "float wide = in[i]", "less in double precision"),
        ("double wide = in[i]", "double wide = (_Float16)in[i]", "`_Float16`, which is less precise"),
        ("assert(n > 0);", "", "asserts and the rewrite does not"),
        ("volatile int", "int", "drops a `volatile`"),
    ],
)  # fmt: skip
def test_an_output_a_const_a_precision_and_a_check_are_kept(old: str, new: str, reason: str) -> None:
    kernel = parse(KERNEL.encode()).kernel("k")
    assert kernel is not None
    candidate = KERNEL.replace(old, new)
    assert candidate != KERNEL
    assert reason in " ".join(check_source(KERNEL.encode(), candidate.encode(), kernel))
    harmless = KERNEL.replace("if (i < n) out[i] = wide;", "if (i < n) { float* p = out; p[i] = wide; }")
    assert check_source(KERNEL.encode(), harmless.encode(), kernel) == ()


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("__half in_at[2] = {in[i], in[i]};", False),  # as it comes from memory
        ("__half sum = in[i];", True),
        ("__half in_at[2] = {in[i], in[i]}; __half sum = in_at[0];", True),
        ("__hip_bfloat16 in_at[2];", True),
    ],
)
def test_elements_may_be_copied_in_their_own_precision_and_no_more(line: str, refused: bool) -> None:
    text = (
        "__global__ void k(const __half* in, float* out, int i) {\n  float x = in[i];\n  out[i] = x * x;\n}\n"
    )
    kernel = parse(text.encode()).kernel("k")
    assert kernel is not None
    candidate = text.replace("  float x", f"  {line}\n  float x")
    reasons = " ".join(check_source(text.encode(), candidate.encode(), kernel))
    assert ("less precise" in reasons) is refused, reasons


def profile(*kernels: tuple[str, int, float], output: str = "", exit_code: int = 0) -> Profile:
    """A program that launched the named kernels so often, each launch that many nanoseconds long."""
    made = []
    for name, count, time in kernels:
        launches = [
            Dispatch(id=i, grid=(64, 1, 1), workgroup=(64, 1, 1), start_ns=0, end_ns=time)
            for i in range(count)
        ]
        made.append(Kernel(name=name, mangled=name, dispatches=tuple(launches), resources=Resources()))
    return Profile(
        source=Source.ROCM, provenance=Provenance.MEASURED, tool="", device=find_device("mi300x"),
        kernels=tuple(made), program=ProgramRun(command=(), exit_code=exit_code, output=output),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (profile(("k", 2, 50.0), ("other", 1, 100.0)), None),
        (profile(("k", 1, 50.0), ("other", 1, 100.0)), "launched 1 times with the rewrite, before 2 times"),
        (profile(("k", 2, 50.0), ("other", 1, 100.0), ("helper", 1, 1.0)), "runs another kernel, helper"),
        (profile(("k", 2, 50.0)), "other does not run any more"),
        (profile(("k", 2, 50.0), ("other", 1, 110.0)), "Another kernel, other, becomes slower"),
        (profile(("k", 2, 50.0), ("other", 1, 100.0), output="FAIL"), "output changes"),
        (profile(("k", 2, 50.0), ("other", 1, 100.0), exit_code=1), "exit code changes"),
    ],
)
def test_the_program_runs_the_same_kernels_as_often_and_no_other_is_slower(
    after: Profile, reason: str | None
) -> None:
    before = profile(("k", 2, 100.0), ("other", 1, 100.0))
    found: Any = program_difference(before, after, {"k"}, [])
    assert found is None if reason is None else reason in found


@pytest.mark.parametrize(
    ("after", "untimed", "reason"),
    [
        (profile(("k", 1, 50.0), ("late", 3, 10.0)), {}, None),
        (profile(("k", 1, 50.0)), {"late": 3}, None),
        (profile(("k", 1, 50.0), ("late", 1, 10.0)), {"late": 2}, None),
        (
            profile(("k", 1, 50.0), ("late", 2, 10.0)),
            {},
            "late is launched 2 times with the rewrite, before 3",
        ),
        (profile(("k", 1, 50.0)), {}, "late does not run any more"),
        (profile(("k", 1, 50.0)), {"late": 3, "more": 1}, "runs another kernel, more"),
    ],
)
def test_launches_that_there_was_no_time_to_time_count_as_launches(
    after: Profile, untimed: dict[str, int], reason: str | None
) -> None:
    """A faster rewrite leaves more of the budget: all-pairs-distance of HeCBench has its last kernel timed then."""
    before = profile(("k", 1, 100.0)).model_copy(update={"untimed": {"late": 3}})
    found: Any = program_difference(before, after.model_copy(update={"untimed": untimed}), {"k"}, [])
    assert found is None if reason is None else reason in found


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        (profile(("k", 14, 50.0), ("other", 5, 100.0)), None),
        (profile(("k", 8, 50.0), ("other", 5, 100.0)), None),
        (
            profile(("k", 15, 50.0), ("other", 5, 100.0)),
            "launched 15 times with the rewrite, before 10 times",
        ),
        (profile(("k", 7, 50.0), ("other", 5, 100.0)), "launched 7 times with the rewrite, before 10 times"),
        (profile(("k", 10, 50.0), ("other", 6, 100.0)), "launched 6 times with the rewrite, before 5 times"),
        (profile(("other", 4, 110.0), ("k", 12, 50.0)), "launched 4 times with the rewrite, before 5 times"),
    ],
)
def test_where_races_decide_how_often_a_kernel_is_launched_a_rewrite_stays_about_as_near(
    after: Profile, reason: str | None
) -> None:
    before = profile(("k", 10, 100.0), ("other", 5, 100.0))
    others = [profile(("k", 12, 100.0), ("other", 5, 100.0)), profile(("k", 11, 100.0), ("other", 5, 100.0))]
    found: Any = program_difference(before, after, {"k"}, [], others)
    assert found is None if reason is None else reason in found


@pytest.mark.parametrize(("others", "slower"), [((1, 1), False), ((2, 1), False), ((2, 3), True)])
def test_kernels_that_lose_little_of_what_is_saved_are_only_noted(
    others: tuple[int, int], slower: bool
) -> None:
    """A short kernel behind one that is 8 times as fast finds what it reads in other caches."""
    before = profile(("k", 2, 1100.0), ("small", 1, 20.0), ("other", 1, 20.0))
    after = profile(("k", 2, 100.0), ("small", 1, 20.0 + others[0] * 10), ("other", 1, 20.0 + others[1] * 10))
    said, little = slower_kernels(before, after, {"k"})
    assert [sentence.split(",")[1] for sentence in said] == [" small", " other"]
    assert little is not slower
    assert ("becomes slower" in (program_difference(before, after, {"k"}, []) or "")) is slower


@pytest.mark.parametrize(("takes", "slower"), [(101.0, False), (110.0, True)])
def test_of_other_numbers_of_launches_each_may_not_be_slower(takes: float, slower: bool) -> None:
    before, again = profile(("k", 1, 9.0), ("other", 10, 100.0)), profile(("k", 1, 9.0), ("other", 12, 100.0))
    after = profile(("k", 1, 9.0), ("other", 14, takes))
    found = program_difference(before, after, {"k"}, [], [again])
    assert ("becomes slower" in (found or "")) is slower


@pytest.mark.parametrize(("unsteady", "slower"), [((), True), (("other",), False), (("k",), True)])
def test_a_kernel_whose_work_depends_on_the_order_of_waves_may_take_longer(
    unsteady: tuple[str, ...], slower: bool
) -> None:
    before, after = (
        profile(("k", 1, 9.0), ("other", 1, 100.0)),
        profile(("k", 1, 8.0), ("other", 1, 120.0)),
    )
    found = program_difference(before, after, {"k"}, [], (), unsteady)
    assert ("becomes slower" in (found or "")) is slower


def test_a_time_that_no_device_can_reach_is_refused() -> None:
    device = find_device("mi300x")
    peak = device.l2_bytes_per_s or device.hbm_bytes_per_s
    assert peak is not None
    assert device.flops_fp32 is not None
    assert impossible(1000.0, int(peak * 1e-6), 0.0, device) is None
    assert "GB/s at most" in str(impossible(1000.0, int(peak * 1.2e-6), 0.0, device))
    assert "TFLOP/s" in str(impossible(1000.0, 0, device.flops_fp32 * 1.2e-6, device))
    assert "no time" in str(impossible(0.0, 1, None, device))
    assert suspicious(3.0) is None
    assert "look at the diff" in str(suspicious(25.0))


def test_a_timed_run_that_leaves_another_result_is_refused(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel that is right when it is checked and wrong when it is timed: here by replacing what is timed."""
    from hipscope.formulas.judge import judge

    def wrong_code(_path: Path) -> Path:
        text = PROGRAM.replace("0.398942280f", "0.5f")
        compiled = admit(bench, Candidate("by hand", "", text.encode(), ""), bench.run)
        assert not isinstance(compiled, judge.Judgement)
        return compiled.path

    plain = measure
    monkeypatch.setattr(
        judge, "measure", lambda tool, launches, path, *rest: plain(tool, launches, wrong_code(path), *rest)
    )
    same = PROGRAM.replace("-0.5f * in[i] * in[i]", "(-0.5f * in[i]) * in[i]")
    judgement = judge.judge_candidate(bench, Candidate("by hand", "", same.encode(), "", exact=False))
    assert judgement.stage == "different"
    assert "the timed run of dispatch" in judgement.reason


def test_a_timed_run_is_held_against_double_precision_as_the_proof_is(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sum in another order that is proved so would be refused for its timed run otherwise."""
    other = PROGRAM.replace("0.398942280f", "0.39896f")
    compiled = admit(bench, Candidate("by hand", "", other.encode(), "", exact=False), bench.run)
    assert not isinstance(compiled, Judgement)
    dispatch = bench.dispatches[0]
    result = replay(bench.tool, ReplayRequest(dispatch, compiled.path, tmp_path / "run", seed=1))
    assert "elements" in str(results.check_timed_run(bench.reference, dispatch, result))
    monkeypatch.setattr(results, "_beside_the_truth", lambda *_: ((), Errors()))
    assert results.check_timed_run(bench.reference, dispatch, result) is None


def test_times_that_did_not_wait_for_the_reference_are_checked_once_it_is_there(
    bench: Bench,
) -> None:
    from hipscope.formulas.judge import judge

    text = PROGRAM.replace("-0.5f * in[i] * in[i]", "(-0.5f * in[i]) * in[i]")
    same = Candidate("by hand", "", text.encode(), "", exact=False)
    compiled = admit(bench, same, bench.run)
    wrong = admit(bench, replace(same, text=text.replace("0.398942280f", "0.5f").encode()), bench.run)
    assert not isinstance(compiled, Judgement)
    assert not isinstance(wrong, Judgement)
    later = OnDemand(bench.ahead.pool, lambda: bench.reference)
    waiting = replace(bench, ahead=replace(bench.ahead, reference=later))
    after = judge.time_candidate(waiting, same, wrong, bench.run)
    assert not isinstance(after, str)
    assert (after.checked, after.wrong) == (False, None)
    timed = Judgement(same, Outcome.ACCEPTED, "", after=after)
    verdict = prove(bench, same, compiled, bench.run)
    right = judge.with_checked_times(bench, timed, compiled, bench.run)
    assert judge.with_proof(bench, right, verdict).accepted
    other = judge.with_checked_times(bench, timed, wrong, bench.run)
    assert judge.with_proof(bench, other, verdict).stage is Outcome.DIFFERENT


SHARED_HELPER = """#include <hip/hip_runtime.h>
__device__ float sum(const float* in, int n) {
  float s = 0.0f;
  for (int i = 0; i < n; ++i) s += in[i];
  return s;
}
__global__ void one(const float* in, float* out, int n) { out[threadIdx.x] = sum(in + threadIdx.x, n); }
__global__ void two(const float* in, float* out, int n) { out[threadIdx.x] = 2.0f * sum(in, n); }
int main() {
  float *in, *out;
  (void)hipMalloc(&in, 4096);
  (void)hipMalloc(&out, 4096);
  (void)hipMemset(in, 0, 4096);
  one<<<1, 64>>>(in, out, 100);
  SECOND
  return hipDeviceSynchronize();
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("second", "said"),
    [("two<<<1, 64>>>(in, out, 100);", "Equivalent"), ("", "Not proved: another kernel, two")],
)
def test_a_helper_is_proved_for_every_kernel_that_calls_it(second: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "main.hip"
    file.write_text(SHARED_HELPER.replace("SECOND", second))
    project = resolve_project(file, config=Config(backend="emulator"))
    session = profile_project(project, options=ProfileOptions(backend="emulator", capture_dispatches=()))
    first = next(k for k in session.profile.kernels if k.name.startswith("one"))
    with open_bench(project, session, first) as bench:
        text = bench.original.replace(b"  for", b"#pragma unroll 8\n  for")
        candidate = Candidate("by hand", "", text, "")
        compiled = admit(bench, candidate, bench.run)
        assert not isinstance(compiled, Judgement), compiled.reason
        verdict = prove(bench, candidate, compiled, bench.run)
        assert said in verdict.reason
        assert verdict.equivalent == (said == "Equivalent")


@pytest.mark.slow
def test_a_rewrite_that_breaks_another_configuration_of_its_kernel_is_not_offered(tmp_path: Path) -> None:
    """The program is built without FAST; the rewrite uses what only that build has, and another keeps to both."""
    branches = "\n#ifdef FAST\n  const float f = 2;\n#else\n  const float scale = 0.5f, f = scale;\n#endif\n"
    text = PROGRAM.replace("int n) {\n", f"int n) {{{branches}").replace("expf(-0.5f *", "expf(-0.5f * f *")
    old = "* 0.398942280f;"
    assert old in text
    with bench_of(tmp_path / "bell.hip", text) as bench:
        tried = {
            name: admit(bench, Candidate("by hand", "", text.replace(old, new).encode(), ""), bench.run)
            for name, new in (("breaks", f"* scale {old}"), ("keeps", f"* f {old}"))
        }
    assert "Without FAST" not in str(tried["breaks"])
    assert "With FAST" in getattr(tried["breaks"], "reason", "")
    assert not isinstance(tried["keeps"], Judgement)


@pytest.fixture(scope="module")
def pasting_bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    text = "#define PASTE(a, b) a##b\n" + PROGRAM.lstrip("\n")
    with bench_of(tmp_path_factory.mktemp("pasting") / "pasting.hip", text) as opened:
        yield opened


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        ("if (PASTE(clo, ck64)() == 3) out[i] = 1.0f;", "its machine code reads a clock (`s_memtime`)"),
        ("if (PASTE(__LI, NE__) > 20000) out[i] = 1.0f;", "depends on the file name, the line or the time"),
        ("if (PASTE(__FI, LE__)[0] == 'e') out[i] = 1.0f;", "depends on the file name, the line or the time"),
        ("if (PASTE(__TI, ME__)[0] == '2' && PASTE(__TI, ME__)[1] == '3') out[i] = 1.0f;", "or the time of"),
    ],
)
def test_a_clock_a_place_or_a_time_that_no_text_names_is_seen_in_the_machine_code(
    pasting_bench: Bench, extra: str, reason: str
) -> None:
    bench = pasting_bench
    text = bench.original.decode().replace("0.398942280f;\n", "0.398942280f;\n  " + extra + "\n")
    answer = admit(bench, Candidate("by hand", "", text.encode(), "", exact=False), bench.run)
    assert isinstance(answer, Judgement), "it may not go on"
    assert reason in answer.reason


def test_the_machine_code_of_an_ordinary_rewrite_does_not_depend_on_its_place(pasting_bench: Bench) -> None:
    text = pasting_bench.original.decode().replace("-0.5f * in[i] * in[i]", "in[i] * (in[i] * -0.5f)")
    answer = admit(pasting_bench, Candidate("by hand", "", text.encode(), "", exact=False), pasting_bench.run)
    assert not isinstance(answer, Judgement), answer


INSTANCES = """#include <hip/hip_runtime.h>
struct Even { const float* data; __device__ float at(int i) const { return data[2 * i]; } };
struct Odd { const float* data; __device__ float at(int i) const { return data[2 * i + 1]; } };
template <typename View, int N>
__global__ void smooth(View in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int j = 0; j < N * n; ++j) sum += in.at((i + j) % 256);
  out[i] = sum;
}
int main(int count, char**) {
  float *in, *out;
  (void)hipMalloc(&in, 4096);
  (void)hipMalloc(&out, 4096);
  (void)hipMemset(in, 0, 4096);
  if (count > 1) smooth<Odd, 8><<<2, 256>>>(Odd{in}, out, 4);
  else smooth<Even, 4><<<2, 256>>>(Even{in}, out, 4);
  return hipDeviceSynchronize();
}
"""


@pytest.mark.slow
def test_an_instance_that_is_not_launched_may_be_compiled_differently_where_no_launch_is_relied_on(
    tmp_path: Path,
) -> None:
    """A program is compiled with more instances of a template than one run of it needs."""
    with bench_of(tmp_path / "smooth.hip", INSTANCES) as bench:
        assert {s[:9] for s in bench.not_launched(bench.compiled)} == {"_Z6smooth"}
        # `in.at` is another function in each instance, so that no text may be made of what one of them reads.
        assert {s.base for s in bench.kernel.subscripts} == {"out"}
        text = bench.original.replace(b"  for", b"#pragma unroll 8\n  for")
        hint = Candidate("by hand", "", text, "")
        judged = judge_candidate(bench, hint)
        assert judged.verdict is not None, judged.reason
        assert judged.verdict.equivalent, judged.reason
        compiled = admit(bench, hint, bench.run)
        assert not isinstance(compiled, Judgement)
        faster = replace(judged, stage=Outcome.ACCEPTED)
        said = over_ranges(bench, faster, compiled, bench.run).notes
        assert any("does not launch them: 1 other" in note for note in said) or not faster.accepted, said
        relies = admit(bench, replace(hint, assumes=("no workgroup is larger",)), bench.run)
        assert isinstance(relies, Judgement)
        assert "it changes void smooth<Odd, 8>" in relies.reason
