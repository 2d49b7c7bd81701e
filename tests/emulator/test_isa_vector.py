"""Vector instructions against exact arithmetic: corner values, random values, partial execution masks."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest

from tests.emulator import isa_oracle as isa
from tests.emulator.isa_rows import Row, all_rows
from tests.emulator.isa_rows_helpers import all_helper_rows
from tests.emulator.isa_rows_rare import all_rare_rows

ROWS = [*all_rows(), *all_rare_rows(), *all_helper_rows()]
VARIANTS = 3  # corner values, random values, random values under a partial mask
MASK_IN, MASK_OUT = 20, 30
JUNK = 0xDEADBEEF


def register(index: int, kind: str) -> str:
    return f"v[{index}:{index + 1}]" if isa.WIDTH[kind] == 64 else f"v{index}"


def physical(kind: str) -> str:
    """The type that a destination or source is stored as."""
    return {"pf16": "u32", "keep_low": "u32", "pf32": "u64"}.get(kind, kind)


def assemble(row: Row) -> str:
    vectors = [k for k in row.ins if k != "mask"]
    if row.accumulates:
        vectors = vectors[:-1]
    places = {
        name: register(2 + 2 * i, kind) for i, (name, kind) in enumerate(zip("abc", vectors, strict=False))
    }
    return row.text.format(
        d=register(0, physical(row.out or "u32")),
        m=f"s[{MASK_IN}:{MASK_IN + 1}]",
        o=f"s[{MASK_OUT}:{MASK_OUT + 1}]",
        **places,
    )


def fill(state: np.void, row: Row, rng: random.Random, corners: bool) -> list[list[int]]:
    """Puts operands into the registers of one state; returns their bit patterns, operand by operand."""
    operands: list[list[int]] = []
    place = 2
    for position, kind in enumerate(row.ins):
        if kind == "mask":
            bits = [rng.getrandbits(1) for _ in range(isa.LANES)]
            mask = sum(b << i for i, b in enumerate(bits))
            for first in (MASK_IN, isa.VCC):
                state["sgpr"][first] = mask & 0xFFFFFFFF
                state["sgpr"][first + 1] = mask >> 32
        else:
            bits = isa.operand_bits(kind, isa.LANES, rng, corners)
            if corners and position == 1 and kind == row.ins[0]:  # what compares must also meet equals
                bits = [operands[0][i] if i % 4 == 0 else b for i, b in enumerate(bits)]
            into = 0 if row.accumulates and position == len(row.ins) - 1 else place
            state["vgpr"][into] = [b & 0xFFFFFFFF for b in bits]
            if isa.WIDTH[kind] == 64:
                state["vgpr"][into + 1] = [b >> 32 for b in bits]
            elif isa.WIDTH[kind] == 16:  # what lies above a 16-bit operand must not matter
                state["vgpr"][into] = [b | rng.getrandbits(16) << 16 for b in bits]
            place += 2
        operands.append(bits)
    return operands


Outcome = dict[int, list[tuple[np.void, np.void, list[list[int]]]]]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """All rows in one run of the probe per target: row -> (state before, state after, operands) for each variant."""
    results: Outcome = {}
    for target in sorted({row.target for row in ROWS}):
        chosen = [index for index, row in enumerate(ROWS) if row.target == target]
        results |= run_rows(chosen, target, tmp_path_factory.mktemp("isa"))
    return results


def run_rows(indices: list[int], target: str, folder: Path) -> Outcome:
    rng = random.Random(942)
    before = isa.fresh(len(indices) * VARIANTS)
    operands = []
    for place, index in enumerate(indices):
        for variant in range(VARIANTS):
            state = before[place * VARIANTS + variant]
            state["first"] = place
            state["vgpr"][0:2] = JUNK
            for mask in (MASK_OUT, isa.VCC):
                state["sgpr"][mask : mask + 2] = JUNK
            if variant == 2:
                state["sgpr"][isa.EXEC] = rng.getrandbits(32)
                state["sgpr"][isa.EXEC + 1] = rng.getrandbits(32)
            operands.append(fill(state, ROWS[index], rng, corners=variant == 0))
    after = isa.run([assemble(ROWS[index]) for index in indices], before, folder, target)
    return {
        index: [(before[i], after[i], operands[i]) for i in range(place * VARIANTS, (place + 1) * VARIANTS)]
        for place, index in enumerate(indices)
    }


@pytest.mark.parametrize(
    "index", range(len(ROWS)), ids=[r.text.split(" ", 1)[0] + f"-{i}" for i, r in enumerate(ROWS)]
)
def test_result_is_the_exact_one(index: int, outcome: Outcome) -> None:
    row = ROWS[index]
    for before, after, operands in outcome[index]:
        assert after["step"] == isa.STEP_NEXT, f"{row.text}: fault {after['fault']}"
        active = isa.exec_mask(before)
        where = isa.VCC if " vcc" in row.text.split("{a}")[0] else MASK_OUT
        mask = int(after["sgpr"][where]) | int(after["sgpr"][where + 1]) << 32
        for lane in range(isa.LANES):
            lit = active >> lane & 1
            bits = [o[lane] for o in operands]
            if not lit:
                assert after["vgpr"][0][lane] == before["vgpr"][0][lane], (
                    f"{row.text}: lane {lane} is off but was written"
                )
                continue
            values = [b if k == "mask" else isa.decode(b, k) for b, k in zip(bits, row.ins, strict=True)]
            want = row.oracle(*values)
            check_lane(row, after, lane, mask, bits, want)


def check_lane(row: Row, after: np.void, lane: int, mask: int, bits: list[int], want: object) -> None:
    shown = f"{row.text} of {[hex(b) for b in bits]}"
    if row.out is None:
        assert bool(mask >> lane & 1) == bool(want), shown
        return
    if isinstance(want, tuple):
        want, carry = want
        assert bool(mask >> lane & 1) == bool(carry), f"{shown}: lane mask"
    assert isinstance(want, int | float)
    kind = physical(row.out)
    got = int(after["vgpr"][0][lane])
    if isa.WIDTH[kind] == 64:
        got |= int(after["vgpr"][1][lane]) << 32
    if isa.WIDTH[kind] == 16:
        got &= 0xFFFF
    if row.out == "pf16":
        good = all(isa.same(got >> s & 0xFFFF, isa.decode(int(want) >> s, "f16"), "f16") for s in (0, 16))
    elif row.out == "keep_low":
        good = got & 0xFFFF == int(want) & 0xFFFF and isa.same(
            got >> 16, isa.decode(int(want) >> 16, "f16"), "f16"
        )
    elif row.out == "pf32":
        good = all(isa.same(got >> s & 0xFFFFFFFF, isa.decode(int(want) >> s, "f32"), "f32") for s in (0, 32))
    else:
        good = isa.same(got, want, kind, row.ulps)
    expected = hex(isa.encode(want, kind)) if kind[0] != "f" or not math.isnan(want) else "nan"
    assert good, f"{shown}: got {got:#x}, want {expected}"
