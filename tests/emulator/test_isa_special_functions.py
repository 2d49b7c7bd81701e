"""Results of the special functions that lie next to a boundary between two floats.

The emulator works them out quickly and looks again where that is too coarse. These inputs are some of those for which a
quick result that is not checked again comes out one unit off.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.emulator import isa_oracle as isa

PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")


def sine_of_turns(x: Decimal) -> Decimal:
    """sin(2 pi x), whole turns taken off first."""
    angle = (x - x.to_integral_value()) * 2 * PI
    term, total, k = angle, Decimal(0), 1
    while term != 0 and abs(term) > abs(angle) * Decimal("1e-50"):
        total += term
        k += 2
        term = -term * angle * angle / (k * (k - 1))
    return total


EXACT: dict[str, Callable[[Decimal], Decimal]] = {
    "exp": lambda x: Decimal(2) ** x,
    "log": lambda x: x.ln() / Decimal(2).ln(),
    "sin": sine_of_turns,
    "cos": lambda x: sine_of_turns(x + Decimal("0.25")),
}
NEAR_A_BOUNDARY = {
    "exp": [
        0x33B8AA3B,
        0x369EB23A,
        0x3A14E80A,
        0x3D84B350,
        0x3F69D7DE,
        0x41B4AF5D,
        0xB338A9E0,
        0xBE40DAD7,
        0xC2298FC5,
    ],
    "log": [0x3EA07AB9],
    "sin": [0x086B60E5, 0x206B60E5, 0x36971D0E, 0x3BDC0329, 0x8570F256, 0xAD70F256, 0xB43943EC, 0xB98AFE5B],
    "cos": [0x3822F984, 0x3D079F7E, 0xBBAC675B],
}


@pytest.mark.parametrize("name", NEAR_A_BOUNDARY)
def test_next_to_a_boundary_the_nearer_float_comes_out(name: str, tmp_path: Path) -> None:
    inputs = NEAR_A_BOUNDARY[name]
    states = isa.fresh(len(inputs))
    for state, raw in zip(
        states, inputs, strict=True
    ):  # alone in its wave: no other lane makes it look again
        state["vgpr"][2] = np.float32(0.3).view(np.uint32)
        state["vgpr"][2][11] = raw
    after = isa.run([f"v_{name}_f32_e32 v0, v2"], states, tmp_path)
    with localcontext() as context:
        context.prec = 60
        for state, raw in zip(after, inputs, strict=True):
            exact = EXACT[name](Decimal(float(np.uint32(raw).view(np.float32))))
            want = isa.encode(isa.rounded(Fraction(exact), "f32"), "f32")
            assert int(state["vgpr"][0][11]) == want, hex(raw)


def test_what_no_rounding_decides(tmp_path: Path) -> None:
    inf, minus_inf, nan, denormal = 0x7F800000, 0xFF800000, 0x7FC00000, 0x00000123
    rows = {
        "exp": {minus_inf: 0, inf: inf, 0xC3160000: 0, 0x80000000: 0x3F800000, 0x7F812345: 0x7FC12345},
        "log": {
            0: minus_inf,
            0x80000000: minus_inf,
            inf: inf,
            0xBF800000: nan,
            0x3F800000: 0,
            0xFFC54321: 0xFFC54321,
        },
        "sin": {
            0: 0,
            0x80000000: 0,
            inf: nan,
            minus_inf: nan,
            0x4B800001: 0,
            denormal: 0x724,
            0x7F812345: 0x7FC12345,
        },
        "rsq": {
            0: inf,
            0x80000000: minus_inf,
            inf: 0,
            minus_inf: nan,
            0xBF800000: nan,
            0x40800000: 0x3F000000,
            denormal: 0x62A9C8E0,
            0x7F812345: 0x7FC12345,
            0xFFC54321: 0xFFC54321,
        },
        "cos": {
            0xFF812345: 0xFFC12345,
            0: 0x3F800000,
            0x3E800000: 0,
            inf: nan,
            0x4B800001: 0x3F800000,
            denormal: 0x3F800000,
        },
    }
    for name, results in rows.items():
        states = isa.fresh(len(results))
        for state, raw in zip(states, results, strict=True):
            state["vgpr"][2] = np.float32(0.3).view(np.uint32)
            state["vgpr"][2][40] = raw
        after = isa.run([f"v_{name}_f32_e32 v0, v2"], states, tmp_path / name)
        for state, (raw, want) in zip(after, results.items(), strict=True):
            assert int(state["vgpr"][0][40]) == want, (name, hex(raw), hex(int(state["vgpr"][0][40])))
