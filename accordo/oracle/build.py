"""Compiles the float64 oracle of a kernel: the project's own source, with the kernel in double precision added.

Takes a project and a source, gives the widened kernel or the reason why there is none.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

from hipscope.accordo.oracle.launch import WidenedKernel
from hipscope.accordo.oracle.source import NAMESPACE, widened
from hipscope.analysis.errors import BuildFailed
from hipscope.analysis.run import Run
from hipscope.analysis.source.includes import read_before
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.toolchain.build import compile_device
from hipscope.analysis.toolchain.code_object import CodeObject
from hipscope.analysis.toolchain.discovery import Toolchain
from hipscope.analysis.toolchain.project import Project
from hipscope.emulator.symbolize import demangle


@dataclass(eq=False)
class WidenedSource:
    """A kernel of a source in double precision, compiled when it is first asked for, by whatever thread."""

    project: Project
    toolchain: Toolchain
    source: Path
    run: Run
    _made: dict[str, WidenedKernel | str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def kernel(self, symbol: str) -> WidenedKernel | str:
        """The kernel of that mangled name in double precision, or why there is none. Raises Cancelled."""
        with self._lock:
            if symbol not in self._made:
                self._made[symbol] = self._kernel(symbol)
            return self._made[symbol]

    def _kernel(self, symbol: str) -> WidenedKernel | str:
        code = self._compiled(symbol)
        if isinstance(code, str):
            return code
        # One instance of one kernel was added, so its namespace alone says which it is.
        names = [name for name in code.kernels if f"{NAMESPACE}::" in demangle(name)]
        return WidenedKernel(code, names[0]) if len(names) == 1 else "its kernel has another name"

    def _compiled(self, symbol: str) -> CodeObject | str:
        name = demangle(symbol)
        original = self.run.texts.needed(self.source).decode("utf-8", "surrogateescape")
        before = read_before(self.run.texts, self.project.sources, self.source, self.project.headers)
        texts = [(self.run.texts.read(path) or b"").decode("utf-8", "surrogateescape") for path in before]
        text, why = widened(original, base_name(name), (name,), texts)
        if text is None:
            return why
        changed = self.run.replacing(self.source, text.encode("utf-8", "surrogateescape"))
        try:
            return compile_device(self.project, self.toolchain, self.source, changed)
        except BuildFailed as failure:
            first = next((d.message for d in failure.diagnostics if d.severity == "error"), failure.message)
            return f"it does not compile with `double` for `float`: {first}"
