"""Draws modelled against measured kernel times, both on logarithmic scales, from benchmarks/notes/accuracy.md.

python benchmarks/accuracy_plot.py [--out docs/images/accuracy.svg]
"""

from __future__ import annotations

import argparse
import math
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "benchmarks" / "notes" / "accuracy.md"
SIDE, EDGE = 520, 60  # pixels of the square, and around it
LOW, HIGH = 4.0, 3000.0  # microseconds
COLOURS = ("#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#b07aa1", "#9c755f", "#bab0ac")
ROW = re.compile(r"(\w+) +(\S+) +([\d.]+) +([\d.]+) +([\d.]+)(?: .*)?")


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PAGE.parent / "images" / "accuracy.svg")
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(picture(rows_of(PAGE.read_text(encoding="utf-8"))), encoding="utf-8")


def rows_of(page: str) -> list[tuple[str, float, float]]:
    """Kernel, measured and modelled microseconds of each row of the table of all sizes."""
    table = page.split("```text\n")[1].split("```")[0]
    found = [ROW.fullmatch(line) for line in table.splitlines()]
    return [(m[1], float(m[3]), float(m[4])) for m in found if m]


def picture(rows: list[tuple[str, float, float]]) -> str:
    """The plot as SVG: a line where both are equal, two at 0.8 and 1.25 of it, a point for each size."""
    kernels = list(dict.fromkeys(kernel for kernel, _, _ in rows))
    total = SIDE + 2 * EDGE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total + 130}" height="{total}" font-family="sans-serif">',
        f'<rect width="{total + 130}" height="{total}" fill="white"/>',
        f'<rect x="{EDGE}" y="{EDGE}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#888"/>',
    ]
    for tick in (5, 10, 30, 100, 300, 1000):
        at = _along(tick)
        parts.append(f'<text x="{EDGE + at:.1f}" y="{EDGE + SIDE + 18}" text-anchor="middle">{tick}</text>')
        parts.append(f'<text x="{EDGE - 8}" y="{EDGE + SIDE - at + 4:.1f}" text-anchor="end">{tick}</text>')
    for factor, dash in ((1.0, ""), (0.8, "4 4"), (1.25, "4 4")):
        ends = (max(LOW, LOW / factor), min(HIGH, HIGH / factor))
        (x1, y1), (x2, y2) = (_place(e, e * factor) for e in ends)
        parts.append(
            f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="#888" stroke-dasharray="{dash}"/>'
        )
    for kernel, measured, modelled in rows:
        x, y = _place(measured, modelled)
        colour = COLOURS[kernels.index(kernel) % len(COLOURS)]
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}" fill-opacity="0.75"/>')
    for number, kernel in enumerate(kernels):
        y = EDGE + 14 + 20 * number
        parts.append(
            f'<circle cx="{EDGE + SIDE + 14}" cy="{y - 4}" r="4" fill="{COLOURS[number % len(COLOURS)]}"/>'
        )
        parts.append(f'<text x="{EDGE + SIDE + 24}" y="{y}">{kernel}</text>')
    middle = EDGE + SIDE / 2
    parts.append(f'<text x="{middle}" y="{total - 12}" text-anchor="middle">measured on an MI300A, us</text>')
    parts.append(
        f'<text transform="translate(16 {middle}) rotate(-90)" text-anchor="middle">modelled, us</text>'
    )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _along(value: float) -> float:
    """Pixels from the lower end of an axis."""
    return SIDE * math.log(value / LOW) / math.log(HIGH / LOW)


def _place(measured: float, modelled: float) -> tuple[float, float]:
    return EDGE + _along(measured), EDGE + SIDE - _along(modelled)


if __name__ == "__main__":
    main()
