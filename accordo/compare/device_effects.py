"""What a whole program's launches and copies to the host leave, compared between two runs of it.

Takes the `effects` files of runs (emulator/native/capture/effects.hpp), gives the first difference in words. So a
program that prints nothing is compared, too. What differs between runs of the original does not count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hipscope.accordo.compare.other_rounding import TIMES, explained_by_rounding
from hipscope.accordo.compare.tolerance import size_of_smallest
from hipscope.accordo.dispatch.element_types import FloatStructure, Segment
from hipscope.accordo.dispatch.guessed_types import guess
from hipscope.accordo.dispatch.parameters import written_through_pointers
from hipscope.analysis.source.number_types import Element, element_of

EFFECTS, COPIES = "effects", "copies"
_INVERTED = 0xFF


@dataclass(frozen=True)
class Effect:
    """One launch (`kernel` set) or copy. `digests` are by block of memory; none: it was not looked at.

    The contents of a copy are the bytes [start, start + size) of `contents`; `start` None where they were not kept.
    They come from `address` of the device (0: not from one place).
    """

    kernel: str
    digests: tuple[tuple[str, str], ...]
    size: int = 0
    start: int | None = None
    contents: Path | None = None
    address: int = 0

    def content(self) -> bytes | None:
        """The bytes of a copy, when they were kept."""
        if self.contents is None or self.start is None:
            return None
        with self.contents.open("rb") as file:
            file.seek(self.start)
            return file.read(self.size)


@dataclass(frozen=True)
class KnownMemory:
    """A buffer of a recorded launch: where it lies, which is the same in all runs, and what the kernel leaves in it."""

    address: int
    pieces: tuple[Segment, ...]


@dataclass(frozen=True)
class Compared:
    """The first difference, or None, and what was compared."""

    difference: str | None
    note: str = ""


def read_effects(folder: Path) -> tuple[Effect, ...] | None:
    """What all processes of a run noted, in the order of each; None when they noted nothing.

    Processes are numbered as they began, which varies: here they come in the order of what they did.
    """
    files = [folder / EFFECTS, *folder.glob(f"{EFFECTS}-*")]
    found = [effects for file in files if (effects := _of_process(file)) is not None]
    found.sort(key=lambda effects: [(e.kernel, e.size, e.digests) for e in effects])
    return tuple(effect for effects in found for effect in effects) if found else None


def _of_process(file: Path) -> list[Effect] | None:
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    contents = file.with_name(file.name.replace(EFFECTS, COPIES, 1))
    found = []
    for line in text.splitlines():
        kind, *words = line.split(" ")
        if kind == "L" and words:
            pairs = (word.partition(":") for word in words[1:])
            found.append(Effect(words[0], tuple((block, digest) for block, _, digest in pairs)))
        elif kind == "C" and len(words) == 4:
            start = int(words[2]) if words[2] != "-" else None
            found.append(Effect("", (("copy", words[1]),), int(words[0]), start, contents, int(words[3])))
    return found


def compare_effects(
    originals: Sequence[Sequence[Effect]],
    now: Sequence[Effect],
    rounding: float = 0.0,
    *,
    complementary: bool = False,
    structures: Mapping[str, FloatStructure] | None = None,
    memory: Sequence[KnownMemory] = (),
    otherwise: Sequence[Sequence[Effect]] = (),
) -> Compared:
    """How a run differs from the first of the originals where these agree with each other.

    `complementary`: the last two of the originals began their launches with other values in every bit of what nothing
    wrote. Of a copy that varies by bytes with such values only, the others are compared.

    `rounding` above 0 allows floats in copies to differ by so much, relative to themselves and to the copy's root mean
    square; what launches leave is then not compared, as nothing says which of it are floats. `structures` are those of
    the program that hold floats of one type only, by name; `memory` is what is known of the device. `otherwise` are
    runs of the original that rounded floats in other ways: what differs as they do is rounding, too.
    """
    was = originals[0]
    kernels = {e.kernel for e in was if e.kernel}
    floats = written_through_pointers(kernels, structures or {}) if rounding > 0 else None
    told = (element_of(floats.type), floats.members) if floats else None
    if any(_order(other) != _order(was) for other in originals[1:]):
        return Compared(None, "Not compared: what its launches leave; their order varies from run to run.")
    if _order(was) != _order(now):
        return Compared("The program makes other launches or copies with the rewrite.")
    otherwise = [other for other in otherwise if _order(other) == _order(was)]
    launches = looked = copies = varying = in_part = multiplied = 0
    for number, (old, new) in enumerate(zip(was, now, strict=True)):
        others = [dict(other[number].digests) for other in originals[1:]]
        before, after = dict(old.digests), dict(new.digests)
        varied = {block for block in before for other in others if other.get(block) != before[block]}
        launches += bool(old.kernel)
        copies += not old.kernel
        if rounding > 0 and old.kernel:
            continue
        varying += bool(varied)
        looked += bool(old.kernel and before and after)
        # A run with less of its budget left looks at fewer launches.
        different = sorted(b for b in before if after and b not in varied and after.get(b) != before[b])
        if complementary and varied and not old.kernel:
            contents = _written([other[number] for other in originals], new)
            different = sorted(varied) if contents[0] != contents[1] else []
            in_part += contents[0] is not None
        elif different:
            contents = old.content(), new.content()
        floats_here = _floats_in(old, memory) or told
        if not different or (rounding > 0 and _rounded(*contents, rounding, floats_here)):
            continue
        if rounding <= 0 or not _multiplied(contents, [o[number] for o in otherwise], rounding, floats_here):
            return Compared(_sentence(old, launches, copies))
        multiplied += 1
    if not looked and not copies:
        return Compared(None, "Not compared: what its launches leave; none of them was looked at.")
    seen = f"what {looked} of {launches} launches left in memory and " if rounding <= 0 else ""
    note = (
        f"The same as without the rewrite: {seen}{copies} {'copy' if copies == 1 else 'copies'} to the host."
    )
    if varying > in_part:
        note += f" Of {varying - in_part} of them, what varies from run to run was not compared."
    if multiplied:
        note += f" {multiplied} of them differ by no more than {TIMES:g} times what other roundings change."
    if in_part:
        note += f" Of {in_part} of them, bytes that hold what nothing wrote were not compared."
    return Compared(None, note)


def unsteady_kernels(runs: Sequence[Sequence[Effect]]) -> frozenset[str]:
    """Kernels that leave other memory, or are launched at other numbers, in some of these runs of one program."""
    kernels = {effect.kernel for run in runs for effect in run if effect.kernel}
    return frozenset(k for k in kernels if any(_other(_left(k, run), _left(k, runs[0])) for run in runs[1:]))


def _left(kernel: str, run: Sequence[Effect]) -> list[tuple[tuple[str, str], ...]]:
    return [effect.digests for effect in run if effect.kernel == kernel]


def _other(one: list[tuple[tuple[str, str], ...]], two: list[tuple[tuple[str, str], ...]]) -> bool:
    """Whether launches differ by number, or by what they leave where both runs had budget left to look at that."""
    return len(one) != len(two) or any(a != b for a, b in zip(one, two, strict=True) if a and b)


def _written(originals: Sequence[Effect], new: Effect) -> tuple[bytes | None, bytes | None]:
    """A copy without the rewrite and with it, with zeros for what nothing wrote; None where it was not kept, or varies
    by something else, too.
    """
    contents = [effect.content() for effect in (*originals, new)]
    if any(c is None or len(c) != len(contents[0] or b"") for c in contents):
        return None, None
    *before, after = (np.frombuffer(c or b"", dtype=np.uint8) for c in contents)
    unwritten = (before[-1] ^ before[-2]) == _INVERTED
    first, *others, changed = (
        np.where(unwritten, np.uint8(0), image).tobytes() for image in (*before, after)
    )
    return (first, changed) if all(other == first for other in others) else (None, None)


def _sentence(old: Effect, launches: int, copies: int) -> str:
    if old.kernel:
        return (
            f"Launch {launches} of the program (`{old.kernel}`) leaves other memory than without the rewrite."
        )
    return f"Copy {copies} to the host ({old.size} bytes) is another one than without the rewrite."


def _order(effects: Sequence[Effect]) -> list[tuple[str, int]]:
    return [(e.kernel, e.size) for e in effects]


def _floats_in(copy: Effect, memory: Sequence[KnownMemory]) -> tuple[Element, int] | None:
    """What a copy consists of, and by how many, where a recorded launch leaves floats in all that it was copied from.

    None are known to belong together where no type is declared: 0.
    """
    for known in memory:
        first = copy.address - known.address
        for piece in known.pieces if copy.address else ():
            inside = piece.start <= first and first + copy.size <= piece.end and piece.only is None
            if inside and piece.element.kind == "float" and (first - piece.start) % piece.element.size == 0:
                return piece.element, 0 if piece.stored else piece.members
    return None


def _rounded(
    before: bytes | None, after: bytes | None, rounding: float, told: tuple[Element, int] | None
) -> bool:
    """Whether two copies differ by rounding of floats, told or guessed; also where they were not kept."""
    if before is None or after is None or len(before) != len(after):
        return before is None or after is None
    element, size = _element(before, told)
    if element is None:
        return False
    one, other = element.numbers(before), element.numbers(after)
    with np.errstate(invalid="ignore"):
        near = np.abs(other - one) <= _rounding_of(element, rounding) * (np.abs(one) + size)
    return bool((near | (one == other) | (np.isnan(one) & np.isnan(other))).all())


def _multiplied(
    contents: tuple[bytes | None, bytes | None],
    otherwise: Sequence[Effect],
    rounding: float,
    told: tuple[Element, int] | None,
) -> bool:
    """Whether two copies of floats differ as those of runs do that rounded otherwise."""
    before, after = contents
    kept = [content for effect in otherwise if (content := effect.content()) is not None]
    if before is None or after is None or any(len(c) != len(before) for c in (after, *kept)):
        return False
    element, size = _element(before, told)
    if element is None:
        return False
    one, now, *others = (element.numbers(content) for content in (before, after, *kept))
    return explained_by_rounding(one, now, others, size, _rounding_of(element, rounding))


def _rounding_of(element: Element, rounding: float) -> float:
    """What is allowed of such numbers: of 16-bit floats at least how far apart neighbours are."""
    return max(rounding, element.epsilon) if element.size == 2 else rounding


def _element(before: bytes, told: tuple[Element, int] | None) -> tuple[Element | None, float]:
    """The floats that a copy consists of, told or guessed, and the size of the smallest; None where it does not."""
    # Whole pairs of words; a single number is looked at twice.
    element, members = told or (guess(before[: len(before) // 8 * 8] or before * 2, 0, 0), 1)
    if element.kind != "float" or len(before) % element.size:
        return None, 0.0
    return element, size_of_smallest(element.numbers(before), members) if members else 0.0
