"""Which few counters explain what a launch of a kernel takes, over the runs that its history has.

Takes the history's frame, gives for each kernel, device and kind of times the counters that move with the time, or why
there are none. Three steps, each of which may say nothing:

1. Rank correlation (Spearman) of each counter with the time, beside those that were chosen before it. Shuffled times
   show how high the best of so many counters comes by chance: one that more than one shuffle of twenty reaches ends
   the search.
2. Counters that move together are one: the one with the highest correlation stands for them.
3. A ridge regression foretells the time of runs that it was not made of (cross-validation). What shuffling a counter of
   those runs costs it is that counter's importance. Where it explains less than half of the differences, none is named.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hipscope.analysis.counters.formula import names_in
from hipscope.analysis.counters.table import Metric, MetricTable, metric_table, tables
from hipscope.analysis.errors import HipscopeError, MissingTool
from hipscope.analysis.history.frames import frame
from hipscope.analysis.history.store import METRIC, HistoryEntry, KernelRow, project_of
from hipscope.analysis.system.python_packages import install_extra

if TYPE_CHECKING:
    import pandas

LEAST_RUNS = 8
_MOST_NAMED = 5
_SHUFFLES = 999
_CHANCE = 0.05
_EXPLAINED = 0.5  # of the variance of runs that the regression has not seen
_ALIKE = 0.95  # rank correlation of counters that are one
_DEPENDENT = 1e-6  # length of what is left of a column of length one, when it follows from others
_FOLDS, _ROUNDS = 4, 5
_LEAST_SPREAD = 0.02  # of the times, highest over lowest: below that there is nothing to explain
_OF_THE_CODE = ("vgprs", "spills", "occupancy")
# What counts the time itself, in other units: it explains nothing.
_ELAPSED = re.compile(
    r"^(GRBM_|SQ_(BUSY_|CU_)?CYCLES|SQ_BUSY|SQ_WAVE_CYCLES|SQ_LEVEL_WAVES|SQ_ACCUM_PREV|GPUBusy|GPU_UTIL)|_BUSY(_|$)|"
    r"_GATE_EN\d|cycles_(elapsed|active)|__time|duration|(^|_)UTIL$|Busy$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Explaining:
    """A counter that explains the time: `correlation` is that of the ranks, `importance` the part of the differences
    that is not explained any more when it is shuffled. `alike` are those that it stands for.
    """

    name: str
    meaning: str
    unit: str
    correlation: float
    importance: float
    lowest: float
    highest: float
    alike: tuple[str, ...]


@dataclass(frozen=True)
class Importance:
    """What explains the time of a launch of one kernel on one device; `explained` is the part of the differences that
    it foretells of runs that it has not seen. `silent` says why nothing is named.
    """

    kernel: str
    mangled: str
    device: str
    provenance: str
    runs: int
    counters: tuple[Explaining, ...]
    explained: float | None
    silent: str | None

    @property
    def words(self) -> str:
        """What it says, in one line."""
        if self.explained is None:
            return f"no counter is named: {self.silent}"
        return (
            f"these foretell {self.explained:.0%} of the differences in its time, in runs that were left out"
        )


def check_importance_tools() -> None:
    """Raises MissingTool when the packages that it needs are not installed."""
    if importlib.util.find_spec("sklearn") is None:
        raise MissingTool("importance needs the packages of the extra `history`", install_extra("history"))


def importance_of(target: Path, mangled: str, device: str, provenance: str) -> Importance | None:
    """What explains the time of a kernel of a program on a device; None where its history does not say, or cannot be
    read.
    """
    try:
        found = frame(project_of(target))
        own = found[
            (found["mangled"] == mangled) & (found["device"] == device) & (found["provenance"] == provenance)
        ]
        return next((one for one in importance(own) if one.counters), None)
    except HipscopeError:
        return None


def importance(found: pandas.DataFrame) -> list[Importance]:
    """The answer for each kernel, device and kind of times of a history's frame, in its order. Raises MissingTool."""
    check_importance_tools()
    groups = found.groupby(["mangled", "file", "device", "provenance"], sort=False)
    return [_of_kernel(rows) for _, rows in groups]


def _of_kernel(rows: pandas.DataFrame) -> Importance:
    first = rows.iloc[0]

    def answer(
        runs: int,
        counters: tuple[Explaining, ...] = (),
        explained: float | None = None,
        silent: str | None = None,
    ) -> Importance:
        kernel, mangled = str(first["kernel"]), str(first["mangled"])
        device, provenance = str(first["device"]), str(first["provenance"])
        return Importance(kernel, mangled, device, provenance, runs, counters, explained, silent)

    names = [name for name in rows.columns if _may_explain(str(name))]
    known = rows[["launch_ns", *names]].astype(float)
    counters = [name for name in names if name not in _OF_THE_CODE]
    known = known[known["launch_ns"] > 0]
    if counters:
        known = known[known[counters].notna().any(axis=1)]
    known = known.drop_duplicates()
    known = known.loc[:, known.notna().all() & (known.nunique() > 1) | (known.columns == "launch_ns")]
    known = known.drop_duplicates()
    runs = len(known)
    if runs < LEAST_RUNS:
        return answer(
            runs, silent=f"the runs that differ are {runs}; from {LEAST_RUNS} on counters are weighed"
        )
    times = known["launch_ns"].to_numpy()
    if times.max() < times.min() * (1 + _LEAST_SPREAD):
        return answer(runs, silent=f"its time differs by less than {_LEAST_SPREAD:.0%}")
    values = known.drop(columns="launch_ns")
    if values.shape[1] == 0:
        return answer(runs, silent="no counter differs between the runs")
    chosen = _beyond_chance(values.to_numpy(), times)
    if not chosen:
        return answer(runs, silent="no counter moves with its time more than by chance")
    columns = [place for place, _, _ in chosen]
    explained, costs = _foretold(values.to_numpy()[:, columns], times)
    if explained < _EXPLAINED:
        return answer(runs, silent="no counter foretells the time of runs that were left out")
    every = values.columns.tolist()
    named = [
        _explaining(values, every[place], rho, cost, [every[other] for other in alike])
        for (place, rho, alike), cost in zip(chosen, costs, strict=True)
        if cost > 0
    ]
    return answer(runs, tuple(sorted(named, key=lambda one: -one.importance)), explained)


