"""How far the emulator's transcendental instructions are from the exact results, beside what AMD documents.

Runs each instruction on inputs of every exponent and writes the table of `docs/emulator/instructions.md`:

    python benchmarks/transcendental_ulps.py [--write]

Exact results are worked out with 80-bit floats, whose error is below a thousandth of a unit in the last place of a
single; those of doubles with 100 decimal digits.
"""

from __future__ import annotations

import argparse
import decimal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.emulator import isa_oracle as isa  # noqa: E402

PAGE = ROOT / "docs" / "emulator" / "instructions.md"
MARK = ("<!-- begin: transcendental_ulps.py -->\n", "<!-- end: transcendental_ulps.py -->")
WAVES = 400
LONG = np.longdouble
Exact = Callable[[np.ndarray], np.ndarray]


def turns(function: Callable[[np.ndarray], np.ndarray]) -> Exact:
    """Of a multiple of 2 pi; whole turns and the nearest quarter are taken off exactly."""

    def of(x: np.ndarray) -> np.ndarray:
        quarters = np.rint(x * 4)
        angle = (x - quarters / 4) * (8 * np.arctan(LONG(1)))
        turn = (quarters % 4).astype(int) + (1 if function is np.cos else 0)
        sine, cosine = np.sin(angle), np.cos(angle)
        return np.asarray(np.choose(turn % 4, [sine, cosine, -sine, -cosine]))

    return of


def digits(function: Callable[[decimal.Decimal], decimal.Decimal]) -> Exact:
    def of(x: np.ndarray) -> np.ndarray:
        with decimal.localcontext(decimal.Context(prec=100)):
            return np.array([function(decimal.Decimal(float(v))) for v in x], dtype=object)

    return of


@dataclass(frozen=True)
class Function:
    """`low` and `high`: exponents of the inputs, those for which the result is a normal number; `documented` in ULP."""

    name: str
    kind: str
    exact: Exact
    low: int
    high: int
    documented: str
    negative: bool = False


FUNCTIONS = [
    Function("v_rcp_f32", "f32", lambda x: 1 / x, -125, 125, "1", True),
    Function("v_sqrt_f32", "f32", np.sqrt, -126, 127, "1"),
    Function("v_rsq_f32", "f32", lambda x: 1 / np.sqrt(x), -126, 127, "1"),
    Function("v_exp_f32", "f32", np.exp2, -30, 6, "1", True),
    Function("v_log_f32", "f32", np.log2, -126, 127, "1"),
    Function("v_sin_f32", "f32", turns(np.sin), -30, 7, "none given", True),
    Function("v_cos_f32", "f32", turns(np.cos), -30, 7, "none given", True),
    Function("v_rcp_f16", "f16", lambda x: 1 / x, -14, 14, "0.51", True),
    Function("v_sqrt_f16", "f16", np.sqrt, -14, 15, "0.51"),
    Function("v_rsq_f16", "f16", lambda x: 1 / np.sqrt(x), -14, 15, "0.51"),
    Function("v_exp_f16", "f16", np.exp2, -14, 3, "0.51", True),
    Function("v_log_f16", "f16", np.log2, -14, 15, "0.51"),
    Function("v_sin_f16", "f16", turns(np.sin), -14, 7, "none given", True),
    Function("v_cos_f16", "f16", turns(np.cos), -14, 7, "none given", True),
    Function("v_rcp_f64", "f64", digits(lambda x: 1 / x), -1020, 1020, "2^29", True),
    Function("v_sqrt_f64", "f64", digits(lambda x: x.sqrt()), -1022, 1023, "2^29"),
    Function("v_rsq_f64", "f64", digits(lambda x: 1 / x.sqrt()), -1022, 1023, "2^29"),
]
TYPES = {"f16": (np.float16, np.uint16), "f32": (np.float32, np.uint32), "f64": (np.float64, np.uint64)}
MANTISSA = {"f16": 10, "f32": 23, "f64": 52}
LEAST = {"f16": -14, "f32": -126, "f64": -1022}


def inputs(f: Function, rng: np.random.Generator) -> np.ndarray:
    count = WAVES * isa.LANES
    exponents = rng.integers(f.low, f.high, count, endpoint=True)
    values = np.ldexp(1 + rng.random(count), exponents) * (
        np.where(rng.random(count) < 0.5, -1, 1) if f.negative else 1
    )
    return values.astype(TYPES[f.kind][0])


def run(f: Function, x: np.ndarray, folder: Path) -> np.ndarray:
    """The emulator's results."""
    states = isa.fresh(WAVES)
    raw = x.view(TYPES[f.kind][1]).astype(np.uint64).reshape(WAVES, isa.LANES)
    states["vgpr"][:, 2] = raw & 0xFFFFFFFF
    states["vgpr"][:, 3] = raw >> 32
    wide = f.kind == "f64"
    after = isa.run([f"{f.name}_e32 {'v[0:1], v[2:3]' if wide else 'v0, v2'}"], states, folder)
    results = after["vgpr"][:, 0].astype(np.uint64) | (
        after["vgpr"][:, 1].astype(np.uint64) << np.uint64(32) if wide else np.uint64(0)
    )
    unsigned = TYPES[f.kind][1]
    return results.astype(unsigned).reshape(-1).view(TYPES[f.kind][0])


def error(f: Function, got: np.ndarray, exact: np.ndarray) -> float:
    """Largest distance in units in the last place of the exact result."""
    if exact.dtype == object:
        with decimal.localcontext(decimal.Context(prec=100)):
            two = decimal.Decimal(2)
            steps = [two ** int(np.frexp(float(e))[1] - 1 - MANTISSA[f.kind]) for e in exact]
            pairs = zip(got, exact, steps, strict=True)
            return float(max(abs(decimal.Decimal(float(g)) - e) / s for g, e, s in pairs))
    exponent = np.maximum(np.frexp(exact)[1] - 1, LEAST[f.kind]) - MANTISSA[f.kind]
    return float(np.max(np.abs(got.astype(LONG) - exact) / np.ldexp(LONG(1), exponent)))


def table() -> str:
    rng = np.random.default_rng(1)
    rows = ["| instruction | measured, ULP | AMD's bound, ULP |", "|---|--:|--:|"]
    with tempfile.TemporaryDirectory() as folder:
        for f in FUNCTIONS:
            x = inputs(f, rng)
            exact = f.exact(x if f.kind == "f64" else x.astype(LONG))
            rows.append(f"| `{f.name}` | {error(f, run(f, x, Path(folder)), exact):.3f} | {f.documented} |")
    return "\n".join(rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--write", action="store_true", help="put the table into docs/emulator/instructions.md"
    )
    arguments = parser.parse_args()
    text = table()
    print(text, end="")
    if arguments.write:
        page = PAGE.read_text()
        before, _, rest = page.partition(MARK[0])
        _, _, after = rest.partition(MARK[1])
        PAGE.write_text(f"{before}{MARK[0]}{text}{MARK[1]}{after}")


if __name__ == "__main__":
    main()
