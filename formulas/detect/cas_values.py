"""The values in a compare-and-swap loop, as terms: what is given, what the loop saw in memory, what is made of both.

Takes syntax nodes of types and numbers, gives terms with C++'s types for them. Nothing is computed: two terms are the
same value where they are equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

# A number type: i, u or f, and its bytes. `long` has 8 on every platform of HIP but Windows' host.
TypeCode = str

Kind = Literal[
    "given",  # the loop does not change it: `text`
    "head",  # what the variable `text` holds when a step begins
    "load",  # what a plain read of the address gives in this step
    "seen",  # what the failed compare-and-swap of this step has found
    "truth",  # `true` or `false`
    "bits",  # the same bits as another type
    "converted",  # the value as another type
    "unary",
    "binary",
    "choice",
    "call",
    "unknown",
]

SPELLINGS: dict[TypeCode, str] = {
    "i4": "int",
    "u4": "unsigned int",
    "i8": "long long",
    "u8": "unsigned long long",
    "f4": "float",
    "f8": "double",
}
# Functions of HIP and CUDA that read the bits of one type as another one.
BIT_CASTS: dict[str, tuple[TypeCode, TypeCode]] = {
    "__float_as_int": ("f4", "i4"),
    "__float_as_uint": ("f4", "u4"),
    "__int_as_float": ("i4", "f4"),
    "__uint_as_float": ("u4", "f4"),
    "__double_as_longlong": ("f8", "i8"),
    "__longlong_as_double": ("i8", "f8"),
}
COMPARISONS = frozenset({"<", ">", "<=", ">=", "==", "!="})
_EXACT = {"float": "f4", "double": "f8", "bool": "u1", "size_t": "u8", "uint": "u4", "__half": "f2"}
_WORDS = frozenset({"int", "unsigned", "signed", "long", "short", "char"})
_FIXED = re.compile(r"(?:std::)?(u?)int(8|16|32|64)_t")


@dataclass(frozen=True)
class Term:
    """One value. `text` is its name, number, operator or function; `type` is None where it is not known."""

    kind: Kind
    parts: tuple[Term, ...] = ()
    text: str = ""
    type: TypeCode | None = None


UNKNOWN = Term("unknown")
SYMBOLS = ("head", "load", "seen")


def code_of_type(text: str) -> TypeCode | None:
    """The number type of that spelling, qualifiers dropped; None for anything else."""
    text = " ".join(
        w for w in text.split() if w not in ("const", "volatile", "register", "static", "constexpr")
    )
    if (fixed := _FIXED.fullmatch(text)) is not None:
        return f"{fixed[1] or 'i'}{int(fixed[2]) // 8}"
    words = text.split()
    if text in _EXACT or not words or not _WORDS.issuperset(words):
        return _EXACT.get(text)
    size = 1 if "char" in words else 2 if "short" in words else 8 if "long" in words else 4
    return ("u" if "unsigned" in words else "i") + str(size)


def code_of_number(text: str) -> TypeCode:
    """The type of a literal."""
    text = text.lower().replace("'", "")
    if not text.startswith("0x") and re.search(r"[.ef]", text):
        return "f4" if text.endswith("f") else "f8"
    suffix = re.sub(r".*?([ul]*)$", r"\1", text)
    return ("u" if "u" in suffix else "i") + ("8" if "l" in suffix else "4")


def is_integer(code: TypeCode | None) -> bool:
    """Whether this is an integer type."""
    return code is not None and code[0] in "iu"


def common_type(left: TypeCode | None, right: TypeCode | None) -> TypeCode | None:
    """C++'s type of an operation on two numbers."""
    if left is None or right is None:
        return None
    floats = [c for c in (left, right) if c[0] == "f"]
    if floats:
        return max(floats)
    left, right = (c if c[1:] >= "4" else "i4" for c in (left, right))
    size = max(left[1], right[1])
    return ("u" if f"u{size}" in (left, right) else "i") + size


def as_type(value: Term, code: TypeCode | None) -> Term:
    """The value converted as by an assignment: between integers of one size the bits stay."""
    if code is None:
        return UNKNOWN
    if value.type == code:
        return value
    same = (
        is_integer(value.type) and is_integer(code) and value.type is not None and value.type[1:] == code[1:]
    )
    return bits_as(value, code) if same else Term("converted", (value,), type=code)


def bits_as(value: Term, code: TypeCode) -> Term:
    """The same bits as another type of that size."""
    inner = core(value)
    return inner if inner.type == code else Term("bits", (inner,), type=code)


def core(value: Term) -> Term:
    """The value under all readings of its bits as other types."""
    return core(value.parts[0]) if value.kind == "bits" else value


def symbols_in(value: Term) -> Iterator[Term]:
    """What the term is made of that is another one in each step of the loop."""
    if value.kind in (*SYMBOLS, "unknown"):
        yield value
    for part in value.parts:
        yield from symbols_in(part)


def written(value: Term) -> str:
    """The term as C++, for one that is given to the loop."""
    if value.kind in ("given", "truth"):
        return value.text
    inner = [written(p) for p in value.parts]
    if value.kind == "bits":
        return bit_cast(inner[0], value.parts[0].type or "", value.type or "")
    if value.kind == "converted":
        return f"({SPELLINGS.get(value.type or '', value.text)})({inner[0]})"
    if value.kind == "unary":
        return f"{value.text}({inner[0]})"
    if value.kind == "binary":
        return f"({inner[0]} {value.text} {inner[1]})"
    if value.kind == "choice":
        return f"({inner[0]} ? {inner[1]} : {inner[2]})"
    return f"{value.text}({', '.join(inner)})"


def bit_cast(text: str, old: TypeCode, new: TypeCode) -> str:
    """The expression of type `old` with its bits read as `new`."""
    if old == new:
        return text
    if is_integer(old) and is_integer(new):
        return f"({SPELLINGS[new]}){as_operand(text)}"
    fitting = [(source, name) for name, (source, target) in BIT_CASTS.items() if target == new]
    for source, name in sorted(fitting, key=lambda entry: entry[0] != old):
        if source == old or (is_integer(source) and is_integer(old)):
            return f"{name}({text})"
    name = next(n for n, (source, _) in BIT_CASTS.items() if source == old)
    return f"({SPELLINGS[new]}){name}({text})"


def as_operand(text: str) -> str:
    """The text as an operand of a cast: a name, a call, an element, or something in parentheses."""
    depth = 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 and not (letter.isalnum() or letter in "_.)]"):
            return f"({text})"
    return text
