"""The `hipscope.check/1` object: what the sanitizers found, as plain JSON data.

Takes a `CheckResult`, gives the object that the command line prints and the worker sends to the language server.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hipscope.analysis.runs.check_project import CheckResult
from hipscope.emulator.sanitize import Allocation, Place, SanitizerReport
from hipscope.emulator.symbolize import Position

CHECK_SCHEMA = "hipscope.check/1"


def check_report(result: CheckResult) -> dict[str, Any]:
    """The object. Paths are absolute, lines and columns count from 1 (0: not known)."""
    run = result.run
    return {
        "schema": CHECK_SCHEMA,
        "checks": list(run.checks),
        "dispatches": run.dispatches,
        "reports": [_report(r) for r in run.reports],
        "left_out": run.left_out,
        "faults": [
            {
                "kernel": f.kernel,
                "message": f.message,
                "refused": f.refused,
                "position": _position(f.position) if f.position else None,
            }
            for f in result.faults
        ],
        "program": {"command": list(result.argv), "exit_code": result.exit_code, "output": result.output},
        "failure": result.failure,
    }


def _report(report: SanitizerReport) -> dict[str, Any]:
    memory = report.memory
    return {
        "class": report.defect,
        "message": report.message,
        "kernel": report.kernel,
        "mangled": report.kernel_symbol,
        "dispatch": report.dispatch,
        "count": report.count,
        "at": _place(report.at),
        "other": _place(report.other) if report.other else None,
        "memory": {
            "space": memory.space,
            "address": memory.address,
            "bytes": memory.bytes,
            "write": memory.write,
        }
        if memory
        else None,
        "allocation": _allocation(report.allocation) if report.allocation else None,
    }


def _place(place: Place) -> dict[str, Any]:
    position = place.position
    return {
        "file": str(Path(position.file)) if position else None,
        "line": position.line if position else None,
        "column": position.column if position else None,
        "instruction": place.instruction,
        "address": place.address,
        "workgroup": list(place.workgroup),
        "wave": place.wave,
        "lane": place.lane,
        "thread": list(place.thread) if place.thread else None,
        "chain": [_position(p) for p in place.chain],
    }


def _allocation(allocation: Allocation) -> dict[str, Any]:
    return {
        "id": allocation.id,
        "address": allocation.address,
        "bytes": allocation.bytes,
        "freed": allocation.freed,
        "allocated_at": [_position(p) for p in allocation.allocated_at],
        "freed_at": [_position(p) for p in allocation.freed_at],
    }


def _position(position: Position) -> dict[str, Any]:
    return {
        "file": position.file,
        "line": position.line,
        "column": position.column,
        "function": position.function,
    }
