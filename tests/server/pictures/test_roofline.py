"""A kernel under the roofs: twelve lines of characters, and the same as an image."""

import base64
from dataclasses import replace
from xml.etree import ElementTree

from hipscope.server.pictures.roofline import ROWS, roofline_drawing, roofline_lines, roofline_svg
from hipscope.server.reports.schema.profile import Ceiling, Kernel, Report


def placed(report: Report) -> tuple[Report, Kernel]:
    """The report on a device with all roofs, its first kernel under them."""
    roofs = {
        name: Ceiling(per_s, "computed", "a table", None)
        for name, per_s in (
            ("lds", 8.1e13),
            ("l2", 2.0e13),
            ("mall", 1.2e13),
            ("hbm", 5.3e12),
            ("vector_f32", 1.63e14),
        )
    }
    kernel = report.kernels[0]
    roofline = replace(kernel.roofline, intensity=2.0, flops_per_s=4e12, ridge=30.8)
    return replace(report, device=replace(report.device, ceilings=roofs)), replace(kernel, roofline=roofline)


def test_the_picture_has_twelve_lines_with_every_roof_the_ridge_and_the_kernel(report: Report) -> None:
    report, kernel = placed(report)
    lines = roofline_lines(report.device, kernel, "transpose")
    assert len(lines) == ROWS == 12
    assert max(map(len, lines)) <= 80
    said = "\n".join(lines)
    for word in (
        "L LDS 81",
        "2 L2 20",
        "M Infinity Cache 12",
        "H memory 5.3",
        "ridge at 30.8 flop/B",
        "● transpose",
    ):
        assert word in said
    drawn = [line[:44] for line in lines[:-1]]
    assert all(sum(line.count(letter) for line in drawn) == 1 for letter in "L2MH●")


def test_a_higher_rate_stands_higher_and_more_work_per_byte_stands_right(report: Report) -> None:
    report, kernel = placed(report)

    def place(flops_per_s: float = 4e12, intensity: float = 2.0) -> tuple[int, int]:
        changed = replace(kernel.roofline, flops_per_s=flops_per_s, intensity=intensity)
        moved = replace(kernel, roofline=changed)
        rows = [line[:44] for line in roofline_lines(report.device, moved, "k")]
        row = next(n for n, line in enumerate(rows) if "●" in line)
        return row, rows[row].index("●")

    row, column = place()
    assert place(flops_per_s=8e13)[0] < row
    assert place(intensity=64.0)[1] > column


def test_the_image_is_svg_with_the_same_roofs(report: Report) -> None:
    report, kernel = placed(report)
    svg = roofline_svg(report.device, kernel, "a<b>") or ""
    root = ElementTree.fromstring(svg)
    words = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert {"LDS", "L2", "Infinity Cache", "memory", "a<b>"} <= set(words)
    drawing = roofline_drawing(report, kernel, image=True)
    assert drawing is not None
    assert drawing.image is not None
    data = drawing.image.partition("base64,")[2].partition("|")[0]
    assert base64.b64decode(data).startswith(b"<svg")


def test_nothing_is_drawn_where_the_place_is_not_known(report: Report) -> None:
    report, kernel = placed(report)
    nowhere = replace(kernel, roofline=replace(kernel.roofline, intensity=None))
    assert roofline_drawing(report, nowhere, image=True) is None
    assert roofline_lines(replace(report.device, ceilings={}, hbm_bytes_per_s=None), kernel, "k") == []
