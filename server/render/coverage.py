"""A coverage report as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from hipscope.analysis.runs.coverage import CodeObjectCoverage, Coverage, NotExecuted


def render_coverage(found: Coverage, console: Console) -> None:
    """Print what is used, then each thing that is not emulated with its place."""
    for line in _lines(found):
        console.print(Text(line), soft_wrap=True)


def _lines(found: Coverage) -> Iterator[str]:
    for code in found.code_objects:
        yield from _code_object(code)
    if found.runtime is not None:
        runtime = found.runtime
        yield f"HIP calls: {len(runtime.imported)} imported, {len(runtime.refused) + len(runtime.absent)} not emulated"
        yield from (f"  {name}: returns hipErrorNotSupported when called" for name in runtime.refused)
        yield from (
            f"  {name}: not in the emulator's library; the program does not start" for name in runtime.absent
        )
        yield from (f"  {name}: a GPU library that is not emulated" for name in runtime.libraries)
    yield "everything is emulated" if found.complete else "not everything is emulated"


def _code_object(code: CodeObjectCoverage) -> Iterator[str]:
    if not code.executed:
        yield f"{code.target}: not executed, the emulator models no GPU with this instruction set"
        return
    used: Counter[str] = Counter()
    for function in code.functions:
        used.update(function.mnemonics)
    missing = sum(len(f.not_executed) for f in code.functions)
    yield f"{code.target}: {used.total()} instructions, {len(used)} mnemonics, {missing} instructions not executed"
    for function in code.functions:
        kind = "kernel" if function.kernel else "function"
        size = sum(function.mnemonics.values())
        yield f"  {kind} {function.name}: {size} instructions, {len(function.mnemonics)} mnemonics"
        by_count = sorted(function.mnemonics.items(), key=lambda item: (-item[1], item[0]))
        yield "    " + " ".join(f"{name}*{count}" for name, count in by_count)
        yield from (f"    {_where(n)}: {n.text}: {n.reason}" for n in function.not_executed)


def _where(n: NotExecuted) -> str:
    return f"{n.positions[0].file}:{n.positions[0].line}" if n.positions else f"at {n.address:#x}"
