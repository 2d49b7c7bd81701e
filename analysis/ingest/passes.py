"""Which tables of counters are passes of one program, and which are runs of others.

Takes the passes of all files with the place of each, gives those of one run and the launches of the others. A pass is a
run of its own, so its process and its times say nothing. What says it: the names of files and folders without their
numbers, the kernels, and that no two passes of a collection record the same counters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hipscope.analysis.counters.counter_kinds import CYCLES
from hipscope.analysis.ingest.formats.columns import absent, concatenated_texts
from hipscope.analysis.ingest.formats.recording import CounterColumns, LaunchColumns, joined_launches

Place = tuple[str, str]
_ALIKE = 0.8  # of the launches of two passes of one program are of the same kernels


@dataclass
class Passes:
    """Passes of one program, and the place of the first."""

    place: Place
    columns: list[CounterColumns] = field(default_factory=list)

    @property
    def time(self) -> float:
        """The nanoseconds of one of its passes."""
        return max((_time(part.launches) for part in self.columns), default=0.0)


def by_program(found: Sequence[tuple[Place, CounterColumns]]) -> list[Passes]:
    """The passes by program, that of most GPU time first."""
    groups: list[Passes] = []
    for place, columns in _of_one_run(found):
        of = next((g for g in groups if all(_same(g.place, p, place, columns) for p in g.columns)), None)
        if of is None:
            of = Passes(place)
            groups.append(of)
        of.columns.append(columns)
    return sorted(groups, key=lambda group: -group.time)


def _of_one_run(found: Sequence[tuple[Place, CounterColumns]]) -> list[tuple[Place, CounterColumns]]:
    """The passes, those of processes that ran at the same time with the same counters as one."""
    kept: list[tuple[Place, CounterColumns]] = []
    for place, columns in found:
        for number, (_, before) in enumerate(kept):
            if _is_beside(before, columns):
                kept[number] = kept[number][0], _merged(before, columns)
                break
        else:
            kept.append((place, columns))
    return kept


def _is_beside(a: CounterColumns, b: CounterColumns) -> bool:
    """Two processes of one run: other processes, the same counters, overlapping times."""
    if a.name.used() != b.name.used() or np.intersect1d(a.launches.process, b.launches.process).size:
        return False
    (first, last), (start, end) = _span(a.launches), _span(b.launches)
    return first < end and start < last


def _span(launches: LaunchColumns) -> tuple[int, int]:
    """The first start and the last end; of launches without times an interval that nothing overlaps."""
    timed = np.flatnonzero(launches.timed)
    return (int(launches.start[timed].min()), int(launches.end[timed].max())) if len(timed) else (0, 0)


def _merged(a: CounterColumns, b: CounterColumns) -> CounterColumns:
    instances = [p.instance if p.instance is not None else absent(len(p.value)) for p in (a, b)]
    return CounterColumns(
        joined_launches([a.launches, b.launches]),
        np.concatenate([a.launch, b.launch + len(a.launches)]),
        concatenated_texts([a.name, b.name]),
        np.concatenate([a.value, b.value]),
        np.concatenate(instances),
    )


def _same(place: Place, one: CounterColumns, other_place: Place, other: CounterColumns) -> bool:
    """Whether two passes are of one program."""
    if place == other_place:
        return True
    kernels, others = _kernels(one.launches), _kernels(other.launches)
    common = (kernels & others).total()
    if common and one.name.used() - {CYCLES} == other.name.used() - {CYCLES}:
        return _span(one.launches) == _span(other.launches)  # the same run again, in another format
    if _without_numbers(place) == _without_numbers(other_place):
        return True
    return common >= _ALIKE * max(kernels.total(), others.total())


def _kernels(launches: LaunchColumns) -> Counter[str]:
    codes, counts = np.unique(launches.kernel.codes, return_counts=True)
    return Counter(
        {launches.kernel.names[c]: n for c, n in zip(codes.tolist(), counts.tolist(), strict=True)}
    )


def _without_numbers(place: Place) -> str:
    return re.sub(r"\d+", "", "/".join(place))


def _time(launches: LaunchColumns) -> float:
    timed = launches.timed
    return float((launches.end[timed] - launches.start[timed]).sum())
