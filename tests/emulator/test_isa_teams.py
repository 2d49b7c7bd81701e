"""Memory accesses with a pattern within each sixteen lanes, and results that overwrite their sources.

Both have a quick way of their own, which must give what lane after lane gives.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.emulator import isa_oracle as isa
from tests.emulator.test_isa_memory import LANES, OUT_OF_BOUNDS, after, state

TEAM, IN_TEAM = LANES // 16, LANES % 16
BYTES = {1: "b32", 2: "b64", 3: "b96", 4: "b128"}


def offsets(pattern: str, dwords: int) -> np.ndarray:
    """Byte offsets of the lanes: as a tile of sixteen columns is read, by rows, by columns, and in other ways."""
    step = {"same": 0, "elements": 4 * dwords, "dwords": 4}.get(pattern)
    if step is not None:
        return np.asarray(TEAM * 272 + IN_TEAM * step)
    if pattern == "mixed":
        steps = np.array([0, 4 * dwords, 4, 8])
        return np.asarray(TEAM * 272 + IN_TEAM * steps[TEAM])
    broken = offsets("elements", dwords)
    broken[[9, 40]] = broken[[40, 9]]
    return broken


@pytest.mark.parametrize("pattern", ["same", "elements", "dwords", "mixed", "broken"])
@pytest.mark.parametrize("dwords", [1, 2, 3, 4])
@pytest.mark.parametrize("mask", [2**64 - 1, 0xFFFF_0FF0_FFFF_FFFE])
def test_patterns_within_sixteen_lanes(pattern: str, dwords: int, mask: int, tmp_path: Path) -> None:
    states = state()
    where = offsets(pattern, dwords).astype(np.uint32)
    states["vgpr"][0][4] = where
    states["sgpr"][0][isa.EXEC : isa.EXEC + 2] = [mask & 0xFFFFFFFF, mask >> 32]
    before = states[0].copy()
    suffix = "dword" if dwords == 1 else f"dwordx{dwords}"
    done = after(
        [
            f"global_load_{suffix} v[10:{9 + dwords}], v4, s[2:3]",
            f"ds_read_{BYTES[dwords]} v[20:{19 + dwords}], v4",
            "ds_read2_b32 v[26:27], v4 offset0:1 offset1:3",
            f"global_store_{suffix} v4, v[30:{29 + dwords}], s[2:3]",
            f"ds_write_{BYTES[dwords]} v4, v[40:{39 + dwords}]",
        ],
        states,
        tmp_path,
    )
    stored = {"memory": before["memory"].copy(), "lds": before["lds"].copy()}
    for lane in range(isa.LANES):
        word, lit = int(where[lane]) // 4, mask >> lane & 1
        for d in range(dwords):
            for register, source in ((10, "memory"), (20, "lds")):
                want = before[source][word + d] if lit else before["vgpr"][register + d][lane]
                assert done["vgpr"][register + d][lane] == want, (register, lane, d)
            if lit:
                stored["memory"][word + d] = before["vgpr"][30 + d][lane]
                stored["lds"][word + d] = before["vgpr"][40 + d][lane]
        for register, far in ((26, 1), (27, 3)):
            want = before["lds"][word + far] if lit else before["vgpr"][register][lane]
            assert done["vgpr"][register][lane] == want, (register, lane)
    for name, words in stored.items():
        assert np.array_equal(done[name], words), name


@pytest.mark.parametrize("pattern", ["same", "elements", "mixed"])
def test_two_addresses_in_any_order_negative_registers_and_a_result_over_the_addresses(
    pattern: str, tmp_path: Path
) -> None:
    states = state()
    where = offsets(pattern, 1)
    states["vgpr"][0][4] = where.astype(np.uint32)
    states["vgpr"][0][5] = (where - 64).astype(
        np.uint32
    )  # of the first sixteen lanes negative, without the offset
    states["vgpr"][0][6] = where.astype(np.uint32)
    before = states[0].copy()
    done = after(
        [
            "ds_read2_b32 v[20:21], v4 offset0:9 offset1:2",
            "ds_read2_b64 v[22:25], v4 offset0:3 offset1:1",
            "ds_read_b32 v26, v5 offset:64",
            "ds_read2_b32 v[6:7], v6 offset0:4 offset1:20",
        ],
        states,
        tmp_path,
    )
    words = where // 4
    for register, far in {20: 9, 21: 2, 22: 6, 23: 7, 24: 2, 25: 3, 26: 0, 6: 4, 7: 20}.items():
        assert np.array_equal(done["vgpr"][register], before["lds"][words + far]), register


def test_a_second_address_behind_the_end_of_lds_stops_the_wave(tmp_path: Path) -> None:
    states = state()
    end = states["lds"].shape[1] * 4
    states["vgpr"][0][4] = (end - 64 - 4 * 5 + 4 * IN_TEAM).astype(np.uint32)
    before = states[0].copy()
    inside = after(["ds_read2_b32 v[10:11], v4 offset0:5 offset1:1"], states.copy(), tmp_path)
    assert np.array_equal(inside["vgpr"][10], before["lds"][(end - 64) // 4 + IN_TEAM])
    outside = after(["ds_read2_b32 v[10:11], v4 offset0:6 offset1:1"], states, tmp_path)
    assert outside["fault"] == OUT_OF_BOUNDS
    assert np.array_equal(outside["vgpr"], before["vgpr"])


def test_a_team_that_runs_over_the_end_stops_the_wave_and_changes_nothing(tmp_path: Path) -> None:
    states = state()
    end = states["memory"].shape[1] * 4
    where = (
        np.array([0, 1024, 2048, end - 40])[TEAM] + 4 * IN_TEAM
    )  # ten of the last sixteen lanes are inside
    states["vgpr"][0][4] = where.astype(np.uint32)
    before = states[0].copy()
    done = after(["global_load_dword v10, v4, s[2:3]"], states, tmp_path)
    assert done["fault"] == OUT_OF_BOUNDS
    assert np.array_equal(done["vgpr"], before["vgpr"])


@pytest.mark.parametrize("mask", [2**64 - 1, 0x5555_5555_0000_FFFF])
def test_results_that_overwrite_their_sources_keep_the_rule_for_nans(mask: int, tmp_path: Path) -> None:
    states = state()
    numbers = np.linspace(-3, 5, isa.LANES, dtype=np.float32)
    row = numbers.view(np.uint32).copy()
    row[17], row[40] = 0x7F812345, 0xFFC54321  # signalling, quiet
    plain = numbers.view(np.uint32)
    for register, values in ((10, row), (11, plain), (12, row), (13, plain), (14, plain), (15, row)):
        states["vgpr"][0][register] = values
    states["sgpr"][0][isa.EXEC : isa.EXEC + 2] = [mask & 0xFFFFFFFF, mask >> 32]
    before = states[0].copy()
    done = after(
        ["v_mul_f32 v10, v10, v11", "v_mul_f32 v11, v11, v11", "v_pk_mul_f32 v[14:15], v[14:15], v[12:13]"],
        states,
        tmp_path,
    )
    for lane in range(isa.LANES):
        lit, square = mask >> lane & 1, (numbers * numbers).view(np.uint32)[lane]
        with_nan = {17: 0x7FC12345, 40: 0xFFC54321}.get(lane, square)
        for register, want in ((10, with_nan), (11, square), (14, with_nan), (15, with_nan)):
            expected = want if lit else before["vgpr"][register][lane]
            assert done["vgpr"][register][lane] == expected, (register, lane)


SIGNALLING, QUIET = 0x7F812345, 0xFFC54321


@pytest.mark.parametrize("mask", [2**64 - 1, 0x5555_5555_0000_FFFF])
def test_of_two_nans_the_first_operand_of_the_operation_counts(mask: int, tmp_path: Path) -> None:
    states = state()
    ones = np.full(isa.LANES, np.float32(1)).view(np.uint32)
    for register, nan in ((10, SIGNALLING), (11, QUIET), (12, 0x7FC00099)):
        states["vgpr"][0][register] = ones
        states["vgpr"][0][register][21] = nan
    states["sgpr"][0][4:6] = [QUIET, SIGNALLING]
    states["sgpr"][0][isa.EXEC : isa.EXEC + 2] = [mask & 0xFFFFFFFF, mask >> 32]
    infinity = ones.copy()
    infinity[21] = 0x7F800000
    states["vgpr"][0][13] = infinity
    before = states[0].copy()
    quieted = SIGNALLING | 0x00400000
    # what each gives in lane 21, and in the others: of the scalars, or of ones
    lines = {
        "v_add_f32 v20, v10, v11": (quieted, 0x40000000),
        "v_sub_f32 v21, v11, v10": (QUIET, 0),
        "v_subrev_f32 v22, v10, v11": (QUIET, 0),
        "v_subrev_f32 v23, s4, v10": (quieted, QUIET),
        "v_mul_f32 v24, s4, v10": (QUIET, QUIET),
        "v_fma_f32 v25, v13, v12, v11": (0x7FC00099, 0x40000000),
        "v_fma_f32 v26, v13, -v10, v11": (quieted | 0x80000000, 0),
        "v_sub_f32 v27, v13, v13": (0x7FC00000, 0),
        "v_fma_f32 v28, |v11|, v10, s5": (QUIET & 0x7FFFFFFF, quieted),
    }
    done = after([*lines, "v_pk_add_f32 v[30:31], v[10:11], s[4:5]"], states, tmp_path)
    results = {20 + n: wanted for n, wanted in enumerate(lines.values())}
    results |= {30: (quieted, QUIET), 31: (QUIET, quieted)}
    for register, (there, elsewhere) in results.items():
        for lane in range(isa.LANES):
            want = there if lane == 21 else elsewhere
            expected = want if mask >> lane & 1 else before["vgpr"][register][lane]
            assert done["vgpr"][register][lane] == expected, (register, lane)


@pytest.mark.parametrize("mask", [2**64 - 1, 0x5555_5555_0000_FFFF])
@pytest.mark.parametrize("chosen", range(16))
def test_packed_floats_come_from_the_chosen_dwords(chosen: int, mask: int, tmp_path: Path) -> None:
    low, high = (chosen & 1, chosen >> 1 & 1), (chosen >> 2 & 1, chosen >> 3 & 1)
    select = f"op_sel:[{low[0]},{low[1]}] op_sel_hi:[{high[0]},{high[1]}]"
    states = state()
    numbers = np.arange(1, 4 * isa.LANES + 1, dtype=np.float32).reshape(4, isa.LANES)
    states["vgpr"][0][10:14] = numbers.view(np.uint32)
    states["sgpr"][0][4:6] = np.array([3, 5], dtype=np.float32).view(np.uint32)
    states["sgpr"][0][isa.EXEC : isa.EXEC + 2] = [mask & 0xFFFFFFFF, mask >> 32]
    before = states[0].copy()
    lines = [
        f"v_pk_mul_f32 v[20:21], v[10:11], v[12:13] {select}",
        f"v_pk_add_f32 v[22:23], v[10:11], s[4:5] {select}",
        f"v_pk_mul_f32 v[10:11], v[10:11], v[12:13] {select}",  # a result on top of a source
    ]
    done = after(lines, states, tmp_path)
    for half, (first, second) in enumerate((low, high)):
        product = numbers[first] * numbers[2 + second]
        total = numbers[first] + np.float32(3 + 2 * second)
        for register, want in ((20, product), (22, total), (10, product)):
            for lane in range(isa.LANES):
                lit = mask >> lane & 1
                expected = want.view(np.uint32)[lane] if lit else before["vgpr"][register + half][lane]
                assert done["vgpr"][register + half][lane] == expected, (register + half, lane)
