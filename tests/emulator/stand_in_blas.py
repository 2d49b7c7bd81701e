"""Calls the stand-ins for hipBLAS and rocBLAS at random and holds what they leave against numpy.

    stand_in_blas.py hipblas|rocblas RUNTIME LIBRARY SEED CASES

Prints one line for each function that was called, and leaves with 1 at the first difference.
"""

from __future__ import annotations

import ctypes
import itertools
import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
N, T, C = 111, 112, 113
UPPER, LOWER, NON_UNIT, UNIT, LEFT, RIGHT = 121, 122, 131, 132, 141, 142
TYPES: dict[str, Any] = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
REAL: dict[str, Any] = {"s": np.float32, "d": np.float64, "c": np.float32, "z": np.float64}
EPSILON = {"h": 2e-3, "s": 1e-5, "d": 1e-13, "c": 1e-5, "z": 1e-13}
NUMBERS = {"h": 150, "b": 168, "s": 151, "d": 152, "c": 154, "z": 155}
HIP_NUMBERS = {"h": 2, "b": 14, "s": 0, "d": 1, "c": 4, "z": 5}
SENTINEL = 77.0  # between columns and elements, and outside of triangles: nothing may be written there


class Different(Exception):
    """The library and numpy do not agree."""


@dataclass
class Blas:
    hip: bool
    runtime: ctypes.CDLL
    library: ctypes.CDLL
    rng: random.Random
    handle: ctypes.c_void_p
    called: Counter[str]
    device_scalars: bool = False

    def name(self, bare: str) -> str:
        """`dgemm_batched` as this library names it."""
        if not self.hip:
            return f"rocblas_{bare}"
        if "Ex" in bare:
            return f"hipblas{bare}"
        first, *rest = bare.split("_")
        return "hipblas" + first[0].upper() + first[1:] + "".join(word.capitalize() for word in rest)

    def call(self, bare: str, *arguments: Any) -> None:
        name = self.name(bare)
        function = getattr(self.library, name)
        status = function(self.handle, *arguments)
        if status:
            raise Different(f"{name} answers {status}")
        self.called[name] += 1

    def device(self, values: Array) -> Array:
        """An array in memory of the device with these values; its pointer is `.ctypes.data`."""
        pointer = ctypes.c_void_p()
        assert self.runtime.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(max(values.nbytes, 1))) == 0
        assert pointer.value is not None
        memory: Any = (ctypes.c_char * max(values.nbytes, 1)).from_address(pointer.value)
        array: Array = np.frombuffer(memory, dtype=values.dtype, count=values.size)
        array[:] = values.ravel(order="K")
        return array

    def scalar(self, value: Any, kind: Any) -> Any:
        """A pointer to a scalar, where the handle's pointer mode wants it."""
        array = np.array([value], dtype=kind)
        if self.device_scalars:
            array = self.device(array)
        self.kept.append(array)
        return pointer(array)

    def __post_init__(self) -> None:
        self.kept: list[Array] = []


