"""Where a kernel is defined in its source text.

Takes the file and the first line that its machine code names, gives the line of the definition's name. Line tables
alone do not tell it. The capture's own copies of the sources are used when the file is not on this machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath


def definition_line(capture: Path, file: str, kernel: str, before: int) -> int | None:
    """The last line up to `before` that names the kernel followed by an opening parenthesis, or None."""
    text = _text(capture, file)
    if text is None:
        return None
    name = re.escape(base_name(kernel))
    pattern = re.compile(rf"\b{name}\s*(?:\(|$)")
    lines = text.splitlines()
    for number in range(min(before, len(lines)), 0, -1):
        if pattern.search(lines[number - 1].split("//", 1)[0]):
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


def _text(capture: Path, file: str) -> str | None:
    for path in (Path(file), _copy(capture, file)):
        if path is None:
            continue
        try:
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
    return None


def _copy(capture: Path, file: str) -> Path | None:
    """The copy of a source that the trace made, found through its snapshots.json."""
    for snapshots in sorted(capture.rglob("snapshots.json")):
        try:
            branch = json.loads(snapshots.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        for part in PurePosixPath(file).parts:
            branch = branch.get(part) if isinstance(branch, dict) else None
        if isinstance(branch, str):
            return snapshots.parent / branch
    return None


def definition_in(sources: Iterable[Path], kernel: str) -> tuple[str, int] | None:
    """File and line of the only `__global__` function of that name in the sources; None when there is none or several.

    For captures without machine code, which name their kernels only.
    """
    pattern = re.compile(rf"__global__\b[^;{{}}]*?\b({re.escape(base_name(kernel))})\s*\(")
    found = []
    for path in sources:
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        found += [(str(path), text.count("\n", 0, match.start(1)) + 1) for match in pattern.finditer(text)]
    return found[0] if len(found) == 1 else None
