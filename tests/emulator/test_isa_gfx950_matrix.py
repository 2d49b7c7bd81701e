"""gfx950's matrix instructions on small floats, halves and bytes, against exact sums."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.emulator import isa_gfx950
from tests.emulator import isa_oracle as isa
from tests.emulator.isa_small_float import (
    FORMATS,
    span,
    wide_bits,
)

M32 = 0xFFFFFFFF

F8F6F4 = ["fp8", "bf8", "fp6", "bf6", "fp4"]
C_AT, A_AT, B_AT, SCALE_A, SCALE_B, IDX = 0, 16, 32, 48, 49, 50


def matrix_line(size: int, depth: int, a: int, b: int, scales: bool) -> str:
    registers = size * size // 64
    sources = [span(at, 32 * FORMATS[F8F6F4[f]].bits) for at, f in ((A_AT, a), (B_AT, b))]
    name = f"v_mfma_{'scale_' * scales}f32_{size}x{size}x{depth}_f8f6f4"
    line = f"{name} {span(C_AT, 32 * registers)}, {', '.join(sources)}, {span(C_AT, 32 * registers)}"
    if scales:
        line += f", v{SCALE_A}, v{SCALE_B} op_sel:[1,0,0] op_sel_hi:[1,1,0]"
    return f"{line} cbsz:{a} blgp:{b}"


MIXED = [(size, depth, a, b, scales)
         for size, depth in ((16, 128), (32, 64)) for a in range(5) for b in range(5) for scales in (False, True)
         if scales or a == b]  # fmt: skip


def result_place(size: int, i: int, j: int) -> tuple[int, int]:
    """Lane and register of D[i][j]."""
    groups = 64 // size
    turn, rest = divmod(i, 4 * groups)
    return j + size * (rest // 4), turn * 4 + rest % 4


@pytest.mark.parametrize(("size", "depth", "a", "b", "scales"), MIXED)
def test_matrix_of_small_floats(size: int, depth: int, a: int, b: int, scales: bool, tmp_path: Path) -> None:
    """Values whose products and sums are exact; scales differ from lane to lane."""
    rng = random.Random(f"{size} {a} {b}")
    states = isa.fresh()
    groups = 64 // size
    operands = []
    for at, f in ((A_AT, a), (B_AT, b)):
        small = FORMATS[F8F6F4[f]]
        codes = [
            c
            for c in range(2 * small.sign)
            if small.value(c) in (-4, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4)
        ]
        lanes = [[rng.choice(codes) for _ in range(32)] for _ in range(64)]
        for lane, values in enumerate(lanes):
            packed = sum(code << small.bits * n for n, code in enumerate(values))
            for n in range(8):
                states["vgpr"][0][at + n][lane] = packed >> 32 * n & M32
        operands.append(np.array([[small.value(c) for c in values] for values in lanes]))
    exponents = [[rng.randint(124, 130) for _ in range(64)] for _ in range(2)]
    # byte 3 of A's scales, byte 2 of B's
    states["vgpr"][0][SCALE_A] = [e << 24 | 0x11 << 16 | 0x2233 for e in exponents[0]]
    states["vgpr"][0][SCALE_B] = [0x44000000 | e << 16 | 0x5566 for e in exponents[1]]
    start = [[rng.randint(-20, 20) for _ in range(size)] for _ in range(size)]
    for i in range(size):
        for j in range(size):
            lane, n = result_place(size, i, j)
            states["vgpr"][0][C_AT + n][lane] = isa.encode(float(start[i][j]), "f32")
    after = isa_gfx950.run([matrix_line(size, depth, a, b, scales)], states, tmp_path)[0]
    assert after["step"] == isa.STEP_NEXT
    products = operands[0] @ operands[1].T  # quarters, and few enough for doubles to be exact
    for i in range(size):
        for j in range(size):
            want = float(start[i][j])
            for g in range(groups):
                x, y = i + size * g, j + size * g
                power = exponents[0][x] + exponents[1][y] - 254 if scales else 0
                want += products[x, y] * 2.0**power
            lane, n = result_place(size, i, j)
            assert isa.decode(int(after["vgpr"][C_AT + n][lane]), "f32") == want, f"[{i}][{j}]"


DENSE = [("f32", 16, 32, "f16"), ("f32", 32, 16, "f16"), ("f32", 16, 32, "bf16"), ("f32", 32, 16, "bf16"),
         ("i32", 16, 64, "i8"), ("i32", 32, 32, "i8")]  # fmt: skip
DENSE += [
    ("f32", s, k, f"{a}_{b}") for s, k in ((16, 32), (32, 16)) for a in ("fp8", "bf8") for b in ("fp8", "bf8")
]
SPARSE = [("f32", 16, 64, "f16"), ("f32", 32, 32, "f16"), ("f32", 16, 64, "bf16"), ("f32", 32, 32, "bf16"),
          ("i32", 16, 128, "i8"), ("i32", 32, 64, "i8")]  # fmt: skip
SPARSE += [("f32", s, k, f"{a}_{b}") for s, k in ((16, 128), (32, 64), (16, 64), (32, 32))
           for a in ("fp8", "bf8") for b in ("fp8", "bf8")]  # fmt: skip
PRODUCTS = [(*row, False) for row in DENSE] + [(*row, True) for row in SPARSE]
ELEMENT = {"f16": 16, "bf16": 16, "i8": 8, "fp8": 8, "bf8": 8}


def product_line(out: str, size: int, depth: int, kinds: str, sparse: bool) -> str:
    first, _, second = kinds.partition("_")
    per_lane = depth * size // 64
    a = span(A_AT, per_lane // (2 if sparse else 1) * ELEMENT[first])
    b = span(B_AT, per_lane * ELEMENT[second or first])
    d = span(C_AT, size * size // 2)
    name = f"v_{'smfmac' if sparse else 'mfma'}_{out}_{size}x{size}x{depth}_{kinds}"
    return f"{name} {d}, {a}, {b}, {f'v{IDX}' if sparse else d}"


def element_bits(value: int, kind: str) -> int:
    if kind == "i8":
        return value & 255
    if kind in FORMATS:
        code = FORMATS[kind].code(Fraction(value))
        assert code is not None
        return code
    return wide_bits(float(value), kind)


# BLGP: which lane's B a lane takes (as on gfx942); each dense shape has one of the seven patterns.
B_LANES: tuple[Callable[[int], int], ...] = (
    lambda n: n % 32,
    lambda n: n % 32 + 32,
    lambda n: (n + 16) % 64,
    lambda n: n % 16,
    lambda n: n % 16 + 16,
    lambda n: n % 16 + 32,
    lambda n: n % 16 + 48,
)
MOVED = [(*row, 1 + n % 7) for n, row in enumerate(DENSE)]
# ABID: the upper half of the index register, where one half holds a lane's whole index; CBSZ: the lower one after all.
HALVES = [(*row, modifiers) for row in SPARSE if "16" in row[3] for modifiers in ("abid:1", "cbsz:1 abid:1")]
TOO_MANY_BLOCKS = [product_line(*row, False) + " cbsz:1 abid:1" for row in DENSE[:2]]


@pytest.mark.parametrize(("out", "size", "depth", "kinds", "sparse"), PRODUCTS)
def test_products(out: str, size: int, depth: int, kinds: str, sparse: bool, tmp_path: Path) -> None:
    """Small integers. Of four values of K a sparse A has two, at the places that the index register names."""
    check_product(out, size, depth, kinds, sparse, tmp_path)


@pytest.mark.parametrize(("out", "size", "depth", "kinds", "pattern"), MOVED)
def test_lanes_of_b_are_rearranged(
    out: str, size: int, depth: int, kinds: str, pattern: int, tmp_path: Path
) -> None:
    check_product(out, size, depth, kinds, False, tmp_path, pattern=pattern)


@pytest.mark.parametrize(("out", "size", "depth", "kinds", "modifiers"), HALVES)
def test_part_of_the_index_register(
    out: str, size: int, depth: int, kinds: str, modifiers: str, tmp_path: Path
) -> None:
    check_product(out, size, depth, kinds, True, tmp_path, modifiers=modifiers)


@pytest.mark.parametrize("line", TOO_MANY_BLOCKS)
def test_sharing_blocks_that_a_shape_does_not_have_is_refused(line: str, tmp_path: Path) -> None:
    assert isa_gfx950.run([line], isa.fresh(), tmp_path)[0]["step"] == isa.STEP_FAULT


def check_product(
    out: str,
    size: int,
    depth: int,
    kinds: str,
    sparse: bool,
    tmp_path: Path,
    pattern: int = 0,
    modifiers: str = "",
) -> None:
    first, _, second = kinds.partition("_")
    second = second or first
    rng = random.Random(f"{kinds} {size} {depth}")
    states = isa.fresh()
    groups, per_lane = 64 // size, depth * size // 64
    a = [[rng.randint(-3, 3) for _ in range(depth)] for _ in range(size)]
    b = [[rng.randint(-3, 3) for _ in range(depth)] for _ in range(size)]  # by column
    for i in range(size):
        for g in range(groups):
            lane, part = i + size * g, slice(g * per_lane, (g + 1) * per_lane)
            values, index = a[i][part], 0
            if sparse:
                kept = []
                for quad in range(per_lane // 4):
                    places = sorted(rng.sample(range(4), 2))
                    kept += [values[4 * quad + p] for p in places]
                    index |= sum(p << 4 * quad + 2 * n for n, p in enumerate(places))
                    for p in {0, 1, 2, 3} - set(places):
                        a[i][g * per_lane + 4 * quad + p] = 0
                values = kept
            packed = [sum(element_bits(v, kind) << ELEMENT[kind] * n for n, v in enumerate(column))
                      for column, kind in ((values, first), (b[i][part], second))]  # fmt: skip
            for at, bits in ((A_AT, packed[0]), (B_AT, packed[1])):
                for n in range(8):
                    states["vgpr"][0][at + n][lane] = bits >> 32 * n & M32
            states["vgpr"][0][IDX][lane] = index << 16 if modifiers == "abid:1" else index
    if pattern:
        modifiers = f"blgp:{pattern}"
        b = rearranged(b, pattern, groups, per_lane)
    line = f"{product_line(out, size, depth, kinds, sparse)} {modifiers}".rstrip()
    after = isa_gfx950.run([line], states, tmp_path)[0]
    assert after["step"] == isa.STEP_NEXT
    for i in range(size):
        for j in range(size):
            lane, n = result_place(size, i, j)
            got = isa.decode(int(after["vgpr"][C_AT + n][lane]), out)
            assert got == sum(map(operator.mul, a[i], b[j])), f"[{i}][{j}]"


def rearranged(b: list[list[int]], pattern: int, groups: int, per_lane: int) -> list[list[int]]:
    """B by column, when each lane takes the values of another one."""
    size = len(b)
    taken = [divmod(B_LANES[pattern - 1](lane), size) for lane in range(64)]
    moved = [b[column][g * per_lane : (g + 1) * per_lane] for g, column in taken]
    return [[value for g in range(groups) for value in moved[j + size * g]] for j in range(size)]


def lines() -> list[str]:
    """Every line of this file."""
    return [
        *(matrix_line(*form) for form in MIXED),
        *(product_line(*form) for form in PRODUCTS),
        *(f"{product_line(out, n, k, kinds, False)} blgp:{pattern}" for out, n, k, kinds, pattern in MOVED),
        *(f"{product_line(out, n, k, kinds, True)} {words}" for out, n, k, kinds, words in HALVES),
        *TOO_MANY_BLOCKS,
    ]
