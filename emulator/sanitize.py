"""What the sanitizers of the engine found in a run, with source positions.

Takes the folder that the runtime or the replay program wrote (`sanitize.json`) and its code objects, gives reports:
one for each kind of defect and pair of source lines, with a count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from hipscope.emulator.placement import where_used
from hipscope.emulator.symbolize import Position, Symbolizer, demangle, symbolizer_of

SANITIZE_FILE = "sanitize.json"
Defect = Literal[
    "out-of-bounds",
    "use-after-free",
    "data-race",
    "divergent-barrier",
    "misaligned",
    "stale-read",
    "uninitialised-read",
    "wave-synchronous",
]
DEFECTS: tuple[Defect, ...] = get_args(Defect)
Triple = tuple[int, int, int]
_IN_FLIGHT = "in flight at the barrier"  # the runtime's words
_FENCED = re.compile(r"__syncthreads|__work_group_barrier")
_SYSTEM = ("/usr/", "/opt/", "/lib/clang/", "/hip/include/", "/emulator/overlay/", "/emulator/stand_ins/")


@dataclass(frozen=True)
class AccessPlace:
    """One side of a defect: an instruction with its inline chain (innermost first), and who executed it.

    `lane` and `thread` are None when the whole wave is meant. `position` is the innermost source line that is the
    user's own, None when the code object has no line information.
    """

    address: int
    instruction: str
    workgroup: Triple
    wave: int
    lane: int | None
    thread: Triple | None
    chain: tuple[Position, ...]

    @property
    def position(self) -> Position | None:
        """Where to show it."""
        own = (p for p in self.chain if not any(part in p.file for part in _SYSTEM))
        return next(own, self.chain[-1] if self.chain else None)


@dataclass(frozen=True)
class AccessedMemory:
    """The bytes an access touched. `address` is an offset for LDS and scratch."""

    space: Literal["global", "lds", "scratch"]
    address: int
    bytes: int
    write: bool


@dataclass(frozen=True)
class Allocation:
    """A block of device memory and the host's calls that made and freed it, innermost first; empty when not known."""

    id: int
    address: int
    bytes: int
    freed: bool
    allocated_at: tuple[Position, ...]
    freed_at: tuple[Position, ...]


@dataclass(frozen=True)
class SanitizerReport:
    """One defect. `count` is how often it was seen with this pair of lines; the rest describes the first case."""

    defect: Defect
    message: str
    kernel: str
    kernel_symbol: str
    dispatch: int
    count: int
    at: AccessPlace
    other: AccessPlace | None
    memory: AccessedMemory | None
    allocation: Allocation | None

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two reports the same one."""
        return (self.defect, self.kernel, _spot(self.at), _spot(self.other))


@dataclass(frozen=True)
class SanitizerRun:
    """All reports of a run; `left_out` counts those beyond the limit of the runtime's list."""

    checks: tuple[str, ...]
    dispatches: int
    left_out: int
    reports: tuple[SanitizerReport, ...]


def read_sanitizer_run(directory: Path, code_object: Callable[[str], Path]) -> SanitizerRun | None:
    """The reports in `directory`, or None when no dispatch ran under the sanitizers.

    `code_object` gives the file of a code object by its hash. Raises `ValueError` for a file that is not ours.
    """
    try:
        data = json.loads((directory / SANITIZE_FILE).read_text(encoding="utf-8", errors="replace"))
    except FileNotFoundError:
        return None
    if not isinstance(data, dict) or data.get("schema") != "hipscope.sanitize/1":
        raise ValueError(f"{directory / SANITIZE_FILE}: not a list of sanitizer reports")
    lines = _Lines(code_object)
    found: dict[tuple[object, ...], SanitizerReport] = {}
    for row in data["reports"]:
        report = _report(row, lines)
        left_out = (
            _same_barrier(report) or _asks_for_the_instruction(report) or _left_unset_by_library(report)
        )
        if left_out or (
            _IN_FLIGHT in report.message and lines.only_fenced_barriers(str(row["code_object"]), report)
        ):
            continue
        known = found.get(report.key)
        found[report.key] = report if known is None else replace(known, count=known.count + report.count)
    return SanitizerRun(
        checks=tuple(filter(None, str(data["checks"]).split(","))),
        dispatches=int(data["dispatches"]),
        left_out=int(data["left_out"]),
        reports=tuple(found.values()),
    )


