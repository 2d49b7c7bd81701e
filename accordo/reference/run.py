"""One launch on which the reference has run, and what its runs there say about each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.compare.buffers import Errors, Piece, compare_buffer, largest_difference
from hipscope.accordo.compare.tolerance import (
    EXACT,
    Sizes,
    Tolerance,
    size_of_smallest,
    sizes_of_stored,
    tolerance_for,
)
from hipscope.accordo.dispatch.access_map import ATOMIC, READ, STORED, WRITTEN, AccessMap
from hipscope.accordo.dispatch.captured import CapturedBuffer, CapturedDispatch, CapturedVariable
from hipscope.accordo.dispatch.code_properties import could_leave_floats
from hipscope.accordo.dispatch.element_types import Segment
from hipscope.accordo.dispatch.signature import Signature
from hipscope.accordo.dispatch.stored_numbers import stores_untyped, with_stored_numbers
from hipscope.accordo.reference.settings import ReferenceSettings
from hipscope.accordo.reference.unspecified import Unspecified, without
from hipscope.accordo.replay.replay import Replay
from hipscope.analysis.source.number_types import BYTES

Access = Mapping[int, AccessMap]
Pieces = Mapping[int, tuple[Segment, ...]]
Spread = dict[tuple[int, int], float]


@dataclass(frozen=True)
class ReferenceRun:
    """One launch on which the reference has run; `inputs` is None for the captured memory.

    `spread` says how far correct runs of it are apart and `sizes` how large its outputs are (as far as somebody has
    asked), by (buffer, start of the piece); `stored_sizes` those of pieces that no declaration knows. `same_bits` says
    that two orders of the waves left the same bits, and not by atomics on floats; `same_words` that they printed the
    same. `unspecified` are bytes that hold
    what nothing wrote; they are not compared. `crossed`: several arguments and the inputs differ at once.
    """

    label: str
    dispatch: CapturedDispatch
    inputs: Path | None
    pieces: Pieces
    result: Replay
    access: Access
    spread: Spread
    same_bits: bool = False
    sizes: dict[tuple[int, int], float] = field(default_factory=dict)
    unspecified: Unspecified = field(default_factory=dict)
    stored_sizes: dict[tuple[int, Segment], Sizes] = field(default_factory=dict)
    same_words: bool = True
    crossed: bool = False

    def compared(self, result: Replay, buffer: CapturedBuffer) -> bytes:
        """What a run on this launch left in a buffer, with zeros for what is not compared."""
        return without(result.image(buffer), buffer, self.unspecified)

    def leaves_same(self, result: Replay, buffer: CapturedBuffer) -> bool:
        """Whether a run on this launch left what the reference left, in all that is compared."""
        if self.result.leaves_same(result, buffer):
            return True
        known = buffer.index in self.unspecified
        return known and self.compared(self.result, buffer) == self.compared(result, buffer)

    @cached_property
    def results(self) -> Pieces:
        """The pieces by which results are compared: also by what the machine code stores where no type is declared."""
        return with_stored_numbers(self.pieces, self.access)

    def size_of(self, buffer: CapturedBuffer, segment: Segment) -> Sizes:
        """The root mean square of what a piece holds after the run, of structures that of the smallest member."""
        if segment.stored:
            known = (buffer.index, segment)
            if known not in self.stored_sizes:
                self.stored_sizes[known] = size_in(self.compared(self.result, buffer), segment)()
            return self.stored_sizes[known]
        key = (buffer.index, segment.start)
        if key not in self.sizes:
            image = self.compared(self.result, buffer)[segment.start : segment.end]
            self.sizes[key] = size_of_smallest(segment.element.numbers(image), segment.members)
        return self.sizes[key]


def access_of(result: Replay, dispatch: CapturedDispatch) -> dict[int, AccessMap]:
    """Where a traced run accessed each buffer."""
    return {b.index: result.access(b.index, b.size) for b in dispatch.buffers}


def written_elements(run: ReferenceRun, index: int, size: int) -> NDArray[np.bool_]:
    """The elements of a buffer, of so many bytes each, that the run writes and that are compared."""
    written = (run.access[index].whole & WRITTEN) != 0
    if index in run.unspecified:
        written &= ~run.unspecified[index]
    return np.asarray(written.reshape(-1, size).all(axis=1))


def untyped_floats(
    result: Replay, dispatch: CapturedDispatch, pieces: Mapping[int, tuple[Segment, ...]], objdump: Path
) -> bool:
    """Whether a traced run wrote bytes of which no declaration says what they are, and may have left floats there."""
    variables = (result.variable_access(variable) for variable in dispatch.variables)
    untyped = stores_untyped(pieces, access_of(result, dispatch), variables)
    return untyped and could_leave_floats(dispatch.code_object, objdump, dispatch.kernel)


def piece_tolerance(
    segment: Segment,
    size: Callable[[], Sizes],
    access: AccessMap,
    dispatch: CapturedDispatch,
    settings: ReferenceSettings,
    signature: Signature,
    *,
    spread: float = 0.0,
    exact: bool = False,
) -> Tolerance:
    """How far this piece of output may be off; `size` gives the root mean square of what it holds.

    Floats made by atomics are never asked to be exact. Members of structures are where runs of the reference differ, if
    the user does not name the argument: by how much the small ones do is not known apart. Nor is it where other things
    lie between stored floats, or other instructions store some of them.
    """
    by_atomics = segment.element.kind == "float" and access.any(ATOMIC, segment.start, segment.end)
    if exact and not by_atomics:
        return EXACT
    terms = dispatch.work_items if by_atomics else 1
    names, argument = signature.names, segment.argument
    name = names[argument] if argument is not None and argument < len(names) else ""
    if segment.only is not None or segment.sites is not None:
        spread = 0.0
    if segment.members > 1 and spread > 0 and name not in settings.tolerances and not by_atomics:
        return EXACT
    user = settings.tolerances.get(name, settings.tolerance)
    return tolerance_for(segment.element, size, terms=terms, spread=spread, user=user)


@dataclass(frozen=True)
class OtherRun:
    """What another run on a launch left: `image` in a buffer, None when it is known to be the same.

    The `unspecified` bytes may be any.
    """

    image: Callable[[CapturedBuffer], bytes | None]
    variable: Callable[[CapturedVariable], bytes | None]
    unspecified: Unspecified = field(default_factory=dict)


def difference_of(
    dispatch: CapturedDispatch,
    pieces: Pieces,
    access: Access,
    first: Replay,
    again: OtherRun,
    settings: ReferenceSettings,
    signature: Signature,
) -> str | None:
    """How another run of the reference differs by more than another order of additions explains, or None."""
    for one in dispatch.variables:
        now, then = first.variable(one), again.variable(one)
        if now is None or then is None:
            continue
        if compare_variable(one, now, then, first, settings, dispatch)[0]:
            return f"the variable {one.symbol} is left with another value"
    for buffer in dispatch.buffers:
        if (left := again.image(buffer)) is None:
            continue
        other, expected = (without(i, buffer, again.unspecified) for i in (left, first.image(buffer)))
        if other == expected:
            continue
        touched = access[buffer.index]
        measured = tuple(
            Piece(
                s,
                piece_tolerance(s, size_in(expected, s), touched, dispatch, settings, signature),
                f"buffer {buffer.index}",
            )
            for s in pieces[buffer.index]
        )
        found, _ = compare_buffer(
            measured,
            before=expected,
            expected=expected,
            got=other,
            written=(touched.whole & WRITTEN) != 0,
            is_input=False,
            buffer=buffer.index,
        )
        if found:
            return found[0].message
    return None


def compare_variable(
    variable: CapturedVariable,
    expected: bytes,
    got: bytes,
    traced: Replay,
    settings: ReferenceSettings,
    dispatch: CapturedDispatch,
    *,
    exact: bool = False,
) -> tuple[bool, Errors]:
    """Whether a device variable has another value, by more than the tolerance of the floats that were stored there.

    `expected` is what the `traced` run left; all other bytes of it must be the same. Also the accepted differences.
    """
    if expected == got:
        return False, Errors()
    access = traced.variable_access(variable)
    pieces = with_stored_numbers({0: (Segment(0, variable.size, BYTES, None),)}, {0: access})[0]
    measured = tuple(
        Piece(
            s,
            piece_tolerance(s, size_in(expected, s), access, dispatch, settings, Signature(), exact=exact),
            "",
        )
        for s in pieces
    )
    everything = np.ones(variable.size, dtype=np.bool_)
    found, errors = compare_buffer(
        measured, before=expected, expected=expected, got=got, written=everything, is_input=False, buffer=0
    )
    return bool(found), errors


def variables_by_atomics(dispatch: CapturedDispatch, traced: Replay) -> bool:
    """Whether atomics made a float in a device variable."""
    return any(
        access.any(ATOMIC) and access.any(STORED)
        for access in map(traced.variable_access, dispatch.variables)
    )


def size_in(image: bytes, segment: Segment) -> Callable[[], Sizes]:
    """The `size` of a piece for `piece_tolerance`, from an image of its buffer."""

    def size() -> Sizes:
        numbers = segment.element.numbers(image[segment.start : segment.end])
        return (
            sizes_of_stored(numbers, segment.only, segment.sites)
            if segment.stored
            else size_of_smallest(numbers, segment.members)
        )

    return size


def unless_same(first: Replay, other: Replay) -> Callable[[CapturedBuffer], bytes | None]:
    """The `image` of another run for `difference_of`."""
    return lambda buffer: None if other.leaves_same(first, buffer) else other.image(buffer)


def same_bits(dispatch: CapturedDispatch, one: Replay, other: Replay) -> bool:
    """Whether two runs left the same bits in all buffers."""
    return all(one.leaves_same(other, b) for b in dispatch.buffers)


def no_other_places(one: Access, usual: Access) -> bool:
    """Whether a run reads and writes only bytes that are usually read or written, if not all of them."""
    return all(one[i].within(usual[i], READ | WRITTEN) for i in one)


def floats_by_atomics(dispatch: CapturedDispatch, pieces: Pieces, access: Access) -> bool:
    """Whether some float is made by atomics, so that its last digits depend on the order of the waves."""
    return any(
        s.element.kind == "float" and access[b.index].any(ATOMIC, s.start, s.end)
        for b in dispatch.buffers
        for s in pieces[b.index]
    )


def widen_spread(
    spread: Spread, dispatch: CapturedDispatch, pieces: Pieces, one: Replay, other: Replay
) -> None:
    """Take note of how far two correct runs of the reference are apart."""
    for buffer in dispatch.buffers:
        if one.leaves_same(other, buffer):
            continue
        plain = tuple(Piece(s, EXACT, "") for s in pieces[buffer.index] if s.element.kind == "float")
        for start, size in largest_difference(plain, one.image(buffer), other.image(buffer)).items():
            key = (buffer.index, start)
            spread[key] = max(spread.get(key, 0.0), size)