def pointer(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def values(blas: Blas, count: int, kind: Any) -> Array:
    numbers = np.array([blas.rng.uniform(-1, 1) for _ in range(2 * count)])
    if np.issubdtype(kind, np.complexfloating):
        return (numbers[:count] + 1j * numbers[count:]).astype(kind)
    return numbers[:count].astype(kind)


class Matrix:
    """A matrix of the device by columns, with room between them; `of` what it was."""

    def __init__(self, blas: Blas, rows: int, columns: int, kind: Any, count: int = 1) -> None:
        self.rows, self.columns, self.count = rows, columns, count
        self.lda = max(rows, 1) + blas.rng.choice((0, 0, 3))
        self.stride = self.lda * columns + blas.rng.choice((0, 5))
        whole = np.full(max(self.stride * count, 1), SENTINEL, dtype=kind)
        for b, j in itertools.product(range(count), range(columns)):
            at = b * self.stride + j * self.lda
            whole[at : at + rows] = values(blas, rows, kind)
        self.memory = blas.device(whole)
        self.before = self.memory.copy()
        addresses = [self.memory.ctypes.data + b * self.stride * self.memory.itemsize for b in range(count)]
        self.list = blas.device(np.array(addresses, dtype=np.uint64))
        blas.kept += [self.memory, self.list]

    def _of(self, memory: Array, b: int) -> Array:
        shape = np.zeros((self.rows, self.columns), dtype=memory.dtype)
        for j in range(self.columns):
            at = b * self.stride + j * self.lda
            shape[:, j] = memory[at : at + self.rows]
        return shape

    def was(self, b: int = 0) -> Array:
        return self._of(self.before, b)

    def expect(self, wanted: Array, epsilon: float, b: int = 0, what: str = "") -> None:
        found = self._of(self.memory, b)
        close(found, wanted, epsilon, what)
        inside = np.zeros(self.memory.size, dtype=bool)
        for c, j in itertools.product(range(self.count), range(self.columns)):
            inside[c * self.stride + j * self.lda :][: self.rows] = True
        if not (self.memory[~inside] == SENTINEL).all():
            raise Different(f"{what}: memory between the columns was written")

    def spoil(self) -> None:
        """What a result with beta 0 must not look at."""
        self.memory[self.memory != SENTINEL] = np.nan


def close(found: Array, wanted: Array, epsilon: float, what: str) -> None:
    size = max(1.0, float(np.abs(wanted).max(initial=0)))
    if not np.isfinite(found).all() or float(np.abs(found - wanted).max(initial=0)) > epsilon * size * 30:
        raise Different(f"{what}: {found!r} and not {wanted!r}")


def op(a: Array, how: int) -> Array:
    return a if how == N else a.T if how == T else a.conj().T


def shape_of(how: int, rows: int, columns: int) -> tuple[int, int]:
    return (rows, columns) if how == N else (columns, rows)


def wide(a: Array) -> Array:
    return a.astype(np.complex128 if np.issubdtype(a.dtype, np.complexfloating) else np.float64)


def triangle(a: Array, fill: int, diagonal: int = NON_UNIT) -> Array:
    part = np.triu(a) if fill == UPPER else np.tril(a)
    if diagonal == UNIT:
        np.fill_diagonal(part, 1)
    return part


def symmetric(a: Array, fill: int, hermitian: bool) -> Array:
    part = triangle(a, fill)
    other = part.conj().T if hermitian else part.T
    diagonal = np.diag(np.diag(part).real if hermitian else np.diag(part))
    return part + other - np.diag(np.diag(part)) - np.diag(np.diag(other)) + diagonal


def number(blas: Blas, kind: Any) -> Any:
    """A scalar factor: 0 and 1 have rules of their own."""
    return blas.rng.choice((0, 1, values(blas, 1, kind)[0], values(blas, 1, kind)[0]))


def gemm(blas: Blas, p: str) -> None:
    kind, rng = TYPES[p], blas.rng
    a_op, b_op = rng.choice((N, T, C)), rng.choice((N, T, C))
    m, n, k = (rng.choice((0, 1, 2, 5, 17, 40, 130)) for _ in range(3))
    form = rng.choice(("", "_batched", "_strided_batched"))
    count = rng.choice((1, 3)) if form else 1
    alpha, beta = number(blas, kind), number(blas, kind)
    a, b = (
        Matrix(blas, *shape_of(a_op, m, k), kind, count),
        Matrix(blas, *shape_of(b_op, k, n), kind, count),
    )
    c = Matrix(blas, m, n, kind, count)
    if beta == 0:
        c.spoil()
    if alpha == 0:
        a.spoil()
    one, two = blas.scalar(alpha, kind), blas.scalar(beta, kind)
    start = (f"{p}gemm{form}", a_op, b_op, m, n, k, one)
    if form == "_batched":
        listed = [x for mat in (a, b, c) for x in (pointer(mat.list), mat.lda)]
        blas.call(*start, *listed[:4], two, *listed[4:], count)
    elif form:
        strided = [x for mat in (a, b, c) for x in (pointer(mat.memory), mat.lda, ctypes.c_int64(mat.stride))]
        blas.call(*start, *strided[:6], two, *strided[6:], count)
    else:
        plain = [x for mat in (a, b, c) for x in (pointer(mat.memory), mat.lda)]
        blas.call(*start, *plain[:4], two, *plain[4:])
    for i in range(count):
        wanted = np.zeros((m, n), dtype=wide(c.was()).dtype)
        if alpha != 0:
            wanted = alpha * (op(wide(a.was(i)), a_op) @ op(wide(b.was(i)), b_op))
        if beta != 0:
            wanted = wanted + beta * wide(c.was(i))
        c.expect(wanted, EPSILON[p], i, f"{start[:6]} alpha {alpha} beta {beta}")


def typed_gemm(blas: Blas, _p: str) -> None:
    """Half and bfloat16 products that are summed in float, as C and in C of float."""
    rng = blas.rng
    inner, outer = rng.choice((("h", "h"), ("h", "s"), ("b", "b"), ("b", "s"), ("s", "s")))
    m, n, k = (rng.choice((1, 3, 16, 33)) for _ in range(3))
    a, b, c = (Matrix(blas, *shape, np.float32) for shape in ((m, k), (k, n), (m, n)))
    packed = [blas.device(narrow(x.memory, t)) for x, t in ((a, inner), (b, inner), (c, outer))]
    blas.kept += packed
    alpha, beta = 0.5, 2.0
    one, two = blas.scalar(alpha, np.float32), blas.scalar(beta, np.float32)
    pa, pb, pc = map(pointer, packed)
    if blas.hip:
        new = rng.choice((False, True))
        numbers, compute = (HIP_NUMBERS, 2) if new else (NUMBERS, 151)
        blas.call(
            "GemmEx_v2" if new else "GemmEx", N, N, m, n, k, one, pa, numbers[inner], a.lda, pb, numbers[inner], b.lda,
            two, pc, numbers[outer], c.lda, compute, 160,
        )  # fmt: skip
    else:
        i, o = NUMBERS[inner], NUMBERS[outer]
        blas.call(
            "gemm_ex", N, N, m, n, k, one, pa, i, a.lda, pb, i, b.lda, two, pc, o, c.lda, pc, o, c.lda, 151, 0, 0, 0
        )  # fmt: skip
    for matrix, array, number in ((a, packed[0], inner), (b, packed[1], inner), (c, packed[2], outer)):
        matrix.memory[:] = broad(array, number)
    for matrix, number in ((a, inner), (b, inner), (c, outer)):
        matrix.before[:] = broad(narrow(matrix.before, number), number)
    wanted = alpha * (wide(a.was()) @ wide(b.was())) + beta * wide(c.was())
    c.expect(wanted, {"h": 2e-3, "b": 1e-2, "s": 1e-5}[outer], what=f"gemm_ex of {inner} in {outer}")


def narrow(a: Array, p: str) -> Array:
    if p == "h":
        return a.astype(np.float16)
    if p == "b":
        bits = a.astype(np.float32).view(np.uint32).astype(np.uint64)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return a.astype(np.float32)


def broad(a: Array, p: str) -> Array:
    return (a.astype(np.uint32) << 16).view(np.float32) if p == "b" else a.astype(np.float32)


def half_gemm(blas: Blas, _p: str) -> None:
    m, n, k = (blas.rng.choice((1, 4, 20)) for _ in range(3))
    a, b, c = (Matrix(blas, *shape, np.float16) for shape in ((m, k), (k, n), (m, n)))
    one, two = blas.scalar(2, np.float16), blas.scalar(0.5, np.float16)
    blas.call(
        "hgemm",
        N,
        N,
        m,
        n,
        k,
        one,
        pointer(a.memory),
        a.lda,
        pointer(b.memory),
        b.lda,
        two,
        pointer(c.memory),
        c.lda,
    )
    c.expect(2 * (wide(a.was()) @ wide(b.was())) + 0.5 * wide(c.was()), EPSILON["h"], what="hgemm")


def gemv(blas: Blas, p: str) -> None:
    kind, rng = TYPES[p], blas.rng
    how, m, n = rng.choice((N, T, C)), rng.choice((1, 3, 20)), rng.choice((1, 4, 33))
    alpha, beta = number(blas, kind), number(blas, kind)
    a = Matrix(blas, m, n, kind)
    x, y = (Vector(blas, size, kind) for size in ((n, m) if how == N else (m, n)))
    blas.call(
        f"{p}gemv", how, m, n, blas.scalar(alpha, kind), pointer(a.memory), a.lda, pointer(x.memory), x.step,
        blas.scalar(beta, kind), pointer(y.memory), y.step,
    )  # fmt: skip
    y.expect(
        alpha * (op(wide(a.was()), how) @ wide(x.was())) + beta * wide(y.was()), EPSILON[p], f"{p}gemv {how}"
    )


class Vector:
    """A vector of the device whose elements may lie apart, or backwards."""

    def __init__(self, blas: Blas, n: int, kind: Any, *, forwards: bool = False) -> None:
        self.n, self.step = n, blas.rng.choice((1, 1, 3) if forwards else (1, 1, 3, -1, -2))
        whole = np.full(max(n * abs(self.step), 1), SENTINEL, dtype=kind)
        self.memory = blas.device(whole)
        self.place = [(i if self.step > 0 else i - n + 1) * self.step for i in range(n)]
        self.memory[self.place] = values(blas, n, kind)
        self.before = self.memory.copy()
        blas.kept.append(self.memory)

    def was(self) -> Array:
        found: Array = self.before[self.place]
        return found

    def expect(self, wanted: Array, epsilon: float, what: str) -> None:
        close(self.memory[self.place], wanted, epsilon, what)
        rest = np.delete(self.memory, self.place)
        if not (rest == SENTINEL).all():
            raise Different(f"{what}: memory between the elements was written")


def vectors(blas: Blas, p: str) -> None:
    kind, n, rng = TYPES[p], blas.rng.choice((1, 7, 100)), blas.rng
    alpha = values(blas, 1, kind)[0]
    x, y = Vector(blas, n, kind), Vector(blas, n, kind)
    both = (pointer(x.memory), x.step, pointer(y.memory), y.step)
    what = rng.choice(("axpy", "copy", "swap"))
    if what == "axpy":
        blas.call(f"{p}axpy", n, blas.scalar(alpha, kind), *both)
        y.expect(wide(y.was()) + alpha * wide(x.was()), EPSILON[p], "axpy")
    else:
        blas.call(f"{p}{what}", n, *both)
        y.expect(x.was(), 0, what)
        x.expect(y.was() if what == "swap" else x.was(), 0, what)
    x = Vector(blas, n, kind, forwards=True)
    blas.call(f"{p}scal", n, blas.scalar(alpha, kind), pointer(x.memory), x.step)
    x.expect(alpha * wide(x.was()), EPSILON[p], "scal")


def reductions(blas: Blas, p: str) -> None:
    kind, real, n = TYPES[p], REAL[p], blas.rng.choice((0, 1, 9, 200))
    x, y = Vector(blas, n, kind, forwards=True), Vector(blas, n, kind)
    long = wide(x.was())
    sizes = np.abs(x.was().real) + np.abs(x.was().imag) if np.iscomplexobj(x.was()) else np.abs(x.was())
    one = (n, pointer(x.memory), x.step)

    def result(name: str, kind: Any, wanted: Any, epsilon: float, *arguments: Any) -> None:
        place = blas.scalar(55, kind)
        held = blas.kept[-1]
        blas.call(name, *arguments, place)
        close(held, np.array([wanted], dtype=held.dtype), epsilon, name)

    prefix = {"c": "sc", "z": "dz"}.get(p, p)
    result(f"{prefix}nrm2", real, np.sqrt((np.abs(long) ** 2).sum()), EPSILON[p], *one)
    result(f"{prefix}asum", real, wide(sizes).sum(), EPSILON[p], *one)
    most = int(np.argmax(sizes)) + 1 if n else 0
    least = int(np.argmin(sizes)) + 1 if n else 0
    result(f"i{p}amax", np.int32, most, 0, *one)
    result(f"i{p}amin", np.int32, least, 0, *one)
    two = (*one, pointer(y.memory), y.step)
    for name, left in ((f"{p}dotu", long), (f"{p}dotc", long.conj())) if p in "cz" else ((f"{p}dot", long),):
        result(name, kind, left @ wide(y.was()), EPSILON[p], *two)


def rotations(blas: Blas, p: str) -> None:
    kind, n = TYPES[p], 12
    x, y = Vector(blas, n, kind), Vector(blas, n, kind)
    c, s = 0.8, 0.6
    name = {"c": "csrot", "z": "zdrot"}.get(p, f"{p}rot")
    blas.call(
        name, n, pointer(x.memory), x.step, pointer(y.memory), y.step, blas.scalar(c, REAL[p]), blas.scalar(s, REAL[p])
    )  # fmt: skip
    x.expect(c * wide(x.was()) + s * wide(y.was()), EPSILON[p], name)
    y.expect(c * wide(y.was()) - s * wide(x.was()), EPSILON[p], name)
    if p in "sd":
        a, b, zero, other = 3.0, -4.0, 0.0, 0.0
        places = [blas.scalar(v, kind) for v in (a, b, zero, other)]
        held = blas.kept[-4:]
        blas.call(f"{p}rotg", *places)
        close(np.array([h[0] for h in held]), np.array([-5, 1 / -0.6, -0.6, 0.8]), 1e-6, "rotg")


def rank_one(blas: Blas, p: str) -> None:
    kind, m, n = TYPES[p], blas.rng.choice((1, 5, 30)), blas.rng.choice((1, 6))
    alpha = values(blas, 1, kind)[0]
    for conjugated in (False, True) if p in "cz" else (False,):
        x, y, a = Vector(blas, m, kind), Vector(blas, n, kind), Matrix(blas, m, n, kind)
        name = f"{p}ger{('c' if conjugated else 'u') if p in 'cz' else ''}"
        blas.call(
            name, m, n, blas.scalar(alpha, kind), pointer(x.memory), x.step, pointer(y.memory), y.step,
            pointer(a.memory), a.lda,
        )  # fmt: skip
        right = wide(y.was()).conj() if conjugated else wide(y.was())
        a.expect(wide(a.was()) + alpha * np.outer(wide(x.was()), right), EPSILON[p], what=name)
    hermitian = p in "cz" and blas.rng.choice((False, True))
    fill, a, x = blas.rng.choice((UPPER, LOWER)), Matrix(blas, n, n, kind), Vector(blas, n, kind)
    factor = 0.5 if hermitian else alpha
    name = f"{p}her" if hermitian else f"{p}syr"
    scalar = blas.scalar(factor, REAL[p] if hermitian else kind)
    blas.call(name, fill, n, scalar, pointer(x.memory), x.step, pointer(a.memory), a.lda)
    right = wide(x.was()).conj() if hermitian else wide(x.was())
    a.expect(
        in_triangle(wide(a.was()), factor * np.outer(wide(x.was()), right), fill, hermitian),
        EPSILON[p],
        what=name,
    )


def rank_two(blas: Blas, p: str) -> None:
    kind, n, fill = TYPES[p], blas.rng.choice((1, 6, 15)), blas.rng.choice((UPPER, LOWER))
    alpha = values(blas, 1, kind)[0]
    for hermitian in (False, True) if p in "cz" else (False,):
        x, y, a = Vector(blas, n, kind), Vector(blas, n, kind), Matrix(blas, n, n, kind)
        name = f"{p}her2" if hermitian else f"{p}syr2"
        blas.call(
            name, fill, n, blas.scalar(alpha, kind), pointer(x.memory), x.step, pointer(y.memory), y.step,
            pointer(a.memory), a.lda,
        )  # fmt: skip
        u, v = wide(x.was()), wide(y.was())
        if hermitian:
            added = alpha * np.outer(u, v.conj()) + np.conj(alpha) * np.outer(v, u.conj())
        else:
            added = alpha * (np.outer(u, v) + np.outer(v, u))
        a.expect(in_triangle(wide(a.was()), added, fill, hermitian), EPSILON[p], what=name)


def in_triangle(was: Array, added: Array, fill: int, hermitian: bool, keep: Any = 1) -> Array:
    """The triangle of keep * was + added; the rest is as it was."""
    result = was.copy()
    part = keep * was + added
    mask = triangle(np.ones(was.shape), fill) != 0
    result[mask] = part[mask]
    if hermitian:
        np.fill_diagonal(result, np.diag(result).real)
    return result


def triangular(blas: Blas, p: str) -> None:
    kind, rng = TYPES[p], blas.rng
    fill, how, diagonal, n = (
        rng.choice((UPPER, LOWER)),
        rng.choice((N, T, C)),
        rng.choice((UNIT, NON_UNIT)),
        rng.choice((1, 3, 24)),
    )
    a, x = Matrix(blas, n, n, kind), Vector(blas, n, kind)
    well(a)
    full = op(triangle(wide(a.was()), fill, diagonal), how)
    given = (fill, how, diagonal, n, pointer(a.memory), a.lda)
    blas.call(f"{p}trmv", *given, pointer(x.memory), x.step)
    x.expect(full @ wide(x.was()), EPSILON[p], f"{p}trmv {given[:4]}")
    x = Vector(blas, n, kind)
    blas.call(f"{p}trsv", *given, pointer(x.memory), x.step)
    x.expect(np.linalg.solve(full, wide(x.was())), EPSILON[p] * 10, f"{p}trsv {given[:4]}")
    m, k = rng.choice((1, 4, 20)), rng.choice((1, 5, 21))
    side = rng.choice((LEFT, RIGHT))
    order = m if side == LEFT else k
    a, b, c = Matrix(blas, order, order, kind), Matrix(blas, m, k, kind), Matrix(blas, m, k, kind)
    well(a)
    alpha = values(blas, 1, kind)[0]
    full = op(triangle(wide(a.was()), fill, diagonal), how)
    start = (side, fill, how, diagonal, m, k, blas.scalar(alpha, kind), pointer(a.memory), a.lda)
    blas.call(f"{p}trmm", *start, pointer(b.memory), b.lda, pointer(c.memory), c.lda)
    old = wide(b.was())
    c.expect(alpha * (full @ old if side == LEFT else old @ full), EPSILON[p], what=f"{p}trmm {start[:6]}")
    blas.call(f"{p}trsm", *start, pointer(b.memory), b.lda)
    solved = np.linalg.solve(full, alpha * old) if side == LEFT else np.linalg.solve(full.T, alpha * old.T).T
    b.expect(solved, EPSILON[p] * 10, what=f"{p}trsm {start[:6]}")


def well(a: Matrix) -> None:
    """A matrix that can be solved with without losing digits."""
    for i in range(a.rows):
        a.memory[i * a.lda + i] += 2 * a.rows
        a.before[i * a.lda + i] += 2 * a.rows


def symmetric_products(blas: Blas, p: str) -> None:
    kind, rng = TYPES[p], blas.rng
    hermitian = p in "cz" and rng.choice((False, True))
    word = "he" if hermitian else "sy"
    fill, side, m, n, k = (
        rng.choice((UPPER, LOWER)),
        rng.choice((LEFT, RIGHT)),
        *(rng.choice((1, 4, 19)) for _ in range(3)),
    )
    alpha, beta = values(blas, 1, kind)[0], number(blas, kind)
    order = m if side == LEFT else n
    a, b, c = Matrix(blas, order, order, kind), Matrix(blas, m, n, kind), Matrix(blas, m, n, kind)
    blas.call(
        f"{p}{word}mm", side, fill, m, n, blas.scalar(alpha, kind), pointer(a.memory), a.lda, pointer(b.memory), b.lda,
        blas.scalar(beta, kind), pointer(c.memory), c.lda,
    )  # fmt: skip
    full = symmetric(wide(a.was()), fill, hermitian)
    product = full @ wide(b.was()) if side == LEFT else wide(b.was()) @ full
    c.expect(alpha * product + beta * wide(c.was()), EPSILON[p], what=f"{p}{word}mm")
    how = rng.choice((N, C if hermitian else T))
    first, second = (Matrix(blas, *shape_of(how, n, k), kind) for _ in range(2))
    c = Matrix(blas, n, n, kind)
    real = REAL[p] if hermitian else kind
    scale, keep = (0.7, 0.3) if hermitian else (alpha, beta)

    def flip(z: Array) -> Array:
        return z.conj().T if hermitian else z.T

    left, right = op(wide(first.was()), how), op(wide(second.was()), how)
    blas.call(
        f"{p}{word}rk", fill, how, n, k, blas.scalar(scale, real), pointer(first.memory), first.lda,
        blas.scalar(keep, real), pointer(c.memory), c.lda,
    )  # fmt: skip
    c.expect(
        in_triangle(wide(c.was()), scale * left @ flip(left), fill, hermitian, keep),
        EPSILON[p],
        what=f"{p}{word}rk",
    )
    c = Matrix(blas, n, n, kind)
    blas.call(
        f"{p}{word}r2k", fill, how, n, k, blas.scalar(alpha, kind), pointer(first.memory), first.lda,
        pointer(second.memory), second.lda, blas.scalar(keep, real), pointer(c.memory), c.lda,
    )  # fmt: skip
    other = np.conj(alpha) if hermitian else alpha
    added = alpha * left @ flip(right) + other * right @ flip(left)
    c.expect(in_triangle(wide(c.was()), added, fill, hermitian, keep), EPSILON[p], what=f"{p}{word}r2k")
    x, y = Vector(blas, n, kind), Vector(blas, n, kind)
    square = Matrix(blas, n, n, kind)
    blas.call(
        f"{p}{word}mv", fill, n, blas.scalar(alpha, kind), pointer(square.memory), square.lda, pointer(x.memory),
        x.step, blas.scalar(beta, kind), pointer(y.memory), y.step,
    )  # fmt: skip
    full = symmetric(wide(square.was()), fill, hermitian)
    y.expect(alpha * full @ wide(x.was()) + beta * wide(y.was()), EPSILON[p], f"{p}{word}mv")


def sums(blas: Blas, p: str) -> None:
    kind, rng = TYPES[p], blas.rng
    how, other, m, n = rng.choice((N, T, C)), rng.choice((N, T, C)), rng.choice((1, 8)), rng.choice((1, 11))
    a, b, c = (
        Matrix(blas, *shape_of(how, m, n), kind),
        Matrix(blas, *shape_of(other, m, n), kind),
        Matrix(blas, m, n, kind),
    )
    alpha, beta = number(blas, kind), number(blas, kind)
    blas.call(
        f"{p}geam", how, other, m, n, blas.scalar(alpha, kind), pointer(a.memory), a.lda, blas.scalar(beta, kind),
        pointer(b.memory), b.lda, pointer(c.memory), c.lda,
    )  # fmt: skip
    c.expect(alpha * op(wide(a.was()), how) + beta * op(wide(b.was()), other), EPSILON[p], what="geam")
    side = rng.choice((LEFT, RIGHT))
    a, x = Matrix(blas, m, n, kind), Vector(blas, m if side == LEFT else n, kind)
    blas.call(
        f"{p}dgmm", side, m, n, pointer(a.memory), a.lda, pointer(x.memory), x.step, pointer(c.memory), c.lda
    )
    factors = np.diag(wide(x.was()))
    c.expect(factors @ wide(a.was()) if side == LEFT else wide(a.was()) @ factors, EPSILON[p], what="dgmm")


OPERATIONS: tuple[Callable[[Blas, str], None], ...] = (
    gemm, gemm, gemm, typed_gemm, half_gemm, gemv, vectors, reductions, rotations, rank_one, rank_two, triangular,
    symmetric_products, sums,
)  # fmt: skip


def main() -> None:
    which, runtime, library, seed, cases = sys.argv[1:]
    hip = which == "hipblas"
    hip_runtime = ctypes.CDLL(runtime, mode=ctypes.RTLD_GLOBAL)  # the library asks for it when it is loaded
    loaded = ctypes.CDLL(library)
    handle = ctypes.c_void_p()
    blas = Blas(hip, hip_runtime, loaded, random.Random(int(seed)), handle, Counter())
    create = loaded.hipblasCreate if hip else loaded.rocblas_create_handle
    assert create(ctypes.byref(handle)) == 0
    mode = loaded.hipblasSetPointerMode if hip else loaded.rocblas_set_pointer_mode
    for number in range(int(cases)):
        operation, p = OPERATIONS[number % len(OPERATIONS)], blas.rng.choice("sdcz")
        blas.device_scalars = blas.rng.choice((False, False, True))
        assert mode(handle, int(blas.device_scalars)) == 0
        try:
            operation(blas, p)
        except Different as error:
            print(f"case {number} of seed {seed}: {operation.__name__} {p}: {error}")
            sys.exit(1)
        blas.kept.clear()
    print("\n".join(sorted(blas.called)))


main()
