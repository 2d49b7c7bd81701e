"""What MODE changes, against exact arithmetic: all roundings, denormals kept or not, FP16_OVFL, IEEE mode."""

from __future__ import annotations

import operator
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.emulator import isa_modes as modes
from tests.emulator import isa_oracle as isa
from tests.emulator.isa_modes import Mode, Operation

FP16_OVFL, IEEE, DX10_CLAMP = 1 << 23, 1 << 9, 1 << 8
CORNERS = {
    "f16": [
        *(
            0x0000,
            0x0001,
            0x0002,
            0x03FF,
            0x0400,
            0x0401,
            0x3C00,
            0x3BFF,
            0x3C01,
            0x3800,
            0x4200,
            0x6400,
            0x6BFF,
        ),
        *(0x7BFF, 0x7BFE, 0x7800, 0x7C00, 0x7E00, 0x7E55, 0x7C01, 0x7D23),
    ],
    "f32": [
        *(
            0,
            1,
            0x007FFFFF,
            0x00800000,
            0x00800001,
            0x3F800000,
            0x3F800001,
            0x477FE000,
            0x477FEFFF,
            0x477FF000,
        ),
        *(
            0x477FF001,
            0x47800000,
            0x33000000,
            0x33000001,
            0x32FFFFFF,
            0x33800000,
            0x387FC000,
            0x387FE000,
            0x387FEFFF,
        ),
        *(0x3F801000, 0x3F803000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x7FC12345, 0x7F812345, 0x38800000),
    ],
    "f64": [
        *(
            0,
            1,
            0x000FFFFFFFFFFFFF,
            0x0010000000000000,
            0x3FF0000000000000,
            0x3FF0000000000001,
            0x3FF0000010000000,
        ),
        *(0x3FF0000030000000, 0x47EFFFFFE0000000, 0x47EFFFFFF0000000, 0x380FFFFFFFFFFFFF, 0x36A0000000000000),
        *(0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0x7FF8000000000000, 0x7FF8000000012345, 0x7FF0000000012345),
    ],
}


@dataclass(frozen=True)
class Case:
    """`line` has places {d}, {a}, {b}, {c}; `keeps`: operands and results are not flushed around the operation."""

    line: str
    out: str
    ins: str
    operation: Operation
    accumulates: bool = False
    keeps: bool = False
    scalar_out: bool = False


HALF = {
    name: getattr(modes, name)("f16")
    for name in ("add", "sub", "reversed_sub", "mul", "fma", "mad", "median", "scaled")
}
LEAST, MOST = modes.extreme("f16", min), modes.extreme("f16", max)


def constant(operation: Operation, place: int, bits: int) -> Operation:
    return lambda mode, *operands: operation(mode, *operands[:place], bits, *operands[place:])


def signs(operation: Operation, *changes: str) -> Operation:
    """For halves: "-" changes the sign of an operand, "|" takes it away."""

    def of(mode: Mode, *operands: int) -> int:
        changed = []
        for bits, change in zip(operands, changes, strict=True):
            bits = bits & 0x7FFF if "|" in change else bits
            changed.append(bits ^ 0x8000 if "-" in change else bits)
        return operation(mode, *changed)

    return of


def mixed(operation: Operation, halves: str) -> Operation:
    """In single precision on operands of which "h" are halves."""
    widen = modes.converted("f16", "f32")

    def of(mode: Mode, *operands: int) -> int:
        wide = []
        for bits, kind in zip(operands, halves, strict=True):
            source = "f16" if kind == "h" else "f32"
            bits = modes.flushed(bits & (0xFFFF if kind == "h" else ~0), source, mode.keeps_operands(source))
            wide.append(widen(mode, bits) if kind == "h" else bits)
        return modes.flushed(operation(mode, *wide), "f32", mode.keeps_results("f32"))

    return of


