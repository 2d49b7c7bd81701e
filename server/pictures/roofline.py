"""A kernel under the roofs of its device: SVG for editors that draw images, twelve lines of characters elsewhere.

The roofs are those of LDS, L2, Infinity Cache and memory, and the highest peak of arithmetic; the ridge is where memory
meets it.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from html import escape
from typing import Any

from hipscope.server.pictures.roofline_picture import LEVELS, roofline_picture, slopes_of, tops_of
from hipscope.server.render.blocks import Drawing
from hipscope.server.render.words import rate
from hipscope.server.reports.schema.profile import Device, Kernel, Report

ROWS = 12
"""Lines of the picture in characters: eleven of braille and the axis."""
_COLUMNS = 44
_LETTERS = {"lds": "L", "l1": "1", "l2": "2", "mall": "M", "hbm": "H"}
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_LOW_X, _HIGH_X, _DECADES = 0.02, 500.0, 4.0


def roofline_svg(device: Device, kernel: Kernel, name: str) -> str | None:
    """The picture as SVG; None where the device's roofs or the kernel's place are not known."""
    picture = roofline_picture(device, [("kernel", name, kernel)])
    if picture is None or not picture["points"]:
        return None
    return _svg(picture, kernel.roofline.ridge)


def roofline_drawing(
    report: Report, kernel: Kernel, *, image: bool, width: int | None = None
) -> Drawing | None:
    """The picture as a block of a text, with an `image` for a client that draws them; None where it is not known.

    Only a hover knows a `width`: a page takes what stands behind the address for a part of it.
    """
    name = report.short_name(kernel)
    lines = roofline_lines(report.device, kernel, name)
    if not lines:
        return None
    svg = roofline_svg(report.device, kernel, name) if image else None
    address = f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}" if svg else None
    shown = f"{address}|width={width}" if address and width else address
    return Drawing(f"Roofline of {name}", tuple(lines), shown)


def roofline_lines(device: Device, kernel: Kernel, name: str) -> list[str]:
    """The picture in characters: `ROWS` lines of at most 80, none where roofs or the kernel's place are not known."""
    slopes, tops, roofline = slopes_of(device), tops_of(device), kernel.roofline
    if not slopes or not tops or not roofline.intensity or not roofline.flops_per_s:
        return []
    peak_name, peak = max(tops.items(), key=lambda item: item[1])
    canvas = _Canvas(peak)
    legend = [f"{peak_name.replace('_', ' ')} {rate(peak, 'flop/s')}"]
    for place, (level, per_s) in enumerate(sorted(slopes.items(), key=lambda item: -item[1])):
        canvas.roof(per_s, flat=level == "hbm")
        canvas.letter(_LETTERS[level], per_s, row=8 - 2 * (place % 4))
        legend.append(f"{_LETTERS[level]} {LEVELS[level]} {rate(per_s, 'B/s')}")
    canvas.put("●", roofline.intensity, roofline.flops_per_s)
    legend.append(f"● {name}"[:32])
    legend.append(f"  {rate(roofline.flops_per_s, 'flop/s')}")
    legend.append(f"  {roofline.intensity:.3g} flop/B")
    if roofline.ridge is not None:
        legend.append(f"ridge at {roofline.ridge:.3g} flop/B")
    drawn = canvas.lines()
    beside = [f"{line}  {legend[n] if n < len(legend) else ''}".rstrip() for n, line in enumerate(drawn)]
    ends = f"{_LOW_X:g}".ljust(_COLUMNS - 3) + f"{_HIGH_X:g}"
    return [*beside, f"{ends}  flop/B"]


class _Canvas:
    """Braille dots on a logarithmic plane, with a few characters put over them."""

    def __init__(self, peak: float) -> None:
        self.peak = peak
        self._cells = [[0] * _COLUMNS for _ in range(ROWS - 1)]
        self._over: dict[tuple[int, int], str] = {}

    def roof(self, per_s: float, *, flat: bool) -> None:
        """A slope up to the peak; with `flat` also the peak right of it."""
        for column in range(2 * _COLUMNS):
            x = _LOW_X * (_HIGH_X / _LOW_X) ** (column / (2 * _COLUMNS - 1))
            reached = per_s * x
            if reached <= self.peak or flat:
                self._dot(column, self._row(min(reached, self.peak), 4))

    def letter(self, letter: str, per_s: float, row: int) -> None:
        """A letter on a slope, in that row or the one where the slope begins."""
        part = 1.0 - (row + 0.5) / (ROWS - 1)
        y = self.peak * 10.0 ** ((part - 1.0) * _DECADES)
        self.put(letter, max(_LOW_X, y / per_s), max(y, per_s * _LOW_X))

    def put(self, character: str, x: float, y: float) -> None:
        """A character at a place."""
        part = math.log(x / _LOW_X) / math.log(_HIGH_X / _LOW_X)
        column = min(_COLUMNS - 1, max(0, round(part * (_COLUMNS - 1))))
        self._over[self._row(y, 1), column] = character

    def lines(self) -> list[str]:
        """The rows, the highest first."""
        return [
            "".join(self._over.get((row, column)) or chr(0x2800 + dots) for column, dots in enumerate(cells))
            for row, cells in enumerate(self._cells)
        ]

    def _row(self, value: float, dots: int) -> int:
        rows = (ROWS - 1) * dots
        part = 1.0 + math.log10(value / self.peak) / _DECADES
        return min(rows - 1, max(-1, round((1.0 - part) * (rows - 1)))) if part >= 0 else rows - 1

    def _dot(self, column: int, row: int) -> None:
        self._cells[row // 4][column // 2] |= _DOTS[row % 4][column % 2]


def _svg(picture: Mapping[str, Any], ridge: float | None) -> str:
    """Colours that can be read on light and on dark."""
    frame, lines = picture["frame"], []

    def line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1.5) -> None:
        lines.append(
            f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}" stroke-width="{width}"/>'
        )

    def words(x: float, y: float, said: str, anchor: str = "start") -> None:
        lines.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(said)}</text>')

    line(frame["left"], frame["bottom"], frame["right"], frame["bottom"], "#888")
    line(frame["left"], frame["top"], frame["left"], frame["bottom"], "#888")
    for tick in picture["x_ticks"]:
        words(tick["at"], frame["bottom"] + 20, tick["label"], "middle")
    for tick in picture["y_ticks"]:
        words(frame["left"] - 6, tick["at"] + 5, tick["label"], "end")
    for slope in picture["slopes"]:
        line(slope["x1"], slope["y1"], slope["x2"], slope["y2"], "#4c8dff")
        words(slope["x1"] + 4, slope["y1"] - 6, slope["name"])
    for top in picture["tops"][:2]:
        line(top["x1"], top["y"], top["x2"], top["y"], "#888")
        words(frame["right"] + 4, top["label_y"], top["name"])
    for point in picture["points"]:
        lines.append(f'<circle cx="{point["x"]}" cy="{point["y"]}" r="8" fill="#e8590c"/>')
        words(point["x"] + 12, point["y"] + 5, point["name"])
    said = "flop/B" if ridge is None else f"flop/B, the ridge is at {ridge:.3g}"
    words((frame["left"] + frame["right"]) / 2, frame["bottom"] + 40, said, "middle")
    size = f'viewBox="0 0 {picture["width"]} {picture["height"]}"'
    style = 'font-family="sans-serif" font-size="15" fill="#888"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>{"".join(lines)}</svg>'
