"""Every instruction in every operand form that the assembler knows, against its oracle and a model of the form."""

from __future__ import annotations

import math
import os
import random
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.emulator import isa_forms
from tests.emulator import isa_oracle as isa
from tests.emulator.isa_forms import Form
from tests.emulator.isa_rows import Row, row
from tests.emulator.isa_rows_rare import eight_bit_rows
from tests.emulator.isa_small_float import FORMATS
from tests.emulator.test_isa_vector import ROWS


def ocp_rows() -> Iterator[Row]:
    """gfx950's 8-bit floats, where gfx942 has its own formats."""

    def code(value: float, kind: str, noise: int | None = None) -> int:
        known = FORMATS[kind].code(value, noise)
        return known if known is not None else 0x7F | (0x80 if math.copysign(1, value) < 0 else 0)

    formats = {k: (FORMATS[k].value, lambda v, k=k: code(v, k)) for k in ("fp8", "bf8")}
    yield from eight_bit_rows(formats, "gfx950")
    for k in formats:

        def stochastic(value: float, noise: int, old: int, k: str = k) -> int:
            return old & ~0xFF | code(value, k, noise)

        line = f"v_cvt_sr_{k}_f32 {{d}}, {{a}}, {{b}}"
        yield row(line, "u32", "f32 u32 u32", stochastic, accumulates=True, target="gfx950")


FIRST, ROOM = 16, 22  # destinations: pairs of registers from v16 on, lane masks pairs from s30 on
MASKS = 30
# Another target's forms on request: HIPSCOPE_TEST_LLVM names the folder of an assembler that knows it.
TARGET = os.environ.get("HIPSCOPE_TEST_FORMS", "gfx942")
ALL_ROWS = [*ROWS, *ocp_rows()]
INSTRUCTIONS = [isa_forms.base(row) for row in isa_forms.with_forms(ALL_ROWS, TARGET)]
EXEC = 0xFFFF_F3FF_7FFF_FFFE

# What gfx942's assembler takes in no other form than that of the row.
PLAIN_ONLY = {
    f"v_dot{n}_{kinds}" for n, kinds in ((4, "i32_i8"), (4, "u32_u8"), (2, "i32_i16"), (2, "u32_u16"))
}
PLAIN_ONLY |= {"v_dot8_u32_u4", "v_dot8_i32_i4", "v_pk_fmac_f16"}


def groups(all_forms: list[Form]) -> list[list[Form]]:
    """Forms of one instruction that share a wave; those that write VCC have one to themselves."""
    by_name: dict[str, list[Form]] = defaultdict(list)
    alone = []
    for form in all_forms:
        if re.search(r"\bvcc\b", form.line):
            alone.append([form])
        else:
            by_name[isa_forms.base(form.row)].append(form)
    shared = [forms[i : i + ROOM] for forms in by_name.values() for i in range(0, len(forms), ROOM)]
    return shared + alone


def sample(waves: list[list[Form]], one_in: int = 4) -> list[list[Form]]:
    """At least one wave of an instruction: which ones their lines decide, not their order."""
    drawn = [zlib.crc32(wave[0].line.encode()) for wave in waves]
    return [wave for wave, n in zip(waves, drawn, strict=True) if n % one_in == 0 or n == min(drawn)]


def sources_of(form: Form) -> list[tuple[int, str, int | None]]:
    """Place among the operands, kind, register; the mask's register is None."""
    found: list[tuple[int, str, int | None]] = []
    place = isa_forms.FIRST_SOURCE
    for n, kind in enumerate(form.row.ins):
        if kind == "mask":
            found.append((n, kind, None))
        elif form.row.accumulates and n == len(form.row.ins) - 1:
            found.append((n, kind, -1))
        else:
            found.append((n, kind, place))
            place += 2
    return found


def fill(state: np.void, form: Form, rng: random.Random) -> None:
    state["sgpr"][isa.EXEC : isa.EXEC + 2] = [EXEC & 0xFFFFFFFF, EXEC >> 32]
    mask = rng.getrandbits(64)
    for first in (isa_forms.MASK_IN, isa.VCC):
        state["sgpr"][first : first + 2] = [mask & 0xFFFFFFFF, mask >> 32]
    state["vgpr"] = [[rng.getrandbits(32) for _ in range(64)] for _ in range(64)]
    for n, kind, register in sources_of(form):
        if register is None:
            continue
        # Half of the lanes hold corner values; both halves of a register are values where 16 bits are read.
        bits = isa.operand_bits(kind, 32, rng, True) + isa.operand_bits(kind, 32, rng, False)
        if isa.WIDTH[kind] == 16:
            upper = isa.operand_bits(kind, 32, rng, False) + isa.operand_bits(kind, 32, rng, True)
            bits = [low | high << 16 for low, high in zip(bits, upper, strict=True)]
        where = range(FIRST, FIRST + 2 * ROOM, 2) if register == -1 else [register]
        for first in where:
            state["vgpr"][first] = [b & 0xFFFFFFFF for b in bits]
            if isa.WIDTH[kind] == 64:
                state["vgpr"][first + 1] = [b >> 32 for b in bits]
        value = isa.operand_bits(kind, 1, rng, False)[0]
        at = isa_forms.SCALAR + 2 * n
        state["sgpr"][at : at + 2] = [value & 0xFFFFFFFF, value >> 32]


