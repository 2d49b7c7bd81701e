"""Where the numbers and pointers lie in a structure that a kernel is given, as its compiler lays them out.

Takes a type as the compiler knows it, gives its members; None where some of what it holds has no place or no name:
unions, bit-fields, virtual functions, several base classes, references.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from hipscope.analysis.semantics.records import Type
from hipscope.analysis.source.number_types import element_bytes

_POINTER_BYTES = 8
_VECTOR = re.compile(r"HIP_vector_type<(.+), ([1-4])u?>")
_QUALIFIERS = re.compile(r"\b(?:const|volatile|struct|class)\b ?| (?=\*)")


@dataclass(frozen=True)
class Member:
    """One number or pointer in a structure: `path` as in `size.x`, offset and size in bytes, `type` as in `double*`.

    `restrict`: it is declared `__restrict__`. `target` is what a pointer leads to.
    """

    path: str
    offset: int
    size: int
    type: str
    restrict: bool = False
    target: Type | None = None


def members_of(kind: Type) -> tuple[Member, ...] | None:
    """What a type holds, in the order of its bytes. Elements of arrays have no names, so they are left out."""
    name, size = kind.plain, kind.bytes
    if size is None or name.endswith("&"):
        return None
    if name.endswith("*") and kind.element is not None:
        restrict = "restrict" in kind.canonical.rpartition("*")[2]
        spelled = _QUALIFIERS.sub("", kind.element.spelling).strip()
        return (Member("", 0, size, f"{spelled}*", restrict, kind.element),)
    if (vector := _VECTOR.fullmatch(name)) is not None:
        count = int(vector[2])
        return tuple(Member("xyzw"[k], k * (size // count), size // count, vector[1]) for k in range(count))
    if element_bytes(name) is not None:
        return (Member("", 0, size, name),)
    if kind.dims:
        return None if kind.element is None or members_of(kind.element) is None else ()
    if not kind.whole or len(kind.bases) > 1 or not (kind.fields or kind.bases or size == 1):
        return None
    return _of_structure(kind)


def _of_structure(kind: Type) -> tuple[Member, ...] | None:
    """The members of its base class, then its own."""
    found: list[Member] = []
    end = 0
    parts = [("", base, 0) for base in kind.bases] + [(f.name, f.type, f.offset) for f in kind.fields]
    for name, part, offset in parts:
        inside = members_of(part)
        if inside is None or offset is None or offset < end:
            return None
        path = f"{name}." if name else ""
        found += (replace(m, path=f"{path}{m.path}".rstrip("."), offset=offset + m.offset) for m in inside)
        end = max([end, *(m.offset + m.size for m in found)])
    return tuple(found) if len({m.path for m in found}) == len(found) else None
