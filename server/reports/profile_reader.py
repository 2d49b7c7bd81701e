"""A profile as the editor and the reports look at it: plain frozen records, quick to load.

Read from the `hipscope.profile/1` and `hipscope.optimize/1` objects that `report.py` writes, so that the language
server never has to import what computes them. Paths are absolute, lines and columns count from 1 (0: not known),
times are nanoseconds, shares are 0..1.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hipscope.analysis.source.texts import UNKNOWN_COLUMN, ByteColumn

T = TypeVar("T")

PROFILE_SCHEMA = "hipscope.profile/1"
OPTIMIZE_SCHEMA = "hipscope.optimize/1"


@dataclass(frozen=True, slots=True)
class Memory:
    """What one line's accesses of one kind touched, summed over the profiled dispatches."""

    space: str
    kind: str
    bytes_per_lane: int = 0
    accesses: float = 0
    lanes: float = 0
    line_bytes: int = 128
    lines_needed: float = 0
    lines_used: float = 0
    l1_hits: float | None = None
    l2_hits: float | None = None
    memory_lines: float | None = None
    lds_cycles: float = 0
    lds_conflict_cycles: float = 0
    atomic_conflicts: float = 0
    same_address_share: float | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """The cost of one source line in one kernel; `share` is its part of that kernel's cycles."""

    file: str
    line: int
    hits: float = 0
    latency: float = 0
    stall: float = 0
    share: float = 0
    stalls: Mapping[str, float] = field(default_factory=dict)
    memory: tuple[Memory, ...] = ()
    column: ByteColumn = UNKNOWN_COLUMN

    @property
    def reason(self) -> str | None:
        """What the line waits for most, or None when it does not wait."""
        return max(self.stalls, key=lambda r: self.stalls[r]) if self.stall > 0 and self.stalls else None


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel; `share` is its part of all GPU time, `start_line` and `end_line` are its
    definition's. `sampled`: its lines count samples instead of cycles."""

    name: str
    mangled: str
    file: str | None = None
    line: int = 0
    start_line: int = 0
    end_line: int = 0
    time_ns: float | None = None
    share: float = 0
    dispatches: int = 0
    profiled: int | None = None  # of the dispatches; the others have their mean time. None: unknown
    sampled: bool = False
    bound: str | None = None
    roofline: Mapping[str, Any] = field(default_factory=dict)
    occupancy: Mapping[str, Any] = field(default_factory=dict)
    resources: Mapping[str, Any] = field(default_factory=dict)
    counters: Mapping[str, float] = field(default_factory=dict)
    lines: tuple[Line, ...] = ()
    partial: str | None = None

    @property
    def base_name(self) -> str:
        """The identifier as it stands in the source: no namespace, template or parameters."""
        return base_name(self.name)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One number that supports a finding, with the value it would have if nothing were wrong."""

    metric: str
    value: float | str
    ideal: float | str | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A source position that has to do with a finding, and why."""

    file: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that costs time; `share` is the part of its kernel's time at stake."""

    formula: str
    kernel: str
    file: str
    line: int
    message: str
    share: float = 0
    mangled: str = ""
    end_line: int = 0
    column: ByteColumn = UNKNOWN_COLUMN
    end_column: ByteColumn = UNKNOWN_COLUMN
    evidence: tuple[Evidence, ...] = ()
    related: tuple[Place, ...] = ()
    title: str = ""
    remedy: tuple[str, ...] = ()
    estimated_speedup: float | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """Something a kernel did that stopped it. `refused`: it never began, and HIP returned an error."""

    kernel: str
    message: str
    file: str = ""
    line: int = 0
    column: ByteColumn = UNKNOWN_COLUMN
    instruction: str | None = None
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """One profile, ready to be shown.

    `sources` maps each file with marks, and each header of the project that one includes (`headers`), to the SHA-256 of
    the profiled text.
    """

    provenance: str
    source: str
    device: Mapping[str, Any]
    tool: str
    kernels: tuple[Kernel, ...]
    findings: tuple[Finding, ...]
    faults: tuple[Fault, ...] = ()
    program: Mapping[str, Any] = field(default_factory=dict)
    partial: str | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    diagnoses: tuple[Finding, ...] = ()
    """What bounds the kernels without a finding: shown on request for such a kernel."""

    def kernel(self, name: str) -> Kernel | None:
        """The kernel of that demangled or mangled name."""
        return next((k for k in self.kernels if name in (k.name, k.mangled)), None)

    def kernels_in(self, file: str) -> Iterator[Kernel]:
        """The kernels defined in that file."""
        return (k for k in self.kernels if k.file == file)

    def diagnosis(self, kernel: Kernel) -> Finding | None:
        """What bounds a kernel in which no formula finds anything."""
        return next((d for d in self.diagnoses if d.mangled == kernel.mangled), None)

    def findings_in(self, file: str) -> Iterator[Finding]:
        """The findings whose place is in that file. One of a kernel without debug information has no line: no place."""
        return (f for f in self.findings if f.file == file and f.line > 0)

    def files(self) -> set[str]:
        """Every file that has something to show, or that one of these includes."""
        places = {row.file for k in self.kernels for row in k.lines}
        places |= {k.file for k in self.kernels if k.file} | {f.file for f in self.findings if f.file}
        places |= {header for headers in self.headers.values() for header in headers}
        return places | {f.file for f in self.faults if f.file}

    def failure(self) -> str | None:
        """How the program failed, in one line; None when it ended well."""
        # A launch that was refused is the program's own affair, as when it tries out workgroup sizes.
        fault = next((f for f in self.faults if not (f.refused and self.kernels)), None)
        if fault is not None:
            place = f"{fault.file}:{fault.line}: " if fault.file else ""
            return f"{place}kernel {base_name(fault.kernel)}: {fault.message}"
        if not self.program:
            return None
        code = self.program.get("exit_code")
        if code is None:
            return self.partial or "the program was stopped"
        if code < 0:
            return f"the program was ended by {signal_name(-code)}"
        return f"the program left with exit code {code}" if code else None

    def short_name(self, kernel: Kernel) -> str:
        """The shortest name that differs from the other kernels: `axpy`, `axpy<float>`, `axpy(float*, int)`."""
        forms = (base_name, instance_name, signature_without_result)
        return next(
            (
                form(kernel.name)
                for form in forms
                if [form(k.name) for k in self.kernels].count(form(kernel.name)) < 2
            ),
            kernel.name,
        )

    def gpu_share(self, finding: Finding) -> float:
        """The part of all GPU time that a finding has at stake."""
        kernel = self.kernel(finding.mangled) or self.kernel(finding.kernel)
        return finding.share * (kernel.share if kernel else 1.0)


