"""A Profile and what was computed from it as the `hipscope.profile/1` object; an optimization as `hipscope.optimize/1`.

These objects are the stable interface: the command line prints them, the worker sends them, the editor shows them. A
value that was not recorded is null, never 0.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Collection, Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from hipscope.analysis.metrics.line_costs import LineCost, line_costs, user_frame
from hipscope.analysis.metrics.occupancy import occupancy
from hipscope.analysis.metrics.roofline import roofline
from hipscope.analysis.profile import Device, Fault, Kernel, Profile, Provenance
from hipscope.analysis.source.includes import included_files
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import FileSyntax
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.base import Finding
from hipscope.formulas.detect.registry import detect_all, diagnose, find_formula
from hipscope.server.reports.profile_reader import OPTIMIZE_SCHEMA, PROFILE_SCHEMA, base_name

if TYPE_CHECKING:
    from hipscope.formulas.optimize.loop import OptimizeResult


def profile_report(
    profile: Profile, formulas: Collection[str] | None, min_share: float, texts: SourceTexts
) -> dict[str, Any]:
    """The whole profile, its kernels by time, with the findings of the chosen formulas.

    `texts` are those that the program was built from. Columns are bytes of UTF-8 from 1, 0 where they are unknown.
    """
    sources = _Sources(texts)
    total = sum(k.time_ns for k in profile.kernels)
    kernels = [_kernel(k, profile.device, profile.provenance, total, sources) for k in profile.kernels]
    found = detect_all(profile, texts, formulas=formulas, min_share=min_share)
    findings = [finding_object(f) for f in found]
    diagnoses = [finding_object(f) for f in diagnose(profile, found, texts, formulas=formulas)]
    faults = [_fault(f) for f in profile.faults]
    files = {row["file"] for k in kernels for row in k["lines"]}
    files |= {x["file"] for x in (*kernels, *findings, *faults) if x["file"]}
    headers = {file: included for file in sorted(files) if (included := sources.headers(file))}
    files |= {header for included in headers.values() for header in included}
    return {
        "schema": PROFILE_SCHEMA,
        "device": profile.device.model_dump(mode="json"),
        "provenance": profile.provenance.value,
        "source": profile.source.value,
        "tool": profile.tool,
        "kernels": kernels,
        "findings": findings,
        "diagnoses": diagnoses,
        "faults": faults,
        "program": {
            "command": list(profile.program.command),
            "exit_code": profile.program.exit_code,
            "output": profile.program.output,
        },
        "partial": profile.partial,
        "headers": headers,
        "sources": {file: digest for file in sorted(files) if (digest := texts.digest(file))},
    }


def finding_object(finding: Finding) -> dict[str, Any]:
    """One element of `findings`."""
    formula = find_formula(finding.formula)
    return {
        **plain(finding),
        "file": real(finding.file),
        "related": [{**plain(r), "file": real(r.file)} for r in finding.related],
        "title": formula.title if formula else finding.formula,
        "remedy": list(formula.remedy) if formula else [],
    }


def optimize_report(result: OptimizeResult) -> dict[str, Any]:
    """The outcome of an optimization, its edit included when it was verified."""
    report = plain(result)
    report = {"schema": OPTIMIZE_SCHEMA, **{k: v for k, v in report.items() if k != "schema_name"}}
    report["findings"] = [finding_object(f) for f in result.findings]
    report["file"] = real(report["file"]) if report["file"] else None
    if report["edit"]:
        report["edit"]["file"] = real(report["edit"]["file"])
    return report


def plain(value: Any) -> Any:
    """Any of our records as JSON knows it; a number that JSON cannot hold is null."""
    if isinstance(value, BaseModel):
        return plain(value.model_dump(mode="json"))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(plain(k)): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v) for v in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def real(path: str) -> str:
    """One spelling of a path, the same that the editor's side uses."""
    return os.path.realpath(path) if path else ""


class _Sources:
    """The texts that were profiled: what they include, and where kernels end in them."""

    def __init__(self, texts: SourceTexts) -> None:
        self._texts = texts
        self._syntax: dict[str, FileSyntax | None] = {}

    def headers(self, file: str) -> list[str]:
        """What a file includes in quotation marks from beside it, and what that includes, and so on."""
        return sorted(real(str(p)) for p in included_files(self._texts, (Path(file),)) if str(p) != file)

    def extent(self, file: str, line: int, name: str) -> tuple[int, int]:
        """The first and last line of a kernel's definition; the known line twice when it cannot be found."""
        if file not in self._syntax:
            text = self._texts.read(file)
            self._syntax[file] = parse(text) if text is not None else None
        syntax = self._syntax[file]
        kernel = (syntax.kernel_at(line) or syntax.kernel(name)) if syntax else None
        return (kernel.span.line, kernel.span.end_line) if kernel else (line, line)


def _kernel(
    kernel: Kernel, device: Device, provenance: Provenance, total_ns: float, sources: _Sources
) -> dict[str, Any]:
    file = real(kernel.file or "")
    start, end = sources.extent(file, kernel.line or 0, base_name(kernel.name)) if file else (0, 0)
    roof = roofline(kernel, device, provenance)
    return {
        "name": kernel.name,
        "mangled": kernel.mangled,
        "file": file or None,
        "line": (kernel.line if start <= (kernel.line or 0) <= end else start) or None,
        "start_line": start or None,
        "end_line": end or None,
        "time_ns": kernel.time_ns,
        "share": kernel.time_ns / total_ns if total_ns else None,
        "dispatches": len(kernel.dispatches),
        "profiled": sum(d.profiled for d in kernel.dispatches),
        "bound": roof.bound,
        "roofline": plain(roof),
        "occupancy": plain(occupancy(kernel, device)),
        "resources": plain(kernel.resources),
        "counters": plain(kernel.counters),
        "lines": [_line(cost) for cost in line_costs(kernel)],
        "sampled": kernel.sampled,
        "partial": kernel.partial,
    }


def _line(cost: LineCost) -> dict[str, Any]:
    row = plain(cost)
    del row["instructions"]
    # One kind of access is the rule: then `memory` is that object, else a list of them.
    memory = row["memory"]
    row["memory"] = None if not memory else memory[0] if len(memory) == 1 else memory
    return {**row, "file": real(cost.file)}


def _fault(fault: Fault) -> dict[str, Any]:
    frame = user_frame(fault.source)
    return {
        "kernel": fault.kernel,
        "message": fault.message,
        "refused": fault.refused,
        "file": real(frame.file) if frame else "",
        "line": frame.line if frame else 0,
        "column": frame.column if frame else 0,
        "instruction": fault.instruction,
    }