def mixed_half(halves: str) -> Operation:
    """The same, then rounded to a half as MODE says for halves."""
    single, narrow = mixed(modes.fma("f32"), halves), modes.converted("f32", "f16")

    def of(mode: Mode, *operands: int) -> int:
        sources = ["f16" if kind == "h" else "f32" for kind in halves]
        finite = [
            not modes.is_nan(bits & (0xFFFF if kind == "f16" else ~0), kind)
            and not modes.is_infinite(bits & (0xFFFF if kind == "f16" else ~0), kind)
            for bits, kind in zip(operands, sources, strict=True)
        ]
        result = modes.limited(narrow(mode, single(mode, *operands)), "f16", mode, *finite)
        return modes.flushed(result, "f16", mode.keeps_results("f16"))

    return of


def toward_zero(mode: Mode, a: int, b: int) -> int:
    convert = modes.converted("f32", "f16", modes.TO_ZERO)
    low, high = (modes.flushed(convert(mode, x), "f16", mode.keeps_results("f16")) for x in (a, b))
    return low | high << 16


def classified(mode: Mode, a: int, mask: int) -> int:
    """Whether a half is of one of the classes; denormals are, whatever MODE says."""
    if modes.is_nan(a, "f16"):
        return mask >> (0 if modes.is_signalling(a, "f16") else 1) & 1
    size = modes.size_of(a, "f16")
    rank = 0 if size == 0 else 1 if size < 0x400 else 2 if size < 0x7C00 else 3
    return mask >> (5 - rank if modes.sign_of(a, "f16") else 6 + rank) & 1


def dotted(mode: Mode, a: int, b: int, c: int) -> int:
    """v_dot2_f32_f16 ignores MODE: rounds to nearest, keeps denormal halves, flushes denormal singles."""
    usual = Mode(0xF0)
    widen = modes.converted("f16", "f32")
    total = modes.flushed(c, "f32", False)
    for shift in (0, 16):
        total = modes.fma("f32")(
            usual, widen(usual, a >> shift & 0xFFFF), widen(usual, b >> shift & 0xFFFF), total
        )
    return modes.flushed(total, "f32", False)


def fraction(mode: Mode, a: int) -> int:
    if modes.is_nan(a, "f16") or modes.is_infinite(a, "f16"):
        return modes.quiet(a, "f16") if modes.is_nan(a, "f16") else 0x7E00
    exact = modes.value(a, "f16")
    return min(modes.narrowed(exact - exact.__floor__(), "f16", mode), 0x3BFF)


def mantissa(kind: str) -> Operation:
    """v_frexp_mant: in [1/2, 1) with the sign."""

    def of(mode: Mode, a: int) -> int:
        if modes.is_nan(a, kind) or modes.is_infinite(a, kind) or not modes.size_of(a, kind):
            return modes.quiet(a, kind) if modes.is_nan(a, kind) else a
        exact = modes.value(a, kind)
        exact /= isa.two_to(exact.numerator.bit_length() - exact.denominator.bit_length())  # now in (1/2, 2)
        return modes.rounded(exact / 2 if abs(exact) >= 1 else exact, kind, modes.NEAREST)

    return of


def shifted(kind: str) -> Operation:
    """v_ldexp by a number of 32 bits, here never negative."""
    return lambda mode, a, n: modes.scaled(kind)(mode, a, min(n, 2200))


def clamped(operation: Operation) -> Operation:
    """With DX10_CLAMP set."""

    def of(mode: Mode, *operands: int) -> int:
        bits = operation(mode, *operands)
        return 0 if modes.is_nan(bits, "f16") or bits & 0x8000 else min(bits, 0x3C00)

    return of


