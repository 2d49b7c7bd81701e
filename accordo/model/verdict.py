"""The verdict on one candidate, as text for readers and as data for programs.

Data only. `explain` is the sentence for a message; everything else is for JSON and for detailed reports.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

MismatchKind = Literal[
    "wrong_value",
    "stray_write",
    "input_changed",
    "depends_on_poison",
    "not_deterministic",
    "less_precise",
    "fault",
    "sanitizer",
    "state",
]
Outcome = Literal["equivalent", "different", "inconclusive"]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Mismatch(_Record):
    """One way in which the candidate differs, with its first place. Indices count elements of the piece."""

    kind: MismatchKind
    message: str
    buffer: int | None = None
    label: str = ""
    element: str = ""
    first_index: int | None = None
    byte_offset: int | None = None
    expected: str = ""
    got: str = ""
    count: int = 0
    total: int = 0
    max_absolute: float | None = None
    max_relative: float | None = None
    max_ulp: int | None = None
    map: str = Field(
        "", description="first to last element: x wrong, . right, blank not written by the reference"
    )


class Trial(_Record):
    """One comparison: which dispatch, on which inputs, and what came out."""

    dispatch: int
    inputs: str
    outcome: Literal["same", "different", "dropped"]
    detail: str = ""


class Verdict(_Record):
    """Whether a candidate does the same as the reference on everything that was tried.

    `max_*` are the largest differences among results that count as equal; all zero when every bit was the same.
    """

    outcome: Outcome
    reason: str
    dispatches: int = 0
    trials: tuple[Trial, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()
    max_absolute: float = 0.0
    max_relative: float = 0.0
    max_ulp: int = 0
    bit_exact: bool = False
    notes: tuple[str, ...] = ()
    unspecified_bytes: int = Field(
        0,
        description="bytes that were not compared: the reference leaves there what nothing wrote, such as padding",
    )
    inputs: tuple[str, ...] = Field(
        (), description="of each input: varied in so many trials, or never, and why"
    )

    @property
    def equivalent(self) -> bool:
        """True only when everything that was tried came out the same."""
        return self.outcome == "equivalent"

    def explain(self) -> str:
        """The verdict in a few lines, with a map of where the first difference lies."""
        lines = [self.reason]
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"input {one}" for one in self.inputs]
        drawn = next((m for m in self.mismatches if m.map), None)
        if drawn is not None and not self.equivalent:
            lines.append(f"{drawn.label} from first to last element (x wrong, . right):")
            lines += [f"  |{row}|" for row in drawn.map.splitlines()]
        return "\n".join(lines)
