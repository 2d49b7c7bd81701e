"""Other launches of a captured dispatch: smaller workgroups, one more workgroup, other numbers as arguments.

Takes a captured dispatch, gives dispatches with the same memory (or longer, or elsewhere) and a changed launch. They
show a candidate that is only right for the shape it was recorded with. Whether the reference itself is well defined
there, the caller must see.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hipscope.accordo.capture import CapturedDispatch
from hipscope.accordo.defences import Defence
from hipscope.accordo.dtypes import element_of
from hipscope.accordo.relocate import relocated
from hipscope.emulator.captures import seal

Shape = tuple[int, int, int]

_FEW_GROUPS = 64
_MANY_GROUPS = 256
_FEW_INTEGERS = 3
_FLOATS = {"float": "<f", "double": "<d"}


@dataclass(frozen=True)
class Variant:
    """A launch that the program did not make; `defence` is what it is there for."""

    defence: Defence
    label: str
    dispatch: CapturedDispatch


def smaller_launch(dispatch: CapturedDispatch, folder: Path) -> CapturedDispatch | None:
    """The launch cut to few workgroups, for trials that need no more; None when it has few already."""
    x, y, z = groups = _groups(dispatch)
    if x * y * z <= _MANY_GROUPS:
        return None
    return _write(dispatch, folder, dispatch.workgroup, _bounded(groups), dispatch.kernarg())


def launch_variants(
    dispatch: CapturedDispatch, types: Sequence[str], folder: Path, *, odd: bool = False
) -> list[Variant]:
    """The variants. `types` are the parameter types, to know the integers among the arguments.

    `odd` also asks for very small workgroups and for some that are no power of two: only for kernels whose threads do
    not work together.
    """
    found = [Variant("relocation", "buffers at other addresses", relocated(dispatch, folder / "moved"))]
    found += _other_sizes(dispatch, types, folder)
    found += _other_shapes(dispatch, folder, odd)
    kernarg = _other_scalars(dispatch, types)
    if kernarg != dispatch.kernarg():
        varied = _write(dispatch, folder / "scalars", dispatch.workgroup, _groups(dispatch), kernarg)
        found.append(Variant("other_scalars", "other float and bool arguments", varied))
    return found


def _other_shapes(dispatch: CapturedDispatch, folder: Path, odd: bool) -> list[Variant]:
    groups = _groups(dispatch)
    launches: list[tuple[str, Shape, Shape]] = []
    shapes = {_shortened(dispatch.workgroup, eighths) for eighths in ((1, 4, 5) if odd else (4,))}
    launches += [(f"workgroups of {_shown(s)}", s, groups) for s in sorted(shapes - {dispatch.workgroup})]
    if groups[0] > 1:
        launches.append(("one workgroup less", dispatch.workgroup, (groups[0] - 1, *groups[1:])))
    launches.append(("one more workgroup", dispatch.workgroup, (groups[0] + 1, *groups[1:])))
    return [
        Variant(
            "other_workgroups",
            label,
            _write(dispatch, folder / f"shape_{number}", workgroup, count, dispatch.kernarg()),
        )
        for number, (label, workgroup, count) in enumerate(launches)
    ]


def _other_sizes(dispatch: CapturedDispatch, types: Sequence[str], folder: Path) -> list[Variant]:
    """Integer arguments above 1 made one less, together and (two or three of them) each alone; one more; 1; 0."""
    integers = _integers(dispatch, types)
    if not integers:
        return []
    alone = integers if 2 <= len(integers) <= _FEW_INTEGERS else []
    changes: list[tuple[str, list[int], Callable[[int], int]]] = [
        ("integer arguments one less", integers, lambda n: n - 1),
        *((f"argument {i + 1} one less", [i], lambda n: n - 1) for i in alone),
        ("integer arguments 1", integers, lambda _: 1),
        ("integer arguments 0", integers, lambda _: 0),
    ]
    found = []
    for number, (label, chosen, change) in enumerate(changes):
        kernarg = _with_integers(dispatch, chosen, change)
        varied = _write(dispatch, folder / f"size_{number}", dispatch.workgroup, _groups(dispatch), kernarg)
        found.append(Variant("other_sizes", label, varied))
    kernarg = _with_integers(dispatch, integers, lambda n: n + 1)
    longer = relocated(dispatch, folder / "longer", longer=True, kernarg=kernarg)
    return [*found, Variant("other_sizes", "integer arguments one more, longer buffers", longer)]


def _integers(dispatch: CapturedDispatch, types: Sequence[str]) -> list[int]:
    """The explicit arguments that are integers by value and above 1."""
    found = []
    for index in range(min(len(types), len(dispatch.explicit_arguments))):
        value = dispatch.scalar(index)
        integer = element_of(types[index]).kind == "integer" and "*" not in types[index]
        if integer and types[index] != "bool" and value is not None and value > 1:
            found.append(index)
    return found


def _with_integers(dispatch: CapturedDispatch, chosen: Sequence[int], change: Callable[[int], int]) -> bytes:
    kernarg = bytearray(dispatch.kernarg())
    for index in chosen:
        argument = dispatch.explicit_arguments[index]
        end = argument.offset + argument.size
        value = change(int.from_bytes(kernarg[argument.offset : end], "little")) % (1 << 8 * argument.size)
        kernarg[argument.offset : end] = value.to_bytes(argument.size, "little")
    return bytes(kernarg)


def _groups(dispatch: CapturedDispatch) -> Shape:
    x, y, z = (-(-n // size) for n, size in zip(dispatch.grid, dispatch.workgroup, strict=True))
    return x, y, z


def _bounded(groups: Shape) -> Shape:
    """As many workgroups as in the launch, halved along each side until there are few enough to be quick."""
    x, y, z = groups
    while x * y * z > _FEW_GROUPS and max(x, y, z) > 1:
        x, y, z = (max(1, -(-side // 2)) for side in (x, y, z))
    return x, y, z


def _shortened(workgroup: Shape, eighths: int) -> Shape:
    """The workgroup with its longest side cut to so many eighths."""
    sides = list(workgroup)
    at = sides.index(max(sides))
    sides[at] = max(1, sides[at] * eighths // 8)
    return sides[0], sides[1], sides[2]


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


def _write(
    dispatch: CapturedDispatch, folder: Path, workgroup: Shape, groups: Shape, kernarg: bytes
) -> CapturedDispatch:
    """A dispatch directory that shares the captured one's files."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in dispatch.directory.iterdir():
        if file.name not in ("meta.json", "kernarg.bin", "checksums") and file.is_file():
            _share(file, folder / file.name)
    if not (folder / "code_object.co").exists():
        _share(dispatch.code_object, folder / "code_object.co")
    (folder / "kernarg.bin").write_bytes(kernarg)
    x, y, z = (n * size for n, size in zip(groups, workgroup, strict=True))
    meta = json.loads((dispatch.directory / "meta.json").read_text(encoding="utf-8"))
    meta |= {"grid": [x, y, z], "workgroup": list(workgroup)}
    (folder / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    seal(folder)
    return replace(dispatch, directory=folder, grid=(x, y, z), workgroup=workgroup)


def _share(source: Path, target: Path) -> None:
    try:
        os.link(source.resolve(), target)
    except OSError:
        shutil.copyfile(source, target)


def _shown(shape: Shape) -> str:
    return " x ".join(str(n) for n in shape)
