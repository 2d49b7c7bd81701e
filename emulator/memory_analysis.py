"""Omniprobe's memory-analysis JSON: cache lines needed and used, and LDS bank conflicts, per source position.

Takes the instructions of one dispatch at a time, writes one array with one object per dispatch. The file is a valid
array also when the writer is left early.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from hipscope.emulator.raw import RawInstruction
from hipscope.emulator.symbolize import Position

_LINE_BYTES = 128


class MemoryAnalysisWriter:
    """A context manager around the file; `add` appends one dispatch. `source_line` gives a line of a source file."""

    def __init__(self, path: Path, arch: str, source_line: Callable[[str, int], str]) -> None:
        self._path = path
        self._arch = arch
        self._stream: TextIO | None = None
        self._empty = True
        self._source_line = source_line

    def __enter__(self) -> MemoryAnalysisWriter:
        self._stream = self._path.open("w", encoding="utf-8")
        self._stream.write("[")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._stream is not None
        self._stream.write("]\n")
        self._stream.close()

    def add(
        self,
        dispatch: int,
        kernel: str,
        instructions: Iterable[RawInstruction],
        positions: Callable[[int], tuple[Position, ...]],
    ) -> None:
        """Append the accesses of one dispatch."""
        assert self._stream is not None
        cache, banks = [], []
        for instruction in instructions:
            memory = instruction.memory
            if memory is None:
                continue
            chain = positions(instruction.address)
            if memory["space"] == "global":
                cache.append(self._entry(instruction, chain, cache_lines=_cache_lines(memory)))
            elif memory["space"] == "lds":
                conflicts = round(memory.get("lds_conflict_cycles", 0))
                banks.append(self._entry(instruction, chain, total_conflicts=conflicts))
        record = {
            "kernel_analysis": {
                "kernel_info": {"name": kernel, "dispatch_id": dispatch},
                "cache_analysis": {"accesses": cache},
                "bank_conflicts": {"accesses": banks},
            },
            "metadata": {
                "version": "1.0",
                "timestamp": datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M:%S"),
                "gpu_info": {"architecture": self._arch, "cache_line_size": _LINE_BYTES},
            },
        }
        self._stream.write("" if self._empty else ",\n")
        self._stream.write(json.dumps(record))
        self._empty = False

    def _entry(
        self, instruction: RawInstruction, chain: tuple[Position, ...], **numbers: Any
    ) -> dict[str, Any]:
        memory = instruction.memory or {}
        where = chain[-1] if chain else Position("", 0, 0, "")
        kind = {"load": "read", "store": "write"}.get(memory["kind"], "readwrite")
        size = int(memory.get("bytes", 0))
        return {
            "source_location": {"file": where.file, "line": where.line, "column": where.column},
            "code_context": self._source_line(where.file, where.line),
            "access_info": {
                "type": kind,
                "execution_count": int(memory.get("accesses", instruction.hits)),
                "ir_bytes": size,
                "isa_bytes": size,
                "isa_instruction": instruction.text.split(None, 1)[0],
                **numbers,
            },
        }


def _cache_lines(memory: Any) -> dict[str, int]:
    return {"needed": round(memory.get("lines_needed", 0)), "used": round(memory.get("lines_used", 0))}
