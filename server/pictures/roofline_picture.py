"""The roofline as points and lines of a picture: the roofs of the device, and each kernel where it stands under them.

Takes a device and kernels, gives coordinates on a logarithmic plane; the template draws them and the table beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hipscope.server.render.words import rate
from hipscope.server.reports.schema.profile import Device, Kernel

WIDTH, HEIGHT = 720, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 96, 150, 16, 44
LEVELS = {"lds": "LDS", "l1": "L1", "l2": "L2", "mall": "Infinity Cache", "hbm": "memory"}
_NO_TOPS = ("issue", "valu", "sparse")  # instructions, and what only half of the operations reach
_LABEL = 14  # pixels between two labels


def roofline_picture(device: Device, kernels: Sequence[tuple[str, str, Kernel]]) -> dict[str, Any] | None:
    """What is drawn, in pixels; None where neither a roof nor a point is known. `kernels`: id, short name, kernel."""
    slopes = slopes_of(device)
    tops = tops_of(device)
    points = [
        (name, short, kernel)
        for name, short, kernel in kernels
        if kernel.roofline.intensity and kernel.roofline.flops_per_s
    ]
    if not slopes or not tops:
        return None
    highest = max(tops.values())
    xs = [highest / min(slopes.values())] + [k.roofline.intensity or 1.0 for _, _, k in points]
    ys = [highest] + [k.roofline.flops_per_s or 1.0 for _, _, k in points]
    low_x, high_x = min(0.05, min(xs) / 2), max(100.0, max(xs) * 2)
    low_y, high_y = min(min(ys) / 3, highest / 1e4), highest * 2
    plane = _Plane(math.log10(low_x), math.log10(high_x), math.log10(low_y), math.log10(high_y))
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "frame": {"left": _LEFT, "right": WIDTH - _RIGHT, "top": _TOP, "bottom": HEIGHT - _BOTTOM},
        "x_ticks": [
            {"at": plane.x(10.0**e), "label": f"{10.0**e:g}"}
            for e in range(math.ceil(plane.low_x), math.floor(plane.high_x) + 1)
        ],
        "y_ticks": [
            {"at": plane.y(10.0**e), "label": rate(10.0**e, "flop/s")}
            for e in range(math.ceil(plane.low_y), math.floor(plane.high_y) + 1)
        ],
        "slopes": _drawn_slopes(plane, slopes, highest, low_x, low_y),
        "tops": _drawn_tops(plane, tops, max(slopes.values()), high_x),
        "points": [
            {
                "id": name,
                "name": short,
                "x": plane.x(kernel.roofline.intensity or 1.0),
                "y": plane.y(kernel.roofline.flops_per_s or 1.0),
                "intensity": kernel.roofline.intensity,
                "flops_per_s": kernel.roofline.flops_per_s,
                "radius": 4 + 8 * math.sqrt(kernel.share or 0.0),
            }
            for name, short, kernel in points
        ],
    }


class _Plane:
    """From values to pixels; both axes are logarithmic."""

    def __init__(self, low_x: float, high_x: float, low_y: float, high_y: float) -> None:
        self.low_x, self.high_x, self.low_y, self.high_y = low_x, high_x, low_y, high_y

    def x(self, value: float) -> float:
        part = (math.log10(value) - self.low_x) / (self.high_x - self.low_x)
        return round(_LEFT + part * (WIDTH - _LEFT - _RIGHT), 1)

    def y(self, value: float) -> float:
        part = (math.log10(value) - self.low_y) / (self.high_y - self.low_y)
        return round(HEIGHT - _BOTTOM - part * (HEIGHT - _TOP - _BOTTOM), 1)


def slopes_of(device: Device) -> dict[str, float]:
    """The roofs of memory: bytes per second by level."""
    found = {
        n: device.ceilings[n].per_s for n in LEVELS if n in device.ceilings and device.ceilings[n].per_s > 0
    }
    if "hbm" not in found and device.hbm_bytes_per_s:
        found["hbm"] = device.hbm_bytes_per_s
    if "l2" not in found and device.l2_bytes_per_s:
        found["l2"] = device.l2_bytes_per_s
    return found


def tops_of(device: Device) -> dict[str, float]:
    """The peaks of arithmetic: operations per second by unit and data type."""
    found = {
        name: ceiling.per_s
        for name, ceiling in device.ceilings.items()
        if name not in LEVELS and not name.startswith(_NO_TOPS) and ceiling.per_s > 0
    }
    if "vector_f32" not in found and device.flops_fp32:
        found["vector_f32"] = device.flops_fp32
    if "vector_f64" not in found and device.flops_fp64:
        found["vector_f64"] = device.flops_fp64
    return found


def _drawn_slopes(
    plane: _Plane, slopes: dict[str, float], highest: float, low_x: float, low_y: float
) -> list[dict[str, Any]]:
    drawn = []
    for name, per_s in slopes.items():
        start = max(low_x, low_y / per_s)
        drawn.append(
            {
                "name": LEVELS[name],
                "key": name,
                "per_s": per_s,
                "words": rate(per_s, "B/s"),
                "x1": plane.x(start),
                "y1": plane.y(start * per_s),
                "x2": plane.x(highest / per_s),
                "y2": plane.y(highest),
            }
        )
    return drawn


def _drawn_tops(
    plane: _Plane, tops: dict[str, float], steepest: float, high_x: float
) -> list[dict[str, Any]]:
    """The peaks, highest first; their labels keep clear of each other."""
    drawn: list[dict[str, Any]] = []
    label = 0.0
    for name, per_s in sorted(tops.items(), key=lambda item: -item[1]):
        y = plane.y(per_s)
        label = max(y, label + _LABEL) if drawn else y
        drawn.append(
            {
                "name": name.replace("_", " "),
                "per_s": per_s,
                "words": rate(per_s, "op/s" if name.endswith(("i8", "int8")) else "flop/s"),
                "x1": plane.x(per_s / steepest),
                "x2": plane.x(high_x),
                "y": y,
                "label_y": label + 4,
            }
        )
    return drawn
