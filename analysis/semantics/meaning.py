"""What the compiler says of one file of a program: the questions that recipes, formulas and prompts ask.

Takes texts, a compile command and a library, gives a `Meaning`: plain data that outlives the translation unit. None
means that the compiler does not say; a caller then refuses with that reason.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hipscope.analysis.semantics.bodies import Reading
from hipscope.analysis.semantics.functions import find_functions
from hipscope.analysis.semantics.places import Places
from hipscope.analysis.semantics.records import (
    Diagnostic,
    FunctionInstance,
    FunctionKey,
    HostAssignment,
    HostCall,
    KernelLaunch,
    Library,
    Place,
    SourceCommand,
)
from hipscope.analysis.semantics.tails import instances_tail, value_tail, values_in
from hipscope.analysis.semantics.type_records import Types
from hipscope.analysis.semantics.units import Unit
from hipscope.analysis.source.parse import tree_of
from hipscope.analysis.source.texts import SourceTexts

_KEPT = 4  # units; each holds some 30 MB, the first 150
_Question = tuple[SourceCommand, bytes, bool]
_KEPT_MEANINGS = 8  # one of a unit's text, and one with the instances that are asked for


@dataclass(frozen=True)
class Meaning:
    """One file, with what it includes, as the compiler understands it; `includes` are the files that were read."""

    file: Path
    errors: tuple[Diagnostic, ...]
    includes: tuple[Path, ...]
    by_key: Mapping[FunctionKey, FunctionInstance] = field(repr=False)
    all_launches: tuple[KernelLaunch, ...] = field(repr=False)
    host_calls: tuple[HostCall, ...] = field(default=(), repr=False)
    host_assignments: tuple[HostAssignment, ...] = field(default=(), repr=False)

    def function(self, key: FunctionKey | str) -> FunctionInstance | None:
        """The function or instance with this symbol."""
        return self.by_key.get(FunctionKey(key))

    def named(self, name: str) -> tuple[FunctionInstance, ...]:
        """The functions and instances with this name, without its namespaces."""
        return tuple(function for function in self.by_key.values() if function.name == name)

    def reachable(self, kernel: FunctionKey | str) -> tuple[FunctionInstance, ...]:
        """The kernel and the program's own functions that run with it: helpers, operators, lambdas."""
        found: dict[FunctionKey, FunctionInstance] = {}
        waiting = [FunctionKey(kernel)]
        while waiting:
            function = self.by_key.get(waiting.pop())
            if function is not None and function.key not in found:
                found[function.key] = function
                waiting += [call.callee for call in function.calls if call.callee is not None]
        return tuple(found.values())

    def doubts(self, kernel: FunctionKey | str) -> tuple[Diagnostic, ...]:
        """The errors because of which not all may be known of a kernel: in it, what it calls and what these use."""
        return tuple(dict.fromkeys(error for function in self.reachable(kernel) for error in function.errors))

    def launches(self, kernel: FunctionKey | str | None = None) -> tuple[KernelLaunch, ...]:
        """The launches in the file, of one kernel or all."""
        return tuple(launch for launch in self.all_launches if kernel in (None, launch.kernel))


class Units:
    """The translation units of a process, the last used ones kept. Safe to ask from several threads."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._units: OrderedDict[SourceCommand, Unit] = OrderedDict()
        self._known: OrderedDict[_Question, tuple[SourceTexts, Meaning]] = OrderedDict()
        self._lock = threading.Lock()

    def meaning(self, texts: SourceTexts, command: SourceCommand, symbols: Collection[str] = ()) -> Meaning:
        """What the file means in these texts. `symbols` are kernels that must be there though nothing in the file
        uses them: those of the code object. Raises UsageError for a file that cannot be read, HipscopeError when
        libclang cannot read it, MissingTool when there is no libclang.
        """
        with self._lock:
            found = self._meaning(texts, command, b"")
            lacking = [symbol for symbol in symbols if FunctionKey(symbol) not in found.by_key]
            tail = instances_tail(lacking)
            return self._meaning(texts, command, tail) if tail else found

    def outline(self, texts: SourceTexts, command: SourceCommand, limit_s: float) -> Meaning:
        """What the file means, with one instance of each template, for questions about the text alone.

        Raises as `meaning` does, and NotReadable after `limit_s` seconds of work.
        """
        with self._lock:
            return self._meaning(texts, command, b"", limit_s)

    def values(
        self,
        texts: SourceTexts,
        command: SourceCommand,
        expressions: Collection[str],
        scope: Place | None = None,
    ) -> dict[str, int | float | None]:
        """Expressions of constants (`kTable[3]`, `sizeof(P)`) by their value, in the namespace of `scope`.

        None where one is no constant, or names something that is not known there.
        """
        with self._lock:
            unit = self._unit(command)
            tail = value_tail(expressions, _namespaces(texts, scope))
            given = command.seen(texts.unsaved, texts.needed)
            unit.read({**given, command.file: texts.needed(command.file) + tail})
            return values_in(unit, expressions, len(texts.needed(command.file)))

    def _meaning(
        self, texts: SourceTexts, command: SourceCommand, tail: bytes, outline_s: float | None = None
    ) -> Meaning:
        """What a text with that tail means, read once for a run: every kernel of a file asks, and asks again."""
        question = (command, tail, outline_s is not None)
        before = self._known.pop(question, None)
        found = before if before is not None and before[0].same(texts) else None
        if found is None:
            found = texts, _read(self._unit(command), texts, tail, outline_s)
        self._known[question] = found
        while len(self._known) > _KEPT_MEANINGS:
            self._known.popitem(last=False)
        return found[1]

    def _unit(self, command: SourceCommand) -> Unit:
        unit = self._units.pop(command, None) or Unit(self.library, command)
        self._units[command] = unit
        while len(self._units) > _KEPT:
            self._units.popitem(last=False)
        return unit


def _read(unit: Unit, texts: SourceTexts, tail: bytes, outline_s: float | None) -> Meaning:
    file = unit.command.file
    text = texts.needed(file)
    unit.read({**unit.command.seen(texts.unsaved, texts.needed), file: text + tail})
    reading = Reading(unit, Places(unit, texts), Types())
    errors = tuple(e for e in unit.errors() if not _behind(e, file, len(text)))
    found = find_functions(reading, errors, one_of_each=outline_s is not None, limit_s=outline_s)
    given = (found.calls, found.assignments)
    return Meaning(file, errors, unit.includes(), found.functions, found.launches, *given)


def _behind(error: Diagnostic, file: Path, end: int) -> bool:
    """Whether an error is about what was asked behind the end of the text."""
    return error.place is not None and error.place.file == file and error.place.span[0] >= end > 0


def _namespaces(texts: SourceTexts, scope: Place | None) -> tuple[str, ...]:
    """The namespaces around a place, outermost first."""
    if scope is None or (data := texts.read(scope.file)) is None:
        return ()
    node = tree_of(data).descendant_for_byte_range(*scope.span)
    found: list[str] = []
    while node is not None:
        if node.type == "namespace_definition" and (name := node.child_by_field_name("name")) is not None:
            found.insert(0, (name.text or b"").decode("utf-8", "replace"))
        node = node.parent
    return tuple(found)
