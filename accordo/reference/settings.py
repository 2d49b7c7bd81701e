"""How a proof replays and how strict it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hipscope.accordo.compare.tolerance import UserTolerance
from hipscope.accordo.model.defences import NOTHING_OFF, Without
from hipscope.accordo.oracle.launch import WidenedKernel
from hipscope.accordo.replay.replay import ReplayTool


@dataclass(frozen=True)
class ReferenceSettings:
    """How to replay and how strict to be. `tolerance` is what the user allows, None for the type's own.

    `tolerances` does the same for single arguments, by name. `odd_workgroups` asks for workgroups that are no power of
    two, `larger_workgroups` for larger ones than were recorded. `without` names defences that are off. `widened` gives
    the kernel (by mangled name) in double precision, or says why there is none; it is called when the first candidate's
    floats are not those of the reference.
    `less_precise` allows a candidate's floats to be farther from those than the reference's, within the tolerance.
    `sanitize` names the checks that a candidate is run under, "" for none ("all", or names with commas).
    `finite_only`: the program is compiled with the promise that no float is NaN or infinite (`-ffast-math`). What its
    kernels make of those is not defined: inputs have none, and one result that is not finite is as good as another.
    `wrapped` gives the program's code compiled so that its integers wrap around, None where there is none: where that
    does something else, the kernel overflows, and what it does is not defined.
    `require_all`: an input that no trial varied makes a proof inconclusive.
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
    finite_only: bool = False
    require_all: bool = False
    wrapped: Callable[[], Path | None] | None = None

    @property
    def skipped(self) -> Without:
        """The defences whose trials are not made."""
        return self.without | ({"not_finite_inputs"} if self.finite_only else NOTHING_OFF)

    @property
    def objdump(self) -> Path:
        """LLVM's disassembler, beside its demangler."""
        return self.cxxfilt.with_name("llvm-objdump")
