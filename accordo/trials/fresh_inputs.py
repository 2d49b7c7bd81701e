"""Fresh inputs for a captured dispatch: what a kernel reads gets other values that it might as well have had.

Takes the captured buffers and the reference's access maps, gives replacement buffers. Elements are permuted, so that
indices and labels stay in range; floats are also scaled, and replaced by zeros, ones, denormals, ramps, large ones, NaN
and infinity; integers become large, with both signs, or in part negative (a reference that takes them for indices does
not survive that, and the trial is dropped), and short ones take all their values; what is updated starts from other
numbers; in one trial a single element of each input changes, and in two some get numbers that the programs name.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.dispatch.access_map import ATOMIC, PAGE, READ, READ_FIRST, WRITTEN, AccessMap
from hipscope.accordo.dispatch.captured import CapturedBuffer
from hipscope.accordo.dispatch.element_types import Segment
from hipscope.accordo.dispatch.replaced_buffers import write_replacement
from hipscope.accordo.model.defences import Defence
from hipscope.accordo.trials.code_constants import NONE, Named
from hipscope.accordo.trials.structured_contents import (
    in_one_step,
    in_steps_of_one,
    renumbered,
    resorted,
    rises,
    with_ends,
)
from hipscope.analysis.source.number_types import Element

PERMUTED, SCALED, SPARSE, NOT_FINITE, LARGE_INTEGERS, STRUCTURED, SCALED_AGAIN, ONE_CHANGED = range(1, 9)
SMALL_INTEGERS, UPDATED, MANY_NANS, NEGATIVE_INTEGERS, BELOW_ZERO, RENAMED, ALL_SAME = range(9, 16)
NAMED, NAMED_LARGE, NAMED_INTEGERS = range(16, 19)
MIXED, LOWEST = 19, 20
SHARED = 22  # all elements of all inputs of a type the same: of larger launches only
AS_NAMED = 23  # of a candidate's numbers only
LARGE_UPDATED, EMPTY = 24, 25
NAMED_LENGTHS = 26  # of a candidate's numbers only
EXTREME_INTEGERS, MINUS_ONE = 27, 28
FEW_VALUES, ALL_NAN, OPPOSITE, SORTED, RENUMBERED = range(29, 34)
EVEN_AS_NAMED, ODD_AS_NAMED = 34, 35  # every other input as AS_NAMED
ENDS, WHOLE_ENDS = 36, 37  # of launches with a list in order
SINGLE, FAR_BELOW, FULL, AT_ONCE = 38, 39, 40, 41
BELOW_NAMED = 42  # of a candidate's numbers only
NEARLY_SAME = 43  # of 16-bit floats
EVERY_OTHER = 44  # of candidates with conditions only
OF_SIZES = (AS_NAMED, EVEN_AS_NAMED, ODD_AS_NAMED, BELOW_NAMED)
TRIALS: dict[int, Defence] = {
    PERMUTED: "permuted_inputs", SCALED: "scaled_inputs", SPARSE: "special_inputs", NOT_FINITE: "not_finite_inputs",
    LARGE_INTEGERS: "large_integers", STRUCTURED: "special_inputs", SCALED_AGAIN: "scaled_inputs",
    ONE_CHANGED: "one_changed_input", SMALL_INTEGERS: "small_integers", UPDATED: "updated_memory",
    MANY_NANS: "not_finite_inputs", NEGATIVE_INTEGERS: "large_integers",
    BELOW_ZERO: "special_inputs", RENAMED: "small_integers",
    ALL_SAME: "special_inputs", NAMED: "named_values", NAMED_LARGE: "named_values", NAMED_INTEGERS: "named_integers",
    NAMED_LENGTHS: "named_integers", EMPTY: "mixed_integers", LARGE_UPDATED: "mixed_integers", AS_NAMED: "named_values",
    MIXED: "mixed_integers", LOWEST: "not_finite_inputs", EXTREME_INTEGERS: "large_integers",
    MINUS_ONE: "large_integers", FEW_VALUES: "special_inputs", ALL_NAN: "not_finite_inputs", OPPOSITE: "large_integers",
    SORTED: "structured_inputs", RENUMBERED: "structured_inputs",
    EVEN_AS_NAMED: "named_values", ODD_AS_NAMED: "named_values",
    ENDS: "not_finite_inputs", WHOLE_ENDS: "large_integers", SINGLE: "structured_inputs",
    FAR_BELOW: "updated_memory", FULL: "mixed_integers", AT_ONCE: "structured_inputs",
    NEARLY_SAME: "special_inputs", BELOW_NAMED: "named_values",
    EVERY_OTHER: "special_inputs",
}  # fmt: skip

Access = NDArray[np.uint8]
Numbers = NDArray[np.floating[Any]]

_WORDS = {
    PERMUTED: "inputs permuted",
    SCALED: "inputs permuted, floats scaled with alternating sign",
    SPARSE: "floats zero but for a few large ones",
    NOT_FINITE: "some floats NaN or infinite",
    LARGE_INTEGERS: "integers large and of both signs",
    STRUCTURED: "floats one, -0, denormal and rising",
    SCALED_AGAIN: "inputs permuted otherwise, floats of many sizes",
    ONE_CHANGED: "one element of each input changed",
    SMALL_INTEGERS: "8-bit and 16-bit integers of all values",
    UPDATED: "other numbers before in what is updated",
    MANY_NANS: "many floats NaN, many zero",
    NEGATIVE_INTEGERS: "some integers negative",
    MINUS_ONE: "some integers -1",
    EXTREME_INTEGERS: "some integers negative, zero, the smallest and the largest",
    NAMED: "some inputs replaced by numbers that a program names",
    NAMED_LARGE: "some floats replaced by much larger ones that a program names",
    NAMED_INTEGERS: "some integers replaced by larger ones that a program names",
    ALL_SAME: "all elements of each input the same",
    RENAMED: "8-bit and 16-bit integers renamed, 0 and large ones among them",
    BELOW_ZERO: "inputs permuted, all floats far below zero",
    MIXED: "integers of each input among those of the others",
    EMPTY: "some integers 0, some 1",
    NAMED_LENGTHS: "some integers a number that a program names, or one more, no other",
    LARGE_UPDATED: "integers of all bits in what is updated",
    LOWEST: "all floats -infinity",
    ALL_NAN: "all floats NaN",
    FEW_VALUES: "few different values in each input",
    OPPOSITE: "all integers 0 in one input, all bits of those in the next",
    SORTED: "what is sorted with other steps, some of them 0",
    FULL: "integers of each input among those of the others, none of them empty",
    FAR_BELOW: "all floats far below zero, those that are updated still farther",
    SINGLE: "what is sorted in steps of one",
    EVERY_OTHER: "every other float of a few is 0, the others are the same",
    NEARLY_SAME: "all 16-bit floats the same but for a few that are a little larger",
    AT_ONCE: "what is sorted in one step, all others 0",
    RENUMBERED: "what is numbered, in chains and the other way round",
    ENDS: "infinite ends of what is sorted, equal infinities side by side elsewhere",
    WHOLE_ENDS: "the smallest and the largest integers at the ends of what is sorted",
    AS_NAMED: "all floats of the size of one that a program names",
    BELOW_NAMED: "all floats below zero, of the size of one that a program names",
    EVEN_AS_NAMED: "floats of the first, third ... input of the size of one that a program names",
    ODD_AS_NAMED: "floats of the second, fourth ... input of the size of one that a program names",
}
OF_CANDIDATES = (
    *OF_SIZES,
    NAMED_LENGTHS,
    EVERY_OTHER,
)  # there they are made, not for the reference's own numbers
INSTEAD = {NEGATIVE_INTEGERS: MINUS_ONE}  # what is tried where the reference is not defined on the other
_WIDE_ONLY = (
    LARGE_INTEGERS,
    NEGATIVE_INTEGERS,
    EXTREME_INTEGERS,
    MINUS_ONE,
    OPPOSITE,
    WHOLE_ENDS,
)  # 32 and 64 bits, of what is only read
_WHOLE = (*_WIDE_ONLY, SMALL_INTEGERS, LARGE_UPDATED, EMPTY)
_FLOATS_ONLY = (
    SPARSE,
    NOT_FINITE,
    STRUCTURED,
    MANY_NANS,
    BELOW_ZERO,
    LOWEST,
    ALL_NAN,
    ENDS,
    FAR_BELOW,
    NEARLY_SAME,
    EVERY_OTHER,
    *OF_SIZES,
)
_CONSTANT = (LOWEST, ALL_NAN, OPPOSITE, NEARLY_SAME, EVERY_OTHER)
_POOL = 1 << 14  # integers of all inputs together
_MINUS_ONE, _NEGATED, _EXTREME = 0.15, 0.3, 0.4  # parts of integers: -1, their complement, 0 or the most
_ZERO, _ZERO_OR_ONE = 0.2, 0.35  # parts of integers that become so: lengths of what is empty, or single
_EACH_NAN = _EACH_FULL = 5  # elements
_EACH_PAIR, _OTHER = 12, 5  # elements for each pair, of which each fifth is of two infinities
_LIKE_OTHERS, _EACH_LARGER = 16.0, 41  # large beside what is added to a variance; less than a row
_BEYOND_IT = 1.2  # times a number: beyond it for certain
_COMMON = 10  # one in so many elements: a mark rather than a value
_FEW = 16
_FEWEST = 4
_BLOCK = 1 << 16  # elements
_MANY_BLOCKS = 16
_PAIRED, _FEW_PAIRED = 4, 6
_LONGEST = 8  # times the largest
_FAR = 120.0  # where single precision has no exponential left
_FARTHEST = -1e12  # its square is still a float
_MUCH_LARGER = 1e3
_MARGIN = 16  # pages
_LARGE_BUFFER = 1 << 26  # bytes
_LARGE_INTEGER = 1 << 20  # beyond any LDS, so that an index is seen to be one
_LARGER_INTEGER = 1 << 29  # a few of one sign do not fit into 32 bits together
_RUN = 48  # large integers of one sign side by side
_TINY = {"fp64": 2.0**-1070, "fp32": 2.0**-145, "bf16": 2.0**-130, "fp16": 2.0**-20}  # denormal
_LARGE = {"fp64": 2.0**256, "fp32": 2.0**32, "bf16": 2.0**32, "fp16": 16.0}  # a few squares do not overflow


def describe(trial: int) -> str:
    """What trial number `trial` (from 1) does to the inputs, in words."""
    return _WORDS[trial]


def write_fresh_inputs(
    buffers: tuple[CapturedBuffer, ...],
    pieces: Mapping[int, tuple[Segment, ...]],
    access: Mapping[int, AccessMap],
    directory: Path,
    trial: int,
    named: Named = NONE,
    only: int | None = None,
    avoid: Collection[int] = (),
) -> int:
    """Write a replacement (`replaced.py`) of each buffer that is an input; returns how many. Seeded by `trial`.

    `only`: of that buffer alone, by its index. `avoid`: integers that may mark what counts for nothing: elements
    that are one stay so, and no other becomes one.

    Of a launch that reads a small part of a buffer, only what lies around that part is replaced: the rest is not looked
    at, and would cost most of the time.
    """
    directory.mkdir(parents=True, exist_ok=True)
    names = _names(buffers, pieces, access) if trial == RENAMED else {}
    shared: dict[str, Any] = {}
    pools = _pools(buffers, pieces, access) if trial in (MIXED, FULL) else {}
    ordered = _ordered(buffers, pieces, access, trial) if trial in (ENDS, WHOLE_ENDS) else frozenset()
    if trial in (ENDS, WHOLE_ENDS) and not ordered:
        return 0
    if trial == FAR_BELOW and not any(
        s.element.kind == "float"
        and access[b.index].any(WRITTEN, s.start, s.end)
        and _replaceable(s, access[b.index], trial)
        for b in buffers
        for s in pieces[b.index]
    ):
        return 0
    generator = np.random.default_rng([0x5EED, trial])
    count, planted = 0, Counter[str]()
    for buffer in (b for b in buffers if only in (None, b.index)):
        touched = access[buffer.index]
        chosen = [s for s in pieces[buffer.index] if _replaceable(s, touched, trial)]
        if not chosen:
            continue
        captured = buffer.mapped()
        # Of a large buffer only parts are looked at, unless elements lie among others.
        data = captured.copy() if any(s.stride is not None for s in chosen) else None
        parts: list[tuple[int, NDArray[np.uint8]]] = []
        changed = False
        for segment in chosen:
            places = _places(segment, touched)
            window = np.concatenate([_bits(touched, place) for place in places])
            if not (window & READ).any():
                continue
            known = captured if data is None else data
            old = np.concatenate([known[place].reshape(-1) for place in places])
            if trial == RENAMED:
                fresh = names[segment.element.size][old.view(f"<u{segment.element.size}")].view(np.uint8)
            elif trial in (MIXED, FULL):
                pool = pools.get(segment.element.size)
                if pool is None:
                    continue
                raw = old.view(f"<u{segment.element.size}")
                fresh = (_mixed if trial == MIXED else _full)(raw, pool, generator).view(np.uint8)
            elif trial in (ENDS, WHOLE_ENDS):
                known_order = (buffer.index, segment.start) in ordered
                made = _ends(old, segment.element, window, generator, ordered=known_order)
                fresh = np.frombuffer(made, dtype=np.uint8)
            elif trial == SHARED:
                raw = old.view(f"<u{segment.element.size}")
                used = raw[_used(window, segment.element)]
                marked = np.isin(used, _marks(avoid, raw.dtype)) & (segment.element.kind == "integer")
                plain = used[~marked]
                chosen_one = plain[0] if len(plain) else used[0]
                fresh = np.full_like(raw, shared.setdefault(segment.element.name, chosen_one)).view(np.uint8)
            else:
                made = _fresh(
                    old, segment.element, trial, window, generator, named, planted[segment.element.kind]
                )
                planted[segment.element.kind] += 1
                fresh = np.frombuffer(made, dtype=np.uint8)
                if avoid:
                    raw = old.view(f"<u{segment.element.size}")
                    kept = np.isin(raw, _marks(avoid, raw.dtype))
                    fresh = np.where(kept, raw, fresh.view(raw.dtype)).view(np.uint8)
            changed = changed or not np.array_equal(fresh, old)
            at = 0
            for place in places:
                shape = known[place].shape
                part = fresh[at : (at := at + math.prod(shape))]
                if data is not None:
                    data[place] = part.reshape(shape)
                elif isinstance(place, slice):
                    parts.append((place.start, part))
        if changed:
            write_replacement(directory, buffer.index, captured, parts if data is None else data)
            count += 1
    return count


def _marks(numbers: Collection[int], kind: np.dtype[Any]) -> NDArray[Any]:
    """Integers as words of a type."""
    return np.array([n & (1 << 8 * kind.itemsize) - 1 for n in numbers], dtype=kind)


def _bits(touched: AccessMap, place: slice | NDArray[np.intp]) -> NDArray[np.uint8]:
    """How a launch accesses the bytes there."""
    if isinstance(place, slice):
        return touched.window(place.start, place.stop)
    return np.asarray(touched.whole[place]).reshape(-1)


def _names(
    buffers: tuple[CapturedBuffer, ...],
    pieces: Mapping[int, tuple[Segment, ...]],
    access: Mapping[int, AccessMap],
) -> dict[int, NDArray[Any]]:
    """By size in bytes another number for each short integer: equal ones stay equal, in all buffers, and the smallest
    that is read becomes 0. Bits change places, so that neighbours are far apart.
    """
    found = {}
    for size in (1, 2):
        kind, bits = np.dtype(f"<u{size}"), 8 * size
        smallest = min(
            (
                int(b.mapped()[s.start : s.end].view(kind).min())
                for b in buffers
                for s in pieces[b.index]
                if s.element.kind == "integer" and s.element.size == size
                if access[b.index].any(READ, s.start, s.end)
            ),
            default=0,
        )
        numbers = np.arange(1 << bits, dtype=np.int64) - smallest & (1 << bits) - 1
        turned = sum((numbers >> bit & 1) << bits - 1 - bit for bit in range(bits))
        found[size] = np.asarray(turned).astype(kind)
    return found


def _ordered(
    buffers: tuple[CapturedBuffer, ...],
    pieces: Mapping[int, tuple[Segment, ...]],
    access: Mapping[int, AccessMap],
    trial: int,
) -> frozenset[tuple[int, int]]:
    """The inputs that are lists in order, by buffer and start. Integers that may be offsets into a buffer are left out:
    nothing lies where other ones lead.
    """
    most = max((b.size // s.element.size for b in buffers for s in pieces[b.index]), default=0)
    found = set[tuple[int, int]]()
    for buffer in buffers:
        for s in pieces[buffer.index]:
            if s.stride is not None or not _replaceable(s, access[buffer.index], trial):
                continue
            size = s.element.size
            held = buffer.mapped()[s.start : s.start + (s.end - s.start) // size * size]
            numbers = s.element.numbers(held.tobytes()) if len(held) <= _LARGE_BUFFER else np.zeros(0)
            if rises(numbers) and (s.element.kind == "float" or numbers[-1] > most):
                found.add((buffer.index, s.start))
    return frozenset(found)


def _ends(
    data: NDArray[np.uint8],
    element: Element,
    window: Access,
    generator: np.random.Generator,
    *,
    ordered: bool,
) -> bytes:
    """A list in order with the smallest and the largest at its ends. In other floats some infinities and NaN, most of
    them beside an equal one; other integers as they are.
    """
    raw = data.view(f"<u{element.size}")
    if element.kind == "float":
        special = _as_words([-np.inf, np.inf, np.nan], element, raw.dtype)
        if ordered:
            return bytes(with_ends(raw, special[0], special[1]).tobytes())
        made, used = raw.copy(), _used(window, element)
        firsts = generator.choice(used[:-1], max(2, len(used) // _EACH_PAIR)) if len(used) > 1 else used
        chosen = np.resize(special[[1, 0, 1, 2]], len(firsts))
        made[firsts] = chosen
        made[np.minimum(firsts + 1, used[-1])] = np.where(np.arange(len(firsts)) % _OTHER, chosen, special[0])
        return bytes(made.tobytes())
    if not ordered:
        return bytes(raw.tobytes())
    signed = element.name.startswith("int")
    bits = 8 * element.size - signed
    lowest, highest = raw.dtype.type(1 << bits if signed else 0), raw.dtype.type((1 << bits) - 1)
    return bytes(with_ends(raw, lowest, highest).tobytes())


def _mixed(raw: NDArray[Any], pool: NDArray[Any], generator: np.random.Generator) -> NDArray[Any]:
    """Some elements from a pool. In the first half all, without the commonest one, which marks what is empty: tables
    are full there, and what is looked up is far from where it is looked for.
    """
    other = generator.choice(pool, len(raw))
    values, counts = np.unique(raw, return_counts=True)
    commonest = values[counts.argmax()]
    full = pool[pool != commonest]
    half = len(raw) // 2
    if len(full) and counts.max() > len(raw) // _COMMON:
        other[:half] = generator.choice(full, half)
        keep = _coins(len(raw), generator) & ((raw != commonest) | (np.arange(len(raw)) >= half))
    else:
        keep = _coins(len(raw), generator)
    return np.where(keep, raw, other)


def _full(raw: NDArray[Any], pool: NDArray[Any], generator: np.random.Generator) -> NDArray[Any]:
    """What marks most elements as empty is no element any more; a list without such a mark stays as it is."""
    values, counts = np.unique(raw, return_counts=True)
    commonest = values[counts.argmax()]
    full = pool[pool != commonest]
    if not len(full) or counts.max() <= len(raw) // _COMMON:
        return raw
    return np.where(raw == commonest, generator.choice(full, len(raw)), raw)


def _pools(
    buffers: tuple[CapturedBuffer, ...],
    pieces: Mapping[int, tuple[Segment, ...]],
    access: Mapping[int, AccessMap],
) -> dict[int, NDArray[Any]]:
    """By size in bytes the integers of all inputs, as far as several inputs have such: keys and what looks them up."""
    found: dict[int, list[NDArray[Any]]] = {}
    for buffer in buffers:
        for s in pieces[buffer.index]:
            read = access[buffer.index].any(READ, s.start, s.end)
            if s.element.kind != "integer" or s.stride is not None or not read:
                continue
            size = s.element.size
            numbers = buffer.mapped()[s.start : s.start + (s.end - s.start) // size * size].view(f"<u{size}")
            found.setdefault(size, []).append(numbers[:: max(1, len(numbers) // _POOL)])
    return {size: np.concatenate(parts) for size, parts in found.items() if len(parts) > 1}


def write_unread(
    buffers: tuple[CapturedBuffer, ...],
    pieces: Mapping[int, tuple[Segment, ...]],
    access: Mapping[int, AccessMap],
    directory: Path,
) -> int:
    """Write a replacement of each buffer that a launch does not read; returns how many. Another launch may read them,
    and often they hold zeros.

    Of a large one, only what lies around what the launch writes is replaced.
    """
    directory.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng([0x5EED, UPDATED])
    count = 0
    for buffer in buffers:
        touched = access[buffer.index]
        known = [s for s in pieces[buffer.index] if s.element.kind != "bytes"]
        if touched.any(READ) or not known:
            continue
        captured = buffer.mapped()
        parts = []
        for segment in known:
            if buffer.size <= _LARGE_BUFFER:
                places = [slice(segment.start, segment.end)]
            else:
                places = _surroundings(segment, touched, WRITTEN)
            for place in places:
                size = (place.stop - place.start) // segment.element.size * segment.element.size
                raw = captured[place.start : place.start + size].view(f"<u{segment.element.size}")
                fresh = np.frombuffer(_updated(raw, segment.element, generator), dtype=np.uint8)
                parts.append((place.start, fresh))
        write_replacement(directory, buffer.index, captured, parts)
        count += 1
    return count


def write_renumbered(
    buffers: Sequence[CapturedBuffer], elements: Mapping[int, Element], directory: Path
) -> int:
    """Write a replacement of each buffer that holds numbers of its own elements; returns how many. Those of a longer
    launch are numbers of its first part alone.
    """
    directory.mkdir(parents=True, exist_ok=True)
    count = 0
    for buffer in buffers:
        element = elements.get(buffer.index)
        if element is None or element.kind != "integer" or element.size < 4:
            continue
        old = buffer.mapped()
        made = renumbered(old[: len(old) // element.size * element.size].view(f"<u{element.size}"))
        if made is not None:
            write_replacement(directory, buffer.index, old, [(0, made.view(np.uint8))])
            count += 1
    return count


def write_updated_nans(
    buffers: tuple[CapturedBuffer, ...],
    pieces: Mapping[int, tuple[Segment, ...]],
    access: Mapping[int, AccessMap],
    directory: Path,
) -> int:
    """Write a replacement with some NaN of each buffer of floats that a launch reads and updates; returns how many."""
    directory.mkdir(parents=True, exist_ok=True)
    count = 0
    for buffer in buffers:
        touched = access[buffer.index]
        parts = []
        for segment in pieces[buffer.index]:
            part = (segment.start, segment.end)
            if segment.element.kind != "float" or segment.stride is not None or buffer.size > _LARGE_BUFFER:
                continue
            if not touched.any(READ_FIRST, *part) or not touched.any(WRITTEN, *part):
                continue
            size = segment.element.size
            raw = buffer.mapped()[
                segment.start : segment.start + (segment.end - segment.start) // size * size
            ]
            fresh = raw.view(f"<u{size}").copy()
            fresh[::_EACH_NAN] = np.frombuffer(
                encoded(np.array([np.nan]), segment.element), dtype=fresh.dtype
            )
            parts.append((segment.start, fresh.view(np.uint8)))
        if parts:
            write_replacement(directory, buffer.index, buffer.mapped(), parts)
            count += 1
    return count


def _places(segment: Segment, touched: AccessMap) -> Sequence[slice | NDArray[np.intp]]:
    """Where the elements lie that are replaced: parts of the buffer, or for each element the places of its bytes."""
    if segment.stride is None:
        return _surroundings(segment, touched, READ)
    starts = np.arange(segment.start, segment.end - segment.element.size + 1, segment.stride)
    return [starts[:, None] + np.arange(segment.element.size)]


def _surroundings(segment: Segment, touched: AccessMap, bits: int) -> list[slice]:
    """The pages of a segment that are accessed so, one more on both sides of each, and some more at both ends."""
    read = touched.pages(bits, segment.start, segment.end)
    if not read.any():
        return []
    near = read.copy()
    near[1:] |= read[:-1]
    near[:-1] |= read[1:]
    first, last = np.flatnonzero(read)[[0, -1]]
    near[max(0, first - _MARGIN) : first] = True
    near[last : last + 1 + _MARGIN] = True
    edges = np.flatnonzero(np.diff(near, prepend=False, append=False))
    return [
        slice(segment.start + int(begin) * PAGE, min(segment.end, segment.start + int(end) * PAGE))
        for begin, end in edges.reshape(-1, 2)
    ]


def _replaceable(segment: Segment, touched: AccessMap, trial: int) -> bool:
    """Inputs are, and what the kernel reads first and then updates by plain loads and stores."""
    place = (segment.start, segment.end)
    if segment.element.kind == "bytes" or not touched.any(READ, *place):
        return False
    if trial in _FLOATS_ONLY and segment.element.kind != "float":
        return False
    if trial == LARGE_UPDATED:
        wide = segment.element.kind == "integer" and segment.element.size >= 4
        return wide and touched.any(WRITTEN, *place) and touched.any(READ_FIRST | ATOMIC, *place)
    if trial in (MIXED, FULL):
        return segment.element.kind == "integer" and touched.any(READ_FIRST | ATOMIC, *place)
    if trial in (BELOW_ZERO, FAR_BELOW) and segment.element.size < 4:
        return False  # sums of what is far from zero lose all digits there
    wanted_kind = {NAMED_INTEGERS: "integer", NAMED_LARGE: "float"}.get(trial, segment.element.kind)
    if segment.element.kind != wanted_kind:
        return False
    if trial in (*_WIDE_ONLY, SMALL_INTEGERS, RENAMED, EMPTY, NAMED_LENGTHS):
        wanted = (1, 2) if trial in (SMALL_INTEGERS, RENAMED) else (4, 8)
        if segment.element.kind != "integer" or segment.element.size not in wanted:
            return False
    if not touched.any(WRITTEN, *place):
        return trial != UPDATED
    if trial in (UPDATED, FAR_BELOW):
        return touched.any(READ_FIRST | ATOMIC, *place)
    return trial not in _WIDE_ONLY and touched.any(READ_FIRST, *place) and not touched.any(ATOMIC, *place)


def _fresh(
    data: NDArray[np.uint8],
    element: Element,
    trial: int,
    window: Access,
    generator: np.random.Generator,
    named: Named,
    before: int,
) -> bytes:
    raw = data.view(f"<u{element.size}")
    if trial in (NAMED, NAMED_LARGE, NAMED_INTEGERS):
        return _planted(raw, element, window, generator, named, before, larger=trial != NAMED)
    if trial == ONE_CHANGED:
        return _one_changed(raw, element, window, generator)
    if trial == UPDATED:
        return _updated(raw, element, generator)
    if trial == ALL_SAME:
        return bytes(np.full_like(raw, raw[generator.choice(_used(window, element))]).tobytes())
    if trial == STRUCTURED:
        return encoded(_structured(len(raw), element, generator), element)
    if trial == NAMED_LENGTHS:
        return _lengths(raw, element, window, named)
    if trial in _CONSTANT:
        return _constant(raw, element, trial, before)
    if trial == FEW_VALUES:
        few = generator.choice(raw[_used(window, element)], _FEWEST)
        return bytes(generator.choice(few, len(raw)).tobytes())
    if trial in (SORTED, RENUMBERED, SINGLE, AT_ONCE):
        return _structured_otherwise(raw, element, trial, generator)
    if trial in _WHOLE:
        return _fresh_integers(raw, element, trial, generator)
    if trial == SPARSE:
        return encoded(_sparse(len(raw), element, window, generator), element)
    shuffled = permuted(raw, generator)
    if element.kind != "float" or trial == PERMUTED:
        return bytes(shuffled.tobytes())
    numbers = _decoded(shuffled, element)
    if trial in (NOT_FINITE, MANY_NANS):
        used = _used(window, element)
        count = max(3, len(used) // 64) if trial == NOT_FINITE else 1 + len(used) // 5
        at = generator.choice(len(used), min(len(used), count), replace=False)
        if trial == NOT_FINITE:
            at = np.sort(at)
            numbers[used[at]] = np.resize([np.inf, np.nan, -np.inf], len(at))
            # Behind a NaN all sums are NaN. Two infinite neighbours come first: a lane may take every other element.
            for first in at[:1]:
                numbers[used[first : first + 2]] = np.inf
        else:
            numbers[used[at]] = np.nan
            numbers[generator.choice(used, len(used) // 3, replace=False)] = 0.0
        return encoded(numbers, element)
    if trial in OF_SIZES:
        if trial in (EVEN_AS_NAMED, ODD_AS_NAMED) and before % 2 == (trial == EVEN_AS_NAMED):
            return bytes(raw.tobytes())
        return encoded(_of_size(numbers, named, below=trial == BELOW_NAMED), element)
    if trial in (BELOW_ZERO, FAR_BELOW):
        updated = trial == FAR_BELOW and (window & WRITTEN).any()
        below = np.full_like(numbers, _FARTHEST) if updated else -_FAR - np.abs(numbers)
        return encoded(below, element)
    random = generator.random(len(raw), dtype=numbers.dtype.type)
    if trial == SCALED_AGAIN:
        numbers *= np.exp2(12 * random - 6)
        np.negative(numbers, out=numbers, where=_coins(len(raw), generator))
    else:
        numbers *= 0.5 + 1.5 * random
        np.negative(numbers[1::2], out=numbers[1::2])
    return encoded(numbers, element)


def _constant(raw: NDArray[Any], element: Element, trial: int, before: int) -> bytes:
    """All elements the same, or every other one of a few."""
    if trial == EVERY_OTHER:
        made = np.where(np.arange(len(raw)) % 2, raw.dtype.type(0), raw[0])
        return bytes((made if len(raw) <= _FEW else raw).tobytes())
    if trial == OPPOSITE:
        return bytes(np.full_like(raw, 0 if before % 2 == 0 else np.iinfo(raw.dtype).max).tobytes())
    if trial == NEARLY_SAME:
        if element.size != 2:
            return bytes(raw.tobytes())
        numbers = np.full(len(raw), _LIKE_OTHERS)
        numbers[::_EACH_LARGER] += _LIKE_OTHERS / 128  # the last place of bfloat16
        return encoded(numbers, element)
    value = np.nan if trial == ALL_NAN else -np.inf
    return encoded(np.full(len(raw), value, dtype=_working(element)), element)


def _structured_otherwise(
    raw: NDArray[Any], element: Element, trial: int, generator: np.random.Generator
) -> bytes:
    """Lists with an order, with another one; all others as they are."""
    whole = element.kind == "integer"
    if trial == RENUMBERED:
        made = renumbered(raw) if whole and element.size >= 4 else None
        return bytes((raw if made is None else made).tobytes())
    known = element.numbers(raw.tobytes())
    if trial in (SINGLE, AT_ONCE):
        made_of = in_steps_of_one if trial == SINGLE else in_one_step
        numbers = made_of(known) if whole else None
    else:
        numbers = resorted(known, generator, whole=whole)
    if numbers is None:
        return bytes(raw.tobytes())
    return bytes(numbers.astype(np.int64).astype(raw.dtype).tobytes()) if whole else encoded(numbers, element)


def _fresh_integers(raw: NDArray[Any], element: Element, trial: int, generator: np.random.Generator) -> bytes:
    """What the trials of integers alone make of some."""
    if trial == LARGE_UPDATED:
        return _of_all_bits(raw, generator)
    if trial == EMPTY:
        chosen = generator.random(len(raw))
        few = np.where(chosen < _ZERO, raw.dtype.type(0), raw.dtype.type(1))
        return bytes(np.where(chosen < _ZERO_OR_ONE, few, raw).tobytes())
    shuffled = permuted(raw, generator)
    if trial == LARGE_INTEGERS:
        return _large_integers(shuffled, generator)
    if trial in (NEGATIVE_INTEGERS, EXTREME_INTEGERS, MINUS_ONE):
        return _negative_integers(raw, generator, trial)
    largest = 2 if element.name == "bool" else 1 << 8 * element.size
    return generator.integers(0, largest, len(raw), dtype=raw.dtype).tobytes()


def permuted(elements: NDArray[Any], generator: np.random.Generator) -> NDArray[Any]:
    """The elements in another order. Of many, blocks change places, and the elements of each by one order that begins
    elsewhere in each block: an order of all of them would miss the cache with each element.
    """
    count = len(elements) // _BLOCK
    if count < _MANY_BLOCKS:
        return generator.permuted(elements)
    order, made = generator.permutation(_BLOCK), np.empty_like(elements)
    for number, block in enumerate(generator.permutation(count)):
        begin = int(generator.integers(_BLOCK))
        source = elements[block * _BLOCK : (block + 1) * _BLOCK]
        np.take(source, np.roll(order, begin), out=made[number * _BLOCK : (number + 1) * _BLOCK])
    made[count * _BLOCK :] = generator.permuted(elements[count * _BLOCK :])
    return made


def _planted(
    raw: NDArray[Any],
    element: Element,
    window: Access,
    generator: np.random.Generator,
    named: Named,
    before: int,
    *,
    larger: bool,
) -> bytes:
    """Some of the elements that are read become numbers that a program names, or from which it may compute such a one.

    Either those that the data might hold, or those beyond the range of the integers and the size of the floats, next to
    which a tolerance would hide the others. Each fourth element gets one of those that are named, so that with those of
    the inputs `before` all pairs stand in the same places; among the others some get any of the numbers.
    """
    used = _used(window, element)
    if element.kind == "float":
        known = np.abs(_decoded(raw, element)[used])
        limit = _MUCH_LARGER * float(known[np.isfinite(known)].max(initial=0.0)) or _MUCH_LARGER
        planting = named.for_floats().within(lambda x: (abs(x) > limit) == larger)
    else:
        integers = raw.view(f"<i{element.size}" if element.name.startswith("int") else raw.dtype)[used]
        low, high = int(integers.min()), int(integers.max())
        planting = named.for_integers(element).within(lambda n: (low <= n <= high) != larger)
    exact, near, solved = (
        _as_words(numbers, element, raw.dtype) for numbers in (planting.exact, planting.near, planting.solved)
    )
    planted = raw.copy()
    direct = np.concatenate([exact, near])
    values = np.concatenate([direct, solved, *[direct] * 3, solved])
    paired = used[used % _PAIRED == _PAIRED - 1] if len(used) > _FEW else used[:0]
    others = np.setdiff1d(used, paired, assume_unique=True)
    if len(exact):
        few = exact[:_FEW_PAIRED]
        planted[paired] = few[paired // _PAIRED // len(few) ** before % len(few)]
    count = min(len(values), len(others) if len(others) < 8 else len(others) * 2 // 3)
    if count:
        planted[generator.choice(others, count, replace=False)] = values[:count]
    return bytes(planted.tobytes())


def _lengths(raw: NDArray[Any], element: Element, window: Access, named: Named) -> bytes:
    """Each fourth integer that is read becomes a number that is compared with, or one more; not far beyond others."""
    used, planted = _used(window, element), raw.copy()
    most = min(_LONGEST * max(1, int(raw[used].max())), int(np.iinfo(raw.dtype).max))
    values = sorted({n + more for n in named.integers for more in (0, 1) if 0 < n + more <= most})[:_FEW]
    if values:
        at = used[::_PAIRED]
        planted[at] = np.resize(np.array(values, dtype=raw.dtype), len(at))
    return bytes(planted.tobytes())


def _of_size(numbers: Numbers, named: Named, *, below: bool) -> Numbers:
    """The floats scaled to half and to twice the number that is farthest from their size, if one is far from it.

    `below`: all of them below its negative.
    """
    finite = np.abs(numbers[np.isfinite(numbers)])
    size = float(finite.max(initial=0.0))
    sizes = [abs(x) for x in named.floats if x and math.isfinite(x)]
    if not size or not sizes:
        return numbers
    chosen = max(sizes, key=lambda x: abs(math.log2(x) - math.log2(size)))
    with np.errstate(over="ignore", under="ignore"):
        sized = numbers * numbers.dtype.type(2 * chosen / size)
        return np.asarray(-np.abs(sized) - _BEYOND_IT * chosen if below else sized, dtype=numbers.dtype)


def _as_words(numbers: Sequence[float], element: Element, words: np.dtype[Any]) -> NDArray[Any]:
    if element.kind == "float":
        return np.frombuffer(encoded(np.array(numbers, dtype=np.float64), element), dtype=words)
    mask = (1 << 8 * element.size) - 1
    return np.array([int(n) & mask for n in numbers], dtype=words)


def _one_changed(
    raw: NDArray[Any], element: Element, window: Access, generator: np.random.Generator
) -> bytes:
    """Another value for one element that is read: floats far from what they were, integers in range (two swapped).

    Where all integers are the same, one becomes 1 if it was 0, else one less.
    """
    at = int(generator.choice(_used(window, element)))
    changed = raw.copy()
    if element.kind != "float":
        others = np.flatnonzero(raw != raw[at])
        if len(others):
            other = int(generator.choice(others))
            changed[at], changed[other] = raw[other], raw[at]
        else:
            changed[at] = raw[at] - 1 if raw[at] else 1
        return bytes(changed.tobytes())
    numbers = _decoded(raw, element)
    finite = np.abs(numbers[np.isfinite(numbers)])
    size = float(finite.max()) if finite.size else 1.0
    value = -1.5 * float(numbers[at]) + (size or 1.0) if np.isfinite(numbers[at]) else 1.0
    changed[at] = np.frombuffer(encoded(np.array([value]), element), dtype=raw.dtype)[0]
    return bytes(changed.tobytes())


def _updated(raw: NDArray[Any], element: Element, generator: np.random.Generator) -> bytes:
    """Floats of about the size that they had, integers a little larger: a counter may serve as an index."""
    if element.kind != "float":
        return bytes((raw + generator.integers(1, 4, len(raw), dtype=raw.dtype)).tobytes())
    numbers = _decoded(raw, element)
    finite = np.abs(numbers[np.isfinite(numbers)])
    size = float(finite.max()) if finite.size else 0.0
    return encoded((size or 1.0) * generator.uniform(-1.0, 1.0, len(raw)), element)


def _large_integers(shuffled: NDArray[Any], generator: np.random.Generator) -> bytes:
    """Two sizes, and runs of one sign: sums of them do not fit into as many bits."""
    count = len(shuffled)
    sizes = np.where(_coins(count, generator), _LARGE_INTEGER, _LARGER_INTEGER).astype(shuffled.dtype)
    if shuffled.dtype.itemsize == 8:  # in pairs that their lower 32 or 40 bits do not tell apart
        upper = generator.integers(0, 1 << 22, -(-count // 2)).astype(shuffled.dtype)
        upper = np.repeat(upper, 2)[:count] + (np.arange(count) % 2 * 3).astype(shuffled.dtype)
        sizes += np.where(_coins(count, generator), upper << 40, upper << 32).astype(shuffled.dtype)
    negative = np.repeat(_coins(-(-count // _RUN), generator), _RUN)[:count]
    return bytes(np.where(negative, ~(shuffled + sizes), shuffled + sizes).tobytes())


def _negative_integers(raw: NDArray[Any], generator: np.random.Generator, trial: int) -> bytes:
    """Some -1; but for MINUS_ONE some their complement; of EXTREME_INTEGERS some 0, the smallest or the largest.

    A kernel that looks for negative indices alone fails on the largest, and one that looks for -1 on the complements:
    each is a trial of its own.
    """
    chosen = generator.random(len(raw))
    made = raw.copy()
    if trial != MINUS_ONE:
        np.invert(raw, out=made, where=chosen < _NEGATED)
    made[chosen < _MINUS_ONE] = ~raw.dtype.type(0)
    if trial == EXTREME_INTEGERS:
        smallest = raw.dtype.type(1 << 8 * raw.dtype.itemsize - 1)
        extremes = np.array([0, smallest, smallest - 1], dtype=raw.dtype)
        at = (chosen >= _NEGATED) & (chosen < _EXTREME)
        made[at] = generator.choice(extremes, int(at.sum()))
    return bytes(made.tobytes())


def _of_all_bits(raw: NDArray[Any], generator: np.random.Generator) -> bytes:
    """Few upper halves, of both signs and the largest, over any lower ones: many differ in the lower half alone, and
    some lower halves carry with whatever is added.
    """
    half = 4 * raw.dtype.itemsize
    top = 1 << half - 1
    upper = generator.choice(np.array([0, 1, top // 2, top - 1, top, 2 * top - 1], dtype=raw.dtype), len(raw))
    lower = generator.integers(0, 1 << half, len(raw), dtype=np.uint64).astype(raw.dtype)
    lower = np.where(_coins(len(raw), generator), lower, lower % raw.dtype.type(4))
    lower[::_EACH_FULL] = raw.dtype.type((1 << half) - 1)
    return bytes((upper << raw.dtype.type(half) | lower).tobytes())


def _structured(count: int, element: Element, generator: np.random.Generator) -> Numbers:
    """Runs of ones, of -0, of denormals and of rising values, each some hundred elements long."""
    kind = _working(element)
    kinds = np.resize(np.repeat(generator.permutation(4).astype(np.uint8), 160), count)
    numbers = np.array([1.0, -0.0, _TINY[element.name], 0.0], dtype=kind)[kinds]
    rising = np.flatnonzero(kinds == 3)
    numbers[rising] = rising / max(1, count - 1)
    return numbers


def _sparse(count: int, element: Element, window: Access, generator: np.random.Generator) -> Numbers:
    """Zeros of both signs, and a few large values: among them the first and the last element that is read."""
    numbers = np.zeros(count, dtype=_working(element))
    np.negative(numbers, out=numbers, where=_coins(count, generator))
    used = _used(window, element)
    at = np.concatenate([used[[0, -1]], generator.choice(used, _FEW)])
    sizes = generator.uniform(0.5, 1.0, len(at)) * _LARGE[element.name]
    numbers[at] = np.where(_coins(len(at), generator), -sizes, sizes)
    return numbers


def _used(window: Access, element: Element) -> NDArray[np.intp]:
    """The elements of which a byte is read."""
    mask = int.from_bytes(bytes([READ]) * element.size, "little")
    return np.flatnonzero(window.view(f"<u{element.size}") & np.array(mask, dtype=f"<u{element.size}"))


def _coins(count: int, generator: np.random.Generator) -> NDArray[np.bool_]:
    return generator.integers(0, 2, count, dtype=np.bool_)


def _working(element: Element) -> type[np.floating[Any]]:
    """The type to compute in: single precision for itself, it is enough and half the work."""
    return np.float32 if element.name == "fp32" else np.float64


def _decoded(raw: NDArray[Any], element: Element) -> Numbers:
    """The elements as numbers of the type to compute in; not a view."""
    return raw.view("<f4").copy() if element.name == "fp32" else element.numbers(raw.tobytes())


def encoded(numbers: Numbers, element: Element) -> bytes:
    """Floats of a type as they lie in memory; what is too large for it becomes infinite."""
    if element.name == "bf16":
        return (numbers.astype(np.float32).view(np.uint32) >> 16).astype("<u2").tobytes()
    kind = {"fp64": "<f8", "fp32": "<f4", "fp16": "<f2"}[element.name]
    with np.errstate(invalid="ignore", over="ignore"):
        return numbers.astype(kind, copy=False).tobytes()
