"""What a rewriter hands to the judge: a whole new text of the file, and why it should help.

Also the facts about the captured launches that a rewriter may rely on, and byte splices, the only way text is edited.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hipscope.analysis.source.number_types import element_bytes
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.analysis.toolchain.code_object import KernelMetadata


@dataclass(frozen=True)
class Candidate:
    """One proposed rewrite of one kernel.

    `text` is the whole file. `expected` says, before anything ran, what it should change. `exact` promises bit-equal
    results; a rewrite that reorders or rounds floating-point operations sets it to False, and `terms` to how many of
    them make one element. `assumes` are sentences about the program that hold in every recorded launch and that the
    rewrite relies on beyond them; the user is shown them.
    """

    recipe: str
    title: str
    text: bytes
    expected: str
    exact: bool = True
    terms: int = 1
    assumes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Family:
    """Candidates that differ in numbers only (an unroll factor, launch bounds), the preferred ones first.

    All are compiled; by what the machine code needs, the best `keep` are replayed.
    """

    candidates: tuple[Candidate, ...]
    keep: int = 2


@dataclass(frozen=True)
class Advice:
    """What a person could do here, and why hipscope does not do it: `reason` is what cannot be proved."""

    recipe: str
    title: str
    reason: str


@dataclass(frozen=True)
class Refusal:
    """A rewriter's reasoned no: the sentence names the precondition that does not hold."""

    recipe: str
    reason: str


Proposal = list[Candidate] | Family | Advice | Refusal


@dataclass(frozen=True)
class LaunchFact:
    """One captured launch shape of a kernel.

    `grid` and `workgroup` count work-items. `scalars` maps integer by-value parameters, and such members of structures
    (`grid.nx`), to their value; `buffer_bytes` maps pointers, also those members, to the bytes between the pointer and
    the end of its allocation.
    """

    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    dynamic_lds: int = 0
    scalars: Mapping[str, int] = field(default_factory=dict)
    buffer_bytes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class LaunchFacts:
    """All captured launch shapes of a kernel and the limits of the device they ran on.

    `type_bytes` are the sizes of types that the source only names, like a template's `T`. `member_pointers` maps
    pointers in structures that are passed by value (`grid.data`) to their element types, `member_numbers` the integers
    there (`grid.nx`) to theirs. `promised` names those of these pointers that are `__restrict__`. `disjoint` names the
    pointers, also those members, that never pointed into the same allocation as another one. `threads` is the size of
    the largest workgroup of any launch, recorded or only seen; 0 when it is not known. `needs` is what the compiler
    made of the kernel (of its most demanding instance).
    """

    launches: tuple[LaunchFact, ...] = ()
    type_bytes: Mapping[str, int] = field(default_factory=dict)
    member_pointers: Mapping[str, str] = field(default_factory=dict)
    member_numbers: Mapping[str, str] = field(default_factory=dict)
    static_lds: int = 0
    lds_limit: int = 65536
    wave_size: int = 64
    xcds: int = 1
    promised: frozenset[str] = frozenset()
    disjoint: frozenset[str] = frozenset()
    threads: int = 0
    needs: KernelMetadata | None = None

    def bytes_of(self, type_name: str) -> int | None:
        """sizeof of a type: a number type, or one whose size the recorded launches give; None when not known."""
        known = element_bytes(type_name)
        return known if known is not None else self.type_bytes.get(type_name)


def pointers_of(kernel: KernelSyntax, facts: LaunchFacts) -> dict[str, str]:
    """The pointers that a kernel is given, also in structures (`grid.data`), with their element types."""
    return {
        **facts.member_pointers,
        **{p.name: p.element_type for p in kernel.parameters if p.pointer},
    }


@dataclass(frozen=True, order=True)
class Splice:
    """Replace the bytes [start, end) of the original by `text`; start == end inserts."""

    start: int
    end: int
    text: bytes


class OverlappingSplices(ValueError):
    """Two splices want the same bytes: a bug of the recipe that made them."""


def apply_splices(source: bytes, splices: Iterable[Splice]) -> bytes:
    """The source with all splices done. Everything outside them is kept byte for byte.

    Splices may come in any order; insertions at the same place keep the order they were given in.
    Raises OverlappingSplices, and ValueError for a splice outside the source.
    """
    pieces: list[bytes] = []
    position = 0
    for splice in sorted(splices, key=lambda s: (s.start, s.end)):
        if not 0 <= splice.start <= splice.end <= len(source):
            raise ValueError(
                f"splice [{splice.start}, {splice.end}) lies outside a source of {len(source)} bytes"
            )
        if splice.start < position:
            raise OverlappingSplices(f"splice at byte {splice.start} overlaps the one before it")
        pieces += [source[position : splice.start], splice.text]
        position = splice.end
    pieces.append(source[position:])
    return b"".join(pieces)
