"""Importance of counters: a planted dependence is found, chance is silent, the time explains itself never."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hipscope.analysis.history import frame, store
from hipscope.analysis.history.importance import Importance, importance, importance_of
from hipscope.analysis.history.store import HistoryEntry, KernelRow

ENTRY = HistoryEntry("", "abc", False, "mi300x", "modelled", "", "")
KERNEL = KernelRow("axpy", "_Z4axpy", None, None, None, 1.0, "memory", 12, 0, 8.0)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def explained(project: Path, times: np.ndarray, counters: dict[str, np.ndarray], **row: object) -> Importance:
    """The answer for runs of one kernel that took these times and counted these counters."""
    for number, time in enumerate(times):
        entry = replace(ENTRY, time=f"2026-11-28T12:00:{number:02}+00:00")
        packed = store.packed({name: float(values[number]) for name, values in counters.items()})
        store.add(project, entry, [replace(KERNEL, launch_ns=float(time), counters=packed, **row)])  # type: ignore[arg-type]
    (found,) = importance(frame(project))
    return found


def noise(runs: int, counters: int, seed: int) -> dict[str, np.ndarray]:
    dice = np.random.default_rng(seed)
    return {f"SQ_INSTS_{n}": dice.lognormal(10, 1, runs) for n in range(counters)}


@pytest.mark.parametrize("runs", [8, 24])
def test_a_planted_dependence_is_found_among_noise(tmp_path: Path, runs: int) -> None:
    misses = np.random.default_rng(1).uniform(1e4, 1e6, runs)
    times = 5000 + misses * np.random.default_rng(2).normal(1, 0.02, runs)
    found = explained(
        tmp_path, times, {**noise(runs, 40, 3), "TCC_MISS_sum": misses, "TCC_MISS_2": misses * 2}
    )
    assert [one.name for one in found.counters] == ["TCC_MISS_sum"]
    (one,) = found.counters
    assert one.alike == ("TCC_MISS_2",)
    assert one.correlation > 0.95
    assert (one.lowest, one.highest) == pytest.approx((misses.min(), misses.max()), rel=1e-6)
    assert found.explained is not None
    assert found.explained > 0.9
    assert one.importance > 0.5
    assert found.runs == runs


def test_two_causes_stand_in_the_order_of_what_they_cost(tmp_path: Path) -> None:
    dice = np.random.default_rng(5)
    large, small = dice.uniform(1, 100, 40), dice.uniform(1, 100, 40)
    found = explained(tmp_path, large**2 * small, {"LARGE": large, "SMALL": small, **noise(40, 20, 6)})
    assert [one.name for one in found.counters] == ["LARGE", "SMALL"]


def test_random_numbers_say_nothing(tmp_path: Path) -> None:
    """One set of twenty may pass the first step by chance; most of these fail at the second."""
    kernels = range(60)
    numbers = [noise(20, 60, seed) for seed in kernels]
    times = [np.random.default_rng(1000 + seed).lognormal(10, 0.5, 20) for seed in kernels]
    for run in range(20):
        rows = [
            replace(
                KERNEL,
                mangled=f"_Z{kernel}",
                launch_ns=float(times[kernel][run]),
                counters=store.packed({name: float(values[run]) for name, values in numbers[kernel].items()}),
            )
            for kernel in kernels
            if run < 8 + kernel % 13
        ]
        store.add(tmp_path, replace(ENTRY, time=f"2026-11-28T12:00:{run:02}+00:00"), rows)
    found = importance(frame(tmp_path))
    assert [one.runs for one in found] == [8 + kernel % 13 for kernel in kernels]
    assert all(bool(one.counters) == (one.silent is None) for one in found)
    assert sum(bool(one.counters) for one in found) <= 3


def test_seven_runs_are_too_few_and_the_same_run_again_is_none(tmp_path: Path) -> None:
    times = np.array([1.0, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7, 7]) * 1000
    found = explained(tmp_path, times, {"SQ_WAVES": times})
    assert (found.runs, found.counters) == (7, ())
    assert "from 8 on" in found.words


def test_times_that_hardly_differ_need_no_explanation(tmp_path: Path) -> None:
    times = 1000 + np.arange(10.0)
    assert "differs by less" in explained(tmp_path, times, {"SQ_WAVES": times}).words


def test_what_counts_the_time_itself_explains_nothing(tmp_path: Path) -> None:
    times = np.linspace(1e3, 1e5, 12)
    elapsed = (
        "GRBM_GUI_ACTIVE", "SQ_WAVE_CYCLES", "SQ_BUSY_CU_CYCLES", "metric.flops_rate", "metric.valu_busy",
        "metric.time", "TA_TA_BUSY_sum", "TCP_GATE_EN1_sum", "sm__cycles_elapsed.avg", "gpu__time_duration.sum",
    )  # fmt: skip
    found = explained(tmp_path, times, dict.fromkeys(elapsed, times))
    assert found.counters == ()
    assert "no counter differs" in found.words


def test_registers_count_and_other_devices_do_not_mix(tmp_path: Path) -> None:
    for vgprs in range(12, 24):
        entry = replace(ENTRY, time=f"2026-11-28T11:00:{vgprs:02}+00:00")
        few = store.packed({"SQ_WAVES": 64.0})
        row = replace(KERNEL, launch_ns=vgprs**2 * 100.0, vgprs=vgprs, counters=few)
        store.add(tmp_path, entry, [row])
        store.add(tmp_path, replace(entry, device="mi210", inputs="other"), [replace(row, launch_ns=1000.0)])
    without = replace(ENTRY, time="2026-11-28T10:00:00+00:00")  # as a profile of times alone
    store.add(tmp_path, without, [replace(KERNEL, launch_ns=77.0, vgprs=99)])
    first, second = importance(frame(tmp_path))
    assert [one.name for one in first.counters] == ["vgprs"]
    assert (second.device, second.counters) == ("mi210", ())
    (tmp_path / ".git").mkdir()
    target = tmp_path / "a.hip"
    assert importance_of(target, "_Z4axpy", "mi300x", "modelled") == first
    assert importance_of(target, "_Z4axpy", "mi210", "modelled") is None