class _Lines:
    """Positions in code objects and in host programs, each file read once."""

    def __init__(self, code_object: Callable[[str], Path]) -> None:
        self._code_object = code_object
        self._known: dict[Path, Symbolizer | None] = {}

    def device(self, code: str, address: int, uses: Sequence[Sequence[int]]) -> tuple[Position, ...]:
        symbolizer = self._symbolizer(self._code_object(code))
        return () if symbolizer is None else where_used(symbolizer, address, uses)

    def only_fenced_barriers(self, code: str, report: SanitizerReport) -> bool:
        """Whether all barriers of a kernel are `__syncthreads`: what a wave waits for there is the compiler's part."""
        symbolizer = self._symbolizer(self._code_object(code))
        kernel = symbolizer.function_at(report.at.address) if symbolizer is not None else None
        if symbolizer is None or kernel is None:
            return False
        own = [at for at in symbolizer.barriers if kernel.address <= at < kernel.address + kernel.size]
        chains = [symbolizer.positions(at) for at in own]
        return bool(chains) and all(any(_FENCED.search(p.function) for p in chain) for chain in chains)

    def host(self, frames: list[Mapping[str, Any]]) -> tuple[Position, ...]:
        chain: list[Position] = []
        for frame in frames:
            chain += self._positions(Path(frame["module"]), int(frame["offset"]))
        return tuple(p for p in chain if not any(part in p.file for part in _SYSTEM))

    def _positions(self, path: Path, address: int) -> tuple[Position, ...]:
        symbolizer = self._symbolizer(path)
        return () if symbolizer is None else symbolizer.positions(address)

    def _symbolizer(self, path: Path) -> Symbolizer | None:
        if path not in self._known:
            try:
                self._known[path] = symbolizer_of(path)
            except (OSError, ValueError):
                self._known[path] = None
        return self._known[path]


def _report(row: Mapping[str, Any], lines: _Lines) -> SanitizerReport:
    code = str(row["code_object"])
    memory, allocation = row.get("memory"), row.get("allocation")
    return SanitizerReport(
        defect=row["class"],
        message=str(row["message"]),
        kernel=demangle(str(row["kernel"])),
        kernel_symbol=str(row["kernel"]),
        dispatch=int(row["dispatch"]),
        count=int(row["count"]),
        at=_place(row["at"], code, lines),
        other=_place(row["other"], code, lines) if row.get("other") else None,
        memory=AccessedMemory(
            memory["space"], int(memory["address"]), int(memory["bytes"]), bool(memory["write"])
        )
        if memory
        else None,
        allocation=Allocation(
            id=int(allocation["id"]),
            address=int(allocation["address"]),
            bytes=int(allocation["bytes"]),
            freed=bool(allocation["freed"]),
            allocated_at=lines.host(allocation["allocated_by"]),
            freed_at=lines.host(allocation["freed_by"]),
        )
        if allocation
        else None,
    )


def _place(data: Mapping[str, Any], code: str, lines: _Lines) -> AccessPlace:
    lane = int(data["lane"])
    x, y, z = data["workgroup"]
    thread = data.get("thread")
    return AccessPlace(
        address=int(data["address"]),
        instruction=str(data["instruction"]),
        workgroup=(int(x), int(y), int(z)),
        wave=int(data["wave"]),
        lane=lane if lane >= 0 else None,
        thread=(int(thread[0]), int(thread[1]), int(thread[2])) if thread else None,
        chain=lines.device(code, int(data["address"]), data["uses"]),
    )


def _spot(place: AccessPlace | None) -> object:
    if place is None:
        return None
    position = place.position
    return place.address if position is None else (position.file, position.line)


def _asks_for_the_instruction(report: SanitizerReport) -> bool:
    """A value from a lane that is off, by code that names the instruction: that gives 0, `__shfl` leaves it open."""
    if report.other is None or not report.other.instruction.startswith("ds_bpermute"):
        return False
    return not any("shfl" in place.function for place in report.other.chain)


def _left_unset_by_library(report: SanitizerReport) -> bool:
    """A kernel of a library stores what it never set, as rocPRIM 5 does behind its input's end: no caller's."""
    if report.defect != "uninitialised-read" or not report.message.startswith("store of") or report.memory:
        return False
    chain = report.at.chain
    return (
        bool(chain) and report.other is None and all(any(part in p.file for part in _SYSTEM) for p in chain)
    )


def _same_barrier(report: SanitizerReport) -> bool:
    """Compilers copy a barrier into several places; waves that wait at copies of one wait at the same barrier."""
    at, other = report.at.position, report.other.position if report.other else None
    if report.defect != "divergent-barrier" or at is None or other is None:
        return False
    return at == other and report.other is not None and report.other.instruction.startswith("s_barrier")
