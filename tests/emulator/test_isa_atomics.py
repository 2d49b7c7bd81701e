"""Every atomic of every memory instruction format against the same operation on Python numbers, lane after lane."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from tests.emulator import isa_atomics as atomics
from tests.emulator import isa_oracle as isa
from tests.emulator.isa_atomics import Atomic

CELLS = 16  # several lanes share a cell: each must see what the one before it left
APART = 30  # dwords from one cell to the next: two or one in a cache line, over several lines
DATA, SECOND, OUT = 12, 14, 20
M32 = 0xFFFFFFFF


@dataclass(frozen=True)
class Case:
    """One instruction: `place` is the memory it works on, `returns` whether lanes get the old value."""

    line: str
    atomic: Atomic
    place: str
    returns: bool
    data_is_destination: bool = False
    scalar: bool = False

    @property
    def mnemonic(self) -> str:
        return self.line.split(" ", 1)[0]


def pair(first: int, dwords: int, letter: str = "v") -> str:
    return f"{letter}{first}" if dwords == 1 else f"{letter}[{first}:{first + dwords - 1}]"


def cases() -> list[Case]:
    found = []
    for a in atomics.vector_atomics():
        dwords = a.width // 32
        data = pair(DATA, dwords * (2 if a.two else 1))
        out = pair(OUT, dwords)
        for returns in (False, True):
            sc0 = " sc0" if returns else ""
            first = f"{out}, " if returns else ""
            found.append(Case(f"global_atomic_{a.name} {first}v4, {data}, s[2:3]{sc0}", a, "memory", returns))
            found.append(Case(f"flat_atomic_{a.name} {first}v[2:3], {data}{sc0}", a, "memory", returns))
            if a.name != "pk_add_bf16":  # gfx950 only
                line = f"buffer_atomic_{a.name} {data}, v4, s[4:7], 0 offen{sc0}"
                found.append(Case(line, a, "memory", returns, data_is_destination=True))
    for a in atomics.lds_atomics():
        dwords = a.width // 32
        operands = f"v4, {pair(DATA, dwords)}" + (f", {pair(SECOND, dwords)}" if a.two else "")
        if a.name not in ("ds_wrap_b32", "ds_wrxchg_b32", "ds_wrxchg_b64"):
            found.append(Case(f"{a.name} {operands}", a, "lds", False))
        found.append(Case(f"{atomics.returning(a.name)} {pair(OUT, dwords)}, {operands}", a, "lds", True))
    for a in atomics.scalar_atomics():
        dwords = a.width // 32
        data = pair(DATA, dwords * (2 if a.two else 1), "s")
        for returns in (False, True):
            glc = " glc" if returns else ""
            for prefix, base in (("s_atomic_", "s[2:3]"), ("s_buffer_atomic_", "s[4:7]")):
                line = f"{prefix}{a.name} {data}, {base}, {4 * APART}{glc}"
                found.append(Case(line, a, "memory", returns, data_is_destination=True, scalar=True))
    return found


CASES = cases()


def value(atomic: Atomic, rng: random.Random) -> int:
    """Bit patterns of which many meet the others' corners: equal, zero, extreme."""
    kind = f"f{atomic.width}"
    if atomic.name.endswith("bf16"):  # no NaNs: their payload is not defined
        return sum((rng.getrandbits(1) << 15 | rng.randint(0, 0x7F7F)) << s for s in (0, 16))
    if atomic.name.endswith("pk_add_f16"):
        return isa.operand_bits("pair", 1, rng, False)[0]
    if not atomic.exact:
        return isa.operand_bits(kind, 1, rng, rng.random() < 0.5)[0]
    return rng.choice(
        [0, 1, 2, 3, rng.getrandbits(atomic.width), (1 << atomic.width) - 1, 1 << (atomic.width - 1)]
    )


def put(row: np.ndarray, first: int, lane: int | None, bits: int, dwords: int) -> None:
    for d in range(dwords):
        place = (first + d,) if lane is None else (first + d, lane)
        row[place] = bits >> 32 * d & M32


def get(row: np.ndarray, first: int, lane: int | None, dwords: int) -> int:
    return sum(int(row[(first + d,) if lane is None else (first + d, lane)]) << 32 * d for d in range(dwords))


