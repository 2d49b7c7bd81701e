"""What each kernel of a code object needs of the GPU, how many waves that lets run, and the next step of occupancy.

Takes the code object's notes and line tables, the texts and a device; gives a row per kernel and template instance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from hipscope.analysis.errors import UsageError
from hipscope.analysis.metrics.occupancy import Limiter, NextStep, granted_vgprs, occupancy_of
from hipscope.analysis.profile import Device, Resources
from hipscope.analysis.source.kernel_definitions import base_name, definition_line
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.syntax import FileSyntax
from hipscope.analysis.source.text_queries import constant_value
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.toolchain.code_object import CodeObject, KernelMetadata
from hipscope.emulator.symbolize import demangle, symbolizer_of

DEFAULT_MAX_THREADS = 1024
"""The largest workgroup that a kernel without `__launch_bounds__` is compiled for (LLVM, AMDGPU attributes)."""

_ASSUMED_THREADS = 256
ThreadsFrom = Literal["launch", "launch bounds", "assumed"]


@dataclass(frozen=True)
class CuLimits:
    """What a CU of a device has: `vgprs` of each lane on a SIMD, `lds` bytes, and the steps in which they are given."""

    name: str
    simds: int
    waves: int
    lanes: int
    vgprs: int
    vgpr_step: int
    lds: int
    lds_step: int


@dataclass(frozen=True)
class KernelNeeds:
    """One kernel or instance of a template. Sizes are bytes; `scratch` is that of a work-item.

    `vgprs` and `agprs` are the two kinds of vector registers, `granted` is what a wave takes of the register file.
    `threads` is the workgroup that the waves are counted for, and `threads_from` where that size comes from. `bounded`:
    the source limits the size of a workgroup. `waves` are those that fit on a SIMD.
    """

    name: str
    mangled: str
    file: str | None
    line: int | None
    vgprs: int
    agprs: int
    granted: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    scratch: int
    lds: int
    dynamic_stack: bool
    max_threads: int
    bounded: bool
    threads: int
    threads_from: ThreadsFrom
    waves: float
    max_waves: int
    limiter: Limiter
    next_step: NextStep | None
    wave_size: int

    @property
    def spills(self) -> int:
        """Registers of both kinds that do not fit."""
        return self.vgpr_spills + self.sgpr_spills


def cu_limits(device: Device) -> CuLimits:
    """The limits of a device of the table. Raises UsageError for one of which they are not known."""
    layout = device.layout
    known = (
        device.max_waves_per_simd,
        device.vgprs_per_lane,
        device.vgpr_granule,
        device.lds_bytes,
        device.lds_granule,
    )
    waves, vgprs, vgpr_step, lds, lds_step = known
    if layout is None or not waves or not vgprs or not vgpr_step or not lds or not lds_step:
        raise UsageError(f"what a CU of {device.name} has is not known", "choose another one with --device")
    return CuLimits(
        device.name, layout.simds_per_cu, waves, layout.wave_size, vgprs, vgpr_step, lds, lds_step
    )


def kernel_needs(code: CodeObject, device: Device, texts: SourceTexts) -> list[KernelNeeds]:
    """A row per kernel, in the order of the source."""
    symbolizer = symbolizer_of(code.path)
    entries = {symbol.name: symbol.address for symbol in symbolizer.functions}
    rows = []
    for symbol, metadata in code.kernels.items():
        name = symbol.removesuffix(".kd")
        chain = symbolizer.positions(entries[name]) if name in entries else ()
        rows.append(
            _needs(name, metadata, (chain[-1].file, chain[-1].line) if chain else None, device, texts)
        )
    return sorted(rows, key=lambda row: (row.file or "", row.line or 0, row.name))


def _needs(
    symbol: str, metadata: KernelMetadata, entry: tuple[str, int] | None, device: Device, texts: SourceTexts
) -> KernelNeeds:
    name = demangle(symbol)
    place = _definition(name, entry, texts)
    syntax = parse(texts.needed(place[0])) if place is not None and texts.read(place[0]) is not None else None
    threads, threads_from = _threads(name, metadata, place, syntax, texts)
    resources = Resources(
        vgprs=metadata.vgprs - metadata.agprs,  # the note counts both kinds
        agprs=metadata.agprs,
        sgprs=metadata.sgprs,
        lds_bytes=metadata.lds,
        scratch_bytes=metadata.scratch,
        max_workgroup_size=metadata.max_flat_workgroup_size,
        wave_size=metadata.wavefront_size,
    )
    fits = occupancy_of(resources, threads, device)
    if fits is None:
        raise UsageError(
            f"how many waves fit on a SIMD of {device.name} is not known", "choose another --device"
        )
    return KernelNeeds(
        name=name,
        mangled=symbol,
        file=place[0] if place else None,
        line=place[1] if place else None,
        vgprs=resources.vgprs or 0,
        agprs=metadata.agprs,
        granted=granted_vgprs(resources, device) or 0,
        sgprs=metadata.sgprs,
        vgpr_spills=metadata.vgpr_spills,
        sgpr_spills=metadata.sgpr_spills,
        scratch=metadata.scratch,
        lds=metadata.lds,
        dynamic_stack=metadata.dynamic_stack,
        max_threads=metadata.max_flat_workgroup_size,
        bounded=metadata.max_flat_workgroup_size != DEFAULT_MAX_THREADS or _is_bounded(place, syntax),
        threads=threads,
        threads_from=threads_from,
        waves=fits.theoretical,
        max_waves=fits.maximum,
        limiter=fits.limiter,
        next_step=fits.next_step,
        wave_size=metadata.wavefront_size,
    )


def _definition(name: str, entry: tuple[str, int] | None, texts: SourceTexts) -> tuple[str, int] | None:
    """File and line of a kernel's name, from the line of its first instruction."""
    if entry is None:
        return None
    file, first = entry
    return file, definition_line(texts.lines(file), name, first) or first


