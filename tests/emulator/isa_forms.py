"""Every form in which a vector instruction can take its operands: SDWA, DPP, signs, op_sel, scalars and constants.

A form is one line of assembly and what it does to the operands of a row of `isa_rows` before, and to its result after
the row's own oracle. Which forms exist is asked of the assembler. The model is written from the CDNA 3 manual, sections
6.2 (modifiers), 6.6 (SDWA), 6.7 (DPP) and 12.12 (packed operands).
"""

from __future__ import annotations

import math
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tests.emulator import isa_oracle as isa
from tests.emulator.isa_rows import Row

FLOATS = ("f16", "f32", "f64")
SIGN = {"f16": 1 << 15, "f32": 1 << 31, "f64": 1 << 63}
SIXTEEN = ("f16", "u16", "i16")
FIRST_SOURCE, SCALAR, MASK_IN = 2, 8, 20
PLAIN = re.compile(r"\{[abcdmo]\}|vcc")


@dataclass(frozen=True)
class Dpp:
    """`source` gives the lane that a lane reads; None: none."""

    text: str
    source: Callable[[int], int | None]
    rows: int = 0xF
    banks: int = 0xF
    bound: bool = False

    def spelled(self) -> str:
        zero = " bound_ctrl:0" if self.bound else ""
        return f"{self.text} row_mask:{self.rows:#x} bank_mask:{self.banks:#x}{zero}"

    def chosen(self, lane: int) -> bool:
        return bool(self.rows >> lane // 16 & 1 and self.banks >> lane % 16 // 4 & 1)


@dataclass(frozen=True)
class Form:
    """One line; sources are counted from 0, `select` is (first bit, width)."""

    line: str
    row: Row
    dpp: Dpp | None = None
    select: dict[int, tuple[int, int]] = field(default_factory=dict)
    extend: frozenset[int] = frozenset()
    negate: frozenset[int] = frozenset()
    absolute: frozenset[int] = frozenset()
    halves: dict[int, tuple[int, int]] = field(
        default_factory=dict
    )  # which half is the low one, which the high one
    flips: dict[int, tuple[int, int]] = field(default_factory=dict)  # signs of the low and the high half
    to: tuple[int, int] = (0, 32)
    unused: str = "UNUSED_PAD"
    clamp: bool = False
    constants: dict[int, int] = field(default_factory=dict)  # bit patterns of sources that are not vectors
    keeps: bool = False  # a 16-bit result leaves the other half alone
    high: bool = False  # and goes to the upper one


def places(row: Row) -> tuple[list[str], list[str]] | None:
    """Destinations and sources as the row's text spells them; None when it is a form of its own already."""
    _, _, rest = row.text.partition(" ")
    operands = rest.split(", ")
    if not all(PLAIN.fullmatch(o) for o in operands):
        return None
    first = next((n for n, o in enumerate(operands) if o in ("{a}", "{b}", "{c}", "{m}")), 0)
    vectors = [o for o in operands[first:] if o in ("{a}", "{b}", "{c}")]
    if first == 0 or vectors != ["{a}", "{b}", "{c}"][: len(vectors)]:
        return None
    return operands[:first], operands[first:]


def base(row: Row) -> str:
    name = row.text.split(" ", 1)[0]
    return name.removesuffix("_e32").removesuffix("_e64")


def lane_in_row(lane: int, moved: int) -> int | None:
    return lane // 16 * 16 + moved if 0 <= moved < 16 else None


EXCHANGES = [
    Dpp("quad_perm:[1,3,0,2]", lambda n: n & ~3 | (1, 3, 0, 2)[n & 3]),
    Dpp("row_shl:3", lambda n: lane_in_row(n, n % 16 + 3)),
    Dpp("row_shl:3", lambda n: lane_in_row(n, n % 16 + 3), bound=True),
    Dpp("row_shr:5", lambda n: lane_in_row(n, n % 16 - 5), rows=0xA),
    Dpp("row_shr:5", lambda n: lane_in_row(n, n % 16 - 5), bound=True, banks=0x6),
    Dpp("row_ror:7", lambda n: n // 16 * 16 + (n - 7) % 16),
    Dpp("row_mirror", lambda n: n ^ 15),
    Dpp("row_half_mirror", lambda n: n ^ 7, rows=0x7, banks=0xD),
    Dpp("wave_shl:1", lambda n: n + 1 if n < 63 else None),
    Dpp("wave_shr:1", lambda n: n - 1 if n else None, bound=True),
    Dpp("wave_rol:1", lambda n: (n + 1) % 64),
    Dpp("wave_ror:1", lambda n: (n - 1) % 64),
    Dpp("row_bcast:15", lambda n: n // 16 * 16 - 1 if n > 15 else None, rows=0xA),
    Dpp("row_bcast:31", lambda n: 31 if n > 31 else None, bound=True),
    Dpp("row_newbcast:9", lambda n: n // 16 * 16 + 9),
]

SELECT = {f"BYTE_{n}": (8 * n, 8) for n in range(4)} | {f"WORD_{n}": (16 * n, 16) for n in range(2)}
SELECT["DWORD"] = (0, 32)


class Writer:
    """Spells the lines of one row."""

    def __init__(self, row: Row) -> None:
        found = places(row)
        assert found is not None
        self.row = row
        self.results, self.operands = found
        self.name = base(row)
        self.vectors = [n for n, o in enumerate(self.operands) if o in ("{a}", "{b}", "{c}")]

    def of(self, suffix: str, tail: str = "", sources: dict[int, str] | None = None, **model: object) -> Form:
        operands = [(sources or {}).get(n, "{}").format(o) for n, o in enumerate(self.operands)]
        line = f"{self.name}{suffix} {', '.join(self.results + operands)}"
        form = Form(f"{line} {tail}".rstrip(), self.row)
        return replace(form, **model)  # type: ignore[arg-type]


def sdwa(w: Writer) -> Iterator[Form]:
    kinds = w.row.ins
    compares = w.row.out is None
    names = list(SELECT)
    if any(isa.WIDTH[kinds[n]] == 64 for n in w.vectors):
        return

    def fits(kind: str, name: str) -> bool:
        if kind in FLOATS or kind == "pair":
            return name == "DWORD" or (kind == "f16" and name.startswith("WORD"))
        return isa.WIDTH.get(kind, 0) <= 32

    def tail(to: str, unused: str, chosen: Sequence[str]) -> str:
        sources = " ".join(f"src{k}_sel:{s}" for k, s in enumerate(chosen))
        return sources if compares else f"dst_sel:{to} dst_unused:{unused} {sources}"

    turn = 0
    for to in names if not compares else names[:2]:
        for unused in ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"):
            if w.row.out in ("f32", "f64") and to != "DWORD":
                continue
            turn += 1
            chosen = []
            for n in w.vectors:
                possible = [s for s in names if fits(kinds[n], s)]
                chosen.append(possible[(turn * (n + 2)) % len(possible)])
            signs = frozenset(n for n in w.vectors if kinds[n] in FLOATS and turn % (n + 2) == 0)
            sizes = frozenset(n for n in w.vectors if kinds[n] in FLOATS and turn % (n + 3) == 0)
            extended = frozenset(n for n in w.vectors if kinds[n] not in FLOATS and turn % (n + 2) == 0)
            spelled = {}
            for n in w.vectors:
                text = "|{}|" if n in sizes else "{}"
                text = f"-{text}" if n in signs else text
                spelled[n] = f"sext({text})" if n in extended else text
            for clamp in (False, True) if w.row.out in FLOATS else (False,):
                words = tail(to, unused, chosen)
                yield w.of(
                    "_sdwa",
                    f"clamp {words}" if clamp else words,
                    spelled,
                    select={n: SELECT[s] for n, s in zip(w.vectors, chosen, strict=True)},
                    extend=extended,
                    negate=signs,
                    absolute=sizes,
                    to=SELECT[to],
                    unused=unused,
                    clamp=clamp,
                )


def dpp(w: Writer) -> Iterator[Form]:
    for exchange in EXCHANGES:
        yield w.of("_dpp", exchange.spelled(), dpp=exchange)
    signs = frozenset(n for n in w.vectors if w.row.ins[n] in FLOATS)
    if signs:
        spelled = dict.fromkeys(signs, "-|{}|")
        yield w.of("_dpp", EXCHANGES[1].spelled(), spelled, dpp=EXCHANGES[1], negate=signs, absolute=signs)


def signs(w: Writer) -> Iterator[Form]:
    """VOP3: each source negated, made positive, both; clamp."""
    floats = [n for n in w.vectors if w.row.ins[n] in FLOATS]
    for suffix in ("_e64", ""):
        for n in floats:
            yield w.of(suffix, "", {n: "-{}"}, negate=frozenset({n}))
            yield w.of(suffix, "", {n: "|{}|"}, absolute=frozenset({n}))
        if floats:
            both = frozenset(floats)
            yield w.of(suffix, "", dict.fromkeys(floats, "-|{}|"), negate=both, absolute=both)
        if w.row.out in FLOATS:
            yield w.of(suffix, "clamp", clamp=True)
            yield w.of(suffix, "mul:4")  # output modifiers do nothing while denormals are kept
            yield w.of(suffix, "clamp div:2", clamp=True)


def halves(w: Writer) -> Iterator[Form]:
    """VOP3's op_sel: a half of each 16-bit source, and of the destination."""
    if w.row.out not in SIXTEEN or "mix" in w.name:
        return
    count = len(w.vectors)
    for pattern in range(1 << count + 1):
        bits = [pattern >> n & 1 for n in range(count + 1)]
        chosen = {n: (16 * bits[k], 16) for k, n in enumerate(w.vectors) if w.row.ins[n] in SIXTEEN}
        if any(bits[k] for k, n in enumerate(w.vectors) if n not in chosen):
            continue
        text = f"op_sel:[{','.join(map(str, bits))}]"
        yield w.of("", text, select=chosen, keeps=True, high=bool(bits[count]))


def packed(w: Writer) -> Iterator[Form]:
    """VOP3P: which half of each source goes where, and with which sign."""
    if not w.name.startswith(("v_pk_", "v_dot2_")) or w.name.startswith("v_pk_mov"):
        return
    count = len(w.vectors)
    pairs = [n for n in w.vectors if w.row.ins[n] != "f32" and not (w.name.startswith("v_dot2") and n == 2)]
    floats = "f16" in w.name or "f32" in w.name
    for pattern in range(1, 4**count):
        low = [pattern >> n & 1 for n in range(count)]
        high = [1 - (pattern >> count + n & 1) for n in range(count)]
        if any(low[n] or not high[n] for n in range(count) if n not in pairs):
            continue
        text = f"op_sel:[{','.join(map(str, low))}] op_sel_hi:[{','.join(map(str, high))}]"
        flips = {n: (pattern >> n & 1, pattern >> (n + 1) % count & 1) for n in pairs} if floats else {}
        if any(a or b for a, b in flips.values()):
            signs_low = ",".join(str(flips.get(n, (0, 0))[0]) for n in range(count))
            signs_high = ",".join(str(flips.get(n, (0, 0))[1]) for n in range(count))
            text += f" neg_lo:[{signs_low}] neg_hi:[{signs_high}]"
        yield w.of("", text, halves={n: (low[n], high[n]) for n in pairs}, flips=flips)


INLINE = (0, 1, 64, -1, -16)
REAL = {"0.5": 0.5, "-1.0": -1.0, "2.0": 2.0, "-4.0": -4.0}


def sources(w: Writer) -> Iterator[Form]:
    """Scalar registers, inline constants and literals in each place."""
    packed_name = w.name.startswith(("v_pk_", "v_dot"))
    for n in w.vectors:
        kind = w.row.ins[n]
        if kind == "pair" or packed_name:
            continue
        wide = isa.WIDTH[kind] == 64
        scalar = f"s[{SCALAR + 2 * n}:{SCALAR + 2 * n + 1}]" if wide else f"s{SCALAR + 2 * n}"
        constants = {str(value): value & (1 << isa.WIDTH[kind]) - 1 for value in INLINE}
        if kind in FLOATS:
            constants |= {text: isa.encode(number, kind) for text, number in REAL.items()}
        if not wide:
            literal = {"f32": 0x40490FDB, "f16": 0x4248}.get(kind, 0x1234)
            constants[f"{literal:#x}"] = literal
        for turn, suffix in enumerate(("_e32", "_e64", "")):
            yield w.of(suffix, "", {n: scalar}, constants={n: -1})
            for text, bits in list(constants.items())[(n + turn) % 2 :: 2]:
                yield w.of(suffix, "", {n: text}, constants={n: bits})


def accepted(lines: Sequence[str], target: str = "gfx942") -> list[bool]:
    """Which lines the assembler takes."""
    done = subprocess.run(
        [isa.tool("llvm-mc"), "-arch=amdgcn", f"-mcpu={target}", "-filetype=null"],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    wrong = {int(n) for n in re.findall(r"^<stdin>:(\d+):\d+: error", done.stderr, re.MULTILINE)}
    return [n + 1 not in wrong for n in range(len(lines))]


def with_forms(rows: Sequence[Row], target: str = "gfx942") -> list[Row]:
    """The first plain row of each instruction: that of the target, or of gfx942 where the target has none."""
    own = {base(row) for row in rows if row.target == target}
    found: dict[str, Row] = {}
    for row in rows:
        name = base(row)
        if row.target == (target if name in own else "gfx942") and not row.ulps and places(row) is not None:
            found.setdefault(name, row)
    return list(found.values())


def forms(rows: Sequence[Row], target: str = "gfx942") -> list[Form]:
    """Every form of the rows that have any; lines have places for registers still."""
    found: list[Form] = []
    for row in with_forms(rows, target):
        w = Writer(row)
        for family in (sdwa, dpp, signs, halves, packed, sources):
            found += family(w)
    unique = list({f.line: f for f in found}.values())
    texts = [spelled(f, 16, 30) for f in unique]
    good = {f.line: f for f, taken in zip(unique, accepted(texts, target), strict=True) if taken}
    # A bare name is a spelling of its own only where there is no _e64.
    chosen = [f for f in good.values() if f.line.replace(base(f.row), base(f.row) + "_e64", 1) not in good]
    # What takes op_sel writes one half of its register in every form.
    keepers = {base(f.row) for f in chosen if f.keeps} | {"v_fma_mixlo_f16"}
    return [replace(f, keeps=f.row.out in SIXTEEN and base(f.row) in keepers) for f in chosen]


def register(index: int, kind: str) -> str:
    wide = isa.WIDTH[{"pf16": "u32", "keep_low": "u32", "pf32": "u64"}.get(kind, kind)] == 64
    return f"v[{index}:{index + 1}]" if wide else f"v{index}"


def spelled(form: Form, destination: int, mask: int) -> str:
    """The line with registers."""
    row = form.row
    kinds = [k for k in row.ins if k != "mask"]
    names = {n: register(FIRST_SOURCE + 2 * i, k) for i, (n, k) in enumerate(zip("abc", kinds, strict=False))}
    return form.line.format(
        d=register(destination, row.out or "u32"),
        m=f"s[{MASK_IN}:{MASK_IN + 1}]",
        o=f"s[{mask}:{mask + 1}]",
        **names,
    )


def clamped(value: float) -> float:
    return 0.0 if math.isnan(value) or value <= 0 else min(value, 1.0)


def moved(form: Form, n: int, kind: str, bits: int) -> int:
    """Bits of source n after everything that its modifiers do."""
    if n in form.constants:
        return bits
    if n in form.halves:
        width = 32 if isa.WIDTH[kind] == 64 else 16
        parts = [bits >> width * p & (1 << width) - 1 for p in form.halves[n]]
        flips = form.flips.get(n, (0, 0))
        parts = [p ^ flip << width - 1 for p, flip in zip(parts, flips, strict=True)]
        return parts[0] | parts[1] << width
    first, width = form.select.get(n, (0, 64))
    bits = bits >> first & (1 << width) - 1
    if n in form.extend and bits >> width - 1:
        bits |= -1 << width
        bits &= 0xFFFFFFFF
    if n in form.absolute:
        bits &= ~SIGN[kind]
    if n in form.negate:
        bits ^= SIGN[kind]
    return bits


def put_back(form: Form, result: int, old: int) -> int:
    """What the destination register holds afterwards; `result` has as many bits as the row's type."""
    if form.keeps:
        return old & 0xFFFF | result << 16 if form.high else old & 0xFFFF0000 | result
    first, width = form.to
    if width == 32:
        return result
    part = result & (1 << width) - 1
    rest = 0
    if form.unused == "UNUSED_PRESERVE":
        rest = old & ~((1 << width) - 1 << first)
    if form.unused == "UNUSED_SEXT" and part >> width - 1:
        rest = 0xFFFFFFFF & ~((1 << first + width) - 1)
    return part << first | rest
