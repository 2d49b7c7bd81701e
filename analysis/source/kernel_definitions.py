"""Where a kernel is defined in its source text.

Takes the text and the first line that the kernel's machine code names, gives the line of the definition's name, which
line tables alone do not hold; and what demangled names and argument lists consist of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from hipscope.analysis.source.texts import SourceTexts

_CLOSES = {"<": ">", "(": ")", "{": "}"}


def definition_line(lines: Sequence[bytes], kernel: str, before: int) -> int | None:
    """The last line up to `before` that names the kernel followed by an opening parenthesis, or None."""
    pattern = re.compile(rb"\b" + re.escape(base_name(kernel)).encode() + rb"\s*(?:\(|$)")
    for number in range(min(before, len(lines)), 0, -1):
        if pattern.search(lines[number - 1].split(b"//", 1)[0]):
            return number
    return None


@lru_cache(maxsize=1 << 16)
def base_name(signature: str) -> str:
    """The identifier in a demangled name: `void ns::scale<float>(float*, int)` -> `scale`."""
    outside: list[str] = []
    opened: list[str] = []
    text = signature.replace("(anonymous namespace)::", "").replace("(anonymous namespace)", "")
    for at, c in enumerate(text):
        if c in _CLOSES:
            if c == "(" and not opened and not "".join(outside).endswith("decltype"):
                break  # the parameters: what stands behind them is no part of the name
            opened.append(c)
        elif c == ">" and (not opened or opened[-1] != "<" or text[at - 1] == "-"):
            continue  # an operator inside of parentheses, or an arrow
        elif c in _CLOSES.values():
            while opened and _CLOSES[opened.pop()] != c:
                pass
        elif not opened:
            outside.append(c)
    words = "".join(outside).partition(" [")[0].split()
    return words[-1].rpartition("::")[2] if words else signature


def instance_name(signature: str) -> str:
    """The identifier with its template arguments: `void ns::scale<float>(float*, int)` -> `scale<float>`."""
    whole, name = signature_without_result(signature), base_name(signature)
    if not whole.startswith(f"{name}<"):
        return name
    depth = 0
    for at, c in enumerate(whole):
        closes = c == ">" and whole[at - 1] != "-"
        depth += (c == "<") - closes
        if closes and depth == 0:
            return whole[: at + 1]
    return name


def signature_without_result(signature: str) -> str:
    """`void ns::scale<float>(float*, int)` -> `scale<float>(float*, int)`."""
    name = base_name(signature)
    at = signature.find(name)
    while at >= 0:  # no pattern: there are thousands of names, and each would have one of its own
        end = at + len(name)
        begins = _is_word(signature[at - 1 : at]) != _is_word(name[:1])
        if begins and signature[end : end + 1] in ("", "<", "("):
            return signature[at:]
        at = signature.find(name, at + 1)
    return signature


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


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
