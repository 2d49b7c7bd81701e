"""Loads, stores, atomics, LDS and lane exchange: what arrives where, and that stray accesses stop the wave."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.emulator import isa_oracle as isa

LANES = np.arange(isa.LANES, dtype=np.uint32)
OUT_OF_BOUNDS, STACK_OVERFLOW = 1, 5


def state(seed: int = 1) -> np.ndarray:
    """All memories random; v[2:3] points to memory + 4 * lane, v4 = 4 * lane, s[2:3] to memory."""
    rng = np.random.default_rng(seed)
    states = isa.fresh()
    for field in ("memory", "lds", "scratch", "vgpr"):
        states[field] = rng.integers(0, 2**32, size=states[field].shape, dtype=np.uint32)
    pointers = np.uint64(isa.MEMORY_ADDRESS) + 4 * LANES.astype(np.uint64)
    states["vgpr"][0][2] = pointers & np.uint64(0xFFFFFFFF)
    states["vgpr"][0][3] = pointers >> np.uint64(32)
    states["vgpr"][0][4] = 4 * LANES
    states["sgpr"][0][2] = isa.MEMORY_ADDRESS & 0xFFFFFFFF
    states["sgpr"][0][3] = isa.MEMORY_ADDRESS >> 32
    return states


def after(lines: Sequence[str], states: np.ndarray, folder: Path) -> np.void:
    states["count"] = len(lines)
    done: np.void = isa.run(lines, states, folder)[0]
    return done


def as_bytes(words: np.ndarray) -> bytes:
    return words.astype("<u4").tobytes()


LOADS = {"ubyte": "<B", "sbyte": "<b", "ushort": "<H", "sshort": "<h", "dword": "<I"}


@pytest.mark.parametrize("name", LOADS)
@pytest.mark.parametrize("mask", [2**64 - 1, 0xF0F0_1234_8000_0001])
def test_every_address_form_loads_the_same(name: str, mask: int, tmp_path: Path) -> None:
    states = state()
    states["sgpr"][0][isa.EXEC : isa.EXEC + 2] = [mask & 0xFFFFFFFF, mask >> 32]
    before = states.copy()
    done = after(
        [
            f"global_load_{name} v10, v[2:3], off offset:8",
            f"global_load_{name} v11, v4, s[2:3] offset:8",
            f"flat_load_{name} v12, v[2:3] offset:8",
        ],
        states,
        tmp_path,
    )
    data = as_bytes(before["memory"][0])
    for lane in range(isa.LANES):
        (value,) = struct.unpack_from(LOADS[name], data, 4 * lane + 8)
        for register in (10, 11, 12):
            lit = mask >> lane & 1
            want = value & 0xFFFFFFFF if lit else int(before["vgpr"][0][register][lane])
            assert int(done["vgpr"][register][lane]) == want, (register, lane)


@pytest.mark.parametrize("dwords", [2, 3, 4])
def test_wide_loads_and_stores(dwords: int, tmp_path: Path) -> None:
    states = state()
    states["vgpr"][0][4] = 16 * LANES
    before = states.copy()
    done = after(
        [
            f"global_load_dwordx{dwords} v[10:{9 + dwords}], v4, s[2:3]",
            f"global_store_dwordx{dwords} v4, v[20:{19 + dwords}], s[2:3] offset:2048",
        ],
        limited(states),
        tmp_path,
    )
    memory = before["memory"][0]
    for lane in range(32):
        for d in range(dwords):
            assert done["vgpr"][10 + d][lane] == memory[lane * 4 + d]
            assert done["memory"][512 + lane * 4 + d] == before["vgpr"][0][20 + d][lane]


def limited(states: np.ndarray) -> np.ndarray:
    """Only the lower half of the wave on: 64 lanes of 16 bytes would not fit twice."""
    states["sgpr"][0][isa.EXEC + 1] = 0
    return states


def test_contiguous_and_scattered_stores(tmp_path: Path) -> None:
    states = state()
    order = np.random.default_rng(3).permutation(isa.LANES).astype(np.uint32)
    states["vgpr"][0][5] = 4 * order
    before = states.copy()
    done = after(
        [
            "global_store_dword v4, v10, s[2:3]",
            "global_store_dword v5, v11, s[2:3] offset:256",
            "global_store_byte v4, v12, s[2:3] offset:513",
            "global_store_short_d16_hi v4, v13, s[2:3] offset:768",
        ],
        states,
        tmp_path,
    )
    start, memory = before["vgpr"][0], done["memory"]
    assert np.array_equal(memory[:64], start[10])
    assert np.array_equal(memory[64:128][order], start[11])
    assert np.array_equal(
        memory[128:192], (before["memory"][0][128:192] & 0xFFFF00FF) | (start[12] & 255) << 8
    )
    assert np.array_equal(memory[192:256], (before["memory"][0][192:256] & 0xFFFF0000) | start[13] >> 16)


def test_half_register_loads_keep_the_other_half(tmp_path: Path) -> None:
    states = state()
    before = states.copy()
    done = after(
        ["global_load_short_d16 v10, v[2:3], off", "global_load_short_d16_hi v11, v[2:3], off"],
        states,
        tmp_path,
    )
    low = before["memory"][0][:64] & 0xFFFF
    assert np.array_equal(done["vgpr"][10], (before["vgpr"][0][10] & 0xFFFF0000) | low)
    assert np.array_equal(done["vgpr"][11], (before["vgpr"][0][11] & 0xFFFF) | low << 16)


def test_scalar_loads(tmp_path: Path) -> None:
    states = state()
    states["sgpr"][0][4] = 8
    before = states.copy()
    done = after(
        [
            "s_load_dword s8, s[2:3], 0x10",
            "s_load_dwordx2 s[10:11], s[2:3], s4",
            "s_load_dwordx8 s[16:23], s[2:3], s4 offset:0x20",
        ],
        states,
        tmp_path,
    )
    memory = before["memory"][0]
    assert done["sgpr"][8] == memory[4]
    assert list(done["sgpr"][10:12]) == list(memory[2:4])
    assert list(done["sgpr"][16:24]) == list(memory[10:18])


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("global_load_dword v10, v[2:3], off offset:3844", OUT_OF_BOUNDS),
        ("global_store_dword v[2:3], v10, off offset:3844", OUT_OF_BOUNDS),
        ("global_load_dwordx2 v[10:11], v[2:3], off offset:3840", OUT_OF_BOUNDS),
        ("global_load_dword v10, v[2:3], off offset:-4", OUT_OF_BOUNDS),
        ("global_atomic_add v[2:3], v10, off offset:3844", OUT_OF_BOUNDS),
        ("flat_load_dword v10, v[2:3] offset:3844", OUT_OF_BOUNDS),
        ("s_load_dword s8, s[2:3], 0x1000", OUT_OF_BOUNDS),
        ("ds_read_b32 v10, v4 offset:3844", OUT_OF_BOUNDS),
        ("ds_write_b64 v4, v[10:11] offset:3840", OUT_OF_BOUNDS),
        ("scratch_load_dword v10, off, off offset:64", STACK_OVERFLOW),
        ("scratch_store_dwordx2 off, v[10:11], off offset:60", STACK_OVERFLOW),
    ],
)
def test_a_stray_access_stops_the_wave_and_changes_nothing(line: str, fault: int, tmp_path: Path) -> None:
    states = state()
    before = states.copy()
    done = after([line], states, tmp_path)
    assert done["step"] == isa.STEP_FAULT
    assert done["fault"] == fault
    for field in ("vgpr", "memory", "lds", "scratch"):
        assert np.array_equal(done[field], before[field][0]), field


def test_a_lane_that_is_off_may_hold_any_address(tmp_path: Path) -> None:
    states = state()
    states["vgpr"][0][3][7] = 0xDEAD
    states["sgpr"][0][isa.EXEC] = 0xFFFFFFFF & ~(1 << 7)
    done = after(["global_load_dword v10, v[2:3], off"], states, tmp_path)
    assert done["step"] == isa.STEP_NEXT


ATOMICS: dict[str, Callable[[int, int], int]] = {
    "add": lambda m, d: m + d,
    "sub": lambda m, d: m - d,
    "and": lambda m, d: m & d,
    "or": lambda m, d: m | d,
    "xor": lambda m, d: m ^ d,
    "swap": lambda m, d: d,
    "umin": min,
    "umax": max,
    "inc": lambda m, d: 0 if m >= d else m + 1,
    "dec": lambda m, d: d if m == 0 or m > d else m - 1,
}


@pytest.mark.parametrize("name", ATOMICS)
@pytest.mark.parametrize("wide", [False, True])
def test_lanes_update_one_address_in_turn(name: str, wide: bool, tmp_path: Path) -> None:
    """Lanes share four cells; each gets the value that the lane before left."""
    width = 64 if wide else 32
    states = state(seed=5)
    states["vgpr"][0][4] = 8 * (LANES % 4)
    before = states.copy()
    suffix, data, old = ("_x2", "v[10:11]", "v[12:13]") if wide else ("", "v10", "v12")
    done = after([f"global_atomic_{name}{suffix} {old}, v4, {data}, s[2:3] sc0"], states, tmp_path)
    cells = [word(before["memory"][0], 2 * c, wide) for c in range(4)]
    for lane in range(isa.LANES):
        operand = lane_value(before["vgpr"][0], 10, lane, wide)
        assert lane_value(done["vgpr"], 12, lane, wide) == cells[lane % 4]
        cells[lane % 4] = ATOMICS[name](cells[lane % 4], operand) & ((1 << width) - 1)
    assert [word(done["memory"], 2 * c, wide) for c in range(4)] == cells


def word(words: np.ndarray, index: int, wide: bool) -> int:
    return int(words[index]) | (int(words[index + 1]) << 32 if wide else 0)


def lane_value(vgpr: np.ndarray, row: int, lane: int, wide: bool) -> int:
    return int(vgpr[row][lane]) | (int(vgpr[row + 1][lane]) << 32 if wide else 0)


def test_signed_minimum_and_float_addition(tmp_path: Path) -> None:
    states = state()
    states["vgpr"][0][4] = 0
    states["vgpr"][0][5] = 8
    states["memory"][0][:4] = [5, 0, 0, 0]
    numbers = np.arange(isa.LANES, dtype=np.int32) - 40
    states["vgpr"][0][10] = numbers.view(np.uint32)
    states["vgpr"][0][11] = numbers.astype(np.float32).view(np.uint32)
    done = after(
        ["global_atomic_smin v4, v10, s[2:3]", "global_atomic_add_f32 v5, v11, s[2:3]"], states, tmp_path
    )
    assert done["memory"][0] == 0xFFFFFFFF & -40
    assert isa.decode(int(done["memory"][2]), "f32") == float(numbers.sum())


def test_compare_and_swap_takes_the_expected_value_second(tmp_path: Path) -> None:
    states = state()
    before = states.copy()
    states["vgpr"][0][11] = np.where(LANES % 2 == 0, before["memory"][0][:64], before["memory"][0][:64] ^ 1)
    done = after(["global_atomic_cmpswap v12, v4, v[10:11], s[2:3] sc0"], states, tmp_path)
    assert np.array_equal(done["vgpr"][12], before["memory"][0][:64])
    want = np.where(LANES % 2 == 0, before["vgpr"][0][10], before["memory"][0][:64])
    assert np.array_equal(done["memory"][:64], want)


def test_lds_forms(tmp_path: Path) -> None:
    states = state()
    before = states.copy()
    done = after(
        [
            "ds_read_b32 v10, v4 offset:16",
            "ds_read2_b32 v[12:13], v4 offset0:3 offset1:40",
            "ds_read2st64_b32 v[14:15], v4 offset1:2",
            "ds_read_i8 v16, v4 offset:1",
            "ds_write_b32 v4, v20 offset:2048",
            "ds_write2_b32 v4, v21, v22 offset0:128 offset1:192",
            "ds_write_b16 v4, v23 offset:2306",
            "ds_add_rtn_u32 v17, v4, v24 offset:2560",
            "ds_cmpst_rtn_b32 v18, v4, v25, v26 offset:2816",
        ],
        states,
        tmp_path,
    )
    lds, vgpr = before["lds"][0], before["vgpr"][0]
    assert done["step"] == isa.STEP_NEXT
    assert np.array_equal(done["vgpr"][10], lds[4:68])
    assert np.array_equal(done["vgpr"][12], lds[3:67])
    assert np.array_equal(done["vgpr"][13], lds[40:104])
    assert np.array_equal(done["vgpr"][14], lds[:64])
    assert np.array_equal(done["vgpr"][15], lds[128:192])
    assert np.array_equal(done["vgpr"][16].view(np.int32), (lds[:64] >> 8).astype(np.int8).astype(np.int32))
    assert np.array_equal(done["lds"][512:576], vgpr[20])
    assert np.array_equal(done["lds"][128:192], vgpr[21])
    assert np.array_equal(done["lds"][192:256], vgpr[22])
    assert np.array_equal(done["lds"][576:640] >> 16, vgpr[23] & 0xFFFF)
    assert np.array_equal(done["vgpr"][17], lds[640:704])
    assert np.array_equal(done["lds"][640:704], lds[640:704] + vgpr[24])
    assert np.array_equal(done["lds"][704:768], np.where(lds[704:768] == vgpr[25], vgpr[26], lds[704:768]))


def test_generic_pointers_reach_lds_and_scratch(tmp_path: Path) -> None:
    states = state()
    high = np.array([isa.MEMORY_ADDRESS >> 32, 0x00010000, 0x00020000], dtype=np.uint32)
    states["vgpr"][0][3] = high[LANES % 3]
    states["vgpr"][0][2] = np.choose(
        LANES % 3, [states["vgpr"][0][2], 4 * LANES, np.full(isa.LANES, 12, dtype=np.uint32)]
    )
    before = states.copy()
    done = after(["flat_load_dword v10, v[2:3]", "flat_store_dword v[2:3], v11"], states, tmp_path)
    for lane in range(isa.LANES):
        field = ("memory", "lds", "scratch")[lane % 3]
        old, new = before[field][0], done[field]
        place = (lane, 3) if lane % 3 == 2 else lane
        assert done["vgpr"][10][lane] == old[place]
        assert new[place] == before["vgpr"][0][11][lane]


def test_scratch_belongs_to_the_lane(tmp_path: Path) -> None:
    states = state()
    states["sgpr"][0][8] = 8
    states["vgpr"][0][5] = 4 * (LANES % 4)
    before = states.copy()
    done = after(
        [
            "scratch_load_dwordx2 v[10:11], off, s8 offset:4",
            "scratch_load_dword v12, v5, off",
            "scratch_store_dword v5, v13, off offset:32",
        ],
        states,
        tmp_path,
    )
    scratch = before["scratch"][0]
    assert np.array_equal(done["vgpr"][10], scratch[:, 3])
    assert np.array_equal(done["vgpr"][11], scratch[:, 4])
    assert np.array_equal(done["vgpr"][12], scratch[LANES, LANES % 4])
    assert np.array_equal(done["scratch"][LANES, 8 + LANES % 4], before["vgpr"][0][13])


def test_buffer_accesses_stop_at_the_end_of_their_descriptor(tmp_path: Path) -> None:
    states = state()
    states["sgpr"][0][4:8] = [isa.MEMORY_ADDRESS & 0xFFFFFFFF, isa.MEMORY_ADDRESS >> 32, 200, 0x00027000]
    states["sgpr"][0][8] = 16
    before = states.copy()
    done = after(
        [
            "buffer_load_dword v10, v4, s[4:7], 0 offen offset:8",
            "buffer_load_dword v11, v4, s[4:7], s8 offen",
            "buffer_store_dword v12, v4, s[4:7], 0 offen",
        ],
        states,
        tmp_path,
    )
    memory, vgpr = before["memory"][0], before["vgpr"][0]
    assert np.array_equal(done["vgpr"][10], np.where(LANES * 4 + 12 <= 200, memory[2:66], 0))
    assert np.array_equal(done["vgpr"][11], np.where(LANES < 50, memory[4:68], 0))
    assert np.array_equal(done["memory"][:64], np.where(LANES < 50, vgpr[12], memory[:64]))


def test_loads_straight_to_lds(tmp_path: Path) -> None:
    states = state()
    states["sgpr"][0][isa.M0] = 512
    before = states.copy()
    done = after(
        ["global_load_lds_dword v[2:3], off", "ds_wrxchg2_rtn_b32 v[10:11], v4, v10, v11 offset1:64"],
        states,
        tmp_path,
    )
    lds, vgpr = before["lds"][0], before["vgpr"][0]
    assert np.array_equal(done["lds"][128:192], before["memory"][0][:64])
    assert np.array_equal(done["vgpr"][10], lds[:64])
    assert np.array_equal(done["vgpr"][11], lds[64:128])
    assert np.array_equal(done["lds"][:64], vgpr[10])
    assert np.array_equal(done["lds"][64:128], vgpr[11])


def test_lane_exchange(tmp_path: Path) -> None:
    states = state()
    states["sgpr"][0][8] = 37
    states["sgpr"][0][9] = 0x12345678
    mask = 0xFFFF_0000_FFFF_FFF8
    states["sgpr"][0][isa.EXEC : isa.EXEC + 2] = [mask & 0xFFFFFFFF, mask >> 32]
    states["vgpr"][0][5] = 4 * ((LANES * 5 + 3) % 64)
    before = states.copy()
    done = after(
        [
            "v_readfirstlane_b32 s10, v20",
            "v_readlane_b32 s11, v20, s8",
            "v_readlane_b32 s12, v20, 63",
            "v_writelane_b32 v21, s9, 5",
            "v_mbcnt_lo_u32_b32 v22, -1, 0",
            "v_mbcnt_hi_u32_b32 v22, -1, v22",
            "ds_bpermute_b32 v23, v5, v20",
            "v_accvgpr_write_b32 a3, v20",
            "v_accvgpr_read_b32 v24, a3",
        ],
        states,
        tmp_path,
    )
    source = before["vgpr"][0][20]
    on = np.array([mask >> lane & 1 for lane in range(isa.LANES)], dtype=bool)
    assert list(done["sgpr"][10:13]) == [source[3], source[37], source[63]]
    assert done["vgpr"][21][5] == 0x12345678
    assert np.array_equal(done["vgpr"][22][on], LANES[on])
    chosen = (LANES * 5 + 3) % 64
    assert np.array_equal(done["vgpr"][23][on], np.where(on[chosen], source[chosen], 0)[on])
    assert np.array_equal(done["agpr"][3][on], source[on])
    assert np.array_equal(done["vgpr"][24][on], source[on])


def row(lane: int) -> int:
    return lane & ~15


DPP: dict[str, Callable[[int], int | None]] = {
    "quad_perm:[3,1,0,2]": lambda i: i & ~3 | (3, 1, 0, 2)[i & 3],
    "row_shl:3": lambda i: i + 3 if i % 16 + 3 < 16 else None,
    "row_shr:5": lambda i: i - 5 if i % 16 >= 5 else None,
    "row_ror:4": lambda i: row(i) | (i - 4) % 16,
    "row_mirror": lambda i: row(i) | 15 - i % 16,
    "row_half_mirror": lambda i: i & ~7 | 7 - i % 8,
    "row_bcast:15": lambda i: row(i) - 1 if i > 15 else None,
    "row_bcast:31": lambda i: 31 if i > 31 else None,
    "row_newbcast:6": lambda i: row(i) | 6,
    "wave_shr:1": lambda i: i - 1 if i else None,
    "wave_ror:1": lambda i: (i - 1) % 64,
}


@pytest.mark.parametrize("control", DPP)
@pytest.mark.parametrize("bound", ["", " bound_ctrl:0"])
def test_dpp_moves_lanes(control: str, bound: str, tmp_path: Path) -> None:
    states = state()
    before = states.copy()
    masks = "row_mask:0x7 bank_mask:0xd"
    done = after([f"v_add_u32_dpp v10, v20, v21 {control} {masks}{bound}"], states, tmp_path)
    vgpr = before["vgpr"][0]
    for lane in range(isa.LANES):
        source = DPP[control](lane)
        chosen = 0x7 >> lane // 16 & 1 and 0xD >> lane % 16 // 4 & 1
        if not chosen or (source is None and not bound):
            want = int(vgpr[10][lane])
        else:
            want = (0 if source is None else int(vgpr[20][source])) + int(vgpr[21][lane]) & 0xFFFFFFFF
        assert int(done["vgpr"][10][lane]) == want, lane


def test_matrix_product(tmp_path: Path) -> None:
    rng = random.Random(3)
    a = [[rng.randint(-9, 9) for _ in range(2)] for _ in range(32)]
    b = [[rng.randint(-9, 9) for _ in range(32)] for _ in range(2)]
    states = isa.fresh()
    states["vgpr"][0][0] = [isa.encode(float(a[lane % 32][lane // 32]), "f32") for lane in range(isa.LANES)]
    states["vgpr"][0][1] = [isa.encode(float(b[lane // 32][lane % 32]), "f32") for lane in range(isa.LANES)]
    done = after(["v_mfma_f32_32x32x2_f32 a[0:15], v0, v1, 1.0"], states, tmp_path)
    for i in range(32):
        for j in range(32):
            lane, register = j + 32 * (i // 4 % 2), i % 4 + 4 * (i // 8)
            want = 1 + sum(a[i][k] * b[k][j] for k in range(2))
            assert isa.decode(int(done["agpr"][register][lane]), "f32") == want, (i, j)