CASES = [
    Case("v_add_f16_e32 {d}, {a}, {b}", "f16", "f16 f16", HALF["add"]),
    Case("v_add_f16_e64 {d}, -{a}, |{b}|", "f16", "f16 f16", signs(HALF["add"], "-", "|")),
    Case("v_add_f16_e64 {d}, {a}, {b} clamp", "f16", "f16 f16", clamped(HALF["add"])),
    Case(
        "v_add_f16_dpp {d}, {a}, {b} quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf",
        "f16",
        "f16 f16",
        HALF["add"],
    ),
    Case(
        "v_mul_f16_sdwa {d}, {a}, {b} dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0 src1_sel:WORD_0",
        "f16",
        "f16 f16",
        HALF["mul"],
    ),
    Case("v_sub_f16_e32 {d}, {a}, {b}", "f16", "f16 f16", HALF["sub"]),
    Case("v_subrev_f16_e32 {d}, {a}, {b}", "f16", "f16 f16", HALF["reversed_sub"]),
    Case("v_mul_f16_e32 {d}, {a}, {b}", "f16", "f16 f16", HALF["mul"]),
    Case("v_mul_f16_e32 {d}, 0.5, {a}", "f16", "f16", constant(HALF["mul"], 0, 0x3800)),
    Case("v_fma_f16 {d}, {a}, {b}, {c}", "f16", "f16 f16 f16", HALF["fma"]),
    Case("v_fma_legacy_f16 {d}, {a}, {b}, {c}", "f16", "f16 f16 f16", HALF["fma"]),
    Case("v_mac_f16_e32 {d}, {a}, {b}", "f16", "f16 f16 f16", HALF["mad"], accumulates=True),
    Case("v_mad_f16 {d}, {a}, {b}, {c}", "f16", "f16 f16 f16", HALF["mad"]),
    Case("v_mad_legacy_f16 {d}, {a}, {b}, {c}", "f16", "f16 f16 f16", HALF["mad"]),
    Case("v_madmk_f16 {d}, {a}, 0x4233, {b}", "f16", "f16 f16", constant(HALF["mad"], 1, 0x4233)),
    Case("v_madak_f16 {d}, {a}, {b}, 0x4233", "f16", "f16 f16", constant(HALF["mad"], 2, 0x4233)),
    Case("v_ldexp_f16_e32 {d}, {a}, {b}", "f16", "f16 u16", HALF["scaled"]),
    Case("v_min_f16_e32 {d}, {a}, {b}", "f16", "f16 f16", LEAST),
    Case("v_max_f16_e32 {d}, {a}, {b}", "f16", "f16 f16", MOST),
    Case("v_min3_f16 {d}, {a}, {b}, {c}", "f16", "f16 f16 f16", modes.extreme_of_three("f16", min)),
    Case("v_max3_f16 {d}, {a}, {b}, {c}", "f16", "f16 f16 f16", modes.extreme_of_three("f16", max)),
    Case("v_med3_f16 {d}, {a}, {b}, {c}", "f16", "f16 f16 f16", HALF["median"]),
    Case("v_pk_add_f16 {d}, {a}, {b}", "pair", "pair pair", modes.both_halves(HALF["add"])),
    Case("v_pk_mul_f16 {d}, {a}, {b}", "pair", "pair pair", modes.both_halves(HALF["mul"])),
    Case("v_pk_fma_f16 {d}, {a}, {b}, {c}", "pair", "pair pair pair", modes.both_halves(HALF["fma"])),
    Case(
        "v_pk_fmac_f16 {d}, {a}, {b}",
        "pair",
        "pair pair pair",
        modes.both_halves(HALF["fma"]),
        accumulates=True,
    ),
    Case("v_pk_min_f16 {d}, {a}, {b}", "pair", "pair pair", modes.both_halves(LEAST)),
    Case("v_pk_max_f16 {d}, {a}, {b}", "pair", "pair pair", modes.both_halves(MOST)),
    Case("v_pack_b32_f16 {d}, {a}, {b}", "u32", "f16 f16", lambda mode, a, b: a | b << 16),
    Case("v_fract_f16_e32 {d}, {a}", "f16", "f16", fraction),
    Case("v_rndne_f16_e32 {d}, {a}", "f16", "f16", modes.to_even("f16")),
    Case("v_cvt_f16_f32_e32 {d}, {a}", "f16", "f32", modes.converted("f32", "f16")),
    Case("v_cvt_f16_u16_e32 {d}, {a}", "f16", "u16", modes.from_integer(False, "f16")),
    Case("v_cvt_f16_i16_e32 {d}, {a}", "f16", "u16", modes.from_integer(True, "f16")),
    Case("v_cvt_pkrtz_f16_f32 {d}, {a}, {b}", "u32", "f32 f32", toward_zero),
    Case("v_cvt_f32_f16_e32 {d}, {a}", "f32", "f16", modes.converted("f16", "f32")),
    Case(
        "v_fma_mix_f32 {d}, {a}, {b}, {c} op_sel_hi:[1,0,1]",
        "f32",
        "f16 f32 f16",
        mixed(modes.fma("f32"), "hfh"),
        keeps=True,
    ),
    Case(
        "v_fma_mixlo_f16 {d}, {a}, {b}, {c} op_sel_hi:[0,1,0]",
        "f16",
        "f32 f16 f32",
        mixed_half("fhf"),
        keeps=True,
    ),
    Case(
        "v_fma_mixlo_f16 {d}, {a}, {b}, {c} op_sel_hi:[1,1,1]",
        "f16",
        "f16 f16 f16",
        mixed_half("hhh"),
        keeps=True,
    ),
    Case("v_dot2_f32_f16 {d}, {a}, {b}, {c}", "f32", "pair pair f32", dotted, keeps=True),
    Case("v_cmp_lt_f16_e32 vcc, {a}, {b}", "u32", "f16 f16", modes.compared(operator.lt), scalar_out=True),
    Case("v_cmp_eq_f16_e32 vcc, {a}, {b}", "u32", "f16 f16", modes.compared(operator.eq), scalar_out=True),
    Case("v_cmp_class_f16_e32 vcc, {a}, {b}", "u32", "f16 u16", classified, keeps=True, scalar_out=True),
    Case("v_min_f32_e32 {d}, {a}, {b}", "f32", "f32 f32", modes.extreme("f32", min)),
    Case("v_max_f32_e32 {d}, {a}, {b}", "f32", "f32 f32", modes.extreme("f32", max)),
    Case("v_min3_f32 {d}, {a}, {b}, {c}", "f32", "f32 f32 f32", modes.extreme_of_three("f32", min)),
    Case("v_max3_f32 {d}, {a}, {b}, {c}", "f32", "f32 f32 f32", modes.extreme_of_three("f32", max)),
    Case("v_med3_f32 {d}, {a}, {b}, {c}", "f32", "f32 f32 f32", modes.median("f32")),
    Case("v_min_f64 {d}, {a}, {b}", "f64", "f64 f64", modes.extreme("f64", min)),
    Case("v_max_f64 {d}, {a}, {b}", "f64", "f64 f64", modes.extreme("f64", max)),
    Case("v_add_f32_e32 {d}, {a}, {b}", "f32", "f32 f32", modes.add("f32")),
    Case("v_mul_f32_e32 {d}, {a}, {b}", "f32", "f32 f32", modes.mul("f32")),
    Case("v_fma_f32 {d}, {a}, {b}, {c}", "f32", "f32 f32 f32", modes.fma("f32")),
    Case("v_add_f64 {d}, {a}, {b}", "f64", "f64 f64", modes.add("f64")),
    Case("v_mul_f64 {d}, {a}, {b}", "f64", "f64 f64", modes.mul("f64")),
    Case("v_fma_f64 {d}, {a}, {b}, {c}", "f64", "f64 f64 f64", modes.fma("f64")),
    Case("v_rndne_f32_e32 {d}, {a}", "f32", "f32", modes.to_even("f32")),
    Case("v_rndne_f64_e32 {d}, {a}", "f64", "f64", modes.to_even("f64")),
    Case("v_frexp_mant_f16_e32 {d}, {a}", "f16", "f16", mantissa("f16")),
    Case("v_frexp_mant_f32_e32 {d}, {a}", "f32", "f32", mantissa("f32")),
    Case("v_frexp_mant_f64_e32 {d}, {a}", "f64", "f64", mantissa("f64")),
    Case("v_ldexp_f32 {d}, {a}, {b}", "f32", "f32 u16", shifted("f32")),
    Case("v_ldexp_f64 {d}, {a}, {b}", "f64", "f64 u16", shifted("f64")),
    Case("v_cvt_f32_f64_e32 {d}, {a}", "f32", "f64", modes.converted("f64", "f32", rounds_as="f64")),
    Case("v_cvt_f32_i32_e32 {d}, {a}", "f32", "u32", modes.from_integer(True, "f32")),
    Case("v_cvt_f32_u32_e32 {d}, {a}", "f32", "u32", modes.from_integer(False, "f32")),
]


