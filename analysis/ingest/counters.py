"""Counters of all passes, joined to the launches of the profile.

Takes launches and passes, gives for each kernel its counters and what each covers. A pass is a run of its own: its
dispatch
numbers are those of the trace only where the same kernels stand behind them, else the n-th launch of a kernel in a
pass is the n-th in the trace. A counter that several passes recorded is taken from the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hipscope.analysis.counters.counter_kinds import CYCLES, TIME, is_of_cycles, kind_of, weight_of
from hipscope.analysis.ingest.formats.columns import MISSING, Floats, Integers, grouped
from hipscope.analysis.ingest.formats.recording import CounterColumns, LaunchColumns, joined_launches
from hipscope.analysis.profile import Counted

_SAME_WORK = 1.5  # passes of one program differ by less


@dataclass
class KernelCounters:
    """The counters of one kernel, and what each covers."""

    values: dict[str, float] = field(default_factory=dict)
    counted: dict[str, Counted] = field(default_factory=dict)
    instances: dict[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class JoinedPass:
    """The values of one pass by launch of the profile and counter."""

    number: int
    rows: Integers
    names: tuple[str, ...]
    codes: Integers
    values: Floats


@dataclass(frozen=True)
class Joined:
    """All passes. `covered`: the launches that the sums are of. `lost`: in words, what could not be joined."""

    kernels: Mapping[str, KernelCounters]
    passes: Sequence[JoinedPass]
    covered: NDArray[np.bool_]
    lost: tuple[str, ...]


def join_counters(
    launches: LaunchColumns, passes: Sequence[CounterColumns], expressions: Mapping[str, str]
) -> Joined:
    """Counters by kernel name."""
    joined: list[JoinedPass] = []
    lost: list[str] = []
    start, end, timed = launches.start, launches.end, launches.timed
    durations = np.where(timed, end - start, 0).astype(np.float64)
    matches: list[Integers] = []
    for number, columns in enumerate(passes):
        match = matching_rows(launches, columns.launches)
        matches.append(match)
        missing = int((match < 0).sum())
        if missing:
            lost.append(f"counters of {missing} launches of pass {number + 1} are of none that the trace has")
        row = match[columns.launch]
        chosen = np.flatnonzero(row >= 0)
        if not len(chosen):
            continue
        width = max(1, len(columns.name.names))
        key = row[chosen] * width + columns.name.codes[chosen]
        pairs, inverse = np.unique(key, return_inverse=True)
        values = np.bincount(inverse, weights=columns.value[chosen]).astype(np.float64)
        joined.append(JoinedPass(number, pairs // width, columns.name.names, pairs % width, values))
    kernels: dict[str, KernelCounters] = {}
    covered = _counted_by_all(launches, joined, lost)
    for part in joined:
        kept = np.flatnonzero(covered[part.rows])
        if len(kept):
            same = JoinedPass(part.number, part.rows[kept], part.names, part.codes[kept], part.values[kept])
            new = _add(kernels, launches, durations, same, expressions)
            _add_instances(kernels, launches, covered, matches[part.number], passes[part.number], new)
    lost += _other_cycles(launches, joined)
    return Joined(kernels, joined, covered, tuple(lost))


def _counted_by_all(
    launches: LaunchColumns, passes: Sequence[JoinedPass], lost: list[str]
) -> NDArray[np.bool_]:
    """The launches that all passes of their kernel counted: sums of other launches cannot be divided by each other.

    Where no launch is in all of them, the pass with most launches of the kernel counts alone.
    """
    kernels = launches.kernel.codes
    times = np.zeros(len(kernels), dtype=np.int64)
    needed = np.zeros(len(launches.kernel.names), dtype=np.int64)
    for part in passes:
        rows = np.unique(part.rows)
        times[rows] += 1
        needed[np.unique(kernels[rows])] += 1
    covered = (times > 0) & (times == needed[kernels]) if len(kernels) else times > 0
    alone = set(np.unique(kernels[times > 0]).tolist()) - set(np.unique(kernels[covered]).tolist())
    for kernel in sorted(alone):
        counts = [int((kernels[np.unique(part.rows)] == kernel).sum()) for part in passes]
        best = passes[counts.index(max(counts))]
        covered[best.rows[kernels[best.rows] == kernel]] = True
        lost.append(
            f"{launches.kernel.names[kernel]}: passes counted different launches; "
            f"only the counters of pass {best.number + 1} and those of the same launches are used"
        )
    return covered


def _other_cycles(launches: LaunchColumns, passes: Sequence[JoinedPass]) -> list[str]:
    """Kernels whose launches kept the GPU busy much longer in one pass than in another."""
    found: dict[int, list[float]] = {}
    for part in passes:
        chosen = part.codes == (part.names.index(CYCLES) if CYCLES in part.names else -1)
        kernels = launches.kernel.codes[part.rows[chosen]]
        for kernel in np.unique(kernels).tolist():
            found.setdefault(kernel, []).append(float(part.values[chosen][kernels == kernel].mean()))
    return [
        f"{launches.kernel.names[kernel]}: the GPU was busy {max(means) / min(means):.1f} times as long in one counter "
        "pass as in another: what is divided by its cycles is that uncertain"
        for kernel, means in found.items()
        if min(means) > 0 and max(means) / min(means) > _SAME_WORK
    ]


def matching_rows(launches: LaunchColumns, others: LaunchColumns) -> Integers:
    """For each launch of another run, the row of the same one here; -1 where there is none."""
    by_number = _by_number(launches, others)
    return by_number if by_number is not None else _by_turn(launches, others)


def launches_of_passes(passes: Sequence[CounterColumns]) -> LaunchColumns | None:
    """The launches of one pass, for captures without a kernel trace: the one that also counted GPU cycles.

    Kernels that it does not have come from the others.
    """
    if not passes:
        return None
    heads = [p.launches for p in passes]
    first = next((p.launches for p in passes if CYCLES in p.name.used()), heads[0])
    parts = [_in_order(first)]
    known = set(first.kernel.used())
    for other in heads:
        new = other.kernel.used() - known
        if new:
            places = np.array([other.kernel.names.index(n) for n in sorted(new)], dtype=np.int64)
            parts.append(_in_order(other.take(np.flatnonzero(np.isin(other.kernel.codes, places)))))
            known |= new
    return joined_launches(parts)


def _in_order(launches: LaunchColumns) -> LaunchColumns:
    return launches.take(np.argsort(launches.id, kind="stable"))


def _by_number(launches: LaunchColumns, others: LaunchColumns) -> Integers | None:
    """By process and dispatch number, when the same kernels stand behind all of them; else None."""
    here, there = _numbers(launches), _numbers(others)
    order = np.lexsort(here)
    known = np.stack(here)[:, order]
    if len(order) > 1 and (known[:, 1:] == known[:, :-1]).all(axis=0).any():
        return None  # numbers that come again
    single = len(order) and known[1, 0] == known[1, -1] and (there[1] == known[1, 0]).all()
    if single:  # one process: numbers alone tell launches apart
        at = np.minimum(np.searchsorted(known[0], there[0]), len(order) - 1)
        found = np.where(known[0][at] == there[0], order[at], -1)
    else:
        rows = {key: row for row, key in enumerate(zip(*(n.tolist() for n in here), strict=True))}
        keys = zip(*(n.tolist() for n in there), strict=True)
        found = np.array([rows.get(key, -1) for key in keys], dtype=np.int64)
    if not len(order) or (found < 0).any():
        return None
    same = {n: places for places, n in enumerate(launches.kernel.names)}
    wanted = np.array([same.get(n, -1) for n in others.kernel.names], dtype=np.int64)
    return found if (launches.kernel.codes[found] == wanted[others.kernel.codes]).all() else None


def _numbers(launches: LaunchColumns) -> tuple[Integers, Integers]:
    """Dispatch numbers, and the rank of their process: the numbers of processes are others in each run."""
    processes = np.unique(launches.process)
    return launches.id, np.searchsorted(processes, launches.process)


def _by_turn(launches: LaunchColumns, others: LaunchColumns) -> Integers:
    rows = rows_by_kernel(launches)
    match = np.full(len(others), -1, dtype=np.int64)
    for name, theirs in rows_by_kernel(others).items():
        ours = rows.get(name)
        if ours is None:
            continue
        ordered = theirs[np.lexsort((others.id[theirs], others.process[theirs]))]
        count = min(len(ordered), len(ours))
        match[ordered[:count]] = ours[:count]
    return match


def rows_by_kernel(launches: LaunchColumns) -> dict[str, Integers]:
    """The rows of each kernel, in order."""
    order = np.argsort(launches.kernel.codes, kind="stable")
    codes = launches.kernel.codes[order]
    edges = np.flatnonzero(np.diff(codes)) + 1
    found: dict[str, Integers] = {}
    for part in np.split(order, edges) if len(order) else ():
        found[launches.kernel.names[int(launches.kernel.codes[part[0]])]] = part
    return found


def _add(
    kernels: dict[str, KernelCounters],
    launches: LaunchColumns,
    durations: Floats,
    part: JoinedPass,
    expressions: Mapping[str, str],
) -> set[tuple[str, str]]:
    """Add the counters of a pass, and say which, by kernel: those that an earlier pass has are left out."""
    kernel = launches.kernel.codes[part.rows]
    width = len(part.names)
    groups, inverse = np.unique(kernel * width + part.codes, return_inverse=True)
    sums = np.bincount(inverse, weights=part.values)
    counts = np.bincount(inverse)
    times = np.bincount(inverse, weights=durations[part.rows])
    ratios: list[tuple[int, str, KernelCounters]] = []
    added: set[tuple[str, str]] = set()
    for place, group in enumerate(groups.tolist()):
        code, column = divmod(group, width)
        into = kernels.setdefault(launches.kernel.names[code], KernelCounters())
        name = part.names[column]
        if name in into.counted:
            continue
        kind = kind_of(name, expressions.get(name, ""))
        time_ns = float(times[place]) or None
        into.counted[name] = Counted(int(counts[place]), time_ns, kind, part.number)
        added.add((launches.kernel.names[code], name))
        if kind == "ratio":
            ratios.append((place, name, into))
        else:
            into.values[name] = float(sums[place])
    for place, name, into in ratios:
        mean = _mean(name, inverse == place, part, durations)
        if mean is not None:
            into.values[name] = mean
    return added


def _add_instances(
    kernels: Mapping[str, KernelCounters],
    launches: LaunchColumns,
    covered: NDArray[np.bool_],
    match: Integers,
    columns: CounterColumns,
    new: set[tuple[str, str]],
) -> None:
    """The parts of the counters that this pass gave to each kernel, by instance of the hardware."""
    if columns.instance is None:
        return
    row = match[columns.launch]
    kept = np.flatnonzero((row >= 0) & (columns.instance != MISSING))
    kept = kept[covered[row[kept]]]
    if not len(kept):
        return
    (kernel, name, instance), group = grouped(
        [launches.kernel.codes[row[kept]], columns.name.codes[kept], columns.instance[kept]]
    )
    sums = np.bincount(group, weights=columns.value[kept], minlength=len(kernel)).tolist()
    found: dict[tuple[str, str], dict[int, float]] = {}
    for code, column, number, value in zip(kernel, name, instance, sums, strict=True):
        key = launches.kernel.names[code], columns.name.names[column]
        found.setdefault(key, {})[number] = value
    for (whose, counter), parts in found.items():
        into = kernels.get(whose)
        # A part that is not there is no zero: then instances are not what is numbered.
        if (
            into is None
            or (whose, counter) not in new
            or sorted(parts) != list(range(len(parts)))
            or len(parts) < 2
        ):
            continue
        if into.counted[counter].kind != "ratio":
            into.instances[counter] = tuple(parts[n] for n in range(len(parts)))


def _mean(name: str, chosen: NDArray[np.bool_], part: JoinedPass, durations: Floats) -> float | None:
    """A ratio over several launches, by its own weight; None where that was not recorded with it."""
    values, rows = part.values[chosen], part.rows[chosen]
    if len(values) == 1 or (values == values[0]).all():
        return float(values[0])
    weight = weight_of(name)
    if weight is None:
        return None
    weights = durations[rows] if weight == TIME else _weights(weight, rows, part)
    if weights is None and is_of_cycles(weight):
        weights = durations[rows]
    if weights is None or not weights.sum() > 0:
        return None
    return float((values * weights).sum() / weights.sum())


def _weights(name: str, rows: Integers, part: JoinedPass) -> Floats | None:
    """The values of another counter for the same launches; None where one is missing."""
    if name not in part.names:
        return None
    column = part.names.index(name)
    there = np.flatnonzero(part.codes == column)
    known = dict(zip(part.rows[there].tolist(), part.values[there].tolist(), strict=True))
    found = [known.get(row, np.nan) for row in rows.tolist()]
    weights = np.array(found, dtype=np.float64)
    return None if np.isnan(weights).any() else weights
