"""Reads a capture set: the dispatches of one run, each with its arguments and its memory before and after.

Takes the directory that the runtime wrote, gives plain data. Buffers stay on disk until they are read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from hipscope.analysis.errors import HipscopeError
from hipscope.emulator.captures import CaptureDamaged, check_plain, read_checked, read_checksums, recorded


class CaptureUnreadable(HipscopeError):
    """The capture set is not complete or not in the format that we know."""

    exit_code = 2


@dataclass(frozen=True)
class CapturedBuffer:
    """One device allocation. `arguments` are (index of the kernel argument, offset of its pointer in here).

    The files may be packed; their names here are those without the ending `.zst`.
    """

    index: int
    address: int
    size: int
    arguments: tuple[tuple[int, int], ...]
    before_file: Path
    after_file: Path

    @property
    def left(self) -> bool:
        """Whether the contents after the dispatch were recorded: of one that faults they are not."""
        return recorded(self.after_file.parent, self.after_file.name)

    def before(self) -> bytes:
        """The contents just before the dispatch. Raises CaptureUnreadable when they are not what was recorded."""
        return _contents(self.before_file, self.size)

    def mapped(self) -> NDArray[np.uint8]:
        """The same, read where it is looked at if it lies in a file of its own."""
        if _lies_plain(self.before_file) and self.before_file.stat().st_size == self.size:
            return np.memmap(self.before_file, dtype=np.uint8, mode="r")
        return np.frombuffer(self.before(), dtype=np.uint8)

    def after(self) -> bytes:
        """The contents just after the dispatch, as the program's own run left them. Raises CaptureUnreadable."""
        return _contents(self.after_file, self.size)


@dataclass(frozen=True)
class CapturedVariable:
    """A `__device__` or `__constant__` variable of the code object; `symbol` is its mangled name."""

    index: int
    symbol: str
    address: int
    size: int
    before_file: Path
    after_file: Path

    def before(self) -> bytes:
        """What it held just before the dispatch."""
        return _contents(self.before_file, self.size)

    def after(self) -> bytes | None:
        """What the program's own run left in it; None when that was not recorded."""
        kept = recorded(self.after_file.parent, self.after_file.name)
        return _contents(self.after_file, self.size) if kept else None


@dataclass(frozen=True)
class Argument:
    """One argument of the kernarg segment; `offset` and `size` in bytes."""

    offset: int
    size: int
    value_kind: str