def all_modes(rng: random.Random) -> list[Mode]:
    """All of what concerns halves and doubles, the rest at random; and every denormal mode with all else as usual."""
    chosen = [Mode(denormals << 4 | IEEE | DX10_CLAMP) for denormals in range(16)]
    for rounding in range(4):
        for denormals in range(4):
            for overflow in (0, FP16_OVFL):
                single = rng.randrange(4) | rng.randrange(4) << 4
                double = rounding << 2 | denormals << 6 | overflow
                chosen.append(Mode(single | double | rng.choice([0, IEEE]) | DX10_CLAMP))
    return chosen


def operands(kind: str, rng: random.Random) -> list[int]:
    """64 of them: corners with either sign, bit patterns, and numbers whose sums and products come near a boundary."""
    if kind == "pair":
        return [a | b << 16 for a, b in zip(operands("f16", rng), operands("f16", rng), strict=True)]
    width = isa.WIDTH[kind]
    if kind[0] != "f":
        return [
            rng.getrandbits(rng.randint(1, width))
            if rng.random() < 0.7
            else -rng.randrange(40) & (1 << width) - 1
            for _ in range(64)
        ]
    found = []
    for _ in range(64):
        how = rng.random()
        bits = rng.choice(CORNERS[kind]) if how < 0.5 else rng.getrandbits(width - 1)
        if how > 0.8 and kind != "f16":  # of a half's size
            bits = modes.converted("f16", kind)(Mode(0xF0), rng.getrandbits(15)) ^ rng.getrandbits(
                12 if kind == "f32" else 41
            )
        found.append(bits | rng.getrandbits(1) << (width - 1))
    return found


