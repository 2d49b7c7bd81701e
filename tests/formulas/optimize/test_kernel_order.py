"""The order in which the kernels of a program are searched."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.optimize.loop import own_first


def test_kernels_of_libraries_come_after_the_programs_own(tmp_path: Path) -> None:
    """Three of them, hotter than any other, would end the search before a kernel that can be edited."""
    header = tmp_path / "rocm" / "include" / "library.hpp"
    header.parent.mkdir(parents=True)
    header.write_text("LIBRARY_KERNEL void sort_kernel(int* p);\n")
    named = [
        ("library::sort_kernel(int*)", header),
        ("mine(int*)", tmp_path / "main.hip"),
        ("other(int*)", None),
    ]
    hot: list[Any] = [(SimpleNamespace(name=n, file=f and str(f)), []) for n, f in named]
    ordered = [kernel.name for kernel, _ in own_first(hot, SourceTexts())]
    assert ordered == ["mine(int*)", "other(int*)", "library::sort_kernel(int*)"]
