"""The device functions that a kernel calls, as rewrites see a kernel: syntax, types, and what launches say of them.

Takes the compiler's reading of the kernel's file and the facts about its launches, gives the functions that may be
rewritten for it. A parameter is known where every call is given the same argument of the kernel or the same number, and
neither is ever changed. Nothing is guessed: without the compiler's answer there are none.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from hipscope.analysis.metrics.stalls import blamed_stalls
from hipscope.analysis.profile import Kernel
from hipscope.analysis.semantics.meaning import Meaning
from hipscope.analysis.semantics.records import Call, FunctionInstance, FunctionKey, Type
from hipscope.analysis.source.number_types import integers
from hipscope.analysis.source.parse import device_functions
from hipscope.analysis.source.syntax import KernelSyntax
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts
from hipscope.formulas.facts.source_types import source_types

_Value = TypeVar("_Value")
_INTEGERS = integers(32)
_NUMBER = re.compile(r"(?:(?:const|unsigned|signed|bool|char|short|int|long|float|double|_Float16)\b ?)+")
_HOT = 0.1  # of the kernel's cycles: a function with less than that has little to give
_MOST = 6  # each is asked by all recipes for functions


@dataclass(frozen=True)
class CalledFunction:
    """One function that a kernel runs, in `file` with the text `source`, and its `share` of the kernel's cycles.

    Its facts say which of its pointers overlap no other where no kernel but this one calls it.
    `fixed` says why it may not be rewritten, as the end of a sentence; empty where it may. `host` says so of rewrites
    that hold for what kernels do with it alone.
    """

    file: Path
    source: bytes
    syntax: KernelSyntax
    facts: LaunchFacts
    share: float = 0.0
    fixed: str = ""
    host: str = ""

    def covers(self, file: str | None, line: int) -> bool:
        """Whether a line is one of this function's."""
        if file is None or not self.syntax.span.line <= line <= self.syntax.span.end_line:
            return False
        return Path(file).resolve() == self.file.resolve()


def called_functions(
    meaning: Meaning,
    symbols: Collection[str],
    facts: LaunchFacts,
    texts: SourceTexts,
    root: Path,
    sources: Collection[Path] = (),
) -> tuple[CalledFunction, ...]:
    """The functions that the kernel with these symbols runs, with why not, where the host may run one, too.

    `root` is the folder of the program, `sources` are files of it that other compiles read.
    """
    if any(meaning.function(s) is None or meaning.doubts(s) for s in symbols):
        return ()
    reached = {f.key: f for symbol in symbols for f in meaning.reachable(symbol)}
    calls = _Calls(reached, symbols, texts)
    others = (f.key for f in meaning.by_key.values() if f.kernel and f.key not in symbols)
    shared = {f.key for kernel in others for f in meaning.reachable(kernel)}
    inside = {file for file in (*meaning.includes, *sources) if file.is_relative_to(root)}
    own_files = {meaning.file, *inside, *(f.place.file for f in meaning.by_key.values())}
    found = []
    for instances in _by_definition(f for f in reached.values() if f.key not in symbols):
        first = instances[0]
        source = texts.read(first.place.file)
        syntax = _written(source, first) if source is not None else None
        if source is None or syntax is None:
            continue
        types = source_types(meaning, [f.key for f in instances], first.place.file, source, texts)
        known = [calls.arguments(f) for f in instances]
        same = {name: given for name, given in known[0].items() if all(o.get(name) == given for o in known)}
        alone = not any(f.key in shared or not _pointers_known(f, same) for f in instances)
        own = replace(
            facts,
            launches=tuple(_seen_from_inside(launch, same) for launch in facts.launches),
            member_pointers=_renamed(facts.member_pointers, same),
            member_numbers=_renamed(facts.member_numbers, same),
            promised=_names(facts.promised, same) if alone else frozenset(),
            disjoint=_names(facts.disjoint, same) if alone else frozenset(),
            types=types,
        )
        host = _on_host(meaning, instances, texts, own_files)
        found.append(CalledFunction(first.place.file, source, syntax, own, host=host))
    return tuple(found)


def hottest(functions: Iterable[CalledFunction], profiled: Collection[Kernel]) -> tuple[CalledFunction, ...]:
    """Those that a good part of the cycles of these instances of the kernel are spent in, hottest first.

    Outer functions spend what those that they call do: of many those are taken that do the most themselves.
    """
    functions = tuple(functions)
    spent, own = [0.0] * len(functions), [0.0] * len(functions)
    total = 0.0

    @functools.cache  # thousands of instructions come from hundreds of lines
    def covering(file: str | None, line: int) -> frozenset[int]:
        return frozenset(n for n, function in enumerate(functions) if function.covers(file, line))

    for kernel in profiled if functions else ():
        for instruction, waits in zip(kernel.instructions, blamed_stalls(kernel), strict=True):
            cost = instruction.latency - instruction.stall + sum(waits.values())
            total += cost
            frames = instruction.source if cost else ()
            around = [covering(frame.file, frame.line) for frame in frames]
            for number in frozenset().union(*around):
                spent[number] += cost
            for number in next(filter(None, around), ()):
                own[number] += cost
    hot = [n for n, cycles in enumerate(spent) if total and cycles >= _HOT * total]
    working = sorted(hot, key=lambda n: -own[n])[:_MOST]
    return tuple(
        replace(functions[n], share=spent[n] / total) for n in sorted(working, key=lambda n: -spent[n])
    )


