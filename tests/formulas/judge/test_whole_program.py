"""What the whole program prints with a rewrite, held against runs of the original by other clocks."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hipscope.analysis.profilers.emulator import UNTIMED_NS
from hipscope.analysis.run import Run
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.judge.bench import open_bench
from hipscope.formulas.judge.judge import Judgement, over_program
from hipscope.formulas.judge.outcome import Outcome, ProgramTimes
from hipscope.formulas.judge.program_output import output_difference
from hipscope.formulas.judge.whole_program import Rehearsals, program_times, try_program
from hipscope.formulas.propose.candidate import Candidate


@pytest.mark.parametrize(
    ("others", "lines", "runs"),
    [
        (["took 8 us", "took 4 us"], ("took 6 us",), 1),
        (["took 6 us", "took 4 us"], ("took 6 us",), 2),  # by chance the same by the first other clock
        (["took 6 us", "took 6 us"], (), 2),
    ],
)
def test_a_number_that_any_run_of_the_original_prints_otherwise_is_no_difference(
    others: list[str], lines: tuple[str, ...], runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def profile(output: str) -> Any:
        return SimpleNamespace(program=SimpleNamespace(output=output), kernels=(), kernel=lambda _: None)

    session = SimpleNamespace(profile=profile("took 6 us"), prepared_dir=None)
    bench: Any = SimpleNamespace(session=session, symbols=frozenset(), source=None, timed_later=False)
    asked: list[bool] = []

    def original(_: Rehearsals, _clock: int | None, *, timed: bool = True) -> str:
        asked.append(timed)
        return others[len(asked) - 1]

    monkeypatch.setattr(Rehearsals, "_original", original)
    with Rehearsals(bench, Run()) as rehearsals:
        varied = rehearsals._varying(session.profile, profile("took 5 us"), (), 0.0)
    assert varied.lines == lines
    assert varied.beyond is None
    assert asked == [False, True][:runs]  # what models no times costs less


@pytest.mark.parametrize("mean_ns", [700.0, 1e5, 3e7])
def test_without_modelled_times_a_launch_takes_more_than_the_mean_of_the_program(
    mean_ns: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = SimpleNamespace(time_ns=2 * mean_ns, dispatches=(0, 0), mangled="k")
    was: Any = SimpleNamespace(
        program=SimpleNamespace(output="1 us"), kernels=(kernel,), kernel=lambda _: None
    )
    session = SimpleNamespace(profile=was, prepared_dir=None)
    bench: Any = SimpleNamespace(session=session, symbols=frozenset(), source=None, timed_later=False)
    clocks: list[int] = []

    def original(_: Rehearsals, clock: int, **_timed: bool) -> str:
        clocks.append(clock)
        return "2 us"

    monkeypatch.setattr(Rehearsals, "_original", original)
    with Rehearsals(bench, Run()) as rehearsals:
        now: Any = SimpleNamespace(program=SimpleNamespace(output="3 us"), kernels=(), kernel=lambda _: None)
        rehearsals._varying(was, now, (), 0.0)
    takes = clocks[0] / 100 * UNTIMED_NS
    assert 1.3 * mean_ns < takes < max(1.4 * mean_ns, 0.011 * UNTIMED_NS)


def test_of_lines_that_differ_the_one_that_says_more_than_a_number_is_named() -> None:
    before, after = "Total time: 183.4 (ms)\nPASS\n", "Total time: 51.2 (ms)\nFAIL\n"
    assert "`FAIL` instead of `PASS`" in (output_difference(before, after, []) or "")
    assert "`sum 3` instead of `sum 2`" in (output_difference("sum 2\n", "sum 3\n", []) or "")
    assert output_difference(before, after, ["time", "PASS|FAIL"]) is None


def _profile(times: dict[str, float], partial: str | None = None) -> Any:
    kernels = tuple(SimpleNamespace(name=n, mangled=n, time_ns=t) for n, t in times.items())
    by_name = {k.name: k for k in kernels}
    return SimpleNamespace(kernels=kernels, partial=partial, kernel=by_name.get)


def test_what_rewritten_kernels_take_in_the_program_is_added_up_over_all_of_them() -> None:
    was, new = _profile({"k<0>": 80.0, "k<1>": 20.0, "other": 5.0}), _profile({"k<0>": 40.0, "k<1>": 30.0})
    times = program_times(was, new, {"k<0>", "k<1>"})
    assert times == ProgramTimes(before_ns=100.0, after_ns=70.0)
    assert program_times(was, _profile({"k<0>": 40.0}, "cut"), {"k<0>"}) is None
    assert program_times(was, new, {"other"}) is None  # it has no time with the rewrite


@pytest.mark.parametrize(("after_ns", "outcome"), [(99.0, Outcome.NOT_FASTER), (80.0, Outcome.ACCEPTED)])
def test_a_gain_of_replayed_launches_that_the_program_does_not_show_is_none(
    after_ns: float, outcome: Outcome
) -> None:
    candidate = Candidate(recipe="r", title="t", text=b"", expected="")
    replayed = Judgement(candidate, Outcome.ACCEPTED, "1.50x as fast", speedup=1.5)
    judged = over_program(replayed, ProgramTimes(before_ns=100.0, after_ns=after_ns), 1.03)
    assert judged.stage is outcome
    if judged.accepted:
        assert judged.speedup == pytest.approx(1.25)
    else:
        assert "does not show in the program" in judged.reason
    assert over_program(replayed, None, 1.03) is replayed


WHERE = """#include <hip/hip_runtime.h>
#include <cstdio>
#include <unistd.h>
__global__ void twice(float* x) { x[threadIdx.x] *= 2.0f; }
int main(int, char** called) {
  char here[4096];
  std::printf("%s:%d: %s in %s\\n", __FILE__, __LINE__, called[0], getcwd(here, sizeof here));
  float* x;
  (void)hipMalloc(&x, 256);
  (void)hipMemset(x, 0, 256);
  twice<<<1, 64>>>(x);
  float first = 1.0f;
  (void)hipMemcpy(&first, x, 4, hipMemcpyDeviceToHost);
  std::printf("%g\\n", first);
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("settings", ["", 'build = "hipcc where.hip -o where"\nrun = "$PWD/where"\n'])
def test_a_program_may_print_where_it_is_its_lines_and_how_it_was_called(
    tmp_path: Path, settings: str
) -> None:
    source = tmp_path / "where.hip"
    source.write_text(WHERE)
    if settings:
        (tmp_path / "hipscope.toml").write_text(settings)
    project = resolve_project(tmp_path if settings else source)
    session = profile_project(project, options=ProfileOptions(backend="emulator", capture_dispatches=()))
    with open_bench(project, session, session.profile.kernels[0]) as bench:
        same = try_program(bench, WHERE.replace("*= 2.0f", "+=\n x[threadIdx.x]").encode(), exact=True)
        wrong = try_program(bench, WHERE.replace("*= 2.0f", "+= 2.0f").encode(), exact=True)
    assert same.failure is None
    assert "`2` instead of `0`" in str(wrong.failure)