def registers(first: int, kind: str) -> str:
    return f"v[{first}:{first + 1}]" if isa.WIDTH[kind] == 64 else f"v{first}"


def put(state: np.ndarray, register: int, kind: str, column: Sequence[int]) -> None:
    state["vgpr"][register] = [bits & 0xFFFFFFFF for bits in column]
    if isa.WIDTH[kind] == 64:
        state["vgpr"][register + 1] = [bits >> 32 for bits in column]


def expected(case: Case, mode: Mode, lane: Sequence[int]) -> int:
    def passed(bits: int, kind: str, keep: bool) -> int:
        if case.keeps or kind[0] == "u":
            return bits
        if kind == "pair":
            return modes.both_halves(lambda _, x: modes.flushed(x, "f16", keep))(mode, bits)
        return modes.flushed(bits, kind, keep)

    kinds = case.ins.split()
    fields = ["f16" if kind == "pair" else kind for kind in (*kinds, case.out)]
    inputs = [
        passed(bits, kind, mode.keeps_operands(field))
        for bits, kind, field in zip(lane, kinds, fields, strict=False)
    ]
    return passed(case.operation(mode, *inputs), case.out, mode.keeps_results(fields[-1]))


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: case.line.split(",")[0].replace(" {d}", "") + case.line[-14:]
)
def test_results_in_every_mode(case: Case, tmp_path: Path) -> None:
    rng = random.Random(case.line)
    kinds = case.ins.split()
    chosen = all_modes(rng)
    places = {
        name: registers(4 + 2 * n, kind) for n, (name, kind) in enumerate(zip("abc", kinds, strict=False))
    }
    destination = 4 + 2 * (len(kinds) - 1) if case.accumulates else 2
    lines = [case.line.format(d=registers(destination, case.out), **places)]
    states = isa.fresh(len(chosen))
    columns = [[operands(kind, rng) for kind in kinds] for _ in chosen]
    for state, mode, sources in zip(states, chosen, columns, strict=True):
        state["mode"] = mode.bits
        for n, (kind, source) in enumerate(zip(kinds, sources, strict=True)):
            put(state, 4 + 2 * n, kind, source)
    after = isa.run(lines, states, tmp_path)
    assert set(after["step"]) == {isa.STEP_NEXT}
    width = isa.WIDTH[case.out]
    wrong = []
    for state, mode, sources in zip(after, chosen, columns, strict=True):
        for lane, values in enumerate(zip(*sources, strict=True)):
            got = int(state["vgpr"][destination][lane])
            if width == 64:
                got |= int(state["vgpr"][destination + 1][lane]) << 32
            if case.scalar_out:
                got = (int(state["sgpr"][isa.VCC]) | int(state["sgpr"][isa.VCC + 1]) << 32) >> lane & 1
            want = expected(case, mode, values)
            if got & (1 << width) - 1 != want:
                wrong.append(
                    f"mode {mode.bits:#x} of {[hex(v) for v in values]}: {got:#x}, expected {want:#x}"
                )
    assert not wrong, f"{case.line}: {len(wrong)} wrong\n" + "\n".join(wrong[:8])


