"""Notes at a kernel's declaration: spills, scratch, what the default of 1,024 threads costs, LDS over half of a CU.

Takes rows of `kernel_resources`, gives at most one note of a kind per declaration: that of the worst instance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hipscope.analysis.inspection.kernel_resources import DEFAULT_MAX_THREADS, CuLimits, KernelNeeds
from hipscope.analysis.inspection.notes import SourceNote
from hipscope.analysis.source.kernel_definitions import instance_name

_LEAST_SCRATCH = 16  # bytes of a work-item: less is a saved return address


def resource_notes(rows: Sequence[KernelNeeds], device: CuLimits) -> list[SourceNote]:
    """The notes of all kernels that have a place, in its order."""
    makers: tuple[Callable[[KernelNeeds, CuLimits], SourceNote | None], ...] = (
        _spills,
        _scratch,
        _bounds,
        _lds,
    )
    found: list[SourceNote] = []
    for maker in makers:
        by_place: dict[tuple[str, int], list[SourceNote]] = {}
        for row in sorted(rows, key=lambda r: (-r.spills, -r.scratch, -r.lds)):
            note = maker(row, device)
            if note is not None:
                by_place.setdefault((note.file, note.line), []).append(note)
        found += [_of_instances(notes) for notes in by_place.values()]
    return sorted(found, key=lambda note: (note.file, note.line, note.code))


def _of_instances(notes: Sequence[SourceNote]) -> SourceNote:
    """The worst, with the number of other instances that have it, too."""
    first, others = notes[0], len(notes) - 1
    if not others:
        return first
    more = f" (and {others} other instance{'s' if others > 1 else ''})"
    return SourceNote(
        first.code,
        first.severity,
        first.message + more,
        first.kernel,
        first.file,
        first.line,
        related=first.related,
    )


def _note(row: KernelNeeds, code: str, severity: str, message: str) -> SourceNote | None:
    if row.file is None or row.line is None:
        return None
    return SourceNote(code, severity, message, row.name, row.file, row.line)  # type: ignore[arg-type]


def _spills(row: KernelNeeds, _device: CuLimits) -> SourceNote | None:
    if not row.spills:
        return None
    kinds = [
        f"{number} {kind}"
        for number, kind in ((row.vgpr_spills, "vector"), (row.sgpr_spills, "scalar"))
        if number
    ]
    registers = f"{' and '.join(kinds)} register{'s' if row.spills > 1 else ''}"
    where = f", {row.scratch:,} bytes of scratch memory of each work-item" if row.scratch else ""
    return _note(
        row,
        "spills",
        "warning" if row.vgpr_spills else "information",
        f"{instance_name(row.name)} spills {registers}{where}: {_registers(row)}{_advice(row)}",
    )


def _registers(row: KernelNeeds) -> str:
    if not row.vgpr_spills:
        return f"it uses all of its {row.sgprs} scalar registers"
    return f"it has {row.granted} vector registers, which is what {row.max_threads:,} threads in a workgroup leave it"


def _advice(row: KernelNeeds) -> str:
    if not row.vgpr_spills:
        return (
            ". Fewer values that are the same for all lanes, or shorter live ranges, keep them in registers"
        )
    if not row.bounded:
        return ""  # the note about the bound says what to do
    return ". Shorter live ranges, less unrolling or a smaller workgroup keep them in registers"


def _registers_for(threads: int, device: CuLimits) -> int:
    """Vector registers of a lane that a workgroup of that size leaves when it runs alone on a CU."""
    waves = -(-threads // device.lanes)
    per_simd = -(-waves // device.simds)
    return device.vgprs // per_simd // device.vgpr_step * device.vgpr_step


def _scratch(row: KernelNeeds, _device: CuLimits) -> SourceNote | None:
    if (
        row.vgpr_spills
        or row.scratch < _LEAST_SCRATCH
        or (row.sgpr_spills and row.scratch <= 4 * row.sgpr_spills)
    ):
        return None
    why = (
        "for the stack of calls that are not inlined"
        if row.dynamic_stack
        else "for arrays whose index is only known when it runs, or for calls that are not inlined"
    )
    return _note(
        row,
        "scratch",
        "warning",
        f"{instance_name(row.name)} keeps {row.scratch:,} bytes of each work-item in scratch memory {why}: each access "
        "goes to memory. Constant indices (unrolled loops) keep an array in registers; LDS is the other place",
    )


def _bounds(row: KernelNeeds, device: CuLimits) -> SourceNote | None:
    """Without a bound the compiler plans for 1,024 threads: the kernel has all registers that these leave it."""
    cap = _registers_for(DEFAULT_MAX_THREADS, device)
    known = row.threads_from == "launch"
    most = _registers_for(row.threads, device)
    if row.bounded or row.granted < cap or most <= cap or not (known or row.vgpr_spills):
        return None
    held = "and spills the rest" if row.vgpr_spills else "and uses all of them"
    launched = (
        f"Its launches have {row.threads}" if known else f"If its launches have no more than {row.threads}"
    )
    return _note(
        row,
        "launch-bounds",
        "information",
        f"{instance_name(row.name)} is compiled for 1,024 threads, the default without __launch_bounds__, so it gets "
        f"{cap} vector registers {held}. {launched}: `__launch_bounds__({row.threads})` allows {most}",
    )


def _lds(row: KernelNeeds, device: CuLimits) -> SourceNote | None:
    if 2 * row.lds <= device.lds:
        return None
    return _note(
        row,
        "lds",
        "information",
        f"{instance_name(row.name)} takes {row.lds:,} bytes of LDS, more than half of the {device.lds:,} of "
        f"a CU: one workgroup runs on a CU at a time, {_waves(row.waves)} on a SIMD with {row.threads} threads"
        + (" (assumed)" if row.threads_from == "assumed" else ""),
    )


def _waves(waves: float) -> str:
    return f"{waves:g} wave{'' if waves == 1 else 's'}"
