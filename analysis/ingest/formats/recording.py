"""What one file or folder of a capture holds, before anything is joined.

Readers of all formats give a `Recorded`; what a format lacks is empty or MISSING there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from hipscope.analysis.ingest.formats.agents import Agent
from hipscope.analysis.ingest.formats.columns import (
    MISSING,
    Floats,
    Integers,
    Texts,
    absent,
    concatenated_texts,
    optional,
    same_text,
)
from hipscope.analysis.ingest.formats.traces import Trace
from hipscope.analysis.profile import Resources

_TEXTS = ("kernel", "agent")
_MICROSECOND = 1000
_FEW = 8  # launches whose durations may be whole microseconds by chance
YEAR_NS = 365 * 24 * 3600 * 10**9
_SIZES = tuple(f"{size}_{axis}" for size in ("grid", "workgroup") for axis in "xyz")
_WHOLE = (
    "id", "start", "end", *_SIZES, "queue", "stream", "process", "thread", "correlation", "static_lds", "dynamic_lds",
    "scratch", "vgprs", "agprs", "sgprs", "graph", "graph_node",
)  # fmt: skip


@dataclass(frozen=True)
class LaunchColumns:
    """Launches of kernels, a row each. Times are nanoseconds, grids work-items, LDS and scratch bytes."""

    kernel: Texts
    agent: Texts
    whole: Mapping[str, Integers]

    @classmethod
    def of(cls, kernel: Texts, agent: Texts | None = None, **whole: Integers) -> LaunchColumns:
        """The columns that are there; others are MISSING."""
        size = len(kernel)
        columns = {name: whole.get(name, absent(size)) for name in _WHOLE}
        return cls(kernel, agent if agent is not None else same_text("", size), columns)

    def __len__(self) -> int:
        return len(self.kernel)

    def __getattr__(self, name: str) -> Integers:
        try:
            return self.whole[name]
        except KeyError:
            raise AttributeError(name) from None

    def take(self, rows: Integers) -> LaunchColumns:
        """These rows."""
        return LaunchColumns(
            self.kernel.take(rows), self.agent.take(rows), {n: c[rows] for n, c in self.whole.items()}
        )

    @cached_property
    def timed(self) -> Any:
        """Which rows have both stamps, in order: one with damaged stamps has no time, and none takes a year.

        Where all durations are whole microseconds, a launch that is shorter may begin and end at the same one.
        """
        start, end = self.whole["start"], self.whole["end"]
        known = (start != MISSING) & (end != MISSING)
        coarse = len(start) > _FEW and not ((end - start)[known] % _MICROSECOND).any()
        ordered = (end >= start) & (start > 0) if coarse else end > start
        return known & ordered & (end - start < YEAR_NS)

    def size(self, row: int, name: str) -> tuple[int, int, int]:
        """`grid` or `workgroup` of a row; zeros when it is not known."""
        x, y, z = (int(self.whole[f"{name}_{axis}"][row]) for axis in "xyz")
        return (0, 0, 0) if MISSING in (x, y, z) else (x, y, z)

    def sizes(self, rows: Integers, name: str) -> Iterator[tuple[int, int, int]]:
        """`grid` or `workgroup` of rows, as `size` gives them."""
        axes = [self.whole[f"{name}_{axis}"][rows] for axis in "xyz"]
        known = (axes[0] != MISSING) & (axes[1] != MISSING) & (axes[2] != MISSING)
        x, y, z = (np.where(known, axis, 0).tolist() for axis in axes)
        return zip(x, y, z, strict=True)

    def cell(self, row: int, name: str) -> int | None:
        """One cell; None when it is MISSING."""
        return optional(self.whole[name][row])


def graph_columns(graph: Integers, node: Integers) -> dict[str, Integers]:
    """Of launches, the graph and the node in it. Graphs are numbered from 1: zero is that of no graph."""
    of_graph = graph > 0
    return {
        "graph": np.where(of_graph, graph, MISSING),
        "graph_node": np.where(of_graph, node, MISSING),
    } if of_graph.any() else {}  # fmt: skip


def joined_launches(parts: Sequence[LaunchColumns]) -> LaunchColumns:
    """Launches one after the other."""
    if len(parts) == 1:
        return parts[0]
    return LaunchColumns(
        concatenated_texts([p.kernel for p in parts]),
        concatenated_texts([p.agent for p in parts]),
        {name: np.concatenate([p.whole[name] for p in parts]) for name in _WHOLE} if parts
        else {name: absent(0) for name in _WHOLE},
    )  # fmt: skip


@dataclass(frozen=True)
class CounterColumns:
    """Counters of one pass, that is of one run: a row for each value. `launch` is a row of `launches`.

    Values of one counter and launch are those of instances of the hardware (an XCD, a shader engine, a channel), and
    are added up. `instance` numbers them, where the capture has them apart; of a value that is of none it is MISSING.
    """

    launches: LaunchColumns
    launch: Integers
    name: Texts
    value: Floats
    instance: Integers | None = None


@dataclass
class Recorded:
    """One file or folder. `run` tells the run of the program from others, `notes` say what was left out."""

    launches: list[LaunchColumns] = field(default_factory=list)
    counters: list[CounterColumns] = field(default_factory=list)
    statistics: list[LaunchColumns] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)
    agents: list[Agent] = field(default_factory=list)
    events: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    """API calls, copies, allocations and markers: tables of columns, by kind."""
    kinds: dict[str, str] = field(default_factory=dict)
    """Of counters, whether they are ratios, where the capture says how they are computed."""
    mangled: dict[str, str] = field(default_factory=dict)
    """Demangled kernel names to mangled ones."""
    resources: dict[str, Resources] = field(default_factory=dict)
    ceilings: dict[str, float] = field(default_factory=dict)
    """Measured peaks per second, by name in `Device.ceilings`."""
    command: tuple[str, ...] = ()
    tool: str = ""
    nvidia: bool = False
    partial: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def is_empty(self) -> bool:
        """Whether nothing was in it."""
        return not any(
            getattr(self, f.name) for f in fields(self) if f.name not in ("notes", "tool", "nvidia")
        )
