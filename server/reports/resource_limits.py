"""Limits on what kernels need, as `--fail-on` names them: `spills>0,occupancy<4`.

Takes their text and a report, gives a line for each kernel that passes one.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hipscope.analysis.errors import UsageError
from hipscope.server.reports.schema.resources import KernelResources, ResourcesReport

_LIMIT = re.compile(r"\s*(?P<name>[a-z-]+)\s*(?P<operator>>=|<=|==|!=|>|<)\s*(?P<number>\d+(?:\.\d+)?)\s*")
_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
_OF_KERNEL: Mapping[str, Callable[[KernelResources], float]] = {
    "vgprs": lambda k: k.vgprs,
    "agprs": lambda k: k.agprs,
    "registers": lambda k: k.granted,
    "sgprs": lambda k: k.sgprs,
    "spills": lambda k: k.spills,
    "scratch": lambda k: k.scratch,
    "lds": lambda k: k.lds,
    "occupancy": lambda k: k.waves,
}
_NOTES = "notes"


@dataclass(frozen=True)
class ResourceLimit:
    """`name operator number`: a kernel for which that holds passes the limit."""

    name: str
    operator: str
    number: float

    def holds(self, value: float) -> bool:
        """Whether a value passes the limit."""
        return _OPERATORS[self.operator](value, self.number)

    def __str__(self) -> str:
        return f"{self.name}{self.operator}{self.number:g}"


def parse_limits(text: str) -> tuple[ResourceLimit, ...]:
    """The limits in a text with commas. Raises UsageError for what is none, with the names that there are."""
    found = []
    for part in text.split(",") if text.strip() else ():
        match = _LIMIT.fullmatch(part)
        names = (*_OF_KERNEL, _NOTES)
        if match is None or match["name"] not in names:
            raise UsageError(
                f"--fail-on: `{part.strip()}` is no limit",
                f"write NAME>NUMBER, as in 'spills>0'; names: {', '.join(names)}",
            )
        found.append(ResourceLimit(match["name"], match["operator"], float(match["number"])))
    return tuple(found)


def passed(limits: Sequence[ResourceLimit], report: ResourcesReport) -> tuple[str, ...]:
    """A line for each kernel and limit that it passes: `spills>0: scale<float> has 12`."""
    found = []
    for limit in limits:
        for source in report.sources:
            if limit.name == _NOTES:
                if limit.holds(len(source.notes)):
                    found.append(f"{limit}: {source.source} has {len(source.notes)}")
                continue
            for kernel in source.kernels:
                value = _OF_KERNEL[limit.name](kernel)
                if limit.holds(value):
                    found.append(f"{limit}: {kernel.name} has {value:g}")
    return tuple(found)
