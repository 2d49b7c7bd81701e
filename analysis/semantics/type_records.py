"""Types of libclang as records.

Takes a type, gives its canonical name, size, elements, dimensions and members, each made once for a reading.
"""

from __future__ import annotations

from typing import Any

from hipscope.analysis.semantics.cursors import (
    ARRAYS,
    POINTER,
    RECORD,
    REFERENCES,
    VECTORS,
    ClangType,
    Cursor,
    Kind,
)
from hipscope.analysis.semantics.records import Field, Type


class Types:
    """The types of one reading of a unit."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, int], Type] = {}
        self._open: set[str] = set()

    def of(self, clang_type: ClangType) -> Type | None:
        """The record of a type; None for what has no type."""
        if clang_type.kind == 0:
            return None
        key = clang_type.key
        if key not in self._known:
            if clang_type.placeholder:
                return None
            made = self._made(clang_type)
            if self._open:  # inside a structure: members of structures inside it may be left out
                return made
            self._known[key] = made
        return self._known[key]

    def _made(self, clang_type: ClangType) -> Type:
        canonical = clang_type.canonical
        size = canonical.size if canonical.kind not in REFERENCES else canonical.pointee.size
        return Type(
            spelling=clang_type.spelling,
            canonical=canonical.spelling,
            plain=canonical.unqualified.spelling,
            bytes=size if size >= 0 else None,
            element=self._element(clang_type, canonical),
            dims=_dimensions(canonical),
            dependent=_leaf(canonical).dependent,
            **self._members(canonical),
        )

    def _element(self, clang_type: ClangType, canonical: ClangType) -> Type | None:
        """What it is made of, by the name that is written where one is."""
        if canonical.kind in ARRAYS:
            element, written = canonical, clang_type
            while element.kind in ARRAYS:
                element, written = element.array_element.canonical, written.array_element
            return self.of(written if written.kind else element)
        if canonical.kind == POINTER or canonical.kind in REFERENCES:
            written = clang_type.pointee
            return self.of(written if written.kind else canonical.pointee)
        return self.of(canonical.vector_element) if canonical.kind in VECTORS else None

    def _members(self, canonical: ClangType) -> dict[str, Any]:
        """What a structure holds; nothing of one that stands inside itself."""
        name = canonical.unqualified.spelling
        if canonical.kind != RECORD or name in self._open or canonical.size < 0:
            return {}
        self._open.add(name)
        try:
            defined = canonical.declaration.definition
            children = defined.children or defined.template.children  # an instance of a template has none
            members = [(c, self._field(c)) for c in canonical.fields]
            bases = [self.of(c.type) for c in children if c.kind == Kind.BASE]
        finally:
            self._open.discard(name)
        odd = any(c.is_virtual for c in children) or not all(_is_named(c) for c, _ in members)
        return {
            "fields": tuple(field for c, field in members if field is not None and _is_named(c)),
            "bases": tuple(base for base in bases if base is not None),
            "whole": defined.kind != Kind.UNION and not odd,
        }

    def _field(self, member: Cursor) -> Field | None:
        made = self.of(member.type)
        return None if made is None else Field(member.spelling, made, member.field_offset)


def _is_named(field: Cursor) -> bool:
    return field.spelling.isidentifier()


def _dimensions(canonical: ClangType) -> tuple[int, ...]:
    sizes = []
    while canonical.kind in ARRAYS:
        sizes.append(max(0, canonical.array_size))
        canonical = canonical.array_element.canonical
    return tuple(sizes)


def _leaf(canonical: ClangType) -> ClangType:
    """What is at the end of pointers, references and arrays."""
    while True:
        if canonical.kind in ARRAYS:
            canonical = canonical.array_element.canonical
        elif canonical.kind == POINTER or canonical.kind in REFERENCES:
            canonical = canonical.pointee.canonical
        else:
            return canonical
