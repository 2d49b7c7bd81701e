"""Calls the stand-in for hipFFT at random and holds what it leaves against numpy.

    stand_in_fft.py RUNTIME LIBRARY SEED CASES

Leaves with 1 at the first difference.
"""

from __future__ import annotations

import ctypes
import math
import random
import sys
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
# By hipfftType: the call, the types of its two sides, and whether it takes a direction.
CALLS: dict[int, tuple[str, Any, Any, bool]] = {
    0x29: ("hipfftExecC2C", np.complex64, np.complex64, True),
    0x69: ("hipfftExecZ2Z", np.complex128, np.complex128, True),
    0x2A: ("hipfftExecR2C", np.float32, np.complex64, False),
    0x6A: ("hipfftExecD2Z", np.float64, np.complex128, False),
    0x2C: ("hipfftExecC2R", np.complex64, np.float32, False),
    0x6C: ("hipfftExecZ2D", np.complex128, np.float64, False),
}
LENGTHS = (1, 2, 3, 4, 5, 8, 12, 15, 16, 64, 67, 97, 100, 134, 210)


def device(runtime: ctypes.CDLL, values: Array) -> Array:
    """An array in memory of the device."""
    pointer = ctypes.c_void_p()
    assert runtime.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(values.nbytes)) == 0
    assert pointer.value is not None
    memory: Any = (ctypes.c_char * values.nbytes).from_address(pointer.value)
    array: Array = np.frombuffer(memory, dtype=values.dtype)
    array[:] = values.ravel()
    return array


def drawn(shape: tuple[int, ...], kind: Any, rng: np.random.Generator) -> Array:
    values = rng.uniform(-1, 1, shape)
    if np.issubdtype(kind, np.complexfloating):
        return (values + 1j * rng.uniform(-1, 1, shape)).astype(kind)
    return values.astype(kind)


def one(runtime: ctypes.CDLL, library: ctypes.CDLL, rng: random.Random) -> str | None:
    """One transform; what is wrong with it, if anything."""
    kind = rng.choice(list(CALLS))
    name, source, target, directed = CALLS[kind]
    rank = rng.choice((1, 1, 2, 3))
    lengths = [rng.choice(LENGTHS[: 15 if rank == 1 else 9]) for _ in range(rank)]
    batch, many = (rng.choice((1, 3)), rng.choice((False, True))) if rank == 1 else (1, False)
    plan, n = ctypes.c_void_p(), (ctypes.c_int * rank)(*lengths)
    half = [*lengths[:-1], lengths[-1] // 2 + 1]
    spread = 2 if many else 1  # between the elements of a transform
    sides = [
        half if (kind in (0x2C, 0x6C) and side == 0) or (kind in (0x2A, 0x6A) and side == 1) else lengths
        for side in (0, 1)
    ]
    if many:
        embed = (ctypes.c_int * 1)(1)
        distances = [spread * side[0] + 1 for side in sides]
        status = library.hipfftPlanMany(
            ctypes.byref(plan), 1, n, embed, spread, distances[0], embed, spread, distances[1], kind, batch
        )
    else:
        distances = [math.prod(side) for side in sides]
        status = (
            library.hipfftPlan1d(ctypes.byref(plan), lengths[0], kind, batch)
            if rank == 1
            else getattr(library, f"hipfftPlan{rank}d")(ctypes.byref(plan), *lengths, kind)
        )
    if status:
        return f"a plan of {lengths} answers {status}"
    numbers = np.random.default_rng(rng.getrandbits(32))
    given = drawn((distances[0] * batch,), source, numbers)
    from_ = device(runtime, given)
    to = device(runtime, np.zeros(distances[1] * batch, dtype=target))
    forward = rng.choice((True, False))
    direction = ([-1] if forward else [1]) if directed else []
    status = getattr(library, name)(
        plan, ctypes.c_void_p(from_.ctypes.data), ctypes.c_void_p(to.ctypes.data), *direction
    )
    if status or library.hipfftDestroy(plan):
        return f"{name} of {lengths} answers {status}"
    for b in range(batch):
        picked = [
            array[b * distance : b * distance + spread * math.prod(side) : spread].reshape(side)
            for array, distance, side in zip((given, to), distances, sides, strict=True)
        ]
        wanted = expected(picked[0], lengths, kind, forward)
        size = max(1.0, float(np.abs(wanted).max()))
        wrong = float(np.abs(picked[1] - wanted).max()) / size
        if wrong > (1e-5 if target in (np.complex64, np.float32) else 1e-12):
            return f"{name} of {lengths}, batch {b} of {batch}, many {many}: off by {wrong:g}"
    if not (from_ == given).all():
        return f"{name}: the input was written"
    return None


def expected(given: Array, lengths: list[int], kind: int, forward: bool) -> Array:
    axes = tuple(range(len(lengths)))
    if kind in (0x2A, 0x6A):
        return np.fft.rfftn(given.astype(np.float64), axes=axes)
    if kind in (0x2C, 0x6C):
        whole = np.zeros(lengths, dtype=np.complex128)
        half = given.shape[-1]
        whole[..., :half] = given
        for k in range(half, lengths[-1]):
            mirrored = given[..., lengths[-1] - k]
            for axis in range(len(lengths) - 1):
                mirrored = np.roll(np.flip(mirrored, axis), 1, axis)
            whole[..., k] = mirrored.conj()
        real: Array = (np.fft.ifftn(whole, axes=axes) * math.prod(lengths)).real
        return real
    wide = given.astype(np.complex128)
    return np.fft.fftn(wide, axes=axes) if forward else np.fft.ifftn(wide, axes=axes) * math.prod(lengths)


def main() -> None:
    runtime, path, seed, cases = sys.argv[1:]
    hip = ctypes.CDLL(runtime, mode=ctypes.RTLD_GLOBAL)  # the library asks for it when it is loaded
    library, rng = ctypes.CDLL(path), random.Random(int(seed))
    for number in range(int(cases)):
        wrong = one(hip, library, rng)
        if wrong is not None:
            print(f"case {number} of seed {seed}: {wrong}")
            sys.exit(1)


main()
