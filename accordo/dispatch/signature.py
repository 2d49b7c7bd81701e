"""What the source calls a kernel's parameters: names for messages, types where the mangled name has none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hipscope.accordo.dispatch.element_types import FloatStructure, MemberPointer, Pointees, pointees


@dataclass(frozen=True)
class Signature:
    """The kernel's parameters as the source has them: names for messages, types where the mangled name has none.

    `members` are the pointers in those that are structures, for each instance by its mangled name; `structures` as in
    `Pointees`.
    """

    names: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    members: Mapping[str, Mapping[int, tuple[MemberPointer, ...]]] = field(default_factory=dict)
    structures: Mapping[str, FloatStructure] = field(default_factory=dict)

    def pointees(self, symbol: str, demangled: str) -> Pointees:
        """What the pointers of an instance lead to."""
        return Pointees(pointees(demangled, self.types), self.members.get(symbol, {}), self.structures)
