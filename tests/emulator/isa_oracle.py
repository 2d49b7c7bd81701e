"""What the instruction tests share: a wave's state as numpy, running the probe, exact arithmetic to compare with.

Nothing here is derived from the emulator: floating point is done with fractions and rounded once.
"""

from __future__ import annotations

import functools
import hashlib
import math
import os
import random
import struct
import subprocess
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
LANES = 64
EXEC, VCC, M0 = 126, 106, 124
MEMORY_ADDRESS = 0x7E0000000000 + 0x100000
MEMORY_BYTES = 4096
DEFAULT_MODE = 0x3F0

# One wave, as `Case` in emulator/native/isa/isa_probe.cpp.
CASE = np.dtype(
    [
        ("first", "<u4"),
        ("count", "<u4"),
        ("step", "<u4"),
        ("fault", "<u4"),
        ("scc", "<u4"),
        ("mode", "<u4"),
        ("sgpr", "<u4", 128),
        ("vgpr", "<u4", (64, LANES)),
        ("agpr", "<u4", (64, LANES)),
        ("lds", "<u4", 1024),
        ("memory", "<u4", 1024),
        ("scratch", "<u4", (LANES, 16)),
    ]
)
STEP_NEXT, STEP_JUMP, STEP_BARRIER, STEP_YIELD, STEP_RETRY, STEP_END, STEP_FAULT = range(7)


def tool(name: str) -> str:
    """An LLVM tool of the test machine, newest version first, or that of the folder HIPSCOPE_TEST_LLVM."""
    if folder := os.environ.get("HIPSCOPE_TEST_LLVM"):
        return str(min(path for path in Path(folder).glob(f"{name}*") if path.name.split("-")[-1].isdigit()))
    for candidate in (f"{name}-19", f"{name}-20", name, f"/opt/rocm/llvm/bin/{name}"):
        if (
            any((Path(d) / candidate).is_file() for d in os.environ["PATH"].split(":"))
            or Path(candidate).is_file()
        ):
            return candidate
    raise FileNotFoundError(f"{name}: install LLVM 19's tools")


def knows(llvm_tool: str, target: str) -> bool:
    """Whether this version of LLVM has the target."""
    asked = subprocess.run(
        [llvm_tool, "-arch=amdgcn", f"-mcpu={target}"], input="", capture_output=True, text=True, check=False
    )
    return asked.returncode == 0 and "not a recognized processor" not in asked.stderr


def probe() -> Path:
    """The probe of the build folder; built here when the tests run alone."""
    if given := os.environ.get("HIPSCOPE_ISA_PROBE"):
        return Path(given)
    found = sorted((ROOT / "build").glob("**/hipscope-isa-probe"), key=lambda p: p.stat().st_mtime)
    if found:
        return found[-1]
    build = ROOT / "build" / "native"
    subprocess.run(["cmake", "-S", str(ROOT), "-B", str(build)], check=True, capture_output=True)
    subprocess.run(
        ["cmake", "--build", str(build), "--target", "hipscope-isa-probe"], check=True, capture_output=True
    )
    return next(build.glob("**/hipscope-isa-probe"))


def disassemble(lines: Sequence[str], folder: Path, target: str = "gfx942") -> Path:
    """Assembles text and disassembles it again, as the emulator's decoder gets to see it.

    All processes of a test run share what was disassembled: most tests run once more with spoiled results.
    """
    assembly = "\n".join(lines) + "\n"
    name = hashlib.sha256(f"{tool('llvm-mc')} {target}\n{assembly}".encode()).hexdigest()
    shared = (
        Path(os.environ["XDG_STATE_HOME"]) / "disassembled" / name
    )  # tests/conftest.py makes it for each run
    if shared.exists():
        return shared
    source, binary, text = folder / "in.s", folder / "in.o", folder / "in.txt"
    source.write_text(assembly)
    subprocess.run(
        [tool("llvm-mc"), "-arch=amdgcn", f"-mcpu={target}", "-filetype=obj", str(source), "-o", str(binary)],
        check=True,
    )
    text.write_bytes(
        subprocess.run([tool("llvm-objdump"), "-d", str(binary)], check=True, capture_output=True).stdout
    )
    shared.parent.mkdir(parents=True, exist_ok=True)
    own = shared.with_suffix(f".{os.getpid()}")
    own.write_bytes(text.read_bytes())
    own.replace(shared)
    return shared


