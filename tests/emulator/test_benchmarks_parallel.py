"""Runs side by side give what they give one after the other (benchmarks/parallel.py)."""

from __future__ import annotations

import argparse
import subprocess
import threading

import pytest

from benchmarks.parallel import add_jobs, side_by_side, until_late

SIZES = [("a", 1), ("a", 2), ("b", 1), ("a", 3), ("b", 2), ("a", 4), ("b", 3)]


def _run(item: tuple[str, int]) -> int:
    if item in (("a", 3), ("b", 3)):
        raise subprocess.TimeoutExpired("program", 1)
    return 10 * item[1]


@pytest.mark.parametrize("jobs", [1, 2, 16])
def test_a_kernel_is_left_at_its_first_size_that_takes_too_long_however_many_run_at_once(jobs: int) -> None:
    found = list(until_late(_run, SIZES, lambda item: item[0], jobs))
    assert found == [(("a", 1), 10), (("a", 2), 20), (("b", 1), 10), (("b", 2), 20)]


def test_sizes_behind_a_late_one_are_not_begun() -> None:
    begun = []

    def run(item: tuple[str, int]) -> int:
        begun.append(item)
        return _run(item)

    list(until_late(run, SIZES, lambda item: item[0], 1))
    assert ("a", 4) not in begun


def test_as_many_run_at_once_as_there_are_jobs_and_results_keep_their_order() -> None:
    meet = threading.Barrier(4)

    def run(item: int) -> int:
        meet.wait(timeout=30)
        return item * item

    assert list(side_by_side(run, range(8), 4)) == [n * n for n in range(8)]


def test_what_a_run_raises_is_raised() -> None:
    def run(item: int) -> int:
        raise subprocess.CalledProcessError(item, "program")

    with pytest.raises(subprocess.CalledProcessError):
        list(until_late(run, [1], lambda item: item, 4))


def test_no_jobs_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_jobs(parser)
    assert parser.parse_args(["--jobs", "16"]).jobs == 16
    with pytest.raises(SystemExit):
        parser.parse_args(["--jobs", "0"])
    assert "--jobs" in capsys.readouterr().err