@dataclass(frozen=True, slots=True)
class Edit:
    """A verified replacement of bytes of one file, valid for exactly the text of that hash."""

    file: str
    original_sha256: str
    start_byte: int
    end_byte: int
    new_text: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """One candidate and what became of it; `title` is empty for a recipe that did not apply."""

    recipe: str
    outcome: str
    reason: str = ""
    title: str = ""
    speedup: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Optimization:
    """The outcome of one optimisation; `edit` is there only when it was verified."""

    status: str
    formula: str | None = None
    kernel: str | None = None
    diff: str = ""
    speedup: float | None = None
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    verdict: Mapping[str, Any] = field(default_factory=dict)
    attempts: tuple[Attempt, ...] = ()
    edit: Edit | None = None
    message: str = ""
    notes: tuple[str, ...] = ()
    file: str | None = None
    line: int | None = None
    findings: tuple[Finding, ...] = ()
    isolation: str | None = None

    @property
    def provenance(self) -> str:
        """Whether the times before and after are measured or modelled."""
        return str(self.before.get("provenance", "modelled"))


def read_report(data: Mapping[str, Any]) -> Report:
    """The `hipscope.profile/1` object as a Report. Raises ValueError when it is something else."""
    if data.get("schema") != PROFILE_SCHEMA:
        raise ValueError(f"not a {PROFILE_SCHEMA} object: schema is {data.get('schema')!r}")
    return Report(
        provenance=str(data["provenance"]),
        source=str(data.get("source", "")),
        device=data["device"],
        tool=str(data.get("tool", "")),
        kernels=tuple(_kernel(k) for k in data["kernels"]),
        findings=tuple(read_finding(f) for f in data["findings"]),
        faults=tuple(_take(Fault, f) for f in data.get("faults", ())),
        diagnoses=tuple(read_finding(f) for f in data.get("diagnoses", ())),
        program=data.get("program", {}),
        partial=data.get("partial"),
        sources=data.get("sources", {}),
        headers=data.get("headers", {}),
    )


