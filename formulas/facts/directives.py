"""Preprocessor directives in a kernel: what a rewrite may not put between them and their statement, and which
configurations of the program they name.

Takes texts, gives sentences and names of macros. Compiles nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

_DIRECTIVE = re.compile(rb"[ \t]*#")
_PRAGMA = re.compile(rb"[ \t]*#[ \t]*pragma\s+(unroll|nounroll|clang\s+loop|omp)\b")
_CONDITIONAL = re.compile(rb"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b")
_LOOPS = (b"for", b"while", b"do")
_COMMENTS = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
_CONDITION = re.compile(rb"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b(?P<rest>[^\n]*)", re.MULTILINE)
_MACRO = re.compile(rb"\b[A-Za-z_]\w*\b")
_OF_THE_COMPILER = re.compile(rb"__.*|defined|_[A-Z].*")
_MOST_MACROS = 4


def directive_reasons(before: bytes, after: bytes) -> list[str]:
    """Why the text of the kernel after a rewrite is refused: a loop's pragma stands before something else than it did.

    Directives between a pragma and its loop, as `#endif`, count as nothing: what is put behind one of them is behind
    the pragma in another configuration, which the reason names.
    """
    moved = Counter(_pragmas(after)) - Counter(_pragmas(before))
    wrong = sorted({(one.text, one.condition) for one in moved if one.statement not in _LOOPS})
    return [
        f"{f'where `{condition}` holds, ' if condition else ''}it puts text between `{text}` and its loop"
        for text, condition in wrong
    ]


def configurations(kernel: bytes, file: bytes) -> tuple[str, ...]:
    """The macros that conditions inside the kernel ask for and that the file does not define itself.

    Those of the compiler and of HIP are left out, and more than a few: each costs two compiles.
    """
    names: dict[str, None] = {}
    for condition in _CONDITION.finditer(_COMMENTS.sub(b" ", kernel)):
        for name in _MACRO.findall(condition["rest"]):
            defined = re.search(rb"^[ \t]*#[ \t]*(?:define|undef)[ \t]+" + name + rb"\b", file, re.MULTILINE)
            if not _OF_THE_COMPILER.fullmatch(name) and not defined:
                names[name.decode()] = None
    return tuple(names)[:_MOST_MACROS]


def configured(file: bytes, macro: str, *, defined: bool) -> bytes:
    """The file in the configuration with or without a macro; its lines keep their numbers."""
    line = f"#undef {macro}\n" + (f"#define {macro} 1\n" if defined else "")
    return f"{line}#line 1\n".encode() + file


@dataclass(frozen=True)
class _Pragma:
    """A pragma of a loop, the condition around it as the text has it, and the first word of what it stands before."""

    text: str
    condition: str
    statement: bytes


def _pragmas(text: bytes) -> Iterator[_Pragma]:
    lines = _COMMENTS.sub(lambda match: re.sub(rb"[^\n]", b" ", match[0]), text).split(b"\n")
    conditions: list[str] = []
    for number, line in enumerate(lines):
        found = _CONDITIONAL.match(line)
        if found is not None:
            if found[1] in (b"else", b"elif", b"endif"):
                conditions[-1:] = []
            if found[1] != b"endif":
                conditions.append(_plain(line))
        if not _PRAGMA.match(line):
            continue
        rest = (other for other in lines[number + 1 :] if other.strip() and not _DIRECTIVE.match(other))
        statement = next(rest, b"").strip()
        word = re.match(rb"\w+", statement)
        yield _Pragma(_plain(line), " and ".join(conditions), word[0] if word else statement[:1])


def _plain(line: bytes) -> str:
    return b" ".join(line.split()).decode("utf-8", "replace")