def run(lines: Sequence[str], states: np.ndarray, folder: Path, target: str = "gfx942") -> np.ndarray:
    """Runs `states` (dtype CASE; `first` and `count` choose instructions of `lines`) and returns them afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    return run_disassembly(disassemble(lines, folder, target), states, folder, target)


def run_disassembly(text: Path, states: np.ndarray, folder: Path, target: str) -> np.ndarray:
    """The same on text that a disassembler has written."""
    states.tofile(folder / "cases")
    subprocess.run(
        [str(probe()), str(text), str(folder / "cases"), str(folder / "results")],
        env={**os.environ, "HIPSCOPE_ISA_TARGET": target},
        check=True,
    )
    return np.fromfile(folder / "results", dtype=CASE)


def fresh(count: int = 1) -> np.ndarray:
    """Cleared states with every lane on that run one instruction."""
    states = np.zeros(count, dtype=CASE)
    states["count"] = 1
    states["mode"] = DEFAULT_MODE
    states["sgpr"][:, EXEC : EXEC + 2] = 0xFFFFFFFF
    return states


def exec_mask(state: np.void) -> int:
    return int(state["sgpr"][EXEC]) | int(state["sgpr"][EXEC + 1]) << 32


# ---- number formats ----------------------------------------------------------------------------------------------

FORMATS = {"f16": (10, 5, "<e"), "f32": (23, 8, "<f"), "f64": (52, 11, "<d")}
WIDTH = {
    "f16": 16,
    "u16": 16,
    "i16": 16,
    "f32": 32,
    "u32": 32,
    "i32": 32,
    "f64": 64,
    "u64": 64,
    "i64": 64,
    "pair": 32,
}


def decode(bits: int, kind: str) -> float | int:
    """The value of a bit pattern in one of the formats of WIDTH."""
    width = WIDTH[kind]
    bits &= (1 << width) - 1
    if kind[0] == "f":
        code = {16: "H", 32: "I", 64: "Q"}[width]
        return float(struct.unpack(FORMATS[kind][2], struct.pack("<" + code, bits))[0])
    return bits - (1 << width) if kind[0] == "i" and bits >> (width - 1) else bits


def encode(value: float | int, kind: str) -> int:
    """The bit pattern of a value; floats must be representable (see `rounded`)."""
    width = WIDTH[kind]
    if kind[0] == "f":
        code = {16: "H", 32: "I", 64: "Q"}[width]
        return int(struct.unpack("<" + code, struct.pack(FORMATS[kind][2], value))[0])
    return int(value) & ((1 << width) - 1)


@functools.cache
def two_to(exponent: int) -> Fraction:
    """2^exponent."""
    return Fraction(2) ** exponent


def steps_of(exact: Fraction, kind: str) -> tuple[int, int, int, int]:
    """|exact| as (whole + rest / parts) * 2^exponent, where 2^exponent is the step between the format's numbers there.

    Whole numbers alone are used: most of these tests' time goes into rounding.
    """
    mantissa, exponent_bits, _ = FORMATS[kind]
    top, bottom = abs(exact.numerator), exact.denominator
    exponent = top.bit_length() - bottom.bit_length()
    if (bottom << exponent > top) if exponent >= 0 else (bottom > top << -exponent):
        exponent -= 1
    exponent = max(exponent, 2 - (1 << (exponent_bits - 1))) - mantissa
    if exponent >= 0:
        bottom <<= exponent
    else:
        top <<= -exponent
    return (*divmod(top, bottom), bottom, exponent)


def rounded(exact: Fraction, kind: str, negative_zero: bool = False) -> float:
    """`exact` rounded to nearest even in a float format, denormals kept."""
    if exact.numerator == 0:
        return -0.0 if negative_zero else 0.0
    whole, rest, parts, exponent = steps_of(exact, kind)
    if 2 * rest > parts or (2 * rest == parts and whole & 1):
        whole += 1
    overflows = whole.bit_length() + exponent > 1 << (FORMATS[kind][1] - 1)
    size = math.inf if overflows else math.ldexp(whole, exponent)
    return -size if exact.numerator < 0 else size


def finite(*values: float) -> bool:
    return all(math.isfinite(v) for v in values)


def add(a: float, b: float, kind: str) -> float:
    """a + b rounded once."""
    if not finite(a, b):
        return a + b
    exact = Fraction(a) + Fraction(b)
    return a + b if exact == 0 else rounded(exact, kind)


def mul(a: float, b: float, kind: str) -> float:
    """a * b rounded once."""
    if not finite(a, b):
        return a * b
    negative = math.copysign(1, a) * math.copysign(1, b) < 0
    return (
        rounded(Fraction(a) * Fraction(b), kind, negative)
        if a and b
        else math.copysign(0.0, -1.0 if negative else 1.0)
    )


def fma(a: float, b: float, c: float, kind: str) -> float:
    """a * b + c rounded once."""
    if any(math.isnan(v) for v in (a, b, c)):
        return math.nan
    if not finite(a, b, c):
        if (math.isinf(a) and b == 0) or (math.isinf(b) and a == 0):
            return math.nan
        if math.isinf(a) or math.isinf(b):
            product = math.copysign(math.inf, math.copysign(1, a) * math.copysign(1, b))
            return product + c
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        product_negative = math.copysign(1, a) * math.copysign(1, b) < 0
        if (a == 0 or b == 0) and c == 0:
            return -0.0 if product_negative and math.copysign(1, c) < 0 else 0.0
        return 0.0
    return rounded(exact, kind, exact < 0)


# ---- operands ----------------------------------------------------------------------------------------------------

CORNERS = {
    "f32": [
        0.0,
        -0.0,
        1.0,
        -1.0,
        1.5,
        math.inf,
        -math.inf,
        math.nan,
        1e-45,
        -1.1754942e-38,
        3.4028234663852886e38,
        2.0**-126,
        0.1,
        8388609.0,
        -2147483648.0,
        4294967296.0,
    ],
    "f64": [
        0.0,
        -0.0,
        1.0,
        -1.0,
        1.5,
        math.inf,
        -math.inf,
        math.nan,
        5e-324,
        -2.2250738585072009e-308,
        1.7976931348623157e308,
        2.0**-1022,
        0.1,
        2147483647.5,
        -2147483649.0,
        4294967296.0,
    ],
    "f16": [
        0.0,
        -0.0,
        1.0,
        -1.0,
        1.5,
        math.inf,
        -math.inf,
        math.nan,
        6e-08,
        -6.1e-05,
        65504.0,
        6.103515625e-05,
        0.0999755859375,
        2049.0 - 1,
        -32768.0,
        100.0,
    ],
}
INTEGERS = [
    0,
    1,
    2,
    3,
    5,
    31,
    32,
    33,
    63,
    64,
    127,
    128,
    255,
    256,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x10000,
    0x7FFFFF,
    0x800000,
    0xFFFFFF,
]
INTEGERS += [
    0x7FFFFFFF,
    0x80000000,
    0x80000001,
    0xFFFFFFFE,
    0xFFFFFFFF,
    0x100000000,
    0x7FFFFFFFFFFFFFFF,
    0x8000000000000000,
]
INTEGERS += [0xFFFFFFFFFFFFFFFF]


def operand_bits(kind: str, count: int, rng: random.Random, corners: bool) -> list[int]:
    """`count` bit patterns of one operand: corner values, or random ones of every magnitude.

    NaNs are quiet; signalling ones have a test of their own.
    """
    if kind == "pair":  # two halves in one register
        low, high = (operand_bits("f16", count, rng, corners) for _ in range(2))
        return [a | b << 16 for a, b in zip(low, high, strict=True)]
    width = WIDTH[kind]
    if kind[0] == "f":
        if corners:
            return [encode(rounded_or_special(rng.choice(CORNERS[kind]), kind), kind) for _ in range(count)]
        patterns = [quieted(rng.getrandbits(width), kind) for _ in range(count // 4)]
        near = [
            encode(rounded(Fraction(rng.uniform(-1000, 1000)), kind), kind)
            for _ in range(count - len(patterns))
        ]
        mixed = patterns + near
        rng.shuffle(mixed)
        return mixed
    if corners:
        return [rng.choice(INTEGERS) & ((1 << width) - 1) for _ in range(count)]
    return [rng.getrandbits(rng.randint(1, width)) for _ in range(count)]


def quieted(bits: int, kind: str) -> int:
    mantissa, exponent_bits, _ = FORMATS[kind]
    exponent = ((1 << exponent_bits) - 1) << mantissa
    return (
        bits | 1 << (mantissa - 1) if bits & exponent == exponent and bits & ((1 << mantissa) - 1) else bits
    )


def rounded_or_special(value: float, kind: str) -> float:
    return rounded(Fraction(value), kind, math.copysign(1, value) < 0) if math.isfinite(value) else value


def same(got: int, want: float | int, kind: str, ulps: int = 0) -> bool:
    """Equal bits; any NaN equals any NaN; `ulps` units in the last place may differ."""
    if kind[0] != "f":
        return got == encode(want, kind)
    value = decode(got, kind)
    if math.isnan(float(want)) or math.isnan(value):
        return math.isnan(float(want)) and math.isnan(value)
    if ulps == 0:
        return got == encode(want, kind)
    return abs(ordered(got, kind) - ordered(encode(want, kind), kind)) <= ulps


def ordered(bits: int, kind: str) -> int:
    sign = 1 << (WIDTH[kind] - 1)
    return -(bits & (sign - 1)) if bits & sign else bits


Oracle = Callable[..., "float | int | tuple[float | int, bool] | bool"]
