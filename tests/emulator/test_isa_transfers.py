"""Every load and store of every memory format: which bytes move, what becomes of the rest of a register."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from tests.emulator import isa_oracle as isa

OUT, DATA = 20, 30
BYTES = 16  # per lane, in every memory; scratch has four lanes' worth of them
LANES = range(0, 64, 3)  # lanes that are on
M32 = 0xFFFFFFFF


@dataclass(frozen=True)
class Format:
    """`size` bytes per lane; d16 forms (`half` 0 low, 1 high) leave the other half of the register alone."""

    size: int
    signed: bool = False
    half: int | None = None


LOADS = {
    "ubyte": Format(1), "sbyte": Format(1, True), "ushort": Format(2), "sshort": Format(2, True),
    "dword": Format(4), "dwordx2": Format(8), "dwordx3": Format(12), "dwordx4": Format(16),
    "ubyte_d16": Format(1, False, 0), "ubyte_d16_hi": Format(1, False, 1), "sbyte_d16": Format(1, True, 0),
    "sbyte_d16_hi": Format(1, True, 1), "short_d16": Format(2, False, 0), "short_d16_hi": Format(2, False, 1),
}  # fmt: skip
STORES = {
    "byte": Format(1), "short": Format(2), "dword": Format(4), "dwordx2": Format(8), "dwordx3": Format(12),
    "dwordx4": Format(16), "byte_d16_hi": Format(1, False, 1), "short_d16_hi": Format(2, False, 1),
}  # fmt: skip
LDS_LOADS = {
    "u8": Format(1), "i8": Format(1, True), "u16": Format(2), "i16": Format(2, True), "b32": Format(4),
    "b64": Format(8), "b96": Format(12), "b128": Format(16), "u8_d16": Format(1, False, 0),
    "u8_d16_hi": Format(1, False, 1),
    "i8_d16": Format(1, True, 0), "i8_d16_hi": Format(1, True, 1), "u16_d16": Format(2, False, 0),
    "u16_d16_hi": Format(2, False, 1),
}  # fmt: skip
LDS_STORES = {
    "b8": Format(1), "b16": Format(2), "b32": Format(4), "b64": Format(8), "b96": Format(12), "b128": Format(16),
    "b8_d16_hi": Format(1, False, 1), "b16_d16_hi": Format(2, False, 1),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One instruction. `to_lds`: what is loaded lands in LDS, a slot per lane."""

    line: str
    place: str
    form: Format
    store: bool = False
    to_lds: bool = False

    @property
    def mnemonic(self) -> str:
        """As the table names it: loads to LDS by a bit have a suffix there."""
        name = self.line.split(" ", 1)[0]
        return name + "_lds" if self.to_lds and name.startswith("buffer") else name


