"""Does a candidate find its elements where their numbers do not fit into 32 bits?

Takes what the reference's machine code counts in 64 bits, gives the first difference on launches over buffers of many
GiB that exist only where they are touched, or says in words that no such launch could be made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hipscope.accordo.dispatch.access_map import AccessMap
from hipscope.accordo.dispatch.captured import CapturedBuffer, CapturedDispatch
from hipscope.accordo.dispatch.disassembly import AssemblyInstruction, disassemble
from hipscope.accordo.dispatch.element_types import argument_types, demangle
from hipscope.accordo.dispatch.guessed_types import with_guesses
from hipscope.accordo.model.verdict import Mismatch, Trial
from hipscope.accordo.proof.checks.plan import Proof
from hipscope.accordo.proof.checks.rejection import Rejection, label
from hipscope.accordo.reference.prepare import Prepared
from hipscope.accordo.replay.replay import Replay, ReplayRequest, replay_all
from hipscope.accordo.trials.code_limits import registers_in
from hipscope.accordo.trials.scalar_arguments import Number
from hipscope.accordo.trials.sparse_launch import (
    SparseLaunch,
    bytes_of_each,
    fill,
    row_lengths,
    sparse_launch,
)

_UPPER_HALVES = ("v_mul_hi_u32", "v_mul_hi_i32", "s_mul_hi_u32", "s_mul_hi_i32")
_STORES = (
    "global_store",
    "flat_store",
    "buffer_store",
    "ds_write",
    "scratch_store",
    "global_atomic",
    "v_cmp",
)
_PRODUCTS = {"v_mad_u64_u32", "v_mad_i64_i32"}
_DIVIDES = "v_rcp_iflag_f32"
_EXTENDS = ("s_ashr_i32", "v_ashrrev_i32")
_LOW_PRODUCTS = ("s_mul_i32", "v_mul_lo_u32", "v_mul_lo_i32")
_SUMS = ("s_add_i32", "s_add_u32", "v_add_u32", "v_add_i32")
_HALF = 1 << 31
_MANY = "never with more than 2,147,483,648 elements"
_NEVER = f"{_MANY}, which the original counts in 64 bits"
_SECONDS = 3.0
_PROBES = ((1 << 16) + 1, (1 << 17) + 1)
_PROBED = 1 << 30  # bytes of each buffer
_SPARE = 1 << 22
_CLOSE = 1e-3


@dataclass(frozen=True)
class _Region:
    """What two runs left in a part of a buffer."""

    start: int
    ours: NDArray[np.uint8]
    theirs: NDArray[np.uint8]


def check_beyond_32_bits(proof: Proof, prepared: Prepared) -> Rejection | None:
    """The first launch of the program, where the reference computes in 64 bits; what stays untried is told."""
    if not proof.on("beyond_32_bits") or prepared.dispatch.variant or prepared.dispatch.variables:
        return None
    objdump, launch = proof.reference.settings.objdump, prepared.repeated.dispatch
    known, own = (disassemble(path, objdump, launch.kernel) for path in (launch.code_object, proof.candidate))
    theirs, ours = wide_products(known), wide_products(own)
    if not theirs:
        return None
    if not prepared.far:
        prepared.far.append(tuple(_on_reference(proof, prepared)))
    (tried,) = prepared.far
    for sparse in tried:
        found = _compared(proof, prepared, *sparse)
        if found is not None and _overflows(proof, *sparse):
            proof.unproved.append(f"{_MANY}, where the integers of the original overflow")
            continue
        if found is not None:
            run = replace(prepared.repeated, label=f"more than 32 bits of elements ({sparse[0].label})")
            return Rejection(run, (found,))
        name = f"more than 32 bits of elements ({sparse[0].label})"
        proof.trials.append(Trial(dispatch=launch.id, inputs=name, outcome="same"))
    if not tried and (ours < theirs or narrowed(own) > narrowed(known)):
        proof.unproved.append(_NEVER)
    return None


def _overflows(proof: Proof, launch: SparseLaunch, known: Replay) -> bool:
    """Whether the original does something else there when its integers wrap around: nothing is defined then."""
    wrapped = proof.reference.settings.wrapped
    code = wrapped() if wrapped is not None else None
    if code is None:
        return False
    other = _run(proof, launch, code, proof.folder / f"wrapped_{launch.inputs.parent.name}", seed=1)
    return other.status != "ok" or not all(known.leaves_same(other, b) for b in launch.dispatch.buffers)


def narrowed(code: Sequence[AssemblyInstruction]) -> int:
    """How many products of 32 bits, or sums with one, become indices of 64 bits."""
    products, count = set[str](), 0
    for one in code:
        if len(one.operands) < 2 or not one.mnemonic.startswith(("s_", "v_")):
            continue
        to, *sources = one.operands
        of_product = not products.isdisjoint(sources)
        count += of_product and one.mnemonic in _EXTENDS and "31" in sources
        products.discard(to)
        if one.mnemonic in _LOW_PRODUCTS or (of_product and one.mnemonic in _SUMS):
            products.add(to)
    return count


def wide_products(code: Sequence[AssemblyInstruction]) -> int:
    """How many products of 64 bits there are. Those of which one half alone is read are of 32 bits, and so are the
    upper halves by which integers of 32 bits are divided.
    """
    products = sum(
        one.mnemonic in _PRODUCTS
        and all(_is_read(code[at + 1 :], half) for half in registers_in(one.operands[0]))
        for at, one in enumerate(code)
    )
    if not products and any(one.mnemonic == _DIVIDES for one in code):
        return 0
    return products + sum(one.mnemonic in _UPPER_HALVES for one in code)


def _is_read(behind: Sequence[AssemblyInstruction], register: str) -> bool:
    """Whether instructions that follow read a register before another one writes it."""
    for one in behind:
        if not one.operands:
            continue
        to, *sources = one.operands
        if one.mnemonic.startswith(_STORES):
            sources.append(to)
        if any(register in registers_in(text) for text in sources):
            return True
        if register in registers_in(to):
            return False
    return False


def _on_reference(proof: Proof, prepared: Prepared) -> Iterator[tuple[SparseLaunch, Replay]]:
    """The launches on which the reference reaches that far, with what it left there."""
    settings, run = proof.reference.settings, prepared.repeated
    name = demangle(run.dispatch.kernel, settings.cxxfilt)
    types = argument_types(name) or list(proof.reference.signature.types)
    folder = settings.work / f"far_{run.dispatch.id}"
    elements = {i: max((s.element.size for s in p), default=1) for i, p in run.pieces.items()}
    for number in row_lengths(run.dispatch, types):
        at = folder / f"{number.offset}"
        value = _longest(proof, run.dispatch, number, at)
        if value is None:
            continue
        size = bytes_of_each(len(run.dispatch.buffers))
        launch = sparse_launch(run.dispatch, number, value, size, at)
        first = _run(proof, launch, launch.dispatch.code_object, at / "first", traced=True)
        if first.status != "ok":
            continue
        access = {b.index: first.access(b.index, b.size) for b in launch.dispatch.buffers}
        if _farthest(access, elements) < _HALF or not fill(launch, run.dispatch.buffers, access):
            continue
        known = _run(proof, launch, launch.dispatch.code_object, at / "known", seed=1)
        again = _run(proof, launch, launch.dispatch.code_object, at / "again", seed=2)
        same = all(known.leaves_same(again, b) for b in launch.dispatch.buffers)
        if known.status == again.status == "ok" and same:
            yield launch, known


def _longest(proof: Proof, dispatch: CapturedDispatch, number: Number, folder: Path) -> int | None:
    """The longest rows for the buffers, by how much farther the reference reaches with longer ones; None where
    the integer is no length of rows.
    """
    ends = []
    for value in _PROBES:
        launch = sparse_launch(dispatch, number, value, _PROBED, folder / f"probe_{value}")
        probed = _run(proof, launch, dispatch.code_object, folder / f"probed_{value}", traced=True)
        if probed.status != "ok":
            return None
        ends.append(_farthest({b.index: probed.access(b.index, b.size) for b in launch.dispatch.buffers}, {}))
    slope = (ends[1] - ends[0]) / (_PROBES[1] - _PROBES[0])
    if slope < 1:
        return None
    size = bytes_of_each(len(dispatch.buffers)) - _SPARE
    longest = int(_PROBES[0] + (size - ends[0]) / slope)
    return longest if number.size == 8 else min(longest, (1 << 31) - 1)


def _run(
    proof: Proof, launch: SparseLaunch, code: Path, out: Path, *, seed: int = 0, traced: bool = False
) -> Replay:
    request = ReplayRequest(
        launch.dispatch, code, out, seed=seed, inputs=launch.inputs, trace_access=traced, timeout_s=_SECONDS
    )
    return replay_all(proof.reference.settings.tool, [[request]], cancel=proof.run.cancel)[0][0]


def _farthest(access: Mapping[int, AccessMap], sizes: Mapping[int, int]) -> int:
    """The highest number of an element that is accessed, of a byte without `sizes`."""
    ends = [(at + len(bits)) // sizes.get(index, 1) for index, one in access.items() for at, bits in one.runs]
    return max(ends, default=0)


def _compared(proof: Proof, prepared: Prepared, launch: SparseLaunch, known: Replay) -> Mismatch | None:
    """What the candidate leaves otherwise."""
    result = _run(proof, launch, proof.candidate, proof.folder / f"far_{launch.inputs.parent.name}", seed=1)
    if result.status == "timeout":
        return None
    if result.status != "ok":
        return Mismatch(kind="fault", message=f"it fails with {launch.label}: {result.message}")
    run = prepared.repeated
    elements = with_guesses(run.dispatch.buffers, run.pieces)
    for buffer in launch.dispatch.buffers:
        segment = elements[buffer.index][0]
        for region in _regions(buffer, launch, known, result):
            if not _alike(region, segment.element.kind, segment.element.name):
                name = label(proof.reference.signature, buffer, segment)
                first = int(np.flatnonzero(region.ours != region.theirs)[0]) + region.start
                message = f"it leaves {name} otherwise at byte {first:,} with {launch.label}"
                return Mismatch(kind="wrong_value", message=message, buffer=buffer.index, label=name)
    return None


def _regions(
    buffer: CapturedBuffer, launch: SparseLaunch, known: Replay, result: Replay
) -> Iterator[_Region]:
    """The pages that either run wrote, as both left them."""
    left = [known.left(buffer), result.left(buffer)]
    if left[0] is None or left[1] is None or known.leaves_same(result, buffer):
        return
    page = 4096
    pages = sorted(
        {
            p
            for one in left
            if one is not None
            for a, b in one.changed
            for p in range(a // page, -(-b // page))
        }
    )
    before = np.memmap(launch.inputs / f"buffer_{buffer.index}.before", dtype=np.uint8, mode="r")
    for number in pages:
        start, end = number * page, min((number + 1) * page, buffer.size)
        images = []
        for one in left:
            assert one is not None
            image = np.array(before[start:end])
            for (low, high), part in zip(one.changed, one.parts, strict=True):
                a, b = max(low, start), min(high, end)
                if a < b:
                    image[a - start : b - start] = np.frombuffer(part[a - low : b - low], dtype=np.uint8)
            images.append(image)
        yield _Region(start, images[0], images[1])


def _alike(region: _Region, kind: str, name: str) -> bool:
    if kind != "float":
        return np.array_equal(region.ours, region.theirs)
    types = {"fp64": "<f8", "fp32": "<f4", "fp16": "<f2"}
    if name not in types:
        return np.array_equal(region.ours, region.theirs)
    ours, theirs = (one.view(types[name]).astype(np.float64) for one in (region.ours, region.theirs))
    size = float(np.abs(ours[np.isfinite(ours)]).max(initial=0.0))
    return bool(np.allclose(ours, theirs, rtol=_CLOSE, atol=_CLOSE * size, equal_nan=True))
