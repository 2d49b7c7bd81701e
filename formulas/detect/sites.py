"""From instructions to places in the user's source: lines, column ranges, declarations, launches.

Takes instructions with inline chains and the texts of the run, gives what a finding points at. Without the text (the
profile is from another machine) lines remain and columns are 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from hipscope.analysis.metrics.line_costs import user_frame
from hipscope.analysis.metrics.stalls import blamed_stalls
from hipscope.analysis.profile import Instruction, Kernel
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.source.text_queries import code_lines, column_range, lines_with_word
from hipscope.analysis.source.texts import UNKNOWN_COLUMN, ByteColumn, SourceTexts
from hipscope.formulas.base import Evidence, Finding, Related


@dataclass(frozen=True)
class Site:
    """The instructions of one kernel that come from one source line. `column` 0 is unknown."""

    file: str
    line: int
    column: ByteColumn
    instructions: tuple[Instruction, ...]


def sites(
    kernel: Kernel, wanted: Callable[[Instruction], bool], weight: Callable[[Instruction], float]
) -> list[Site]:
    """The lines that the wanted instructions come from; the column is that of the weightiest one."""
    grouped: dict[tuple[str, int], list[Instruction]] = {}
    for instruction in kernel.instructions:
        frame = user_frame(instruction.source)
        if frame is not None and wanted(instruction):
            grouped.setdefault((frame.file, frame.line), []).append(instruction)
    found = []
    for (file, line), instructions in grouped.items():
        worst = max(instructions, key=weight)
        frame = user_frame(worst.source)
        found.append(
            Site(file, line, ByteColumn(frame.column) if frame else UNKNOWN_COLUMN, tuple(instructions))
        )
    return found


def kernel_site(kernel: Kernel) -> Site:
    """The kernel's definition: where a finding of the whole kernel is shown. Unknown: line 0 of no file."""
    return Site(kernel.file or "", kernel.line or 0, UNKNOWN_COLUMN, ())


def costliest_site(kernel: Kernel, wanted: Callable[[Instruction], bool]) -> Site:
    """The line whose wanted instructions take longest, where a trace has them; else the kernel's definition."""
    blamed = blamed_stalls(kernel)

    def cost(instruction: Instruction) -> float:
        return instruction.latency - instruction.stall + sum(blamed[instruction.index].values())

    found = sites(kernel, wanted, cost)
    return max(found, key=lambda site: sum(map(cost, site.instructions)), default=kernel_site(kernel))


def finding_at(
    formula: str,
    kernel: Kernel,
    site: Site,
    share: float,
    message: str,
    evidence: Sequence[Evidence],
    related: Sequence[Related] = (),
) -> Finding:
    """A finding on one line. It begins at the site's column; where it ends is for `underlined` to say."""
    return Finding(
        formula=formula,
        kernel=kernel.name,
        mangled=kernel.mangled,
        file=site.file,
        line=site.line,
        end_line=site.line,
        column=site.column,
        end_column=UNKNOWN_COLUMN,
        share=share,
        message=message,
        evidence=tuple(evidence),
        related=tuple(related),
    )


def underlined(finding: Finding, texts: SourceTexts) -> Finding:
    """The finding with the columns of the expression that it points at, unless it has them."""
    if finding.end_column:
        return finding
    start, end = column_range(texts, finding.file, finding.line, finding.column)
    return replace(finding, column=start, end_column=end)


def launch_of(kernel: Kernel, file: str, texts: SourceTexts) -> Related | None:
    """The first `kernel<<<...>>>` or `hipLaunch...(kernel, ...)` in the file, else in the kernel's own (the place may
    be in a header), else in another source of the program (the kernel may be in one, too).
    """
    name = base_name(kernel.name)
    word = rb"\b" + re.escape(name).encode() + rb"\b"
    launch = re.compile(
        word + rb"\s*(?:<[^;]*>)?\s*<<<|\bhip(?:Ext)?Launch\w*\s*\((?:[^;]*\W)?" + word,
    )
    for path in searched_files(file, kernel.file or file, texts):
        if name.encode() not in (texts.read(path) or b""):
            continue
        lines = code_lines(texts, path)
        for number in lines_with_word(lines).get(name.encode(), ()):
            if launch.search(lines[number - 1]):
                return Related(path, number, f"{name} is launched here")
    return None


def searched_files(file: str, own: str, texts: SourceTexts) -> Iterator[str]:
    """The two files, then those of the program."""
    yield from dict.fromkeys((file, own))
    yield from (str(path) for path in texts.sources if str(path) not in (file, own))
