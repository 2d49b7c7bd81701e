"""`hipscope.verdict/1`: whether a candidate's kernel is the reference's, and what was compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

VERDICT_SCHEMA = "hipscope.verdict/1"
VerdictOutcome = Literal["equivalent", "different", "inconclusive"]
Isolation = Literal["bubblewrap", "namespaces", "limits"]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One way in which the candidate differs, with its first place. Indices count elements of the piece.

    `map` goes from the first element to the last: x wrong, . right, blank not written by the reference.
    """

    kind: str
    message: str
    buffer: int | None
    label: str
    element: str
    first_index: int | None
    byte_offset: int | None
    expected: str
    got: str
    count: int
    total: int
    max_absolute: float | None
    max_relative: float | None
    max_ulp: int | None
    map: str


@dataclass(frozen=True, slots=True)
class Trial:
    """One comparison: which dispatch, on which inputs, and what came out."""

    dispatch: int
    inputs: str
    outcome: Literal["same", "different", "dropped"]
    detail: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a candidate does the same as the reference on everything that was tried.

    `max_*` are the largest differences among results that count as equal. `inputs` says of each input in how many
    trials it was varied, or why in none. `unspecified_bytes` were not compared on the recorded launches: there the
    reference leaves what nothing wrote, such as the padding of structures.
    """

    outcome: VerdictOutcome
    reason: str
    dispatches: int
    trials: tuple[Trial, ...]
    mismatches: tuple[Mismatch, ...]
    max_absolute: float | None
    max_relative: float | None
    max_ulp: int
    bit_exact: bool
    notes: tuple[str, ...]
    inputs: tuple[str, ...]
    unspecified_bytes: int


@dataclass(frozen=True, slots=True)
class LeftOutGate:
    """A gate that every rewrite passes and that a comparison of two programs does not ask."""

    gate: str
    asks: str


@dataclass(frozen=True, slots=True)
class VerdictReport(Verdict):
    """The verdict on one kernel of two programs; `isolation` is None for a candidate that was not compiled here."""

    TAG: ClassVar = ("schema", VERDICT_SCHEMA)
    kernel: str
    reference: str
    candidate: str
    left_out: tuple[LeftOutGate, ...]
    isolation: Isolation | None
