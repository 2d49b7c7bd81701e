"""Where a kernel is defined in its source text.

Takes the text and the first line that the kernel's machine code names, gives the line of the definition's name, which
line tables alone do not hold; and what demangled names consist of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from hipscope.analysis.source.texts import SourceTexts


def definition_line(lines: Sequence[bytes], kernel: str, before: int) -> int | None:
    """The last line up to `before` that names the kernel followed by an opening parenthesis, or None."""
    pattern = re.compile(rb"\b" + re.escape(base_name(kernel)).encode() + rb"\s*(?:\(|$)")
    for number in range(min(before, len(lines)), 0, -1):
        if pattern.search(lines[number - 1].split(b"//", 1)[0]):
            return number
    return None


def base_name(kernel: str) -> str:
    """The identifier of a demangled kernel name: without return type, namespaces, template and call arguments."""
    head = kernel
    depth = 0
    for position, character in enumerate(kernel):
        if character == "<":
            depth += 1
        elif character == ">":
            depth -= 1
        elif character == "(" and depth == 0 and not kernel.startswith("(anonymous namespace)", position):
            head = kernel[:position]
            break
    head = head.replace("(anonymous namespace)", "")
    while "<" in head:
        shorter = re.sub(r"<[^<>]*>", "", head)
        if shorter == head:
            break
        head = shorter
    return head.split("::")[-1].split()[-1] if head.split("::")[-1].split() else kernel


def split_arguments(text: str) -> list[str]:
    """The parts of a C++ argument list, cut at its outermost commas."""
    parts, depth, start = [], 0, 0
    for i, character in enumerate(text):
        depth += {"(": 1, "<": 1, "[": 1, "{": 1, ")": -1, ">": -1, "]": -1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [*parts, text[start:].strip()]


def definition_in(texts: SourceTexts, sources: Iterable[Path], kernel: str) -> tuple[str, int] | None:
    """File and line of the only `__global__` function of that name in the sources; None when there is none or several.

    For captures without machine code, which name their kernels only.
    """
    name = re.escape(base_name(kernel)).encode()
    pattern = re.compile(rb"__global__\b[^;{}]*?\b(" + name + rb")\s*\(")
    found = []
    for path in sources:
        text = texts.read(path) or b""
        found += [(str(path), text.count(b"\n", 0, match.start(1)) + 1) for match in pattern.finditer(text)]
    return found[0] if len(found) == 1 else None
