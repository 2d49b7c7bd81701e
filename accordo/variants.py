"""Other launches of a captured dispatch: smaller workgroups, one more workgroup, other numbers as arguments.

Takes a captured dispatch, gives dispatches with the same memory and a changed launch. They show a candidate that is
only right for the shape it was recorded with. Whether the reference itself is well defined there, the caller must see.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hipscope.accordo.capture import Argument, CapturedDispatch
from hipscope.accordo.dtypes import element_of

Shape = tuple[int, int, int]

_MANY_GROUPS = 1024
_FLOATS = {"float": "<f", "double": "<d"}


def launch_variants(
    dispatch: CapturedDispatch, types: Sequence[str], folder: Path, *, odd: bool = False
) -> list[tuple[str, CapturedDispatch]]:
    """Each variant with its name. `types` are the parameter types, to know the integers among the arguments.

    `odd` also asks for very small workgroups and for some that are no power of two: only for kernels whose threads do
    not work together.
    """
    groups = _groups(dispatch)
    few = _bounded(groups)
    found: list[tuple[str, CapturedDispatch]] = []
    shapes = {_shortened(dispatch.workgroup, eighths) for eighths in ((1, 4, 5) if odd else (4,))}
    for smaller in sorted(shapes - {dispatch.workgroup}):
        varied = _write(dispatch, folder / _shown(smaller), smaller, few, dispatch.kernarg())
        found.append((f"workgroups of {_shown(smaller)}", varied))
    kernarg = _decremented(dispatch, types)
    if kernarg != dispatch.kernarg():
        varied = _write(dispatch, folder / "less", dispatch.workgroup, groups, kernarg)
        found.append(("integer arguments one less", varied))
    kernarg = _other_scalars(dispatch, types)
    if kernarg != dispatch.kernarg():
        varied = _write(dispatch, folder / "scalars", dispatch.workgroup, groups, kernarg)
        found.append(("other float and bool arguments", varied))
    if 1 < groups[0] < _MANY_GROUPS:
        varied = _write(
            dispatch, folder / "fewer", dispatch.workgroup, (groups[0] - 1, *groups[1:]), dispatch.kernarg()
        )
        found.append(("one workgroup less", varied))
    more = (groups[0] + 1, few[1], few[2])
    varied = _write(dispatch, folder / "more", dispatch.workgroup, more, dispatch.kernarg())
    found.append(("one more workgroup", varied))
    return found


def _groups(dispatch: CapturedDispatch) -> Shape:
    x, y, z = (-(-n // size) for n, size in zip(dispatch.grid, dispatch.workgroup, strict=True))
    return x, y, z


def _bounded(groups: Shape) -> Shape:
    """As many workgroups as in the launch, halved along each side until there are few enough to be quick."""
    x, y, z = groups
    while x * y * z > _MANY_GROUPS and max(x, y, z) > 1:
        x, y, z = (max(1, -(-side // 2)) for side in (x, y, z))
    return x, y, z


def _shortened(workgroup: Shape, eighths: int) -> Shape:
    """The workgroup with its longest side cut to so many eighths."""
    sides = list(workgroup)
    at = sides.index(max(sides))
    sides[at] = max(1, sides[at] * eighths // 8)
    return sides[0], sides[1], sides[2]


def _decremented(dispatch: CapturedDispatch, types: Sequence[str]) -> bytes:
    """The kernarg segment with every integer argument above 1 made one less."""
    kernarg = bytearray(dispatch.kernarg())
    for index, argument in enumerate(dispatch.explicit_arguments):
        value = dispatch.scalar(index)
        integer = (
            index < len(types) and element_of(types[index]).kind == "integer" and "*" not in types[index]
        )
        if integer and types[index] != "bool" and value is not None and value > 1:
            _store(kernarg, argument, value - 1)
    return bytes(kernarg)


def _other_scalars(dispatch: CapturedDispatch, types: Sequence[str]) -> bytes:
    """The kernarg segment with every float argument made a little smaller (0 becomes 0.5) and every bool turned."""
    kernarg = bytearray(dispatch.kernarg())
    for argument, name in zip(dispatch.explicit_arguments, types, strict=False):
        window = slice(argument.offset, argument.offset + argument.size)
        layout = _FLOATS.get(name.removeprefix("const ").removesuffix(" const"))
        if argument.value_kind != "by_value":
            continue
        if layout is not None and argument.size == struct.calcsize(layout):
            (value,) = struct.unpack(layout, kernarg[window])
            kernarg[window] = struct.pack(layout, value * 0.75 if value else 0.5)
        elif name in ("bool", "bool const", "const bool") and argument.size == 1:
            kernarg[window] = bytes([kernarg[argument.offset] ^ 1])
    return bytes(kernarg)


def _store(kernarg: bytearray, argument: Argument, value: int) -> None:
    end = argument.offset + argument.size
    kernarg[argument.offset : end] = value.to_bytes(argument.size, "little", signed=True)


def _write(
    dispatch: CapturedDispatch, folder: Path, workgroup: Shape, groups: Shape, kernarg: bytes
) -> CapturedDispatch:
    """A dispatch directory that shares the captured one's files."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in dispatch.directory.iterdir():
        if file.name not in ("meta.json", "kernarg.bin") and file.is_file():
            _share(file, folder / file.name)
    if not (folder / "code_object.co").exists():
        _share(dispatch.code_object, folder / "code_object.co")
    (folder / "kernarg.bin").write_bytes(kernarg)
    x, y, z = (n * size for n, size in zip(groups, workgroup, strict=True))
    meta = json.loads((dispatch.directory / "meta.json").read_text(encoding="utf-8"))
    meta |= {"grid": [x, y, z], "workgroup": list(workgroup)}
    (folder / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    return replace(dispatch, directory=folder, grid=(x, y, z), workgroup=workgroup)


def _share(source: Path, target: Path) -> None:
    try:
        os.link(source.resolve(), target)
    except OSError:
        shutil.copyfile(source, target)


def _shown(shape: Shape) -> str:
    return " x ".join(str(n) for n in shape)