Result = tuple[np.void, np.void]
Outcome = dict[str, list[tuple[list[Form], Result]]]


def run_groups(chosen: list[list[Form]], folder: Path, target: str) -> list[Result]:
    rng = random.Random(99)
    lines: list[str] = []
    before = isa.fresh(len(chosen))
    for state, group in zip(before, chosen, strict=True):
        state["first"], state["count"] = len(lines), len(group)
        lines += [isa_forms.spelled(f, FIRST + 2 * i, MASKS + 2 * i) for i, f in enumerate(group)]
        fill(state, group[0], rng)
    after = isa.run(lines, before, folder, target)
    return list(zip(before, after, strict=True))


@pytest.fixture(scope="module")
def outcome(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Instruction -> waves and their states; all in one run of the probe, a sample unless --exhaustive asks for all."""
    waves: dict[str, list[list[Form]]] = defaultdict(list)
    for group in groups(isa_forms.forms(ALL_ROWS, TARGET)):
        waves[isa_forms.base(group[0].row)].append(group)
    exhaustive = request.config.getoption("--exhaustive")
    chosen = [wave for group in waves.values() for wave in (group if exhaustive else sample(group))]
    found: Outcome = defaultdict(list)
    for group, result in zip(
        chosen, run_groups(chosen, tmp_path_factory.mktemp("forms"), TARGET), strict=True
    ):
        found[isa_forms.base(group[0].row)].append((group, result))
    return found


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_forms(name: str, outcome: Outcome) -> None:
    assert outcome[name] or name in PLAIN_ONLY, "the assembler takes no form of it"
    for group, result in outcome[name]:
        check_group(group, *result)


def check_group(group: list[Form], before: np.void, after: np.void) -> None:
    for place, form in enumerate(group):
        check(form, before, after, FIRST + 2 * place, MASKS + 2 * place)


def test_gfx90a_chooses_halves_in_products_of_integers(tmp_path: Path) -> None:
    """gfx942's assembler does not take op_sel there, so that its own forms do not cover it."""
    products = [r for r in ROWS if r.text.startswith("v_dot2_") and r.out != "f32"]
    chosen = groups(isa_forms.forms(products, "gfx90a"))
    assert any("op_sel:[1,0,0] op_sel_hi:[0,1,1]" in form.line for group in chosen for form in group)
    for group, (before, after) in zip(chosen, run_groups(chosen, tmp_path, "gfx90a"), strict=True):
        check_group(group, before, after)


def pair(state: np.void, name: str, first: int, lane: int | None = None) -> int:
    low, high = (
        int(state[name][first + d] if lane is None else state[name][first + d][lane]) for d in range(2)
    )
    return low | high << 32


def operand(
    form: Form, before: np.void, n: int, kind: str, register: int | None, lane: int, to: int
) -> float | int:
    if register is None:
        return pair(before, "sgpr", isa.VCC) >> lane & 1
    if n in form.constants:
        bits = form.constants[n]
        if bits == -1:
            bits = pair(before, "sgpr", isa_forms.SCALAR + 2 * n)
    else:
        bits = isa_forms.moved(form, n, kind, pair(before, "vgpr", to if register == -1 else register, lane))
    return isa.decode(bits, kind)


def check(form: Form, before: np.void, after: np.void, to: int, mask_at: int) -> None:
    row = form.row
    head = form.line.split("{a}")[0]
    mask = pair(after, "sgpr", isa.VCC if " vcc" in head else mask_at)
    for lane in range(64):
        shown = f"{isa_forms.spelled(form, to, mask_at)}: lane {lane}"
        old = pair(before, "vgpr", to, lane)
        got = pair(after, "vgpr", to, lane)
        read = form.dpp.source(lane) if form.dpp else lane
        if read is not None and not EXEC >> read & 1 and form.dpp:
            read = None
        off = not EXEC >> lane & 1
        if form.dpp and (not form.dpp.chosen(lane) or (read is None and not form.dpp.bound)):
            off = True
        if off:
            if row.out is not None:
                assert got == old, shown
            continue
        values = []
        for n, kind, register in sources_of(form):
            if n == 0 and form.dpp and register is not None:
                crossed = 0 if read is None else pair(before, "vgpr", register, read)
                values.append(isa.decode(isa_forms.moved(form, n, kind, crossed), kind))
            else:
                values.append(operand(form, before, n, kind, register, lane, to))
        want = row.oracle(*values)
        if isinstance(want, tuple):
            want, carry = want
            assert bool(mask >> lane & 1) == bool(carry), f"{shown}: lane mask"
        if row.out is None:
            assert bool(mask >> lane & 1) == bool(want), f"{shown} of {values}"
        else:
            compare(form, got, want, old, f"{shown} of {values}")


def compare(form: Form, got: int, want: float | int, old: int, shown: str) -> None:
    out = form.row.out
    assert out is not None
    if out in ("pf16", "pf32"):
        width, kind = (16, "f16") if out == "pf16" else (32, "f32")
        for part in range(2):
            value = isa.decode(int(want) >> width * part, kind)
            assert isa.same(got >> width * part & (1 << width) - 1, value, kind), f"{shown}: got {got:#x}"
        return
    if form.clamp:
        want = isa_forms.clamped(float(want))
    width = isa.WIDTH[out]
    if isinstance(want, float) and math.isnan(want):
        bits = got >> 16 & 0xFFFF if form.high else got & (1 << width) - 1
        if form.to == (0, 32):
            assert math.isnan(isa.decode(bits, out)), f"{shown}: got {got:#x}, want nan"
        return
    expected = isa_forms.put_back(form, isa.encode(want, out), old & 0xFFFFFFFF)
    seen = got & 0xFFFFFFFF if width < 64 else got
    assert seen == expected, f"{shown}: got {seen:#x}, want {expected:#x}"


SCALED = [
    ("v_mul_f32_e64 {d}, {a}, {b}", "f32"),
    ("v_fma_f32 {d}, {a}, {b}, {b}", "f32"),
    ("v_mul_f16_e64 {d}, {a}, {b}", "f16"),
    ("v_add_f64 {d}, {a}, {b}", "f64"),
]
FLUSHED, IEEE = 0x100, 0x200
FACTORS = {"mul:2": 2.0, "mul:4": 4.0, "div:2": 0.5}


@pytest.mark.parametrize(("line", "kind"), SCALED, ids=[line.split(" ")[0] for line, _ in SCALED])
@pytest.mark.parametrize(("modifier", "factor"), FACTORS.items(), ids=list(FACTORS))
def test_output_modifiers(line: str, kind: str, modifier: str, factor: float, tmp_path: Path) -> None:
    """They act without IEEE mode and without denormal results; a result that is too small, or -0, becomes +0."""
    rng = random.Random(5)
    values = [2.0**-7, -(2.0**-7), 3.0, -0.0, 0.0, 1.5, -1e-3, *(rng.uniform(-9, 9) for _ in range(57))]
    bits = [isa.encode(isa.rounded_or_special(v, kind), kind) for v in values]
    other = bits[::-1]
    text = line.format(
        d=isa_forms.register(0, kind), a=isa_forms.register(2, kind), b=isa_forms.register(4, kind)
    )
    states = isa.fresh(4)
    for state, mode in zip(states, (FLUSHED, FLUSHED | IEEE, FLUSHED | 0xF0, FLUSHED), strict=True):
        state["mode"] = mode
        for first, column in ((2, bits), (4, other)):
            state["vgpr"][first] = [b & 0xFFFFFFFF for b in column]
            state["vgpr"][first + 1] = [b >> 32 for b in column]
    states["first"] = [0, 0, 0, 1]
    after = isa.run([f"{text} {modifier}", text], states, tmp_path)

    def result(wave: int, lane: int) -> float:
        return float(isa.decode(pair(after[wave], "vgpr", 0, lane), kind))

    smallest = {"f16": 2.0**-14, "f32": 2.0**-126, "f64": 2.0**-1022}[kind]
    for lane in range(64):
        plain = result(3, lane)
        want = isa.rounded_or_special(plain * factor, kind)
        want = 0.0 if abs(want) < smallest else want
        assert result(0, lane).hex() == want.hex(), f"{text} {modifier}: lane {lane}"
        assert result(1, lane).hex() == plain.hex(), "IEEE mode"
        if kind != "f16" or abs(plain) >= smallest:
            assert result(2, lane).hex() == plain.hex(), "denormals kept"
