"""Every matrix instruction on small integers, where any order of additions is exact, against numpy.

The layout of the operands in the lanes is stated here once more, from the manual's chapter 7: lane and register of
A[i][k], B[k][j] and D[i][j] for M x M results, `blocks` products side by side.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.emulator import isa_oracle as isa
from tests.emulator.isa_rows_rare import FORMATS, eight_bit

A, B, C, D, INDEX = 0, 4, 8, 40, 62  # registers; D of 32x32x2 blocks takes 32 of them and lies over C there
SPELLED = re.compile(r"v_(?:mfma|smfmac)_(f32|i32|f64)_(\d+)x(\d+)x(\d+)_(?:(\d+)b_)?(\w+)")


@dataclass(frozen=True)
class Shape:
    """One instruction: size x size results, K values each."""

    name: str
    size: int
    depth: int
    blocks: int
    a: str
    b: str
    out: str
    sparse: bool
    target: str = "gfx942"

    @property
    def stored(self) -> int:
        """Values of A per lane."""
        return self.depth * self.size * self.blocks // 64 // (2 if self.sparse else 1)


BITS = {"f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "i8": 8, "fp8": 8, "bf8": 8}


def shape(name: str) -> Shape:
    found = SPELLED.fullmatch(name)
    assert found is not None, name
    out, size, _, depth, blocks, kinds = found.groups()
    first, _, second = kinds.partition("_")
    return Shape(name, int(size), int(depth), int(blocks or 1), first, second or first, out, "smfmac" in name)


NAMES = [
    *(f"v_mfma_f32_{s}_{k}" for k in ("f16", "bf16") for s in ("32x32x4_2b", "16x16x4_4b", "4x4x4_16b")),
    *(f"v_mfma_f32_{s}_{k}" for k in ("f16", "bf16") for s in ("32x32x8", "16x16x16")),
    *(f"v_mfma_f32_{s}_f32" for s in ("32x32x1_2b", "16x16x1_4b", "4x4x1_16b", "32x32x2", "16x16x4")),
    "v_mfma_f32_16x16x8_xf32", "v_mfma_f32_32x32x4_xf32",
    *(f"v_mfma_i32_{s}_i8" for s in ("32x32x4_2b", "16x16x4_4b", "4x4x4_16b", "32x32x16", "16x16x32")),
    "v_mfma_f64_16x16x4_f64", "v_mfma_f64_4x4x4_4b_f64",
    *(f"v_mfma_f32_{s}_{a}_{b}" for s in ("16x16x32", "32x32x16") for a in FORMATS for b in FORMATS),
    *(f"v_smfmac_f32_{s}_{k}" for k in ("f16", "bf16") for s in ("16x16x32", "32x32x16")),
    "v_smfmac_i32_16x16x64_i8", "v_smfmac_i32_32x32x32_i8",
    *(f"v_smfmac_f32_{s}_{a}_{b}" for s in ("16x16x64", "32x32x32") for a in FORMATS for b in FORMATS),
]  # fmt: skip

# gfx90a spells them without blocks; its bf16 forms without _1k hold half as many values per lane.
GFX90A = re.compile(r"v_mfma_(f32|i32|f64)_(\d+)x\2x(\d+)(f32|f16|bf16|i8|f64)(?:_1k)?")
GFX90A_BLOCKS = {
    2: "f32_32x32x1f32 f32_32x32x4f16 f32_32x32x4bf16_1k f32_32x32x2bf16 i32_32x32x4i8",
    4: "f32_16x16x1f32 f32_16x16x4f16 f32_16x16x4bf16_1k f32_16x16x2bf16 i32_16x16x4i8 f64_4x4x4f64",
    16: "f32_4x4x1f32 f32_4x4x4f16 f32_4x4x4bf16_1k f32_4x4x2bf16 i32_4x4x4i8",
    1: """f32_32x32x2f32 f32_16x16x4f32 f32_32x32x8f16 f32_16x16x16f16 f32_32x32x8bf16_1k f32_16x16x16bf16_1k
        f32_32x32x4bf16 f32_16x16x8bf16 i32_32x32x8i8 i32_16x16x16i8 f64_16x16x4f64""",
}


def shape_of_gfx90a(name: str, blocks: int) -> Shape:
    found = GFX90A.fullmatch(name)
    assert found is not None, name
    out, size, depth, kind = found.groups()
    return Shape(name, int(size), int(depth), blocks, kind, kind, out, False, "gfx90a")


SHAPES = [
    *(shape(name) for name in NAMES),
    *(
        shape_of_gfx90a(f"v_mfma_{n}", blocks)
        for blocks, names in GFX90A_BLOCKS.items()
        for n in names.split()
    ),
]
NAMES = [s.name for s in SHAPES]


@functools.cache
def bits(value: int, kind: str) -> int:
    """The pattern of a small integer in an operand format."""
    if kind == "i8":
        return value & 0xFF
    if kind in FORMATS:
        mantissa, bias = FORMATS[kind]
        return next(c for c in range(256) if eight_bit(c, mantissa, bias) == value)
    if kind == "bf16":
        return isa.encode(float(value), "f32") >> 16
    return isa.encode(float(value), "f32" if kind == "xf32" else kind)


def poke(rows: np.ndarray, first: int, lane: int, n: int, kind: str, value: int) -> None:
    """Value n of a lane's operand."""
    width, pattern = BITS[kind], bits(value, kind)
    at = n * width
    for part in range(max(1, width // 32)):
        rows[first + at // 32 + part][lane] |= (pattern >> 32 * part & 0xFFFFFFFF) << at % 32


def place_of_result(s: Shape, block: int, i: int, j: int) -> tuple[int, int]:
    """Lane and value number of D[i][j]."""
    if s.size == 4:
        return (j + 4 * block + 16 * i, 0) if s.out == "f64" else (j + 4 * block, i)
    groups, run = 64 // s.size, 1 if s.out == "f64" else 4
    turn, rest = divmod(i, run * groups)
    group, within = divmod(rest, run)
    return j + s.size * group, block * (s.size // groups) + turn * run + within


def fill(state: np.void, s: Shape, rng: np.random.Generator) -> np.ndarray:
    """Operands into registers; returns the products, blocks x size x size, C included."""
    limit = 3
    a = rng.integers(-limit, limit + 1, (s.blocks, s.size, s.depth))
    b = rng.integers(-limit, limit + 1, (s.blocks, s.depth, s.size))
    c = rng.integers(-50, 50, (s.blocks, s.size, s.size))
    rows = state["vgpr"]
    rows[:] = 0
    groups = s.depth // (64 // (s.size * s.blocks)) if not s.sparse else s.depth // (64 // s.size)
    if s.sparse:  # of four neighbours in K, two are kept; their places are in the index register
        index_bits = 2 * s.stored
        for i in range(s.size):
            for part in range(64 // s.size):
                lane = i + s.size * part
                for quad in range(groups // 4):
                    first, second = sorted(rng.choice(4, 2, replace=False))
                    for k in range(4):
                        if k not in (first, second):
                            a[0][i][part * groups + 4 * quad + k] = 0
                    for n, k in enumerate((int(first), int(second))):
                        poke(rows, A, lane, 2 * quad + n, s.a, int(a[0][i][part * groups + 4 * quad + k]))
                        rows[INDEX][lane] |= k << 2 * (2 * quad + n)
        assert index_bits <= 32
    for block in range(s.blocks):
        for i in range(s.size):
            for k in range(s.depth):
                lane, n = i + s.size * (block + s.blocks * (k // groups)), k % groups
                if not s.sparse:
                    poke(rows, A, lane, n, s.a, int(a[block][i][k]))
                poke(rows, B, lane, n, s.b, int(b[block][k][i]))
    to = state["agpr"]
    to[:] = 0
    for block in range(s.blocks):
        for i in range(s.size):
            for j in range(s.size):
                lane, value = place_of_result(s, block, i, j)
                pattern = (
                    isa.encode(float(c[block][i][j]), s.out)
                    if s.out != "i32"
                    else int(c[block][i][j]) & 0xFFFFFFFF
                )
                wide = s.out == "f64"
                to[2 * value if wide else value][lane] = pattern & 0xFFFFFFFF
                if wide:
                    to[2 * value + 1][lane] = pattern >> 32
    return np.asarray(a @ b + c)


def registers(letter: str, first: int, count: int) -> str:
    return f"{letter}{first}" if count == 1 else f"{letter}[{first}:{first + count - 1}]"


def line(s: Shape) -> str:
    a = registers("v", A, max(1, s.stored * BITS[s.a] // 32))
    b = registers("v", B, max(1, s.stored * (2 if s.sparse else 1) * BITS[s.b] // 32))
    d = registers("a", 0, s.size * s.size * s.blocks // 64 * (2 if s.out == "f64" else 1))
    return f"{s.name} {d}, {a}, {b}, v{INDEX}" if s.sparse else f"{s.name} {d}, {a}, {b}, {d}"


Outcome = Sequence[tuple[np.ndarray, np.void]]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    rng = np.random.default_rng(7)
    before = isa.fresh(len(SHAPES))
    want = []
    for index, s in enumerate(SHAPES):
        want.append(fill(before[index], s, rng))
    results: dict[int, np.void] = {}
    for target in ("gfx942", "gfx90a"):
        chosen = [index for index, s in enumerate(SHAPES) if s.target == target]
        states = before[chosen]
        states["first"] = range(len(chosen))
        folder = tmp_path_factory.mktemp("matrix")
        after = isa.run([line(SHAPES[index]) for index in chosen], states, folder, target)
        results |= dict(zip(chosen, after, strict=True))
    return [(product, results[index]) for index, product in enumerate(want)]


@pytest.mark.parametrize("index", range(len(SHAPES)), ids=NAMES)
def test_product(index: int, outcome: Outcome) -> None:
    s = SHAPES[index]
    want, after = outcome[index]
    assert after["step"] == isa.STEP_NEXT
    for block in range(s.blocks):
        for i in range(s.size):
            for j in range(s.size):
                lane, value = place_of_result(s, block, i, j)
                if s.out == "f64":
                    got = int(after["agpr"][2 * value][lane]) | int(after["agpr"][2 * value + 1][lane]) << 32
                else:
                    got = int(after["agpr"][value][lane])
                number = isa.decode(got, s.out)
                assert number == want[block][i][j], f"{s.name}: block {block} [{i}][{j}]"


LANES = np.arange(64)
# Which lane's B a lane takes, by `blgp` (CDNA3 ISA, 7.1.4).
B_PATTERNS = (
    LANES,
    LANES % 32,
    LANES % 32 + 32,
    (LANES + 16) % 64,
    LANES % 16,
    LANES % 16 + 16,
    LANES % 16 + 32,
    LANES % 16 + 48,
)


def test_blocks_of_a_are_broadcast_and_lanes_of_b_rearranged(tmp_path: Path) -> None:
    """`cbsz` lets 2^cbsz blocks share the A of one, `abid` says which; all that the 4x4x1 shape of 16 blocks allows."""
    cases = [(cbsz, abid, blgp) for cbsz in range(5) for abid in range(1 << cbsz) for blgp in range(8)]
    lines = [
        f"v_mfma_f32_4x4x1_16b_f32 v[4:7], v0, v1, 0 cbsz:{cbsz} abid:{abid} blgp:{blgp}"
        for cbsz, abid, blgp in cases
    ]
    states = isa.fresh(len(cases))
    states["first"] = range(len(cases))
    generator = np.random.default_rng(1)
    a, b = (generator.integers(1, 9, 64).astype(np.float32) for _ in range(2))
    states["vgpr"][:, 0], states["vgpr"][:, 1] = a.view(np.uint32), b.view(np.uint32)
    results = isa.run(lines, states, tmp_path)
    for (cbsz, abid, blgp), result in zip(cases, results, strict=True):
        block = np.arange(16)
        source = block >> cbsz << cbsz | abid
        rows = a.reshape(16, 4)[source]  # block x row
        columns = b[B_PATTERNS[blgp]].reshape(16, 4)  # block x column
        wanted = rows[:, :, None] * columns[:, None, :]
        found = result["vgpr"][4:8].view(np.float32).reshape(4, 16, 4).transpose(1, 0, 2)
        np.testing.assert_array_equal(found, wanted, err_msg=f"cbsz:{cbsz} abid:{abid} blgp:{blgp}")


def test_sharing_blocks_that_a_shape_does_not_have_is_refused(tmp_path: Path) -> None:
    lines = [
        "v_mfma_f32_16x16x16_f16 v[4:7], v[0:1], v[2:3], 0 cbsz:1 abid:1",
        "v_mfma_f32_32x32x1_2b_f32 v[0:31], v0, v1, 0 cbsz:2 abid:3",
        "v_mfma_f32_32x32x1_2b_f32 v[0:31], v0, v1, 0 cbsz:1 abid:1",
    ]
    states = isa.fresh(len(lines))
    states["first"] = range(len(lines))
    steps = [int(result["step"]) for result in isa.run(lines, states, tmp_path)]
    assert steps == [isa.STEP_FAULT, isa.STEP_FAULT, isa.STEP_NEXT]
