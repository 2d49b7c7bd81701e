"""The columns of a capture as pandas frames, made when they are asked for.

Takes what was joined, gives `Tables` of the Profile. pandas is imported at the first question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hipscope.analysis.ingest.counters import JoinedPass
from hipscope.analysis.ingest.formats.columns import MISSING, Integers
from hipscope.analysis.ingest.formats.recording import LaunchColumns
from hipscope.analysis.profile import Kernel, Timing

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False)
class CaptureTables:
    """Launches, counters, samples, traced instructions and events of one capture."""

    columns: LaunchColumns
    passes: Sequence[JoinedPass]
    kernels: Sequence[Kernel]
    recorded: Mapping[str, Sequence[Mapping[str, Any]]]
    timing: Timing

    @property
    def launches(self) -> DataFrame:
        """A row per launch; cells that the capture lacks are NA."""
        return self.launches_with(*self.columns.whole)

    def launches_with(self, *names: str) -> DataFrame:
        """Kernel, agent and these columns of each launch: a frame of all takes more memory than the file."""
        import pandas

        frame = pandas.DataFrame(
            {
                "kernel": _categories(self.columns.kernel.codes, self.columns.kernel.names),
                "agent": _categories(self.columns.agent.codes, self.columns.agent.names),
            }
        )
        for name in names:
            frame[name] = _cells(self.columns.whole[name])
        return frame

    @property
    def counters(self) -> DataFrame:
        """A row per counter and launch: `launch` is a row of `launches`, `run` the pass."""
        import pandas

        parts = [
            pandas.DataFrame(
                {
                    "run": part.number,
                    "launch": part.rows,
                    "counter": _categories(part.codes, part.names),
                    "value": part.values,
                }
            ).astype({"counter": str})
            for part in self.passes
        ]
        if not parts:
            return pandas.DataFrame(columns=["run", "launch", "counter", "value"])
        return pandas.concat(parts, ignore_index=True)

    @property
    def samples(self) -> DataFrame:
        """A row per kernel and instruction that was sampled, with a column per reason."""
        import pandas

        return pandas.DataFrame(
            {
                "kernel": k.name,
                "code_object": i.code_object,
                "address": i.address,
                "text": i.text,
                "total": i.samples.total,
                "stalled": i.samples.stalled,
                **{reason.value: count for reason, count in i.samples.reasons.items()},
            }
            for k in self.kernels
            for i in k.instructions
            if i.samples is not None
        )

    @property
    def traced(self) -> DataFrame:
        """A row per kernel and instruction that was traced, in cycles, with a column per reason."""
        import pandas

        return pandas.DataFrame(
            {
                "kernel": k.name,
                "code_object": i.code_object,
                "address": i.address,
                "text": i.text,
                "hits": i.hits,
                "latency": i.latency,
                "stall": i.stall,
                **{reason.value: cycles for reason, cycles in i.stalls.items()},
            }
            for k in self.kernels
            if not k.sampled
            for i in k.instructions
        )

    def events(self, kind: str) -> DataFrame:
        """`api calls`, `copies`, `allocations` or `markers`, with the columns that the capture has."""
        import pandas

        parts = [
            pandas.DataFrame({name: _cells(column) for name, column in table.items()})
            for table in self.recorded.get(kind, ())
        ]
        return pandas.concat(parts, ignore_index=True) if parts else pandas.DataFrame()


def _cells(column: Any) -> Any:
    """A column of a frame, NA where a whole number is MISSING."""
    import pandas

    if not isinstance(column, np.ndarray):
        return [column[row] for row in range(len(column))]
    known = column != MISSING if column.dtype == np.int64 else np.ones(1, dtype=bool)
    return column if known.all() else pandas.arrays.IntegerArray(np.array(column), ~known)


def _categories(codes: Integers, names: Sequence[str]) -> Any:
    """A column of names, each of which is kept once."""
    import pandas

    places = {n: i for i, n in enumerate(dict.fromkeys(names))}
    moved = np.array([places[n] for n in names], dtype=np.int64)
    kept = pandas.Index(list(places), dtype=object)
    return pandas.Categorical.from_codes(moved[codes] if len(moved) else codes, kept)
