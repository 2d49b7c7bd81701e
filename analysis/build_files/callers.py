"""Which of several programs that one source is part of call it: each test of a library is compiled from all of it.

Takes programs with their sources, gives them in another order.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from hipscope.analysis.source.functions import callables_in
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.texts import SourceTexts


class _Compiled(Protocol):
    @property
    def sources(self) -> Collection[Path]: ...


Program = TypeVar("Program", bound=_Compiled)


def callers_first(programs: Sequence[Program], source: Path | None) -> list[Program]:
    """Those whose own sources name the most functions and kernels of the source, else as they were."""
    if source is None or len(programs) < 2:
        return [*programs]
    texts = SourceTexts()
    text = texts.read(source) or b""
    defined = {*callables_in([text]).functions, *(kernel.name for kernel in parse(text).kernels)} - {"main"}
    shared = frozenset[Path].intersection(*(frozenset(one.sources) for one in programs))

    def called(program: Program) -> int:
        own = " ".join(texts.text(path) or "" for path in program.sources if path not in shared)
        return len(defined & set(re.findall(r"\w+", own)))

    return sorted(programs, key=called, reverse=True)
