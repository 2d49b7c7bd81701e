"""What changes a wave's course: execution masks, branches, calls, traps, clocks, registers chosen at run time."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.emulator import isa_oracle as isa

M64 = 0xFFFFFFFFFFFFFFFF
OUT, IN = 10, 12

# New EXEC of (source, EXEC); SCC says whether it is not zero. The first ones give the old EXEC, the others the new.
SAVE: dict[str, Callable[[int, int], int]] = {
    "s_and_saveexec_b64": lambda s, e: s & e,
    "s_or_saveexec_b64": lambda s, e: s | e,
    "s_xor_saveexec_b64": lambda s, e: s ^ e,
    "s_andn1_saveexec_b64": lambda s, e: ~s & e,
    "s_andn2_saveexec_b64": lambda s, e: s & ~e,
    "s_orn1_saveexec_b64": lambda s, e: ~s | e,
    "s_orn2_saveexec_b64": lambda s, e: s | ~e,
    "s_nand_saveexec_b64": lambda s, e: ~(s & e),
    "s_nor_saveexec_b64": lambda s, e: ~(s | e),
    "s_xnor_saveexec_b64": lambda s, e: ~(s ^ e),
}
WRITE: dict[str, Callable[[int, int], int]] = {
    "s_andn1_wrexec_b64": lambda s, e: ~s & e,
    "s_andn2_wrexec_b64": lambda s, e: s & ~e,
}


def put(state: np.void, index: int, value: int) -> None:
    state["sgpr"][index] = value & 0xFFFFFFFF
    state["sgpr"][index + 1] = value >> 32


def get(state: np.void, index: int) -> int:
    return int(state["sgpr"][index]) | int(state["sgpr"][index + 1]) << 32


def test_execution_masks(tmp_path: Path) -> None:
    masks = SAVE | WRITE
    lines = [f"{name} s[{OUT}:{OUT + 1}], s[{IN}:{IN + 1}]" for name in masks]
    rng = random.Random(17)
    pairs = [
        (0, M64),
        (M64, M64),
        (0, 0),
        (M64, 0),
        *((rng.getrandbits(64), rng.getrandbits(64)) for _ in range(12)),
    ]
    states = isa.fresh(len(lines) * len(pairs))
    for i, (source, exec_) in enumerate(pairs * len(lines)):
        states[i]["first"] = i // len(pairs)
        states[i]["scc"] = i & 1
        put(states[i], IN, source)
        put(states[i], isa.EXEC, exec_)
    after = isa.run(lines, states, tmp_path)
    for i, (source, exec_) in enumerate(pairs * len(lines)):
        name, function = list(masks.items())[i // len(pairs)]
        want = function(source, exec_) & M64
        assert get(after[i], isa.EXEC) == want, f"{name} of {source:#x}, EXEC {exec_:#x}"
        assert get(after[i], OUT) == (exec_ if name in SAVE else want), name
        assert after[i]["scc"] == (want != 0), name


BRANCHES: dict[str, Callable[[np.void], bool]] = {
    "s_branch": lambda state: True,
    "s_cbranch_scc0": lambda state: state["scc"] == 0,
    "s_cbranch_scc1": lambda state: state["scc"] != 0,
    "s_cbranch_vccz": lambda state: get(state, isa.VCC) == 0,
    "s_cbranch_vccnz": lambda state: get(state, isa.VCC) != 0,
    "s_cbranch_execz": lambda state: get(state, isa.EXEC) == 0,
    "s_cbranch_execnz": lambda state: get(state, isa.EXEC) != 0,
}


def test_branches_go_where_their_condition_says(tmp_path: Path) -> None:
    lines = []
    for number, name in enumerate(BRANCHES):
        lines += [f"{name} over{number}", "s_mov_b32 s0, 1", f"over{number}:", "s_mov_b32 s1, 1", "s_endpgm"]
    states = isa.fresh(len(BRANCHES) * 8)
    states["count"] = 10
    for i, state in enumerate(states):
        state["first"] = i // 8 * 4
        state["scc"] = i & 1
        put(state, isa.VCC, 1 << 40 if i & 2 else 0)
        put(state, isa.EXEC, 1 << 33 if i & 4 else 0)
    after = isa.run(lines, states, tmp_path)
    for i, (name, taken) in enumerate((n, f) for n, f in BRANCHES.items() for _ in range(8)):
        assert after[i]["step"] == isa.STEP_END
        assert after[i]["sgpr"][0] == (0 if taken(states[i]) else 1), f"{name}: case {i % 8}"
        assert after[i]["sgpr"][1] == 1, name


CALLS = """
s_getpc_b64 s[4:5]
s_add_u32 s4, s4, function-.
s_addc_u32 s5, s5, 0
s_swappc_b64 s[30:31], s[4:5]
s_add_u32 s1, s0, 100
s_call_b64 s[30:31], function
s_endpgm
function:
s_add_u32 s0, s0, 1
s_setpc_b64 s[30:31]
"""


def test_calls_come_back_behind_themselves(tmp_path: Path) -> None:
    states = isa.fresh()
    states["count"] = 100
    # the offset counts from behind s_getpc_b64, which ends where its successor begins
    after = isa.run(CALLS.strip().splitlines(), states, tmp_path)[0]
    assert after["step"] == isa.STEP_END
    assert list(after["sgpr"][:2]) == [2, 101]
    assert after["count"] == 11


def only(line: str, tmp_path: Path) -> np.void:
    """One instruction before a marker: the state afterwards."""
    states = isa.fresh()
    states["count"] = 2
    after: np.void = isa.run([line, "s_mov_b32 s1, 7", "s_endpgm"], states, tmp_path)[0]
    return after


@pytest.mark.parametrize(
    ("line", "step", "goes_on"),
    [
        ("s_trap 2", isa.STEP_FAULT, False),
        ("s_trap 3", isa.STEP_NEXT, True),  # the debugger's; there is none
        ("s_setkill 1", isa.STEP_END, False),
        ("s_setkill 0", isa.STEP_NEXT, True),
        ("s_endpgm_saved", isa.STEP_END, False),
        ("s_barrier", isa.STEP_NEXT, True),
    ],
)
def test_what_stops_a_wave(line: str, step: int, goes_on: bool, tmp_path: Path) -> None:
    after = only(line, tmp_path)
    assert after["step"] == step
    assert after["sgpr"][1] == (7 if goes_on else 0)


def test_a_barrier_hands_the_wave_to_its_workgroup(tmp_path: Path) -> None:
    states = isa.fresh()
    after = isa.run(["s_barrier", "s_endpgm"], states, tmp_path)[0]
    assert (after["step"], after["first"]) == (isa.STEP_BARRIER, 1)


def test_clocks_never_go_back_and_sleep_takes_time(tmp_path: Path) -> None:
    lines = [
        "s_memtime s[0:1]",
        "s_memrealtime s[4:5]",
        "s_sleep 127",
        "s_memtime s[2:3]",
        "s_memrealtime s[6:7]",
        "s_endpgm",
    ]
    states = isa.fresh()
    states["count"] = 10
    after = isa.run(lines, states, tmp_path)[0]
    assert after["step"] == isa.STEP_END
    assert get(after, 2) - get(after, 0) >= 127 * 64
    assert get(after, 6) > get(after, 4)


def test_mode_is_written_from_a_register(tmp_path: Path) -> None:
    lines = [
        "s_setreg_b32 hwreg(HW_REG_MODE, 4, 4), s0",
        "s_getreg_b32 s2, hwreg(HW_REG_MODE)",
        "s_endpgm",
    ]
    states = isa.fresh()
    states["count"] = 10
    states["sgpr"][0][0] = 0xFFFFFF05  # the field is four bits wide
    after = isa.run(lines, states, tmp_path)[0]
    want = isa.DEFAULT_MODE & ~0xF0 | 0x50
    assert (after["mode"], after["sgpr"][2]) == (want, want)


def test_scalar_registers_chosen_by_m0(tmp_path: Path) -> None:
    lines = [
        "s_movrels_b64 s[40:41], s[20:21]",
        "s_movreld_b32 s50, s22",
        "s_movreld_b64 s[60:61], s[24:25]",
        "s_endpgm",
    ]
    states = isa.fresh()
    states["count"] = 10
    states["sgpr"][0][20:30] = np.arange(20, 30)
    states["sgpr"][0][isa.M0] = 4
    after = isa.run(lines, states, tmp_path)[0]
    assert list(after["sgpr"][40:42]) == [24, 25]
    assert list(after["sgpr"][50:56]) == [0, 0, 0, 0, 22, 0]
    assert list(after["sgpr"][60:66]) == [0, 0, 0, 0, 24, 25]


def test_fields_of_the_vector_index(tmp_path: Path) -> None:
    lines = [
        "s_set_gpr_idx_on s0, gpr_idx(SRC0)",
        "s_set_gpr_idx_idx s1",
        "v_mov_b32_e32 v2, v8",
        "s_set_gpr_idx_mode gpr_idx(DST)",
        "v_mov_b32_e32 v3, v8",
        "s_set_gpr_idx_off",
        "s_endpgm",
    ]
    states = isa.fresh()
    states["count"] = 10
    states["sgpr"][0][:2] = [1, 0x305]  # only eight bits count
    states["sgpr"][0][isa.M0] = 0xABCD0000
    states["vgpr"][0][8] = 80
    states["vgpr"][0][13] = 130
    after = isa.run(lines, states, tmp_path)[0]
    assert after["step"] == isa.STEP_END
    assert after["vgpr"][2][0] == 130
    assert (after["vgpr"][8][0], after["vgpr"][3][0]) == (80, 0)
    assert after["sgpr"][isa.M0] == 0xABCD8005
