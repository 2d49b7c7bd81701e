"""Scalar instructions against Python integers; branches, calls and execution masks against what they must do."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.emulator import isa_oracle as isa

VARIANTS = 24
M32, M64 = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
OUT, IN = 10, (12, 14, 16)

Value = int | None
Oracle = Callable[..., "tuple[Value, Value]"]


@dataclass(frozen=True)
class Row:
    """`oracle` takes the sources (and, named `scc`, SCC) and gives (result, SCC); None: unchanged."""

    text: str
    out: str | None
    ins: str
    oracle: Oracle


def logic(function: Callable[[int, int], int], width: int) -> Oracle:
    mask = (1 << width) - 1

    def of(a: int, b: int, scc: int) -> tuple[int, int]:
        result = function(a, b) & mask
        return result, int(result != 0)

    return of


def nonzero(function: Callable[..., int], width: int) -> Oracle:
    def of(*operands: int, scc: int) -> tuple[int, int]:
        result = function(*operands) & ((1 << width) - 1)
        return result, int(result != 0)

    return of


def plain(function: Callable[..., int]) -> Oracle:
    return lambda *operands, scc: (function(*operands), None)


def only_scc(function: Callable[..., bool]) -> Oracle:
    return lambda *operands, scc: (None, int(function(*operands)))


def overflow(value: int) -> int:
    return int(not -(2**31) <= value < 2**31)


def bit_field(a: int, spec: int, width: int, is_signed: bool) -> int:
    offset, size = spec & (width - 1), min(spec >> 16 & 0x7F, width)
    if size == 0:
        return 0
    size = min(size, width - offset) if is_signed else size
    part = a >> offset & ((1 << size) - 1)
    return part - (1 << size) if is_signed and part >> (size - 1) else part


def quads(a: int, width: int) -> int:
    """One bit for each group of four of which a bit is set."""
    return sum(1 << n for n in range(width // 4) if a >> 4 * n & 15)


def whole_quads(a: int, width: int) -> int:
    return sum(15 << 4 * n for n in range(width // 4) if a >> 4 * n & 15)


def twice_each_bit(a: int) -> int:
    return int("".join(2 * digit for digit in f"{a:032b}"), 2)


def first_one(a: int, width: int) -> int:
    return -1 if a == 0 else (a & -a).bit_length() - 1


def sign_run(a: int, width: int) -> int:
    a = ~a if a < 0 else a
    return -1 if a == 0 else width - a.bit_length()


def rows() -> list[Row]:
    d, a, b = "{d}", "{a}", "{b}"
    table: list[Row] = []
    for width in (32, 64):
        kind, t = f"u{width}", f"b{width}"
        bitwise: dict[str, Callable[[int, int], int]] = {
            "and": lambda x, y: x & y,
            "or": lambda x, y: x | y,
            "xor": lambda x, y: x ^ y,
            "andn2": lambda x, y: x & ~y,
            "orn2": lambda x, y: x | ~y,
            "nand": lambda x, y: ~(x & y),
            "nor": lambda x, y: ~(x | y),
            "xnor": lambda x, y: ~(x ^ y),
        }
        table += [
            Row(f"s_{n}_{t} {d}, {a}, {b}", kind, f"{kind} {kind}", logic(f, width))
            for n, f in bitwise.items()
        ]
        top = width - 1
        table += [
            Row(
                f"s_lshl_{t} {d}, {a}, {b}",
                kind,
                f"{kind} u32",
                nonzero(lambda x, n, top=top: x << (n & top), width),
            ),
            Row(
                f"s_lshr_{t} {d}, {a}, {b}",
                kind,
                f"{kind} u32",
                nonzero(lambda x, n, top=top: x >> (n & top), width),
            ),
            Row(
                f"s_ashr_i{width} {d}, {a}, {b}",
                kind,
                f"i{width} u32",
                nonzero(lambda x, n, top=top: x >> (n & top), width),
            ),
            Row(
                f"s_bfe_u{width} {d}, {a}, {b}",
                kind,
                f"{kind} field",
                nonzero(lambda x, s, w=width: bit_field(x, s, w, False), width),
            ),
            Row(
                f"s_bfe_i{width} {d}, {a}, {b}",
                kind,
                f"{kind} field",
                nonzero(lambda x, s, w=width: bit_field(x, s, w, True), width),
            ),
            Row(
                f"s_bfm_{t} {d}, {a}, {b}",
                kind,
                "u32 u32",
                plain(lambda x, y, top=top: ((1 << (x & top)) - 1) << (y & top)),
            ),
            Row(f"s_mov_{t} {d}, {a}", kind, kind, plain(lambda x: x)),
            Row(
                f"s_cmov_{t} {d}, {a}",
                kind,
                f"{kind} old{width}",
                lambda x, old, scc: (x if scc else old, None),
            ),
            Row(f"s_wqm_{t} {d}, {a}", kind, kind, nonzero(lambda x, w=width: whole_quads(x, w), width)),
            Row(f"s_quadmask_{t} {d}, {a}", kind, kind, nonzero(lambda x, w=width: quads(x, w), width)),
            Row(f"s_not_{t} {d}, {a}", kind, kind, nonzero(lambda x: ~x, width)),
            Row(f"s_brev_{t} {d}, {a}", kind, kind, plain(lambda x, w=width: int(f"{x:0{w}b}"[::-1], 2))),
            Row(f"s_bcnt1_i32_{t} {d}, {a}", "u32", kind, nonzero(lambda x: x.bit_count(), 32)),
            Row(f"s_bcnt0_i32_{t} {d}, {a}", "u32", kind, nonzero(lambda x, w=width: w - x.bit_count(), 32)),
            Row(f"s_ff1_i32_{t} {d}, {a}", "u32", kind, plain(lambda x, w=width: first_one(x, w))),
            Row(
                f"s_ff0_i32_{t} {d}, {a}",
                "u32",
                kind,
                plain(lambda x, w=width: first_one(~x & ((1 << w) - 1), w)),
            ),
            Row(
                f"s_flbit_i32_{t} {d}, {a}",
                "u32",
                kind,
                plain(lambda x, w=width: -1 if x == 0 else w - x.bit_length()),
            ),
            Row(
                f"s_cselect_{t} {d}, {a}, {b}",
                kind,
                f"{kind} {kind}",
                lambda x, y, scc: (x if scc else y, None),
            ),
            Row(
                f"s_bitset1_{t} {d}, {a}",
                kind,
                f"u32 old{width}",
                plain(lambda n, old, top=top: old | 1 << (n & top)),
            ),
            Row(
                f"s_bitset0_{t} {d}, {a}",
                kind,
                f"u32 old{width}",
                plain(lambda n, old, top=top: old & ~(1 << (n & top))),
            ),
            Row(
                f"s_bitcmp1_{t} {a}, {b}",
                None,
                f"{kind} u32",
                only_scc(lambda x, n, top=top: bool(x >> (n & top) & 1)),
            ),
            Row(
                f"s_bitcmp0_{t} {a}, {b}",
                None,
                f"{kind} u32",
                only_scc(lambda x, n, top=top: not x >> (n & top) & 1),
            ),
        ]
    table += [
        Row(f"s_add_u32 {d}, {a}, {b}", "u32", "u32 u32", lambda x, y, scc: (x + y, int(x + y > M32))),
        Row(f"s_sub_u32 {d}, {a}, {b}", "u32", "u32 u32", lambda x, y, scc: (x - y, int(y > x))),
        Row(
            f"s_addc_u32 {d}, {a}, {b}",
            "u32",
            "u32 u32",
            lambda x, y, scc: (x + y + scc, int(x + y + scc > M32)),
        ),
        Row(f"s_subb_u32 {d}, {a}, {b}", "u32", "u32 u32", lambda x, y, scc: (x - y - scc, int(y + scc > x))),
        Row(f"s_add_i32 {d}, {a}, {b}", "u32", "i32 i32", lambda x, y, scc: (x + y, overflow(x + y))),
        Row(f"s_sub_i32 {d}, {a}, {b}", "u32", "i32 i32", lambda x, y, scc: (x - y, overflow(x - y))),
        Row(f"s_addk_i32 {d}, 0xff38", "u32", "oldi32", lambda x, scc: (x - 200, overflow(x - 200))),
        Row(f"s_mulk_i32 {d}, 0xfffe", "u32", "oldi32", plain(lambda x: x * -2)),
        Row(f"s_movk_i32 {d}, 0x8000", "u32", "", plain(lambda: -32768)),
        Row(f"s_mul_i32 {d}, {a}, {b}", "u32", "u32 u32", plain(lambda x, y: x * y)),
        Row(f"s_mul_hi_u32 {d}, {a}, {b}", "u32", "u32 u32", plain(lambda x, y: x * y >> 32)),
        Row(f"s_mul_hi_i32 {d}, {a}, {b}", "u32", "i32 i32", plain(lambda x, y: x * y >> 32)),
        Row(f"s_min_i32 {d}, {a}, {b}", "u32", "i32 i32", lambda x, y, scc: (min(x, y), int(x < y))),
        Row(f"s_max_i32 {d}, {a}, {b}", "u32", "i32 i32", lambda x, y, scc: (max(x, y), int(x > y))),
        Row(f"s_min_u32 {d}, {a}, {b}", "u32", "u32 u32", lambda x, y, scc: (min(x, y), int(x < y))),
        Row(f"s_max_u32 {d}, {a}, {b}", "u32", "u32 u32", lambda x, y, scc: (max(x, y), int(x > y))),
        Row(f"s_abs_i32 {d}, {a}", "u32", "i32", nonzero(abs, 32)),
        Row(f"s_absdiff_i32 {d}, {a}, {b}", "u32", "i32 i32", nonzero(lambda x, y: abs(wrap(x - y)), 32)),
        Row(f"s_flbit_i32 {d}, {a}", "u32", "i32", plain(lambda x: sign_run(x, 32))),
        Row(f"s_flbit_i32_i64 {d}, {a}", "u32", "i64", plain(lambda x: sign_run(x, 64))),
        Row(f"s_sext_i32_i8 {d}, {a}", "u32", "u32", plain(lambda x: (x & 255 ^ 128) - 128)),
        Row(f"s_sext_i32_i16 {d}, {a}", "u32", "u32", plain(lambda x: (x & 0xFFFF ^ 0x8000) - 0x8000)),
        Row(
            f"s_pack_ll_b32_b16 {d}, {a}, {b}",
            "u32",
            "u32 u32",
            plain(lambda x, y: x & 0xFFFF | (y & 0xFFFF) << 16),
        ),
        Row(
            f"s_pack_lh_b32_b16 {d}, {a}, {b}",
            "u32",
            "u32 u32",
            plain(lambda x, y: x & 0xFFFF | y & 0xFFFF0000),
        ),
        Row(
            f"s_pack_hh_b32_b16 {d}, {a}, {b}", "u32", "u32 u32", plain(lambda x, y: x >> 16 | y & 0xFFFF0000)
        ),
        *(
            Row(
                f"s_lshl{n}_add_u32 {d}, {a}, {b}",
                "u32",
                "u32 u32",
                lambda x, y, scc, n=n: ((x << n) + y, int((x << n) + y > M32)),
            )
            for n in (1, 2, 3, 4)
        ),
        Row(f"s_cmovk_i32 {d}, 0x8001", "u32", "old32", lambda old, scc: (-32767 if scc else old, None)),
        Row(f"s_bitreplicate_b64_b32 {d}, {a}", "u64", "u32", plain(twice_each_bit)),
        Row(f"s_cmp_eq_u64 {a}, {b}", None, "u64 u64", only_scc(lambda x, y: x == y)),
        Row(f"s_cmp_lg_u64 {a}, {b}", None, "u64 u64", only_scc(lambda x, y: x != y)),
        Row(f"s_mov_b32 {d}, 1.0", "u32", "", plain(lambda: 0x3F800000)),
        Row(f"s_mov_b64 {d}, -5", "u64", "", plain(lambda: -5)),
        Row(f"s_mov_b64 {d}, 0xfff01234", "u64", "", plain(lambda: 0xFFF01234)),
        Row(f"s_mov_b64 {d}, src_shared_base", "u64", "", plain(lambda: 0x0001000000000000)),
        Row(f"s_and_saveexec_b64 {d}, {a}", "u64", "u64", nonzero_exec),
    ]
    compare: dict[str, Callable[[int, int], bool]] = {
        "eq": lambda x, y: x == y,
        "lg": lambda x, y: x != y,
        "gt": lambda x, y: x > y,
        "ge": lambda x, y: x >= y,
        "lt": lambda x, y: x < y,
        "le": lambda x, y: x <= y,
    }
    for name, function in compare.items():
        for kind in ("i32", "u32"):
            table.append(Row(f"s_cmp_{name}_{kind} {a}, {b}", None, f"{kind} {kind}", only_scc(function)))
        table.append(
            Row(f"s_cmpk_{name}_i32 {a}, 0xfff0", None, "i32", only_scc(lambda x, f=function: f(x, -16)))
        )
        table.append(
            Row(f"s_cmpk_{name}_u32 {a}, 0xfff0", None, "u32", only_scc(lambda x, f=function: f(x, 0xFFF0)))
        )
    return table


def wrap(value: int) -> int:
    value &= M32
    return value - (1 << 32) if value >> 31 else value


def nonzero_exec(mask: int, scc: int) -> tuple[int, int]:
    return M64, int(mask != 0)  # the tests start with all lanes on


ROWS = rows()


def assemble(row: Row) -> str:
    kinds = [k for k in row.ins.split() if not k.startswith("old")]
    names = {n: register(place, wide(k)) for n, place, k in zip("abc", IN, kinds, strict=False)}
    return row.text.format(d=register(OUT, row.out == "u64"), **names)


def register(index: int, is_wide: bool) -> str:
    return f"s[{index}:{index + 1}]" if is_wide else f"s{index}"


def wide(kind: str) -> bool:
    return kind.endswith("64")


def put(state: np.void, index: int, value: int) -> None:
    state["sgpr"][index] = value & M32
    state["sgpr"][index + 1] = value >> 32 & M32


def operand(kind: str, rng: random.Random) -> int:
    if kind == "field":
        return rng.randint(0, 70) | rng.choice([0, 1, 8, 31, 32, 33, 64, rng.randint(0, 64)]) << 16
    width = 64 if wide(kind) else 32
    return (
        rng.choice([rng.choice(isa.INTEGERS), rng.getrandbits(width), rng.getrandbits(rng.randint(1, width))])
        & (1 << width) - 1
    )


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[np.void, np.void, list[int]]]:
    rng = random.Random(7)
    before = isa.fresh(len(ROWS) * VARIANTS)
    operands: list[list[int]] = []
    for index, row in enumerate(ROWS):
        for variant in range(VARIANTS):
            state = before[index * VARIANTS + variant]
            state["first"] = index
            state["scc"] = rng.getrandbits(1)
            put(state, OUT, rng.getrandbits(64))
            values = []
            places = iter(IN)
            for kind in row.ins.split():
                value = operand(kind, rng)
                put(state, OUT if kind.startswith("old") else next(places), value)
                values.append(
                    isa.decode(value, kind.removeprefix("old"))
                    if kind[0] == "i" or kind == "oldi32"
                    else value
                )
            operands.append([int(v) for v in values])
    after = isa.run([assemble(row) for row in ROWS], before, tmp_path_factory.mktemp("scalar"))
    return [(before[i], after[i], operands[i]) for i in range(len(before))]


@pytest.mark.parametrize(
    "index", range(len(ROWS)), ids=[f"{r.text.split(' ', 1)[0]}-{i}" for i, r in enumerate(ROWS)]
)
def test_result_and_scc(index: int, outcome: list[tuple[np.void, np.void, list[int]]]) -> None:
    row = ROWS[index]
    for before, after, operands in outcome[index * VARIANTS : (index + 1) * VARIANTS]:
        shown = f"{row.text} of {[hex(o) for o in operands]}, scc {before['scc']}"
        assert after["step"] == isa.STEP_NEXT, shown
        result, scc = row.oracle(*operands, scc=int(before["scc"]))
        assert int(after["scc"]) == (int(before["scc"]) if scc is None else scc), f"{shown}: SCC"
        if row.out is not None:
            assert result is not None
            got = int(after["sgpr"][OUT]) | (int(after["sgpr"][OUT + 1]) << 32 if row.out == "u64" else 0)
            assert got == result & (M64 if row.out == "u64" else M32), f"{shown}: got {got:#x}"


LOOP = """
s_mov_b32 s0, 0
s_mov_b32 s1, 0
again:
s_add_i32 s1, s1, s0
s_add_i32 s0, s0, 1
s_cmp_lt_i32 s0, 10
s_cbranch_scc1 again
s_getpc_b64 s[4:5]
s_add_u32 s4, s4, skip-.
s_addc_u32 s5, s5, 0
s_setpc_b64 s[4:5]
s_mov_b32 s1, 0
skip:
s_endpgm
"""


def test_a_loop_and_a_computed_jump(tmp_path: Path) -> None:
    states = isa.fresh()
    states["count"] = 1000
    after = isa.run(LOOP.strip().splitlines(), states, tmp_path)[0]
    assert after["step"] == isa.STEP_END
    assert after["sgpr"][1] == 45


DIVERGENT = """
v_cmp_gt_u32_e32 vcc, 20, v0
s_and_saveexec_b64 s[0:1], vcc
s_xor_b64 s[0:1], exec, s[0:1]
v_mov_b32_e32 v1, 7
s_cbranch_execz join
join:
s_or_saveexec_b64 s[0:1], s[0:1]
s_xor_b64 exec, exec, s[0:1]
v_mov_b32_e32 v1, 9
s_or_b64 exec, exec, s[0:1]
v_add_u32_e32 v2, v1, v0
s_endpgm
"""


def test_both_sides_of_a_divergent_branch(tmp_path: Path) -> None:
    states = isa.fresh()
    states["count"] = 100
    states["vgpr"][0][0] = np.arange(64)
    after = isa.run(DIVERGENT.strip().splitlines(), states, tmp_path)[0]
    lanes = np.arange(64)
    assert after["step"] == isa.STEP_END
    assert np.array_equal(after["vgpr"][2], lanes + np.where(lanes < 20, 7, 9))


def test_mode_register_changes_rounding_and_denormals(tmp_path: Path) -> None:
    lines = [
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 3",  # round toward zero
        "v_add_f32_e32 v2, v0, v1",
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xc0",  # nearest even, single denormals flushed
        "v_add_f32_e32 v3, v0, v1",
        "v_mul_f32_e32 v5, v4, v4",
        "v_add_f64 v[8:9], v[6:7], v[6:7]",  # double denormals stay
        "s_getreg_b32 s0, hwreg(HW_REG_MODE, 4, 4)",
        "s_endpgm",
    ]
    states = isa.fresh()
    states["count"] = 100
    vgpr = states["vgpr"][0]
    vgpr[0] = isa.encode(1.0, "f32")
    vgpr[1] = isa.encode(2.0**-24 * 1.5, "f32")
    vgpr[4] = isa.encode(2.0**-70, "f32")
    vgpr[6] = 1
    after = isa.run(lines, states, tmp_path)[0]
    assert after["step"] == isa.STEP_END
    assert isa.decode(int(after["vgpr"][2][5]), "f32") == 1.0
    assert isa.decode(int(after["vgpr"][3][5]), "f32") == 1.0 + 2.0**-23
    assert after["vgpr"][5][5] == 0
    assert after["vgpr"][8][5] == 2
    assert after["sgpr"][0] == 0xC


def test_registers_indexed_at_run_time(tmp_path: Path) -> None:
    lines = [
        "s_set_gpr_idx_on s0, gpr_idx(SRC0)",
        "v_mov_b32_e32 v1, v8",
        "s_set_gpr_idx_off",
        "s_set_gpr_idx_on s1, gpr_idx(DST)",
        "v_mov_b32_e32 v2, v8",
        "s_set_gpr_idx_off",
        "s_mov_b32 m0, 2",
        "s_movrels_b32 s4, s0",
        "s_endpgm",
    ]
    states = isa.fresh()
    states["count"] = 100
    states["sgpr"][0][:4] = [3, 4, 77, 0]
    states["vgpr"][0][8] = 80
    states["vgpr"][0][11] = 110
    after = isa.run(lines, states, tmp_path)[0]
    assert after["step"] == isa.STEP_END
    assert after["vgpr"][1][0] == 110
    assert after["vgpr"][6][0] == 80
    assert after["vgpr"][2][0] == 0
    assert after["sgpr"][4] == 77