def prepare(state: np.void, case: Case, rng: random.Random) -> None:
    dwords = case.atomic.width // 32
    for cell in range(2 * CELLS):
        put(state[case.place], cell * APART, None, value(case.atomic, rng), dwords)
    state["sgpr"][2:4] = [isa.MEMORY_ADDRESS & M32, isa.MEMORY_ADDRESS >> 32]
    state["sgpr"][4:8] = [isa.MEMORY_ADDRESS & M32, isa.MEMORY_ADDRESS >> 32, isa.MEMORY_BYTES, 0]
    state["sgpr"][isa.EXEC : isa.EXEC + 2] = [0xF7FF_F0FF, 0xFFFF_FFFF]
    for lane in range(isa.LANES):
        offset = rng.randrange(CELLS) * APART * 4
        state["vgpr"][4][lane] = offset
        put(state["vgpr"], 2, lane, isa.MEMORY_ADDRESS + offset, 2)
        data, second = value(case.atomic, rng), value(case.atomic, rng)
        if case.atomic.two and lane % 4 == 0:  # what compares must also meet equals, floats too
            data, second = rng.sample([get(state[case.place], offset // 4, None, dwords), second], 2)
        put(state["vgpr"], DATA, lane, data, dwords)
        if case.place == "memory":  # compare-and-swap takes the expected value behind the new one
            put(state["vgpr"], DATA + dwords, lane, second, dwords) if case.atomic.two else None
        else:
            put(state["vgpr"], SECOND, lane, second, dwords)
    for n in range(2):
        put(state["sgpr"], DATA + n * dwords, None, value(case.atomic, rng), dwords)


def changes(state: np.void, case: Case) -> bool:
    """Whether a scalar atomic changes its cell: else a missing effect would be invisible."""
    dwords = case.atomic.width // 32
    old = get(state["memory"], APART, None, dwords)
    data, other = (get(state["sgpr"], DATA + n * dwords, None, dwords) for n in range(2))
    return case.atomic.update(old, data, other) != old


Outcome = Sequence[Sequence[tuple[np.void, np.void]]]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """For each case two waves, the second of which changes memory."""
    rng = random.Random(5)
    before = isa.fresh(2 * len(CASES))
    for place, state in enumerate(before):
        case = CASES[place // 2]
        state["first"] = place // 2
        prepare(state, case, rng)
        while case.scalar and place % 2 and not changes(state, case):
            prepare(state, case, rng)
    after = isa.run([case.line for case in CASES], before, tmp_path_factory.mktemp("atomics"))
    return [[(before[i], after[i]) for i in (2 * n, 2 * n + 1)] for n in range(len(CASES))]


def same(got: int, want: int, atomic: Atomic) -> bool:
    kind = f"f{atomic.width}"
    if atomic.exact or atomic.name.endswith("bf16"):
        return got == want
    if atomic.name.endswith("pk_add_f16"):
        return all(isa.same(got >> s & 0xFFFF, isa.decode(want >> s, "f16"), "f16") for s in (0, 16))
    return got == want or isa.same(got, isa.decode(want, kind), kind)


@pytest.mark.parametrize("index", range(len(CASES)), ids=[f"{c.mnemonic}-{i}" for i, c in enumerate(CASES)])
def test_lanes_update_their_cells_in_turn(index: int, outcome: Outcome) -> None:
    for before, after in outcome[index]:
        check(CASES[index], before, after)


def check(case: Case, before: np.void, after: np.void) -> None:
    assert after["step"] == isa.STEP_NEXT, f"{case.line}: fault {after['fault']}"
    dwords = case.atomic.width // 32
    cells = {n: get(before[case.place], n * APART, None, dwords) for n in range(2 * CELLS)}
    registers = "sgpr" if case.scalar else "vgpr"
    lanes = [None] if case.scalar else [n for n in range(isa.LANES) if isa.exec_mask(before) >> n & 1]
    for lane in lanes:
        cell = 1 if lane is None else int(before["vgpr"][4][lane]) // (4 * APART)
        second = SECOND if case.place == "lds" else DATA + dwords
        data, other = (get(before[registers], r, lane, dwords) for r in (DATA, second))
        old = cells[cell]
        cells[cell] = case.atomic.update(old, data, other)
        if case.returns:
            got = get(after[registers], DATA if case.data_is_destination else OUT, lane, dwords)
            assert same(got, old, case.atomic), f"{case.line}: lane {lane} got {got:#x}, want {old:#x}"
    for cell, want in cells.items():
        got = get(after[case.place], cell * APART, None, dwords)
        assert same(got, want, case.atomic), f"{case.line}: cell {cell} is {got:#x}, want {want:#x}"


def test_a_buffer_atomic_out_of_range_does_nothing_and_returns_zero(tmp_path: pytest.TempPathFactory) -> None:
    states = isa.fresh()
    prepare(states[0], CASES[0], random.Random(3))
    states["sgpr"][0][6] = 32
    before = states.copy()
    after = isa.run(["buffer_atomic_add v12, v4, s[4:7], 0 offen sc0"], states, tmp_path)[0]  # type: ignore[arg-type]
    outside = before["vgpr"][0][4] >= 32
    active = np.array([isa.exec_mask(before[0]) >> n & 1 for n in range(64)], dtype=bool)
    assert outside.any()
    assert (after["vgpr"][12][outside & active] == 0).all()
    assert np.array_equal(after["memory"][8:], before["memory"][0][8:])
