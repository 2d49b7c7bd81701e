"""The programs of this folder, and rewrites of their kernels by hand: wrong ones, to fool the proof, and right ones.

Beside each program `NAME.hip` lies `NAME.inc` with its candidates. One begins with `//// wrong NAME: WHY`, or `right`;
then `-` and `+` lines say which text of the kernel stands for which.

All programs begin with the same system headers, which are precompiled once for them and their candidates.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

FOLDER = Path(__file__).resolve().parent
_HEAD = re.compile(r"^//// (wrong|right) (\w+): (.*)$", re.MULTILINE)
_KERNEL = re.compile(r"// kernel begin\n(.*?)// kernel end\n", re.DOTALL)


@dataclass(frozen=True)
class Rewrite:
    """A candidate: the whole program with another kernel, and in words what it is about."""

    program: str
    kind: Literal["wrong", "right"]
    name: str
    why: str
    text: bytes


def programs() -> list[Path]:
    """All programs; the kernel has the name of the file."""
    return sorted(FOLDER.glob("*.hip"))


def rewrites(program: Path) -> list[Rewrite]:
    """The candidates for a program, in the order of its file. Raises ValueError where one does not fit."""
    text = program.read_text(encoding="utf-8")
    listed = _HEAD.split(program.with_suffix(".inc").read_text(encoding="utf-8"))[1:]
    found = []
    for kind, name, why, body in zip(*(listed[i::4] for i in range(4)), strict=True):
        changed = _changed(text, body, f"{program.stem}: {name}")
        found.append(
            Rewrite(program.stem, "wrong" if kind == "wrong" else "right", name, why, changed.encode())
        )
    return found


def _changed(text: str, body: str, where: str) -> str:
    match = _KERNEL.search(text)
    if match is None:
        raise ValueError(f"{where}: the program does not say where its kernel is")
    kernel = match[1]
    hunks = re.findall(r"((?:^-.*\n)+)((?:^\+.*(?:\n|\Z))*)", body.strip("\n") + "\n", re.MULTILINE)
    for old, new in hunks:
        before, after = (
            re.sub(r"^[-+]", "", part, flags=re.MULTILINE).removesuffix("\n") for part in (old, new)
        )
        if kernel.count(before) != 1:
            raise ValueError(f"{where}: {kernel.count(before)} times in the kernel: {before!r}")
        kernel = kernel.replace(before, after)
    return text[: match.start(1)] + kernel + text[match.end(1) :]