@dataclass(frozen=True)
class CapturedDispatch:
    """One recorded launch. `grid` and `workgroup` count work-items; `kernel` is the mangled name.

    `variant`: another launch of the same shape was recorded before it, with other arguments. `reason` tells why
    the record is not `complete`, `note` what a proof has to say of one that is.
    """

    id: int
    directory: Path
    kernel: str
    code_object: Path
    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    dynamic_lds: int
    arguments: tuple[Argument, ...]
    buffers: tuple[CapturedBuffer, ...]
    variables: tuple[CapturedVariable, ...]
    complete: bool
    reason: str | None
    variant: bool = False
    note: str | None = None

    @property
    def unusable(self) -> bool:
        """Whether a replay has nothing to run on or to be compared with: the memory is too large to be recorded, or the
        launch came to no end in the program's own run, so that it left no result.
        """
        return not self.complete and not (self.buffers and all(b.left for b in self.buffers))

    @property
    def work_items(self) -> int:
        """How many threads the launch has."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def explicit_arguments(self) -> tuple[Argument, ...]:
        """The arguments that the source names, in order."""
        return tuple(a for a in self.arguments if not a.value_kind.startswith("hidden"))

    def scalar(self, argument: int) -> int | None:
        """An explicit by-value argument of 1, 2, 4 or 8 bytes read as a signed integer; None for anything else."""
        listed = self.explicit_arguments
        if argument >= len(listed):
            return None
        chosen = listed[argument]
        if chosen.value_kind != "by_value" or chosen.size not in (1, 2, 4, 8):
            return None
        raw = self.kernarg()[chosen.offset : chosen.offset + chosen.size]
        return int.from_bytes(raw, "little", signed=True)

    def kernarg(self) -> bytes:
        """The kernarg segment as it was at the launch."""
        return _contents(self.directory / "kernarg.bin", None)


def read_capture_set(directory: Path) -> tuple[CapturedDispatch, ...]:
    """All dispatches of a capture set, in the order they ran. Raises CaptureUnreadable."""
    found = [read_dispatch(meta.parent) for meta in directory.glob("dispatch_*/meta.json")]
    return tuple(sorted(found, key=lambda d: d.id))


def how_to_replay(dispatch: CapturedDispatch) -> str:
    """What to do about a launch that is unusable."""
    if dispatch.buffers:
        return "`hipscope check` shows the line on which it faults"
    return "a smaller problem size, or a larger `accordo.max_bytes` in hipscope.toml"


def read_dispatch(directory: Path) -> CapturedDispatch:
    """One dispatch from its directory. Raises CaptureUnreadable."""
    path = directory / "meta.json"
    text = _contents(path, None)
    try:
        meta = _Meta.model_validate(json.loads(text))
    except (ValueError, ValidationError) as error:
        first = str(error).splitlines()[0]
        raise CaptureUnreadable(
            f"{path}: not a captured dispatch: {first}", "profile the program again"
        ) from error
    return CapturedDispatch(
        id=meta.id,
        directory=directory,
        kernel=meta.kernel,
        code_object=_code_object(directory, meta.code_object),
        grid=meta.grid,
        workgroup=meta.workgroup,
        dynamic_lds=meta.dynamic_lds,
        arguments=tuple(Argument(a.offset, a.size, a.value_kind) for a in meta.arguments),
        buffers=tuple(
            CapturedBuffer(
                index=b.index,
                address=b.address,
                size=b.bytes,
                arguments=tuple(zip(b.referenced_by, b.offset_in_buffer, strict=True)),
                before_file=directory / f"buffer_{b.index}.before",
                after_file=directory / f"buffer_{b.index}.after",
            )
            for b in meta.buffers
        ),
        variables=tuple(
            CapturedVariable(
                index=i,
                symbol=g.symbol,
                address=g.address,
                size=g.bytes,
                before_file=directory / f"global_{i}.before",
                after_file=directory / f"global_{i}.after",
            )
            for i, g in enumerate(meta.globals)
        ),
        complete=meta.complete,
        reason=meta.reason,
        variant=meta.variant,
        note=meta.note,
    )


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _MetaArgument(_Lenient):
    offset: int
    size: int
    value_kind: str


class _MetaBuffer(_Lenient):
    index: int
    address: int
    bytes: int
    referenced_by: list[int] = Field(default_factory=list)
    offset_in_buffer: list[int] = Field(default_factory=list)

    @model_validator(mode="after")
    def _offset_for_each_reference(self) -> Self:
        if len(self.referenced_by) != len(self.offset_in_buffer):
            raise ValueError("references and offsets do not match")
        return self


class _MetaGlobal(_Lenient):
    symbol: str
    address: int = 0
    bytes: int


class _Meta(_Lenient):
    id: int
    kernel: str
    code_object: str = ""
    grid: tuple[int, int, int]
    workgroup: tuple[int, int, int]
    dynamic_lds: int = 0
    arguments: list[_MetaArgument] = Field(default_factory=list)
    buffers: list[_MetaBuffer] = Field(default_factory=list)
    globals: list[_MetaGlobal] = Field(default_factory=list)
    complete: bool = True
    reason: str | None = None
    variant: bool = False
    note: str | None = None


def _code_object(directory: Path, digest: str) -> Path:
    for path in (directory / "code_object.co", directory.parent / "code_objects" / f"{digest}.co"):
        if path.exists():
            return path
    raise CaptureUnreadable(f"{directory}: the code object {digest} is missing", "profile the program again")


def _lies_plain(path: Path) -> bool:
    try:
        return check_plain(path, read_checksums(path.parent))
    except CaptureDamaged as error:
        raise CaptureUnreadable(str(error), "profile the program again") from error


def _contents(path: Path, size: int | None) -> bytes:
    try:
        data = read_checked(path, read_checksums(path.parent))
    except CaptureDamaged as error:
        raise CaptureUnreadable(str(error), "profile the program again") from error
    if size is not None and len(data) != size:
        raise CaptureUnreadable(f"{path}: {len(data)} bytes instead of {size}", "profile the program again")
    return data
