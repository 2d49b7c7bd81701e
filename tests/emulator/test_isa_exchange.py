"""Values that cross lanes through LDS hardware or change places between registers."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from tests.emulator import isa_oracle as isa

MASK = 0xFFFF_0FF7_A5A5_FFFF
LIVE = [lane for lane in range(64) if MASK >> lane & 1]


def wave() -> np.ndarray:
    states = isa.fresh()
    rng = np.random.default_rng(3)
    states["sgpr"][0][isa.EXEC : isa.EXEC + 2] = [MASK & 0xFFFFFFFF, MASK >> 32]
    states["vgpr"][0] = rng.integers(0, 2**32, size=states["vgpr"][0].shape, dtype=np.uint32)
    states["agpr"][0] = rng.integers(0, 2**32, size=states["agpr"][0].shape, dtype=np.uint32)
    return states


@pytest.mark.parametrize("offset", [0, 20])
def test_forward_permute_gives_each_lane_what_the_highest_sender_sends(offset: int, tmp_path: Path) -> None:
    states = wave()
    rng = random.Random(offset)
    to = [rng.randrange(40) for _ in range(64)]  # some lanes get several values, others none
    states["vgpr"][0][1] = [(4 * lane - offset) & 0xFFFFFFFF for lane in to]
    after = isa.run([f"ds_permute_b32 v0, v1, v2 offset:{offset}"], states, tmp_path)[0]
    want = dict.fromkeys(range(64), 0)
    for lane in LIVE:
        want[to[lane]] = int(states["vgpr"][0][2][lane])
    for lane in range(64):
        expected = want[lane] if lane in LIVE else states["vgpr"][0][0][lane]
        assert after["vgpr"][0][lane] == expected, lane


def quad(a: int, b: int, c: int, d: int) -> dict[int, int]:
    return {lane: (lane & ~3) | (a, b, c, d)[lane & 3] for lane in range(64)}


def halves(keep: int, put: int, flip: int) -> dict[int, int]:
    return {lane: lane & 32 | ((lane & 31 & keep | put) ^ flip) for lane in range(64)}


def turned(count: int, mask: int) -> dict[int, int]:
    """Rotation to the left within 32 lanes of the bits that the mask leaves free."""
    return {lane: lane & 32 | lane & mask | lane + count & 31 & ~mask for lane in range(64)}


SWIZZLES = [
    ("swizzle(QUAD_PERM,3,0,2,2)", quad(3, 0, 2, 2)),
    ('swizzle(BITMASK_PERM,"pi01i")', halves(0b11001, 0b00010, 0b01001)),
    ("swizzle(BROADCAST,8,5)", halves(0b11000, 5, 0)),
    ("swizzle(SWAP,16)", halves(31, 0, 16)),
    ("swizzle(REVERSE,8)", halves(31, 0, 7)),
    (f"{0xC000 | 3 << 5}", turned(3, 0)),
    (f"{0xC000 | 1 << 10 | 5 << 5}", turned(-5, 0)),
    (f"{0xC000 | 9 << 5 | 3}", turned(9, 3)),
]


@pytest.mark.parametrize(("pattern", "source"), SWIZZLES, ids=[p for p, _ in SWIZZLES])
def test_swizzle(pattern: str, source: dict[int, int], tmp_path: Path) -> None:
    states = wave()
    after = isa.run([f"ds_swizzle_b32 v0, v1 offset:{pattern}"], states, tmp_path)[0]
    for lane in range(64):
        sent = int(states["vgpr"][0][1][source[lane]]) if source[lane] in LIVE else 0
        assert after["vgpr"][0][lane] == (sent if lane in LIVE else states["vgpr"][0][0][lane]), lane


def test_registers_change_places_in_live_lanes(tmp_path: Path) -> None:
    states = wave()
    lines = ["v_swap_b32 v0, v1", "v_accvgpr_mov_b32 a0, a1", "s_endpgm"]
    states["count"] = 3
    after = isa.run(lines, states, tmp_path)[0]
    for lane in range(64):
        old = [int(states["vgpr"][0][r][lane]) for r in (0, 1)]
        assert [int(after["vgpr"][r][lane]) for r in (0, 1)] == (old[::-1] if lane in LIVE else old)
        was, other = (int(states["agpr"][0][r][lane]) for r in (0, 1))
        assert after["agpr"][0][lane] == (other if lane in LIVE else was)
