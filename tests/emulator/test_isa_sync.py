"""LDS instructions addressed by M0 or lane number, and global wave sync as one wave sees it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.emulator import isa_oracle as isa

EVEN = 0x5555_5555


def wave(count: int) -> np.ndarray:
    states = isa.fresh()
    states["count"] = count
    states["lds"] = np.arange(1024) + 100
    states["sgpr"][0][isa.M0] = 64
    states["sgpr"][0][isa.EXEC : isa.EXEC + 2] = [EVEN, EVEN]
    states["vgpr"][0][1] = np.arange(64) + 7000
    return states


def test_counters_move_by_the_number_of_active_lanes(tmp_path: Path) -> None:
    lines = ["ds_append v2 offset:8", "ds_append v3 offset:8", "ds_consume v4 offset:8", "s_endpgm"]
    after = isa.run(lines, wave(4), tmp_path)[0]
    for register, want in ((2, 118), (3, 150), (4, 182)):
        assert list(after["vgpr"][register]) == [want, 0] * 32
    assert after["lds"][18] == 150


def test_addresses_by_lane(tmp_path: Path) -> None:
    lines = ["ds_read_addtid_b32 v2 offset:4", "ds_write_addtid_b32 v1 offset:1024", "s_endpgm"]
    after = isa.run(lines, wave(3), tmp_path)[0]
    assert list(after["vgpr"][2][::2]) == [117 + lane for lane in range(0, 64, 2)]
    assert list(after["lds"][272 : 272 + 64 : 2]) == [7000 + lane for lane in range(0, 64, 2)]
    assert list(after["lds"][273 : 272 + 64 : 2]) == [100 + 273 + lane for lane in range(0, 64, 2)]


def test_exchange_where_the_top_bit_is_set(tmp_path: Path) -> None:
    states = wave(1)
    states["vgpr"][0][4] = np.arange(64) * 8
    states["vgpr"][0][6] = 0x80000005
    states["vgpr"][0][7] = 9
    after = isa.run(["ds_condxchg32_rtn_b64 v[2:3], v4, v[6:7]"], states, tmp_path)[0]
    assert (after["vgpr"][2][4], after["vgpr"][3][4]) == (108, 109)
    assert (after["lds"][8], after["lds"][9]) == (5, 109)


def test_masked_distances_of_four_windows(tmp_path: Path) -> None:
    states = wave(1)
    window, reference = 0x0807060504030201, 0x0A000A01
    states["vgpr"][0][2], states["vgpr"][0][3] = window & 0xFFFFFFFF, window >> 32
    states["vgpr"][0][4] = reference
    for n in range(4):
        states["vgpr"][0][8 + n] = 1000 * n
    after = isa.run(["v_mqsad_u32_u8 v[12:15], v[2:3], v4, v[8:11]"], states, tmp_path)[0]
    for n in range(4):
        bytes_ = [window >> 8 * (n + i) & 255 for i in range(4)]
        masks = [reference >> 8 * i & 255 for i in range(4)]
        want = 1000 * n + sum(abs(x - y) for x, y in zip(bytes_, masks, strict=True) if y)
        assert after["vgpr"][12 + n][0] == want


def test_a_barrier_of_one_wave_opens_and_one_of_two_waits(tmp_path: Path) -> None:
    states = isa.fresh(2)
    states["count"] = 3
    states["vgpr"][1][0] = 1  # one more wave takes part
    lines = ["ds_gws_init v0 gds", "ds_gws_barrier v0 gds", "s_endpgm"]
    after = isa.run(lines, states, tmp_path)
    assert list(after["step"]) == [isa.STEP_END, isa.STEP_RETRY]
    assert after["first"][1] == 1  # it stands before the barrier


def test_a_semaphore_lets_as_many_pass_as_were_put_in(tmp_path: Path) -> None:
    states = isa.fresh()
    states["count"] = 20
    states["vgpr"][0][0] = 2
    take = ["ds_gws_sema_p gds"]
    lines = [
        "ds_gws_sema_v gds",
        "ds_gws_sema_br v0 gds",
        *take * 3,
        "ds_gws_sema_release_all gds",
        *take,
        "s_endpgm",
    ]
    after = isa.run(lines, states, tmp_path)[0]
    assert after["step"] == isa.STEP_RETRY
    assert after["first"] == 6  # the fourth taker waits
