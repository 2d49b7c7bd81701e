"""What the page of a comparison shows, as plain values: programs, kernels of both sides, limits that were passed."""

from __future__ import annotations

from typing import Any

from hipscope.server.render.compare import line_words
from hipscope.server.reports.schema.compare import ComparedKernel, ComparedProgram, CompareReport

_ROWS = (
    ("vgprs", "VGPRs"),
    ("agprs", "AGPRs"),
    ("sgprs", "SGPRs"),
    ("spills", "spills"),
    ("scratch_bytes", "scratch bytes"),
    ("lds_bytes", "LDS bytes"),
    ("occupancy", "waves per SIMD"),
    ("bound", "bound"),
    ("dispatches", "launches"),
)


def compare_view(report: CompareReport) -> dict[str, Any]:
    """The values that the template of a comparison takes."""
    return {"report": report, "programs": [_program(program) for program in report.programs]}


def _program(program: ComparedProgram) -> dict[str, Any]:
    largest = max((abs(k.change) for k in program.kernels if k.change is not None), default=0.0)
    return {
        "program": program,
        "kernels": [
            {
                "kernel": kernel,
                "width": (abs(kernel.change) / largest if kernel.change is not None and largest else 0.0),
                "moved": list(_moved(kernel)),
                "lines": [line_words(line) for line in kernel.moved_lines],
                **_findings(kernel),
            }
            for kernel in program.kernels
        ],
    }


def _moved(kernel: ComparedKernel) -> list[tuple[str, object, object]]:
    """What changed beside the time: name, before, after."""
    if kernel.base is None or kernel.head is None:
        return []
    pairs = [(label, getattr(kernel.base, key), getattr(kernel.head, key)) for key, label in _ROWS]
    return [(label, was, now) for label, was, now in pairs if was != now]


def _findings(kernel: ComparedKernel) -> dict[str, list[str]]:
    base = kernel.base.findings if kernel.base is not None else ()
    head = kernel.head.findings if kernel.head is not None else ()
    return {"came": [f for f in head if f not in base], "went": [f for f in base if f not in head]}
