"""Compiles the float64 oracle of a kernel: the project's own source, with `double` for `float`.

Takes a project and a source, gives the widened kernel or the reason why there is none.
"""

from __future__ import annotations

import threading
from pathlib import Path

from hipscope.accordo.oracle import WidenedKernel
from hipscope.accordo.widen import widened
from hipscope.analysis.build import compile_device
from hipscope.analysis.errors import BuildFailed
from hipscope.analysis.project import Project
from hipscope.analysis.toolchain import Toolchain
from hipscope.emulator.symbolize import demangle


def widened_kernel(
    project: Project,
    toolchain: Toolchain,
    source: Path,
    original: bytes,
    cancel: threading.Event | None,
    symbol: str,
) -> WidenedKernel | str:
    """The kernel of that mangled name in double precision, or why there is none. Raises Cancelled."""
    text, why = widened(original.decode("utf-8", "surrogateescape"))
    if text is None:
        return why
    try:
        code = compile_device(
            project, toolchain, source, text.encode("utf-8", "surrogateescape"), cancel=cancel
        )
    except BuildFailed as failure:
        first = next((d.message for d in failure.diagnostics if d.severity == "error"), failure.message)
        return f"it does not compile with `double` for `float`: {first}"
    wanted = demangle(symbol).replace("float", "double")
    names = [name for name in code.kernels if demangle(name) == wanted]
    return WidenedKernel(code, names[0]) if names else "its kernel has another name"