def _explaining(
    values: pandas.DataFrame, name: str, correlation: float, cost: float, alike: Sequence[str]
) -> Explaining:
    metric = _metric(name)
    column = values[name]
    return Explaining(
        name=name,
        meaning="" if metric is None else metric[0].name,
        unit="" if metric is None else metric[0].unit,
        correlation=correlation,
        importance=cost,
        lowest=float(column.min()),
        highest=float(column.max()),
        alike=tuple(alike),
    )


def _may_explain(name: str) -> bool:
    """Whether a column is a counter or metric that does not count the time itself."""
    own = {f.name for kind in (HistoryEntry, KernelRow) for f in fields(kind)}
    if name in own:
        return name in _OF_THE_CODE
    if not name.startswith(METRIC):
        return _ELAPSED.search(name) is None
    found = _metric(name)
    if found is None:
        return False
    metric, table = found
    used = names_in(metric.formula, table.names)
    return (
        "T" not in used and not any(word.startswith("GRBM_") for word in used) and metric.key != "wave_cycles"
    )


def _metric(name: str) -> tuple[Metric, MetricTable] | None:
    """The row of a metric's column; its key means the same on all architectures."""
    key = name.removeprefix(METRIC)
    known = (table for arch in tables() if (table := metric_table(arch)) is not None)
    return next(((table.metrics[key], table) for table in known if key in table.metrics), None)


def _beyond_chance(values: NDArray[Any], times: NDArray[Any]) -> list[tuple[int, float, list[int]]]:
    """The columns whose ranks move with those of the times beyond chance: place, correlation, and what moves with it.

    The first is the one with the highest correlation, each further one that with the highest beside those before it.
    """
    ranks, own = _ranks(values), _ranks(times[:, None])[:, 0]
    plain, between = ranks.T @ own, ranks.T @ ranks
    dice = np.random.default_rng(0)
    chosen: list[tuple[int, float, list[int]]] = []
    open_ones = np.ones(len(plain), dtype=bool)
    left, wanted = ranks.copy(), own
    while open_ones.any() and len(chosen) < min(_MOST_NAMED, len(times) // 4):
        found = np.where(open_ones, np.abs(left.T @ wanted), -1.0)
        place = int(found.argmax())
        shuffled = np.stack([dice.permutation(wanted) for _ in range(_SHUFFLES)], axis=1)
        best = np.abs(left[:, open_ones].T @ shuffled).max(axis=0)
        if (1 + np.count_nonzero(best >= found[place] - 1e-9)) / (1 + _SHUFFLES) > _CHANCE:
            break
        alike = [int(o) for o in np.flatnonzero(open_ones & (np.abs(between[place]) >= _ALIKE)) if o != place]
        open_ones[[place, *alike]] = False
        chosen.append((place, float(plain[place]), alike))
        known = left[:, place].copy()
        left, wanted = (_without(known, columns) for columns in (left, wanted))
        open_ones &= np.linalg.norm(left, axis=0) > _DEPENDENT
        if np.linalg.norm(wanted) == 0:
            break
    return chosen


def _without(known: NDArray[Any], columns: NDArray[Any]) -> NDArray[Any]:
    """What is left of columns when what goes with a known one is taken out, each of length one again."""
    rest = columns - np.multiply.outer(known, known @ columns)
    length = np.linalg.norm(rest, axis=0)
    return np.asarray(np.divide(rest, length, out=np.zeros_like(rest), where=length > _DEPENDENT))


def _ranks(columns: NDArray[Any]) -> NDArray[Any]:
    """The ranks of each column, equal ones their mean, so that the product of two is Spearman's correlation."""
    import pandas

    ranks = pandas.DataFrame(columns).rank().to_numpy()
    ranks = ranks - ranks.mean(axis=0)
    return np.asarray(ranks / np.linalg.norm(ranks, axis=0))


def _foretold(values: NDArray[Any], times: NDArray[Any]) -> tuple[float, list[float]]:
    """The part of the variance of the times' logarithms that is foretold of runs that were left out, and what of it is
    lost when a column is shuffled.
    """
    from sklearn.inspection import permutation_importance
    from sklearn.linear_model import RidgeCV
    from sklearn.model_selection import RepeatedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    scaled, wanted = np.sign(values) * np.log1p(np.abs(values)), np.log(times)
    variance = float(wanted.var())
    left, costs = 0.0, np.zeros(values.shape[1])
    splits = RepeatedKFold(n_splits=_FOLDS, n_repeats=_ROUNDS, random_state=0)
    for learnt, held in splits.split(scaled):
        model = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 2, 6))).fit(
            scaled[learnt], wanted[learnt]
        )
        left += float(((model.predict(scaled[held]) - wanted[held]) ** 2).mean())
        shuffled = permutation_importance(
            model, scaled[held], wanted[held], scoring="neg_mean_squared_error", n_repeats=5, random_state=0
        )
        costs += shuffled.importances_mean
    rounds = _FOLDS * _ROUNDS * variance
    return 1.0 - left / rounds, [min(1.0, float(cost) / rounds) for cost in costs]
