"""What gfx950 has beyond gfx942, against exact arithmetic. Machine code comes from `isa_gfx950`."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.emulator import isa_gfx950, test_isa_gfx950_matrix
from tests.emulator import isa_oracle as isa
from tests.emulator.isa_rows import halves, maximum, minimum
from tests.emulator.isa_small_float import (
    FORMATS,
    WIDTH,
    Small,
    is_nan_bits,
    scaled,
    span,
    wide_bits,
    wide_value,
)

M32 = 0xFFFFFFFF


def next_random(x: int) -> int:
    return (x << 1 ^ (197 if x >> 31 else 0)) & M32


@dataclass(frozen=True)
class Conversion:
    """`count` values; `part`: bits of the register that op_sel chooses, `places` op_sel's spellings of them."""

    name: str
    small: str
    wide: str
    count: int
    narrows: bool
    two: bool = False
    noise: bool = False
    scale: bool = True

    @property
    def packed(self) -> int:
        return FORMATS[self.small].bits * self.count

    @property
    def source(self) -> int:
        """First source register: behind the destination's, and among the 64 that the probe fills."""
        return 8 if self.narrows else 42


def conversions() -> list[Conversion]:
    found = []
    for s in ("fp8", "bf8"):
        found += [Conversion(f"v_cvt_scalef32_{w}_{s}", s, w, 1, False) for w in ("f32", "f16")]
        found += [Conversion(f"v_cvt_scalef32_sr_{s}_{w}", s, w, 1, True, noise=True) for w in WIDTH]
        found += [Conversion(f"v_cvt_pk_{s}_f32", s, "f32", 2, True, two=True, scale=False)]
        found += [Conversion(f"v_cvt_sr_{s}_f32", s, "f32", 1, True, noise=True, scale=False)]
        found += [Conversion(f"v_cvt_f32_{s}_e32", s, "f32", 1, False, scale=False)]
        found += [Conversion(f"v_cvt_pk_f32_{s}_e32", s, "f32", 2, False, scale=False)]
    for s in ("fp8", "bf8", "fp4"):
        found += [Conversion(f"v_cvt_scalef32_pk_{w}_{s}", s, w, 2, False) for w in WIDTH]
        found += [Conversion(f"v_cvt_scalef32_pk_{s}_{w}", s, w, 2, True, two=w == "f32") for w in WIDTH]
    found += [Conversion(f"v_cvt_scalef32_sr_pk_fp4_{w}", "fp4", w, 2, True, noise=True) for w in WIDTH]
    for s in ("fp6", "bf6"):
        found += [Conversion(f"v_cvt_scalef32_pk32_{w}_{s}", s, w, 32, False) for w in WIDTH]
        found += [Conversion(f"v_cvt_scalef32_pk32_{s}_{w}", s, w, 32, True) for w in ("f16", "bf16")]
        found += [Conversion(f"v_cvt_scalef32_2xpk16_{s}_f32", s, "f32", 32, True, two=True)]
        found += [Conversion(f"v_cvt_scalef32_sr_pk32_{s}_{w}", s, w, 32, True, noise=True) for w in WIDTH]
    return found


CONVERSIONS = conversions()
D, NOISE, SCALE = 0, 40, 41


