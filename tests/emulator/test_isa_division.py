"""The instruction sequences that compilers emit for a division give the correctly rounded quotient."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from pathlib import Path

import pytest

from tests.emulator import isa_oracle as isa

# v[0:1] / v[2:3], as LLVM expands fdiv with denormals kept; the result is in v[20:21].
SINGLE = """
v_div_scale_f32 v4, s[0:1], v2, v2, v0
v_rcp_f32_e32 v5, v4
v_fma_f32 v6, -v4, v5, 1.0
v_fmac_f32_e32 v5, v6, v5
v_div_scale_f32 v7, vcc, v0, v2, v0
v_mul_f32_e32 v6, v7, v5
v_fma_f32 v8, -v4, v6, v7
v_fmac_f32_e32 v6, v8, v5
v_fma_f32 v4, -v4, v6, v7
v_div_fmas_f32 v4, v4, v5, v6
v_div_fixup_f32 v20, v4, v2, v0
s_endpgm
"""
DOUBLE = """
v_div_scale_f64 v[4:5], s[0:1], v[2:3], v[2:3], v[0:1]
v_rcp_f64_e32 v[6:7], v[4:5]
v_fma_f64 v[8:9], -v[4:5], v[6:7], 1.0
v_fmac_f64_e32 v[6:7], v[6:7], v[8:9]
v_fma_f64 v[8:9], -v[4:5], v[6:7], 1.0
v_fmac_f64_e32 v[6:7], v[6:7], v[8:9]
v_div_scale_f64 v[8:9], vcc, v[0:1], v[2:3], v[0:1]
v_mul_f64 v[10:11], v[8:9], v[6:7]
v_fma_f64 v[4:5], -v[4:5], v[10:11], v[8:9]
v_div_fmas_f64 v[4:5], v[4:5], v[6:7], v[10:11]
v_div_fixup_f64 v[20:21], v[4:5], v[2:3], v[0:1]
s_endpgm
"""
WAVES = 24


def quotient(a: float, b: float, kind: str) -> float:
    if math.isnan(a) or math.isnan(b) or (a == b == 0) or (math.isinf(a) and math.isinf(b)):
        return math.nan
    sign = math.copysign(1, a) * math.copysign(1, b)
    if b == 0 or math.isinf(a):
        return math.copysign(math.inf, sign)
    if a == 0 or math.isinf(b):
        return math.copysign(0.0, sign)
    return isa.rounded(Fraction(a) / Fraction(b), kind, sign < 0)


@pytest.mark.parametrize(("kind", "program"), [("f32", SINGLE), ("f64", DOUBLE)])
def test_quotients_are_correctly_rounded(kind: str, program: str, tmp_path: Path) -> None:
    rng = random.Random(11)
    states = isa.fresh(WAVES)
    states["count"] = 20
    operands = []
    for wave in range(WAVES):
        # Corner by corner, random by random, and random patterns of every exponent.
        a, b = (
            isa.operand_bits(kind, 64, rng, wave % 3 == 0)
            if wave % 3 < 2
            else [isa.quieted(rng.getrandbits(isa.WIDTH[kind]), kind) for _ in range(64)]
            for _ in range(2)
        )
        operands.append((a, b))
        for first, bits in ((0, a), (2, b)):
            states["vgpr"][wave][first] = [v & 0xFFFFFFFF for v in bits]
            states["vgpr"][wave][first + 1] = [v >> 32 for v in bits]
    after = isa.run(program.strip().splitlines(), states, tmp_path)
    for wave, (a, b) in enumerate(operands):
        assert after[wave]["step"] == isa.STEP_END
        for lane in range(64):
            got = int(after[wave]["vgpr"][20][lane])
            if kind == "f64":
                got |= int(after[wave]["vgpr"][21][lane]) << 32
            x, y = (float(isa.decode(v[lane], kind)) for v in (a, b))
            want = quotient(x, y, kind)
            assert isa.same(got, want, kind), f"{x.hex()} / {y.hex()}: got {got:#x}, want {want.hex()}"