def _is_bounded(place: tuple[str, int] | None, syntax: FileSyntax | None) -> bool:
    """Whether the definition itself says 1,024."""
    kernel = syntax.kernel_at(place[1]) if syntax is not None and place is not None else None
    return kernel is not None and any("bounds" in word or "workgroup" in word for word in kernel.attributes)


def _threads(
    name: str,
    metadata: KernelMetadata,
    place: tuple[str, int] | None,
    syntax: FileSyntax | None,
    texts: SourceTexts,
) -> tuple[int, ThreadsFrom]:
    """The workgroup that the waves are counted for: the largest that the file launches the kernel with."""
    launches = syntax.launches if syntax is not None else ()
    blocks = [launch.block for launch in launches if base_name(launch.kernel) == base_name(name)]
    sizes = [size for block in blocks if place is not None and (size := _block_size(texts, place[0], block))]
    known = [size for size in sizes if 0 < size <= metadata.max_flat_workgroup_size]
    if known:
        return max(known), "launch"
    if metadata.max_flat_workgroup_size < DEFAULT_MAX_THREADS:
        return metadata.max_flat_workgroup_size, "launch bounds"
    return _ASSUMED_THREADS, "assumed"


def _block_size(texts: SourceTexts, file: str, block: str) -> int | None:
    """`256`, `kBlock` or `dim3(16, 16)` as a number of threads; None where the text alone does not say."""
    inner = block.strip()
    if inner.startswith("dim3"):
        inner = inner.removeprefix("dim3").strip()
        if not (inner.startswith(("(", "{")) and inner.endswith((")", "}"))):
            return None
        inner = inner[1:-1]
    sides = [constant_value(texts, file, side) for side in inner.split(",")]
    known = [side for side in sides if side is not None]
    return math.prod(known) if known and len(known) == len(sides) else None