SPECIAL = ["rcp", "sqrt", "rsq", "exp", "log", "sin", "cos"]


@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions_of_halves_ignore_the_rounding_mode(name: str, tmp_path: Path) -> None:
    """What is infinite by its size alone is clamped; the poles of reciprocal, inverse root and logarithm are not."""
    rng = random.Random(name)
    column = [*range(0, 0x400, 97), *CORNERS["f16"], *(rng.getrandbits(16) for _ in range(64))][:64]
    chosen = all_modes(rng)
    states = isa.fresh(2 * len(chosen))
    for n, mode in enumerate(chosen):
        usual = states[2 * n]
        states[2 * n + 1]["mode"] = mode.bits
        put(states[2 * n + 1], 4, "f16", column)
        put(usual, 4, "f16", [modes.flushed(x, "f16", mode.keeps_operands("f16")) for x in column])
    after = isa.run([f"v_{name}_f16_e32 v2, v4"], states, tmp_path)
    for n, mode in enumerate(chosen):
        for lane, operand in enumerate(column):
            at_pole = modes.flushed(operand, "f16", mode.keeps_operands("f16")) & 0x7FFF == 0
            infinite = modes.is_infinite(operand, "f16")
            want = modes.limited(int(after[2 * n]["vgpr"][2][lane]), "f16", mode, not at_pole, not infinite)
            want = modes.flushed(want, "f16", mode.keeps_results("f16"))
            assert int(after[2 * n + 1]["vgpr"][2][lane]) == want, (
                f"mode {mode.bits:#x}, operand {operand:#x}"
            )


# Values at and beyond the largest number, the codes of the positive ones without FP16_OVFL and with it.
BEYOND = {
    ("fp8", "gfx942"): (240.0, 0x80, 0x7F, 0x80),
    ("bf8", "gfx942"): (57344.0, 0x80, 0x7F, 0x80),
    ("fp8", "gfx950"): (448.0, 0x7F, 0x7E, 0x7F),
    ("bf8", "gfx950"): (57344.0, 0x7C, 0x7B, 0x7F),
}


@pytest.mark.parametrize(("kind", "target"), BEYOND, ids=["-".join(key) for key in BEYOND])
def test_eight_bit_floats_are_clamped_when_the_mode_says_so(kind: str, target: str, tmp_path: Path) -> None:
    largest, beyond, greatest, nan = BEYOND[kind, target]
    values = [1e6, -1e6, np.inf, -np.inf, largest, np.nan]
    usual = [beyond, beyond | 0x80, beyond, beyond | 0x80, greatest, nan]
    clamped_codes = [greatest, greatest | 0x80, greatest, greatest | 0x80, greatest, nan]
    lines = [f"v_cvt_pk_{kind}_f32 v2, v4, v4", f"v_cvt_sr_{kind}_f32 v2, v4, v5"]
    states = isa.fresh(4)
    states["first"] = [0, 0, 1, 1]
    states["mode"] = [isa.DEFAULT_MODE, isa.DEFAULT_MODE | FP16_OVFL] * 2
    states["vgpr"][:, 4, : len(values)] = np.array(values, dtype="<f4").view("<u4")
    states["vgpr"][:, 5] = 0
    text = isa.disassemble(lines, tmp_path)  # gfx950 has the same encodings
    after = isa.run_disassembly(text, states, tmp_path, target)
    for n, codes in enumerate([usual, clamped_codes] * 2):
        got = [int(x) & 0xFF for x in after[n]["vgpr"][2][: len(values)]]
        assert [hex(x) for x in got] == [hex(x) for x in codes], (lines[n // 2], n % 2)