@dataclass(frozen=True)
class _Calls:
    """What the functions that a kernel runs are given, in names of the kernel's parameters and in numbers."""

    reached: Mapping[FunctionKey, FunctionInstance]
    symbols: Collection[str]
    texts: SourceTexts

    def arguments(
        self, function: FunctionInstance, around: frozenset[FunctionKey] = frozenset()
    ) -> dict[str, str]:
        """By parameter, the kernel's parameter or the number that every call of this function passes for it."""
        if function.key in self.symbols:
            return {p.name: p.name for p in function.parameters if p.name and not p.assigned}
        if function.key in around:
            return {}
        every = [
            self._given(function, caller, call, around | {function.key})
            for caller in self.reached.values()
            for call in caller.calls
            if call.callee == function.key
        ]
        first, *others = every or [{}]
        return {name: given for name, given in first.items() if all(o.get(name) == given for o in others)}

    def _given(
        self, function: FunctionInstance, caller: FunctionInstance, call: Call, around: frozenset[FunctionKey]
    ) -> dict[str, str]:
        """What one call passes as it is: no conversion cuts it, and it is the same all the time."""
        if len(call.arguments) != len(function.parameters):
            return {}
        known, types = self.arguments(caller, around), {p.name: p.type for p in caller.parameters}
        found = {}
        for parameter, place in zip(function.parameters, call.arguments, strict=True):
            if place.macro is not None or parameter.assigned or "&" in parameter.type.canonical:
                continue
            text = (self.texts.read(place.file) or b"")[slice(*place.span)].decode("utf-8", "replace").strip()
            if text.isdecimal() and (text == "0" or text[0] != "0") and parameter.type.plain in _INTEGERS:
                found[parameter.name] = text
            elif text in known and _bare(types[text]) == _bare(parameter.type):
                found[parameter.name] = known[text]
        return found


def _bare(kind: Type) -> str:
    return "".join(
        kind.canonical.replace("const", "").replace("__restrict", "").replace("volatile", "").split()
    )


def _on_host(
    meaning: Meaning,
    instances: Collection[FunctionInstance],
    texts: SourceTexts,
    own: Collection[Path],
    around: frozenset[FunctionKey] = frozenset(),
) -> str:
    """Why the host may run a function, as the end of a sentence; empty where nothing but device code mentions it.

    The name stands at the definition and in calls by kernels, by functions for the device alone and by such as this
    one: any other place in the program's `own` files, also in a comment, may be the host's.
    """
    if not any(f.host for f in instances):
        return ""
    keys, name = {f.key for f in instances}, next(f.name for f in instances)
    callers: dict[FunctionKey, FunctionInstance] = {}
    places = set()
    for caller in meaning.by_key.values():
        for call in caller.calls:
            if call.callee in keys and call.place.macro is None:
                callers[caller.key] = caller
                places.add((call.place.file, call.place.span))
    word = re.compile(rb"\b%s\b" % re.escape(name.encode()))
    mentioned = sum(len(word.findall(texts.read(file) or b"")) for file in own)
    if mentioned != 1 + len(places):
        return "the host may run it, too"
    for caller in callers.values():
        if caller.kernel or caller.key in keys | around:
            continue
        text = texts.read(caller.place.file)
        plain = _written(text, caller) is not None if text is not None else False
        if not plain or _on_host(meaning, (caller,), texts, own, around | keys):
            return f"the host may run it, too, through `{caller.name}`"
    return ""


def _by_definition(functions: Iterable[FunctionInstance]) -> list[list[FunctionInstance]]:
    """The instances of one template together."""
    found: dict[tuple[Path, tuple[int, int]], list[FunctionInstance]] = {}
    for function in functions:
        found.setdefault((function.place.file, function.place.span), []).append(function)
    return list(found.values())


def _written(source: bytes, function: FunctionInstance) -> KernelSyntax | None:
    """The text of a function, as rewrites read one."""
    start, end = function.place.span
    return next(
        (
            f
            for f in device_functions(source)
            if f.name == function.name and start <= f.body.start and f.body.end <= end
        ),
        None,
    )


def _seen_from_inside(launch: LaunchFact, given: Mapping[str, str]) -> LaunchFact:
    """A launch in the names of the function's parameters."""
    numbers = {name: int(value) for name, value in given.items() if value.isdigit()}
    return replace(
        launch,
        scalars={**_renamed(launch.scalars, given), **numbers},
        buffer_bytes=_renamed(launch.buffer_bytes, given),
    )


def _pointers_known(function: FunctionInstance, given: Mapping[str, str]) -> bool:
    """Whether each pointer that a function is given, or what may hold one, is an argument of its own of the kernel."""
    leading = [p.name for p in function.parameters if not _NUMBER.fullmatch(p.type.canonical)]
    named = [given.get(name) for name in leading]
    return None not in named and len(set(named)) == len(named)


def _names(pointers: Collection[str], given: Mapping[str, str]) -> frozenset[str]:
    """Pointers of the kernel and of its parameters' members, in the function's names for them."""
    return frozenset(_renamed(dict.fromkeys(pointers, 0), given))


def _renamed(known: Mapping[str, _Value], given: Mapping[str, str]) -> dict[str, _Value]:
    """What is known of the kernel's parameters and their members (`grid.nx`), in the function's names for them."""
    found: dict[str, _Value] = {}
    for own, name in given.items():
        for key, value in known.items():
            root, dot, member = key.partition(".")
            if root == name:
                found[own + dot + member] = value
    return found