def registers(first: int, form: Format) -> str:
    dwords = max(1, form.size // 4)
    return f"v{first}" if dwords == 1 else f"v[{first}:{first + dwords - 1}]"


def cases() -> list[Case]:
    """v4 = 16 * lane, v[2:3] the same in memory, v5 = 0 (an offset into the lane's own scratch)."""
    found = []
    for name, form in LOADS.items():
        out = registers(OUT, form)
        found.append(Case(f"global_load_{name} {out}, v4, s[2:3]", "memory", form))
        found.append(Case(f"flat_load_{name} {out}, v[2:3]", "memory", form))
        found.append(Case(f"buffer_load_{name} {out}, v4, s[4:7], 0 offen", "memory", form))
        found.append(Case(f"scratch_load_{name} {out}, v5, off offset:16", "scratch", form))
        if form.half is None and form.size <= 4:
            found.append(Case(f"global_load_lds_{name} v4, s[2:3]", "memory", form, to_lds=True))
            found.append(Case(f"scratch_load_lds_{name} v5, off", "scratch", form, to_lds=True))
            found.append(Case(f"buffer_load_{name} v4, s[4:7], 0 offen lds", "memory", form, to_lds=True))
    for name, form in STORES.items():
        data = registers(DATA, form)
        found.append(Case(f"global_store_{name} v4, {data}, s[2:3]", "memory", form, store=True))
        found.append(Case(f"flat_store_{name} v[2:3], {data}", "memory", form, store=True))
        found.append(Case(f"buffer_store_{name} {data}, v4, s[4:7], 0 offen", "memory", form, store=True))
        found.append(Case(f"scratch_store_{name} v5, {data}, off offset:16", "scratch", form, store=True))
    for name, form in LDS_LOADS.items():
        found.append(Case(f"ds_read_{name} {registers(OUT, form)}, v4", "lds", form))
    for name, form in LDS_STORES.items():
        found.append(Case(f"ds_write_{name} v4, {registers(DATA, form)}", "lds", form, store=True))
    return found


CASES = cases()
Outcome = Sequence[tuple[np.void, np.void]]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    rng = np.random.default_rng(11)
    before = isa.fresh(len(CASES))
    lanes = np.arange(64, dtype=np.uint64)
    for index in range(len(CASES)):
        state = before[index]
        for field in ("memory", "lds", "scratch", "vgpr"):
            state[field] = rng.integers(0, 2**32, size=state[field].shape, dtype=np.uint32)
        state["first"] = index
        mask = sum(1 << lane for lane in LANES)
        state["sgpr"][isa.EXEC : isa.EXEC + 2] = [mask & M32, mask >> 32]
        state["sgpr"][2:8] = [isa.MEMORY_ADDRESS & M32, isa.MEMORY_ADDRESS >> 32] * 2 + [isa.MEMORY_BYTES, 0]
        state["vgpr"][2] = np.uint64(isa.MEMORY_ADDRESS) + BYTES * lanes & np.uint64(M32)
        state["vgpr"][3] = isa.MEMORY_ADDRESS >> 32
        state["vgpr"][4] = BYTES * lanes
        state["vgpr"][5] = 0
        state["sgpr"][isa.M0] = 256
    after = isa.run([case.line for case in CASES], before, tmp_path_factory.mktemp("transfers"))
    return [(before[i], after[i]) for i in range(len(CASES))]


def of_lane(state: np.void, case: Case, lane: int) -> bytes:
    if case.place == "scratch":
        start = 0 if case.to_lds else 16
        return bytes(state["scratch"][lane].astype("<u4"))[start : start + case.form.size]
    return bytes(state[case.place].astype("<u4"))[BYTES * lane : BYTES * lane + case.form.size]


def loaded(raw: bytes, old: list[int], form: Format) -> list[int]:
    if form.size >= 4:
        return [int.from_bytes(raw[i : i + 4], "little") for i in range(0, form.size, 4)]
    value = int.from_bytes(raw, "little", signed=form.signed)
    if form.half is None:
        return [value & M32]
    shift = 16 * form.half
    return [old[0] & ~(0xFFFF << shift) | (value & 0xFFFF) << shift]


@pytest.mark.parametrize("index", range(len(CASES)), ids=[f"{c.mnemonic}-{i}" for i, c in enumerate(CASES)])
def test_bytes_arrive_where_they_belong(index: int, outcome: Outcome) -> None:
    case = CASES[index]
    before, after = outcome[index]
    assert after["step"] == isa.STEP_NEXT, f"{case.line}: fault {after['fault']}"
    dwords = max(1, case.form.size // 4)
    if case.store:
        want = before[case.place].astype("<u4").tobytes()
        image = bytearray(want)
        for lane in LANES:
            data = b"".join(int(before["vgpr"][DATA + d][lane]).to_bytes(4, "little") for d in range(dwords))
            first = 2 if case.form.half else 0
            start = lane * 64 + 16 if case.place == "scratch" else BYTES * lane
            image[start : start + case.form.size] = data[first : first + case.form.size]
        assert after[case.place].astype("<u4").tobytes() == bytes(image), case.line
        return
    for lane in range(64):
        old = [int(before["vgpr"][OUT + d][lane]) for d in range(dwords)]
        value = loaded(of_lane(before, case, lane), old, case.form) if lane in LANES else old
        if case.to_lds:
            slot = int(after["lds"][64 + lane])
            assert slot == (value[0] if lane in LANES else int(before["lds"][64 + lane])), (case.line, lane)
        else:
            assert [int(after["vgpr"][OUT + d][lane]) for d in range(dwords)] == value, (case.line, lane)


TWO = [
    (f"{name}{stride}_{kind}", unit * (64 if stride else 1), unit)
    for name in ("ds_read2", "ds_write2", "ds_wrxchg2")
    for stride in ("", "st64")
    for kind, unit in (("b32", 4), ("b64", 8))
]


@pytest.mark.parametrize(("name", "scale", "unit"), TWO, ids=[t[0] for t in TWO])
def test_two_addresses_in_one_instruction(
    name: str, scale: int, unit: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    dwords = unit // 4
    first, second = (f"v[{r}:{r + dwords - 1}]" if dwords > 1 else f"v{r}" for r in (DATA, DATA + 4))
    out = f"v[{OUT}:{OUT + 2 * dwords - 1}]"
    offsets = "offset0:1 offset1:3"
    line = {
        "ds_read2": f"{name} {out}, v4 {offsets}",
        "ds_write2": f"{name} v4, {first}, {second} {offsets}",
        "ds_wrxchg2": f"{name.replace('_b', '_rtn_b')} {out}, v4, {first}, {second} {offsets}",
    }[name.split("_b")[0].removesuffix("st64")]
    rng = np.random.default_rng(12)
    states = isa.fresh()
    for field in ("lds", "vgpr"):
        states[field] = rng.integers(0, 2**32, size=states[field].shape, dtype=np.uint32)
    states["vgpr"][0][4] = np.arange(64) * unit * 4 % 1024
    states["sgpr"][0][isa.EXEC : isa.EXEC + 2] = [0xFF, 0]
    before = states.copy()[0]
    after = isa.run([line], states, tmp_path_factory.mktemp("two"))[0]
    lds = before["lds"].copy()
    for lane in range(8):
        places = [(int(before["vgpr"][4][lane]) + n * scale) // 4 for n in (1, 3)]
        if not name.startswith("ds_write2"):
            got = [int(after["vgpr"][OUT + d][lane]) for d in range(2 * dwords)]
            assert got == [int(lds[p + d]) for p in places for d in range(dwords)], (line, lane)
        if not name.startswith("ds_read2"):
            for n, place in enumerate(places):
                for d in range(dwords):
                    lds[place + d] = before["vgpr"][DATA + 4 * n + d][lane]
    assert np.array_equal(after["lds"], lds)


@pytest.mark.parametrize("dwords", [1, 2, 4, 8, 16])
def test_scalar_loads_from_buffers_stop_at_their_end(
    dwords: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    states = isa.fresh(2)
    states["memory"] = np.arange(1024) + 1
    states["sgpr"][:, 4:8] = [isa.MEMORY_ADDRESS & M32, isa.MEMORY_ADDRESS >> 32, 24, 0]
    states["sgpr"][:, 2:4] = states["sgpr"][:, 4:6]
    states["sgpr"][:, 16:48] = 77
    suffix = f"x{dwords}" if dwords > 1 else ""
    places = "s16" if dwords == 1 else f"s[16:{15 + dwords}]"
    lines = [
        f"s_buffer_load_dword{suffix} {places}, s[4:7], 0x10",
        f"s_load_dword{suffix} {places}, s[2:3], 0x10",
    ]
    states["first"] = [0, 1]
    buffer, memory = isa.run(lines, states, tmp_path_factory.mktemp("scalar"))
    assert list(buffer["sgpr"][16 : 16 + dwords]) == [5 + i if 16 + 4 * i < 24 else 0 for i in range(dwords)]
    assert list(memory["sgpr"][16 : 16 + dwords]) == [5 + i for i in range(dwords)]


@pytest.mark.parametrize("dwords", [1, 2, 4])
@pytest.mark.parametrize("form", ["s_store_dword", "s_buffer_store_dword"])
def test_scalar_stores(form: str, dwords: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    states = isa.fresh()
    states["sgpr"][0][2:8] = [isa.MEMORY_ADDRESS & M32, isa.MEMORY_ADDRESS >> 32] * 2 + [24, 0]
    states["sgpr"][0][16:20] = [11, 12, 13, 14]
    suffix = f"x{dwords}" if dwords > 1 else ""
    data = "s16" if dwords == 1 else f"s[16:{15 + dwords}]"
    base = "s[4:7]" if "buffer" in form else "s[2:3]"
    after = isa.run([f"{form}{suffix} {data}, {base}, 0x10"], states, tmp_path_factory.mktemp("stores"))[0]
    last = 2 if "buffer" in form else dwords
    want = [11 + i if i < min(dwords, last) else 0 for i in range(4)]
    assert list(after["memory"][4:8]) == want


@pytest.mark.parametrize("line", ["s_store_dword s16, s[2:3], -0x10", "s_atomic_swap s16, s[2:3], -0x10"])
def test_scalar_writes_count_a_negative_offset_back(
    line: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    states = isa.fresh()
    address = isa.MEMORY_ADDRESS + 32
    states["sgpr"][0][2:4] = [address & M32, address >> 32]
    states["sgpr"][0][16] = 11
    after = isa.run([line], states, tmp_path_factory.mktemp("back"))[0]
    assert list(after["memory"][3:9]) == [0, 11, 0, 0, 0, 0]
