"""The machine code of a profiled kernel as the `hipscope.isa/1` record: instructions, their costs and their lines."""

from __future__ import annotations

import os

from hipscope.analysis import profile as recorded
from hipscope.analysis.errors import UsageError
from hipscope.analysis.metrics.line_costs import user_frame
from hipscope.analysis.metrics.live_registers import registers_in_use
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.server.reports.schema.isa import IsaInstruction, IsaReport


def isa_report(profile: recorded.Profile, name: str | None) -> IsaReport:
    """The machine code of the kernel of that name, without one of the longest. Raises UsageError for another name."""
    kernels = sorted(profile.kernels, key=lambda k: -k.time_ns)
    named = [k for k in kernels if name is None or name in (k.name, k.mangled, base_name(k.name))]
    if not named:
        known = ", ".join(dict.fromkeys(base_name(k.name) for k in kernels[:8])) or "none"
        raise UsageError(f"no kernel {name!r} in this profile", f"its kernels: {known}")
    return isa_of_kernel(profile, named[0])


def isa_of_costliest(profile: recorded.Profile, most: int) -> list[IsaReport]:
    """The machine code of the kernels that took the longest, where it was recorded."""
    kernels = sorted(profile.kernels, key=lambda k: -k.time_ns)[:most]
    return [isa_of_kernel(profile, kernel) for kernel in kernels if kernel.instructions]


def isa_of_kernel(profile: recorded.Profile, kernel: recorded.Kernel) -> IsaReport:
    """The machine code of one of its kernels."""
    total = sum(one.latency for one in kernel.instructions)
    in_use = registers_in_use(kernel)
    return IsaReport(
        device=profile.device.name,
        provenance=profile.provenance.value,
        kernel=kernel.name,
        mangled=kernel.mangled,
        sampled=kernel.sampled,
        instructions=tuple(_instruction(one, total, in_use.get(one.index)) for one in kernel.instructions),
    )


def _instruction(one: recorded.Instruction, total: float, in_use: int | None) -> IsaInstruction:
    frame = user_frame(one.source)
    return IsaInstruction(
        index=one.index,
        address=one.address,
        text=one.text,
        file=os.path.realpath(frame.file) if frame else "",
        line=frame.line if frame else 0,
        hits=one.hits,
        latency=one.latency,
        stall=one.stall,
        share=one.latency / total if total else 0.0,
        stalls={reason.value: cycles for reason, cycles in one.stalls.items()},
        waited_for={str(index): cycles for index, cycles in one.waited_for.items()},
        column=frame.column if frame else 0,
        vgprs=in_use,
    )
