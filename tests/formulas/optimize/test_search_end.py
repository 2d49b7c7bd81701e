"""A search that ends early gives what it has: at its time limit or when asked, and not when it is cancelled."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.errors import Cancelled, UsageError
from hipscope.analysis.profile import Kernel
from hipscope.analysis.run import Run
from hipscope.analysis.toolchain.project import Project, resolve_project
from hipscope.formulas.judge.bench import Bench
from hipscope.formulas.judge.outcome import Outcome
from hipscope.formulas.optimize import kernel_search, loop
from hipscope.formulas.optimize.loop import OptimizeOptions, OptimizeResult, optimize_project
from hipscope.formulas.optimize.result import Attempt
from hipscope.formulas.optimize.search_end import SearchEnd, ended_sentence
from hipscope.formulas.optimize.verified_edit import edit_between

TEXTS = [b"one\n", b"one!\n", b"one!!\n"]
KERNEL = """#include <hip/hip_runtime.h>
__global__ void add(float* x) { x[threadIdx.x] += 1.0f; }
int main() {
  float* x;
  (void)hipMalloc(&x, 1024);
  add<<<1, 256>>>(x);
  return hipDeviceSynchronize();
}
"""


def test_each_way_to_end_stops_the_steps_and_only_a_cancel_leaves_no_reason() -> None:
    cancel, asked = threading.Event(), threading.Event()
    end = SearchEnd(cancel, seconds=60, asked=asked)
    assert (end.is_set(), end.reason) == (False, None)
    assert 50 < Run(end).seconds_left <= 60
    asked.set()
    assert (end.is_set(), end.reason) == (True, "The search was ended before it was through")
    cancel.set()
    assert (end.is_set(), end.reason) == (True, None)
    late = SearchEnd(seconds=0)
    assert (late.is_set(), late.reason) == (True, "The search was ended by its limit of 0 s")


def test_what_is_left_is_named() -> None:
    left = Attempt(formula="f", kernel="k", recipe="r", title="", outcome=Outcome.ENDED, reason="")
    kernels = ["void k<int>(int*)", "a()", "b()", "c()", "d()", "d()"]
    assert ended_sentence("Ended", kernels, [left, left]) == (
        "Ended: not done with `k`, `a`, `b` and 2 more kernels; 2 candidates not judged to the end."
    )


def verified(file: Path, number: int) -> OptimizeResult:
    edit = edit_between(file, TEXTS[number], TEXTS[number + 1])
    return OptimizeResult(status="verified", message="It is faster.", kernel="k", speedup=1.5, edit=edit)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    file = tmp_path / "k.hip"
    file.write_bytes(TEXTS[0])
    return Project(tmp_path, file, (file,), Config(), (), "single")


Rounds = Callable[[list[Callable[[], OptimizeResult]]], list[int]]


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch) -> Rounds:
    """Sets what each round comes to; the list that it gives has the number of each round that was begun."""

    def answers(given: list[Callable[[], OptimizeResult]]) -> list[int]:
        begun: list[int] = []

        def one(*_: object, **__: object) -> OptimizeResult:
            begun.append(len(begun))
            return given[begun[-1]]()

        monkeypatch.setattr(loop, "_optimize", one)
        return begun

    return answers


def ending(event: threading.Event) -> OptimizeResult:
    event.set()
    raise Cancelled


def test_a_later_round_that_is_ended_leaves_the_edit_of_the_rounds_before(
    project: Project, rounds: Rounds
) -> None:
    file, asked = project.sources[0], threading.Event()
    rounds([lambda: verified(file, 0), lambda: verified(file, 1), lambda: ending(asked)])
    options = OptimizeOptions(rounds=None, end=SearchEnd(asked=asked))
    result = optimize_project(project, options=options)
    assert result.edit is not None
    assert result.edit.applied_to(TEXTS[0]) == TEXTS[2]
    assert result.ended == "The search was ended before it was through, in round 3."
    assert result.message.endswith(result.ended)


def test_a_round_that_cannot_end_in_time_is_not_begun(
    project: Project, rounds: Rounds, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = SearchEnd(seconds=100)
    begun = rounds([lambda: verified(project.sources[0], 0)])
    times = iter([0.0, 250.0, 250.0])
    monkeypatch.setattr("hipscope.formulas.optimize.loop.time.monotonic", lambda: next(times, 251.0))
    monkeypatch.setattr(SearchEnd, "seconds_left", 100.0)
    result = optimize_project(project, options=OptimizeOptions(rounds=None, end=end))
    assert (begun, result.status) == ([0], "verified")
    assert result.ended == "Round 2 was not begun: 100 s of the limit are left, the one before took 250 s."


def test_without_a_profile_there_is_nothing_to_give(project: Project, rounds: Rounds) -> None:
    asked = threading.Event()
    rounds([lambda: ending(asked)])
    with pytest.raises(Cancelled):
        optimize_project(project, options=OptimizeOptions(end=SearchEnd(asked=asked)))
    rounds([lambda: ending(threading.Event())])
    with pytest.raises(UsageError, match=r"ended by its limit of 0 s before the program was profiled"):
        optimize_project(project, options=OptimizeOptions(end=SearchEnd(seconds=0)))


@pytest.mark.parametrize("how", ["asked", "cancelled"])
def test_a_kernel_that_the_end_came_upon_is_named(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "add.hip"
    file.write_text(KERNEL)
    cancel, asked = threading.Event(), threading.Event()

    @contextlib.contextmanager
    def ended(
        _project: object, _session: object, _kernel: Kernel, *_: object, **__: object
    ) -> Iterator[Bench]:
        (asked if how == "asked" else cancel).set()
        raise Cancelled
        yield  # type: ignore[unreachable]  # what makes it a generator

    monkeypatch.setattr(kernel_search, "open_bench", ended)
    options = OptimizeOptions(end=SearchEnd(cancel, asked=asked))
    added = resolve_project(file, config=Config(backend="emulator"))
    if how == "cancelled":
        with pytest.raises(Cancelled):
            optimize_project(added, Run(cancel), options=options)
        return
    result = optimize_project(added, Run(cancel), options=options)
    assert result.ended == "The search was ended before it was through: not done with `add`."
    # What came of other attempts is no reason why there is none.
    assert result.status == "no_improvement"
    assert (result.edit, result.message) == (None, f"No verified improvement. {result.ended}")