def forms_of(c: Conversion) -> list[tuple[str, int, int]]:
    """Lines with the first bit that is read and the first bit that is written."""
    size = c.count * WIDTH[c.wide]
    if c.narrows:
        sources = (
            [span(c.source, size // 2), span(c.source + size // 64, size // 2)]
            if c.two
            else [span(c.source, size)]
        )
        results = c.packed
    else:
        sources, results = [span(c.source, c.packed)], size
    sources += [f"v{NOISE}"] * c.noise + [f"v{SCALE}"] * c.scale
    line = f"{c.name} {span(D, results)}, {', '.join(sources)}"
    if c.packed >= 32 or c.name.endswith("_e32"):
        return [(line, 0, 0)]
    forms = []
    for place in range(32 // c.packed):
        if c.narrows:
            forms.append((f"{line} @{place << (3 if c.packed == 16 else 2)}", 0, c.packed * place))
            continue
        halves_of = range(2 if size < 32 else 1)
        forms += [(f"{line} @{place | upper << 3}", c.packed * place, 16 * upper) for upper in halves_of]
    return forms


CASES = [(c, *form) for c in CONVERSIONS for form in forms_of(c)]


def bits_at(state: np.void, lane: int, register: int, first: int, width: int) -> int:
    at = register + first // 32
    pair = int(state["vgpr"][at][lane]) | (
        int(state["vgpr"][at + 1][lane]) << 32 if first % 32 + width > 32 else 0
    )
    return pair >> first % 32 & (1 << width) - 1


def fill(state: np.void, c: Conversion, rng: random.Random) -> None:
    """Wide values near the range of the small format, and anything; scales near one, a few at the ends."""
    state["vgpr"] = [[rng.getrandbits(32) for _ in range(64)] for _ in range(64)]
    scale = [
        rng.choice([127, 127, 126, 130, 120, 134, 0, 1, 254, 255]) if c.scale else 127 for _ in range(64)
    ]
    state["vgpr"][SCALE] = [e << 23 | rng.getrandbits(1) << 31 | rng.getrandbits(23) for e in scale]
    if not c.narrows:
        return
    largest = float(FORMATS[c.small].numbers[-1])
    for register in range(c.source, c.source + max(1, c.count * WIDTH[c.wide] // 32)):
        for lane in range(64):
            word = 0
            for part in range(32 // WIDTH[c.wide]):
                value = (
                    rng.choice(
                        [rng.uniform(-1.3, 1.3), rng.uniform(-0.1, 0.1), 1.0, -0.0, math.inf, math.nan]
                    )
                    * largest
                )
                if scale[lane] not in (0, 1, 254, 255):
                    value *= 2.0 ** (scale[lane] - 127)
                if c.wide == "f16":
                    value = math.copysign(min(abs(value), 60000.0), value) if math.isfinite(value) else value
                word |= wide_bits(value, c.wide) << WIDTH[c.wide] * part
            state["vgpr"][register][lane] = word


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[np.void, np.void]]:
    rng = random.Random(950)
    before = isa.fresh(len(CASES))
    for index, (state, (c, *_)) in enumerate(zip(before, CASES, strict=True)):
        state["first"] = index
        state["sgpr"][isa.EXEC] = 0xFFFF7FFE
        fill(state, c, rng)
    after = isa_gfx950.run([line for _, line, _, _ in CASES], before, tmp_path_factory.mktemp("gfx950"))
    return list(zip(before, after, strict=True))


@pytest.mark.parametrize(
    "index", range(len(CASES)), ids=[line.split(" ")[0] + f"-{n}" for n, (_, line, _, _) in enumerate(CASES)]
)
def test_conversion(index: int, converted: list[tuple[np.void, np.void]]) -> None:
    c, line, read, written = CASES[index]
    before, after = converted[index]
    assert after["step"] == isa.STEP_NEXT, line
    small = FORMATS[c.small]
    wide = WIDTH[c.wide]
    for lane in range(64):
        on = bool(isa.exec_mask(before) >> lane & 1)
        scale = int(before["vgpr"][SCALE][lane]) >> 23 & 255 if c.scale else 127
        noise = int(before["vgpr"][NOISE][lane])
        for n in range(c.count):
            shown = f"{line}: lane {lane} value {n}"
            if c.narrows:
                second = c.source + c.count * wide // 64
                place = (c.source if n % 2 == 0 else second, n // 2 * wide) if c.two else (c.source, n * wide)
                value = scaled(wide_value(bits_at(before, lane, *place, wide), c.wide), scale, up=False)
                want = small.code(value, noise if c.noise else None)
                noise = next_random(noise)
                got = bits_at(after, lane, D, written + n * small.bits, small.bits)
                old = bits_at(before, lane, D, written + n * small.bits, small.bits)
                if not on:
                    assert got == old, shown
                elif want is None:
                    assert math.isnan(small.value(got)), shown
                elif want == -1:  # NaN has no code: the largest number
                    assert got & small.sign - 1 == len(small.numbers) - 1, shown
                else:
                    assert got == want, f"{shown}: {value} gave {got:#x}, want {want:#x}"
            else:
                value = scaled(
                    small.value(bits_at(before, lane, c.source, read + n * small.bits, small.bits)),
                    scale,
                    up=True,
                )
                got = bits_at(after, lane, D, written + n * wide, wide)
                if not on:
                    assert got == bits_at(before, lane, D, written + n * wide, wide), shown
                elif isinstance(value, float) and math.isnan(value):
                    assert is_nan_bits(got, c.wide), shown
                else:
                    want = rounded_bits(value, c.wide)
                    assert got == want, f"{shown}: {value} gave {got:#x}, want {want:#x}"
        if on and c.packed < 32 and c.narrows:  # the rest of the register stays
            mask = (1 << c.packed) - 1 << written
            assert (int(after["vgpr"][D][lane]) ^ int(before["vgpr"][D][lane])) & M32 & ~mask == 0, line


def rounded_bits(value: Fraction | float, kind: str) -> int:
    if isinstance(value, float):
        return wide_bits(value, kind)
    if kind != "bf16":
        return isa.encode(isa.rounded(value, kind), kind)
    return wide_bits(isa.rounded(value, "f32"), kind)


# ---- vector ALU --------------------------------------------------------------------------------------------------


def minimum_or_nan(*values: float) -> float:
    return math.nan if any(math.isnan(v) for v in values) else functools.reduce(minimum, values)


def maximum_or_nan(*values: float) -> float:
    return math.nan if any(math.isnan(v) for v in values) else functools.reduce(maximum, values)


def both_halves(function: Callable[..., float]) -> Callable[..., int]:
    def of(*operands: int) -> int:
        low, high = (function(*(halves(o, "f16")[k] for o in operands)) for k in range(2))
        return isa.encode(low, "f16") | isa.encode(high, "f16") << 16

    return of


def bfloat(value: float) -> int:
    return 0x7FC0 if math.isnan(value) else wide_bits(value, "bf16")


def table(function: int) -> Callable[[int, int, int], int]:
    def of(a: int, b: int, c: int) -> int:
        bits = ((a >> n & 1) << 2 | (b >> n & 1) << 1 | c >> n & 1 for n in range(32))
        return sum((function >> index & 1) << n for n, index in enumerate(bits))

    return of


def two_bytes(low: int, high: int) -> Callable[[int, int, int, int], int]:
    def of(a: int, b: int, n: int, old: int) -> int:
        parts = [min(max(x >> (n & 31), low), high) & 255 for x in (a, b)]
        return old & 0xFFFF0000 | parts[0] | parts[1] << 8

    return of


def noisy(kind: str) -> Callable[[float, int, int], int]:
    target = Small(16, {"f16": 10, "bf16": 7}[kind], {"f16": 15, "bf16": 127}[kind], "ieee")

    def of(value: float, noise: int, old: int) -> int:
        if math.isnan(value):
            return old & 0xFFFF0000 | (0x7E00 if kind == "f16" else 0x7FC0)
        if kind == "f16":
            code = target.code(value, noise)
            assert code is not None
        else:  # the exponents are those of single precision: noise of 16 bits, then the upper half
            bits = isa.encode(value, "f32")
            code = bits + (noise >> 16) >> 16 if math.isfinite(value) else bits >> 16
        return old & 0xFFFF0000 | code

    return of


def bfloat_products(a: int, b: int, c: float) -> float:
    x = [float(isa.decode(v << 16 & M32, "f32")) for v in (a & 0xFFFF, a >> 16)]
    y = [float(isa.decode(v << 16 & M32, "f32")) for v in (b & 0xFFFF, b >> 16)]
    return isa.fma(x[1], y[1], isa.fma(x[0], y[0], c, "f32"), "f32")


def bfloat_products_first(a: int, b: int, c: float) -> float:
    return isa.add(bfloat_products(a, b, -0.0), c, "f32")


@dataclass(frozen=True)
class Plain:
    """A line with sources v2, v4, v6 and destination v0, whose old value comes last where `old`."""

    line: str
    out: str
    ins: str
    oracle: Callable[..., float | int]
    old: bool = False


PLAIN = [
    Plain("v_prng_b32_e32 v0, v2", "u32", "u32", next_random),
    *(Plain(f"v_bitop3_b32 v0, v2, v4, v6 bitop3:{t:#x}", "u32", "u32 u32 u32", table(t))
      for t in (1, 0x27, 0xE8, 0xFF, 0x80)),
    Plain("v_bitop3_b16 v0, v2, v4, v6 bitop3:0x96", "u32", "u32 u32 u32 u32",
          lambda a, b, c, old: old & 0xFFFF0000 | table(0x96)(a, b, c) & 0xFFFF, old=True),
    Plain("v_bitop3_b16 v0, v2, v4, v6 bitop3:0x1b @10", "u32", "u32 u32 u32 u32",
          lambda a, b, c, old: old & 0xFFFF | table(0x1B)(a, b >> 16, c) << 16 & M32, old=True),
    Plain("v_ashr_pk_i8_i32 v0, v2, v4, v6", "u32", "i32 i32 u32 u32", two_bytes(-128, 127), old=True),
    Plain("v_ashr_pk_u8_i32 v0, v2, v4, v6", "u32", "i32 i32 u32 u32", two_bytes(0, 255), old=True),
    Plain("v_minimum3_f32 v0, v2, v4, v6", "f32", "f32 f32 f32", minimum_or_nan),
    Plain("v_maximum3_f32 v0, -v2, |v4|, v6", "f32", "f32 f32 f32", lambda a, b, c: maximum_or_nan(-a, abs(b), c)),
    Plain("v_pk_minimum3_f16 v0, v2, v4, v6", "pf16", "pair pair pair", both_halves(minimum_or_nan)),
    Plain("v_pk_maximum3_f16 v0, v2, v4, v6", "pf16", "pair pair pair", both_halves(maximum_or_nan)),
    Plain("v_cvt_f32_bf16_e32 v0, v2", "f32", "u32", lambda a: isa.decode(a << 16 & M32, "f32")),
    Plain("v_cvt_f32_bf16_sdwa v0, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1", "f32", "u32",
          lambda a: isa.decode(a & 0xFFFF0000, "f32")),
    Plain("v_cvt_pk_bf16_f32 v0, v2, -v4", "pbf16", "f32 f32", lambda a, b: bfloat(a) | bfloat(-b) << 16),
    Plain("v_cvt_pk_f16_f32 v0, v2, v4", "pf16", "f32 f32",
          lambda a, b: wide_bits(a, "f16") | wide_bits(b, "f16") << 16),
    Plain("v_cvt_sr_bf16_f32 v0, v2, v4", "pbf16", "f32 u32 u32", noisy("bf16"), old=True),
    Plain("v_cvt_sr_f16_f32 v0, v2, v4", "pf16", "f32 u32 u32", noisy("f16"), old=True),
    Plain("v_dot2c_f32_bf16_e32 v0, v2, v4", "f32", "u32 u32 f32", bfloat_products, old=True),
    Plain("v_dot2_f32_bf16 v0, v2, v4, v6", "f32", "u32 u32 f32", bfloat_products_first),
]  # fmt: skip


@pytest.mark.parametrize("row", PLAIN, ids=[p.line.split(" ")[0] + f"-{n}" for n, p in enumerate(PLAIN)])
def test_vector_instruction(row: Plain, tmp_path: Path) -> None:
    rng = random.Random(row.line)
    kinds = row.ins.split()
    states = isa.fresh(2)
    states["sgpr"][1][isa.EXEC] = 0x0FF0F00F
    operands = []
    for corners in (True, False):
        state = states[1 - int(corners)]
        state["vgpr"][0] = [rng.getrandbits(32) for _ in range(64)]
        columns = []
        for n, kind in enumerate(kinds):
            bits = isa.operand_bits(kind, 64, rng, corners)
            if "dot2" in row.line and kind == "u32":  # bfloat16 of moderate size
                bits = [
                    wide_bits(rng.uniform(-9, 9), "bf16") | wide_bits(rng.uniform(-9, 9), "bf16") << 16
                    for _ in bits
                ]
            columns.append(bits)
            state["vgpr"][0 if row.old and n == len(kinds) - 1 else 2 + 2 * n] = bits
        operands.append(columns)
    after = isa_gfx950.run([row.line], states, tmp_path)
    for wave in range(2):
        assert after[wave]["step"] == isa.STEP_NEXT
        for lane in range(64):
            got = int(after[wave]["vgpr"][0][lane])
            if not isa.exec_mask(states[wave]) >> lane & 1:
                assert got == states[wave]["vgpr"][0][lane]
                continue
            bits = [column[lane] for column in operands[wave]]
            want = row.oracle(
                *(isa.decode(b, k) if k != "pair" else b for b, k in zip(bits, kinds, strict=True))
            )
            shown = f"{row.line} of {[hex(b) for b in bits]}: got {got:#x}, want {want}"
            if row.out in ("pf16", "pbf16"):
                kind = row.out[1:]
                for part in (0, 16):
                    value, wanted = got >> part & 0xFFFF, int(want) >> part & 0xFFFF
                    assert value == wanted or (is_nan_bits(value, kind) and is_nan_bits(wanted, kind)), shown
            else:
                assert isa.same(got, want, row.out), shown


@pytest.mark.parametrize("width", [16, 32])
def test_rows_of_lanes_change_places(width: int, tmp_path: Path) -> None:
    states = isa.fresh()
    states["vgpr"][0][0], states["vgpr"][0][1] = np.arange(64), np.arange(64) + 100
    after = isa_gfx950.run([f"v_permlane{width}_swap_b32_e32 v0, v1"], states, tmp_path)[0]
    for lane in range(64):
        odd = lane // width % 2
        assert after["vgpr"][0][lane] == (lane - width + 100 if odd else lane)
        assert after["vgpr"][1][lane] == (lane + 100 if odd else lane + width)


TRANSPOSED = [("b64", 16), ("b64", 8), ("b64", 4), ("b96", 6)]


def transposed(size: str, bits: int) -> str:
    return f"ds_read_{size}_tr_b{bits} v[0:{int(size[1:]) // 32 - 1}], v8 offset:16"


@pytest.mark.parametrize(("size", "bits"), TRANSPOSED)
def test_reads_that_transpose(size: str, bits: int, tmp_path: Path) -> None:
    """Each sixteen lanes read rows of sixteen values that lie one behind the other, and get a column each."""
    width = int(size[1:])
    count = width // bits
    rng = random.Random(bits)
    states = isa.fresh()
    memory = 0
    matrices = [[[rng.getrandbits(bits) for _ in range(16)] for _ in range(count)] for _ in range(4)]
    for block, rows in enumerate(matrices):
        for k, values in enumerate(rows):
            for j, value in enumerate(values):
                memory |= value << 128 + block * 16 * width + (k * 16 + j) * bits
    states["lds"][0] = [memory >> 32 * n & M32 for n in range(1024)]
    states["vgpr"][0][8] = np.arange(64) * (width // 8)
    after = isa_gfx950.run([transposed(size, bits)], states, tmp_path)[0]
    for lane in range(64):
        for k in range(count):
            got = bits_at(after, lane, 0, k * bits, bits)
            assert got == matrices[lane // 16][k][lane % 16], f"lane {lane}, row {k}"


def all_lines() -> list[str]:
    """Every line of the tests of gfx950, for the writer of the stored machine code."""
    lines = [line for _, line, _, _ in CASES] + [row.line for row in PLAIN]
    lines += [f"v_permlane{width}_swap_b32_e32 v0, v1" for width in (16, 32)]
    lines += [transposed(*form) for form in TRANSPOSED]
    lines += test_isa_gfx950_matrix.lines()
    return list(dict.fromkeys(lines))


def mnemonics(lines: Sequence[str] | None = None) -> set[str]:
    return {line.split(" ", 1)[0] for line in (all_lines() if lines is None else lines)}


def test_every_line_is_stored() -> None:
    assert set(isa_gfx950.known()) == set(all_lines())


def test_a_literal_that_llvm_22_marks_is_read(tmp_path: Path) -> None:
    """It prints lit(...) where an inline constant has the same value."""
    states = isa.fresh()
    states["sgpr"][0][1] = 5
    listing = tmp_path / "in.txt"
    listing.write_text(
        "0000000000001000 <kernel>:\n\ts_add_u32 s0, s1, lit(0xffffffff)  // 000000001000: 8000FF01 FFFFFFFF\n"
    )
    assert isa.run_disassembly(listing, states, tmp_path, isa_gfx950.TARGET)[0]["sgpr"][0] == 4