def read_optimization(data: Mapping[str, Any]) -> Optimization:
    """The `hipscope.optimize/1` object as an Optimization. Raises ValueError when it is something else."""
    if data.get("schema") != OPTIMIZE_SCHEMA:
        raise ValueError(f"not a {OPTIMIZE_SCHEMA} object: schema is {data.get('schema')!r}")
    edit = data.get("edit")
    return _take(
        Optimization,
        {
            **data,
            "diff": data.get("diff") or "",
            "before": data.get("before") or {},
            "after": data.get("after") or {},
            "verdict": data.get("verdict") or {},
            "attempts": tuple(_take(Attempt, a) for a in data.get("attempts", ())),
            "findings": tuple(read_finding(f) for f in data.get("findings", ())),
            "edit": _take(Edit, edit) if edit else None,
        },
    )


def read_finding(data: Mapping[str, Any]) -> Finding:
    """One element of `findings`."""
    return _take(
        Finding,
        {
            **data,
            "evidence": tuple(_take(Evidence, e) for e in data.get("evidence", ())),
            "related": tuple(_take(Place, p) for p in data.get("related", ())),
            "remedy": tuple(data.get("remedy", ())),
        },
    )


def signal_name(number: int) -> str:
    """SIGSEGV and the like, or the number when it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def base_name(signature: str) -> str:
    """The identifier in a demangled name: `void ns::scale<float>(float*, int)` -> `scale`."""
    outside, depth = [], 0
    for c in signature.split(" [")[0].replace("(anonymous namespace)::", ""):
        depth += c in "<("
        if depth == 0:
            outside.append(c)
        depth -= c in ">)"
    words = "".join(outside).split()
    return words[-1].split("::")[-1] if words else signature


def instance_name(signature: str) -> str:
    """The identifier with its template arguments: `void ns::scale<float>(float*, int)` -> `scale<float>`."""
    whole, name = signature_without_result(signature), base_name(signature)
    if not whole.startswith(f"{name}<"):
        return name
    depth = 0
    for at, c in enumerate(whole):
        depth += (c == "<") - (c == ">")
        if c == ">" and depth == 0:
            return whole[: at + 1]
    return name


def signature_without_result(signature: str) -> str:
    """`void ns::scale<float>(float*, int)` -> `scale<float>(float*, int)`."""
    name = base_name(signature)
    found = re.search(rf"\b{re.escape(name)}(?=[<(]|$)", signature)
    return signature[found.start() :] if found is not None else signature


def _kernel(data: Mapping[str, Any]) -> Kernel:
    lines = tuple(_line(row) for row in data.get("lines", ()))
    known = {**data, "lines": lines, "share": data.get("share") or 0.0}
    for name in ("line", "start_line", "end_line"):
        known[name] = data.get(name) or data.get("line") or 0
    for name in ("roofline", "occupancy", "resources", "counters"):
        known[name] = data.get(name) or {}
    return _take(Kernel, known)


def _line(data: Mapping[str, Any]) -> Line:
    memory = data.get("memory") or ()
    rows: Sequence[Mapping[str, Any]] = [memory] if isinstance(memory, Mapping) else memory
    return _take(Line, {**data, "memory": tuple(_take(Memory, m) for m in rows)})


def _take(kind: type[T], data: Mapping[str, Any]) -> T:
    """A record of that kind from the keys that it knows; newer writers may add keys."""
    names = kind.__dataclass_fields__  # type: ignore[attr-defined]
    return kind(**{k: v for k, v in data.items() if k in names})
