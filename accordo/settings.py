"""What a proof is told: how to replay, how strict to be, and what the source calls the kernel's parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hipscope.accordo.defences import NOTHING_OFF, Without
from hipscope.accordo.dtypes import MemberPointer, Pointees, pointees
from hipscope.accordo.oracle import WidenedKernel
from hipscope.accordo.replay import ReplayTool
from hipscope.accordo.tolerance import UserTolerance


@dataclass(frozen=True)
class Signature:
    """The kernel's parameters as the source has them: names for messages, types where the mangled name has none.

    `members` are the pointers in those that are structures, for each instance by its mangled name; `structures` as in
    `Pointees`.
    """

    names: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    members: Mapping[str, Mapping[int, tuple[MemberPointer, ...]]] = field(default_factory=dict)
    structures: Mapping[str, str] = field(default_factory=dict)

    def pointees(self, symbol: str, demangled: str) -> Pointees:
        """What the pointers of an instance lead to."""
        return Pointees(pointees(demangled, self.types), self.members.get(symbol, {}), self.structures)


@dataclass(frozen=True)
class Settings:
    """How to replay and how strict to be. `tolerance` is what the user allows, None for the type's own.

    `tolerances` does the same for single arguments, by name. `odd_workgroups` asks for workgroups that are no power of
    two, `larger_workgroups` for larger ones than were recorded. `without` names defences that are off. `widened` gives
    the kernel (by mangled name) in double precision, or says why there is none; it is called when the first candidate's
    floats are not those of the reference.
    `less_precise` allows a candidate's floats to be farther from those than the reference's, within the tolerance.
    `sanitize` names the checks that a candidate is run under, "" for none ("all", or names with commas).
    """

    tool: ReplayTool
    cxxfilt: Path
    work: Path
    tolerance: UserTolerance | None = None
    tolerances: Mapping[str, UserTolerance] = field(default_factory=dict)
    odd_workgroups: bool = False
    larger_workgroups: bool = True
    without: Without = NOTHING_OFF
    widened: Callable[[str], WidenedKernel | str] | None = None
    less_precise: bool = False
    sanitize: str = ""
