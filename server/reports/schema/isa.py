"""`hipscope.isa/1`: the machine code of one kernel, with what each instruction costs and the line that it is of.

Cycles are sums over the waves of all profiled launches; of a sampled kernel `latency` and `stall` are samples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from hipscope.server.reports.schema.profile import Provenance

ISA_SCHEMA = "hipscope.isa/1"


@dataclass(frozen=True, slots=True)
class IsaInstruction:
    """One instruction. `file` is "" and `line` 0 without debug information; `share` is its part of the kernel's cycles.

    `column` counts bytes from 1, 0: the compiler gave none. `vgprs` are the vector registers whose values are still
    needed behind it, with those that it has just given one; None where the machine code does not tell.
    `waited_for` maps the index of another instruction to the cycles that this one waited for its result.
    """

    index: int
    address: int
    text: str
    file: str
    line: int
    hits: int
    latency: float
    stall: float
    share: float
    stalls: Mapping[str, float]
    waited_for: Mapping[str, float]
    column: int = 0
    vgprs: int | None = None


@dataclass(frozen=True, slots=True)
class IsaReport:
    """All instructions of a kernel in the order of their addresses; none where the profile has no machine code."""

    TAG: ClassVar = ("schema", ISA_SCHEMA)
    device: str
    provenance: Provenance
    kernel: str
    mangled: str
    sampled: bool
    instructions: tuple[IsaInstruction, ...]


@dataclass(frozen=True, slots=True)
class Producer:
    """An instruction whose result another one waited for, and for how many cycles."""

    index: int
    cycles: float


@dataclass(frozen=True, slots=True)
class ListedInstruction:
    """One instruction for an editor: `line` counts from 0 in the text as it is now; both None where there is none.

    `column` is in the encoding of the client's positions, None where the compiler gave none or the line was edited.
    """

    index: int
    text: str
    uri: str | None
    line: int | None
    hits: int
    cycles: float
    share: float
    stalls: Mapping[str, float]
    producers: tuple[Producer, ...]
    column: int | None
    vgprs: int | None


@dataclass(frozen=True, slots=True)
class IsaListing:
    """The answer of `hipscope/isa`: the instructions of a kernel.

    `sampled`: cycles are samples; `stale`: of an older text.
    """

    TAG: ClassVar = ("schema", "hipscope.isa-listing/1")
    kernel: str
    mangled: str
    provenance: Provenance
    sampled: bool
    stale: bool
    instructions: tuple[ListedInstruction, ...]
