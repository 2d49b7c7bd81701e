"""Which inputs of a kernel the trials varied: each pointer, each number, device variables, the shape of the launch.

Takes the captured run and what became of each trial, gives a line for each input: varied in so many trials, or never,
and why not. What never varied may be anything: a proof says nothing of other values of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hipscope.accordo.dispatch.access_map import READ, READ_FIRST, WRITTEN
from hipscope.accordo.dispatch.captured import CapturedBuffer, CapturedDispatch
from hipscope.accordo.dispatch.code_properties import asked_dimensions
from hipscope.accordo.dispatch.guessed_types import with_guesses
from hipscope.accordo.dispatch.replaced_buffers import replaced_contents, replacement
from hipscope.accordo.dispatch.signature import Signature
from hipscope.accordo.reference.run import ReferenceRun
from hipscope.accordo.reference.trials import Planned, Reason
from hipscope.analysis.source.number_types import BYTES
from hipscope.emulator.symbolize import demangle

_LARGE = 1 << 24  # bytes
SHAPES = ("the grid size", "the workgroup size")
_GROUPS, _WORKGROUP = SHAPES
_AXES = "xyz"
_SHORT = (1 << 16) - 1  # work-items that 16 bits count
BEYOND = f"more than {_SHORT:,} work-items"
_NOT_GROWN = "it takes too long or too much memory, or no integer argument says how many there are"
_MORE = 2  # times the memory that a launch accesses: more work-items do more


@dataclass(frozen=True)
class VariedInput:
    """One input by its name; `trials` is in how many it was another one, `why` why in none."""

    name: str
    trials: int
    why: str = ""

    def __str__(self) -> str:
        """`` `keys`: varied in 12 trials ``."""
        if self.trials:
            return f"{self.name}: varied in {self.trials} trial{'s' if self.trials > 1 else ''}"
        return f"{self.name}: never varied, because {self.why}"


def varied_inputs(
    captured: ReferenceRun,
    tried: Iterable[tuple[Planned, ReferenceRun | Reason]],
    signature: Signature,
) -> tuple[VariedInput, ...]:
    """The inputs of a launch, in the order of its arguments. `captured` may be the launch cut to few workgroups."""
    names = _names(captured, signature)
    counts, dropped = Counter[str](), dict[str, str]()
    for planned, seen in tried:
        for name in _varied_by(planned, captured, names):
            if isinstance(seen, Reason):
                dropped[name] = seen.text
            elif name != BEYOND or _accessed(seen) > _MORE * _accessed(captured):
                counts[name] += 1
    reasons = names.why | {n: f"all trials of it were dropped: {text}" for n, text in dropped.items()}
    return tuple(
        VariedInput(name, counts[name], "" if counts[name] else reasons.get(name, "no trial changes it"))
        for name in names.listed
    )


def _accessed(run: ReferenceRun) -> int:
    """Bytes that a run reads, and those that it writes."""
    return sum(access.count(flag) for access in run.access.values() for flag in (READ, WRITTEN))


@dataclass(frozen=True)
class _Names:
    """What inputs are called: buffers by index, numbers by argument, variables by index; all of them in order.

    `groups` and `workgroup` are the sides of the grid and of a workgroup that the kernel asks for, by axis.
    """

    buffers: dict[int, str]
    numbers: dict[int, str]
    variables: dict[int, str]
    why: dict[str, str]
    groups: dict[int, str]
    workgroup: dict[int, str]
    beyond: str = ""

    @property
    def listed(self) -> list[str]:
        found = [*self.buffers.values(), *self.numbers.values(), *self.variables.values()]
        sides = [*self.groups.values(), *self.workgroup.values()]
        return [*dict.fromkeys(found), *sides, *([self.beyond] if self.beyond else [])]


def _names(run: ReferenceRun, signature: Signature) -> _Names:
    dispatch = run.dispatch
    guessed = with_guesses(dispatch.buffers, run.pieces)
    buffers, why = {}, {}
    for buffer in dispatch.buffers:
        read = run.access[buffer.index]
        if not read.any(READ_FIRST):
            continue
        buffers[buffer.index] = name = _pointer(buffer, signature)
        if all(s.element is BYTES for s in guessed[buffer.index] if read.any(READ_FIRST, s.start, s.end)):
            why[name] = "nothing says of what type it is, and it may hold addresses"
    pointers = {argument for b in dispatch.buffers for argument, _ in b.arguments}
    numbers = {
        i: _argument(i, signature)
        for i, argument in enumerate(dispatch.explicit_arguments)
        if argument.value_kind == "by_value" and (i not in pointers or argument.size > 8)
    }
    variables = {v.index: f"`{demangle(v.symbol)}`" for v in dispatch.variables}
    groups, workgroup = _sides(dispatch)
    beyond = BEYOND if dispatch.work_items <= _SHORT else ""
    return _Names(buffers, numbers, variables, why | {BEYOND: _NOT_GROWN}, groups, workgroup, beyond)


def _sides(dispatch: CapturedDispatch) -> tuple[dict[int, str], dict[int, str]]:
    """The sides of the grid and of a workgroup that a kernel asks for or that are longer than 1, by axis."""
    asked = asked_dimensions(dispatch.code_object, dispatch.kernel)
    counts = _groups(dispatch)
    grid = [n for n in range(3) if asked.grid[n] or counts[n] > 1]
    block = [n for n in range(3) if n < asked.workgroup or dispatch.workgroup[n] > 1]
    named = ((_GROUPS, grid), (_WORKGROUP, block))
    groups, workgroup = (
        {n: f"{name} along {_AXES[n]}" if len(axes) > 1 else name for n in axes} for name, axes in named
    )
    return groups, workgroup


def _pointer(buffer: CapturedBuffer, signature: Signature) -> str:
    if not buffer.arguments:
        return f"buffer {buffer.index}, to which no argument points"
    return _argument(buffer.arguments[0][0], signature)


def _argument(index: int, signature: Signature) -> str:
    if index < len(signature.names) and signature.names[index]:
        return f"`{signature.names[index]}`"
    return f"argument {index + 1}"


def _varied_by(planned: Planned, run: ReferenceRun, names: _Names) -> set[str]:
    """The inputs that are other ones in a trial."""
    launch, captured = planned.dispatch, run.dispatch
    replaced = {b.index: b for b in captured.buffers if b.index in names.buffers}
    found = {names.buffers[i] for i, b in replaced.items() if _is_other(planned.inputs, b, run)}
    if launch is captured:
        return found
    moved = {b.address for b in captured.buffers} != {b.address for b in launch.buffers}
    old, new = captured.kernarg(), launch.kernarg()
    for i, name in names.numbers.items():
        argument = captured.explicit_arguments[i]
        part = slice(argument.offset, argument.offset + argument.size)
        if old[part] != new[part] and not (
            moved and argument.size > 8
        ):  # pointers in it may have changed, no more
            found.add(name)
    by_index = {v.index: v for v in launch.variables}
    for variable in captured.variables:
        other = by_index.get(variable.index)
        if other is not None and other.before() != variable.before():
            found.add(names.variables[variable.index])
    was, now = _groups(captured), _groups(launch)
    found |= {name for axis, name in names.groups.items() if was[axis] != now[axis]}
    found |= {n for axis, n in names.workgroup.items() if captured.workgroup[axis] != launch.workgroup[axis]}
    if names.beyond and launch.work_items > _SHORT:
        found.add(names.beyond)
    return found


def _is_other(inputs: Path | None, buffer: CapturedBuffer, run: ReferenceRun) -> bool:
    """Whether a trial gives a buffer other bytes where the kernel reads it; of a large one, whether any at all."""
    path = replacement(inputs, buffer.index)
    if path is None or buffer.size > _LARGE:
        return path is not None
    before = buffer.before()
    old, new = (
        np.frombuffer(data, dtype=np.uint8) for data in (before, replaced_contents(path, lambda: before))
    )
    if len(new) != len(old):  # of a launch with longer buffers
        return True
    return bool(((old != new) & ((run.access[buffer.index].whole & READ) != 0)).any())


def _groups(launch: CapturedDispatch) -> list[int]:
    return [-(-n // size) for n, size in zip(launch.grid, launch.workgroup, strict=True)]
