"""`hipscope.coverage/1`: what a program needs of the emulator, and what of that it does not have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

COVERAGE_SCHEMA = "hipscope.coverage/1"


@dataclass(frozen=True, slots=True)
class MissingInstruction:
    """An instruction that is not executed, and why; `file` and `line` are None without debug lines."""

    mnemonic: str
    text: str
    address: int
    reason: str
    file: str | None
    line: int | None


@dataclass(frozen=True, slots=True)
class CoveredFunction:
    """One kernel, or a device function that was not inlined. `mnemonics` counts the static instructions."""

    name: str
    mangled: str
    kernel: bool
    mnemonics: Mapping[str, int]
    not_executed: tuple[MissingInstruction, ...]


@dataclass(frozen=True, slots=True)
class CoveredCode:
    """The device code for one target; `executed`: the emulator models a GPU with it."""

    target: str
    executed: bool
    complete: bool
    functions: tuple[CoveredFunction, ...]


@dataclass(frozen=True, slots=True)
class HostCalls:
    """The HIP calls of a host binary, those that return an error, those that are absent, and GPU libraries."""

    imported: tuple[str, ...]
    refused: tuple[str, ...]
    absent: tuple[str, ...]
    libraries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CoverageReport:
    """The answer for one file; `runtime` is None when there is no host binary."""

    TAG: ClassVar = ("schema", COVERAGE_SCHEMA)
    file: str
    complete: bool
    code_objects: tuple[CoveredCode, ...]
    runtime: HostCalls | None
