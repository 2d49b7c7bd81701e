"""Which hardware counters are asked for, and in how few runs of the program.

Takes the architecture, gives the counters that roofline, occupancy and formulas use there, packed into passes by how
many a block of the hardware counts at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_FOUND = re.compile(r"Unable to find all counters.*?Found: \[([^\]]*)\]", re.DOTALL)
_TOO_MANY = re.compile(r"exceeds the capabilities of the hardware|EXCEEDS_HW_LIMIT")
# By hardware block, how many of its counters fit one pass (rocprofiler-compute, mi_gpu_spec.yaml: the same for gfx908
# to gfx950). The caches of scalars and instructions (SQC) are counted by the SQ.
_PER_PASS = {"SQ": 8, "TCP": 4, "TCC": 4, "TA": 2, "TD": 2, "SPI": 6, "GRBM": 2, "GL2C": 4}
_PART_OF = {"SQC": "SQ"}
COUNTERS = (
    "GRBM_GUI_ACTIVE", "SQ_WAVES", "SQ_WAVE_CYCLES", "SQ_BUSY_CU_CYCLES", "SQ_INSTS", "SQ_WAIT_ANY",
    "SQ_WAIT_INST_ANY", "SQ_ACTIVE_INST_ANY", "SQ_INSTS_VALU", "SQ_INSTS_LDS", "SQ_LDS_BANK_CONFLICT",
    "SQ_LDS_IDX_ACTIVE", "SQ_ACTIVE_INST_VALU", "SQ_THREAD_CYCLES_VALU", "SQ_INSTS_VALU_ADD_F16",
    "SQ_INSTS_VALU_MUL_F16", "SQ_INSTS_VALU_FMA_F16", "SQ_INSTS_VALU_TRANS_F16", "SQ_INSTS_VALU_ADD_F32",
    "SQ_INSTS_VALU_MUL_F32", "SQ_INSTS_VALU_FMA_F32", "SQ_INSTS_VALU_TRANS_F32", "SQ_INSTS_VALU_ADD_F64",
    "SQ_INSTS_VALU_MUL_F64", "SQ_INSTS_VALU_FMA_F64", "SQ_INSTS_VALU_TRANS_F64", "SQ_INSTS_VALU_MFMA_MOPS_F8",
    "SQ_INSTS_VALU_MFMA_MOPS_F16", "SQ_INSTS_VALU_MFMA_MOPS_BF16", "SQ_INSTS_VALU_MFMA_MOPS_F32",
    "SQ_INSTS_VALU_MFMA_MOPS_F64", "SQ_INSTS_VALU_MFMA_MOPS_I8",
    "TCP_TCC_READ_REQ_sum", "TCP_TCC_WRITE_REQ_sum", "TCP_TCC_ATOMIC_WITH_RET_REQ_sum",
    "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum", "TCP_TOTAL_CACHE_ACCESSES_sum", "TCP_TOTAL_ACCESSES_sum",
    "TCC_HIT_sum", "TCC_MISS_sum", "TCC_REQ_sum", "TCC_ATOMIC_sum", "TCC_EA0_RDREQ_sum",
    "TCC_EA0_RDREQ_32B_sum", "TCC_BUBBLE_sum", "TCC_EA0_WRREQ_sum", "TCC_EA0_WRREQ_64B_sum",
    "TA_FLAT_READ_WAVEFRONTS_sum", "TA_FLAT_WRITE_WAVEFRONTS_sum",
)  # fmt: skip
# Matrix types that an architecture adds (counter_defs.yaml of rocprofiler-sdk: gfx942 has no counter of XF32).
_ADDED = {"gfx950": ("SQ_INSTS_VALU_MFMA_MOPS_XF32", "SQ_INSTS_VALU_MFMA_MOPS_F6F4")}
# What no rocprofiler-sdk of 6.2 to July 2026 defines there (counter_defs.yaml, config.yaml), as beginnings of names.
_UNDEFINED = {
    "gfx908": (
        "SQ_INSTS_VALU_ADD_", "SQ_INSTS_VALU_MUL_", "SQ_INSTS_VALU_FMA_", "SQ_INSTS_VALU_TRANS_",
        "SQ_INSTS_VALU_MFMA_MOPS_",
    ),
    "gfx10": ("SQ_INSTS_TEX_",),
    "gfx12": ("GL2C_EA_RDREQ_96B_",),
}  # fmt: skip
# What rocprofiler-sdk defines for gfx11 and gfx12; gfx10 has most of the names.
_GRAPHICS = (
    "GRBM_GUI_ACTIVE", "SQ_WAVES", "SQ_WAVE_CYCLES", "SQ_WAIT_ANY", "SQ_WAIT_INST_ANY", "SQ_INSTS_VALU",
    "SQ_INSTS_SALU", "SQ_INSTS_SMEM", "SQ_INSTS_LDS", "SQ_INSTS_FLAT", "SQ_INSTS_TEX_LOAD", "SQ_INSTS_TEX_STORE",
    "SQC_LDS_BANK_CONFLICT", "SQC_LDS_IDX_ACTIVE", "GL2C_HIT_sum", "GL2C_MISS_sum", "GL2C_EA_RDREQ_32B_sum",
    "GL2C_EA_RDREQ_64B_sum", "GL2C_EA_RDREQ_96B_sum", "GL2C_EA_RDREQ_128B_sum",
)  # fmt: skip


def counter_set(arch: str) -> tuple[str, ...]:
    """The counters to ask for on that architecture, by the names that it has for them."""
    chosen: tuple[str, ...] = (*COUNTERS, *_ADDED.get(arch, ()))
    if arch.startswith(("gfx10", "gfx11", "gfx12")):
        chosen = _GRAPHICS
    elif arch in ("gfx90a", "gfx908"):
        renamed = (c.replace("TCC_EA0_", "TCC_EA_") for c in COUNTERS if not c.endswith("_F8"))
        chosen = tuple(c for c in renamed if c != "TCC_BUBBLE_sum")
    without = tuple(name for key, names in _UNDEFINED.items() if arch.startswith(key) for name in names)
    return tuple(c for c in chosen if not c.startswith(without)) if without else chosen


def counter_passes(counters: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Split counters so that each pass asks no block for more than it can count at once."""
    waiting = list(counters)
    while waiting:
        used: dict[str, int] = {}
        taken = []
        for counter in waiting:
            prefix = counter.split("_", 1)[0]
            block = _PART_OF.get(prefix, prefix)
            if used.get(block, 0) < _PER_PASS.get(block, 1):
                used[block] = used.get(block, 0) + 1
                taken.append(counter)
        yield tuple(taken)
        waiting = [counter for counter in waiting if counter not in taken]


def smaller_passes(counters: Sequence[str], said: str) -> list[tuple[str, ...]]:
    """What to ask for instead of a pass that gave nothing, by what rocprofv3 said; empty when that is of no help.

    ROCm 6.2 and 6.3 end the program where a counter is not defined, and name those that are. A pass that the hardware
    cannot count at once is cut in halves.
    """
    found = _FOUND.search(said)
    if found is not None:
        known = tuple(c for c in counters if c in re.split(r"[,\s]+", found[1]))
        return [known] if 0 < len(known) < len(counters) else []
    if len(counters) > 1 and _TOO_MANY.search(said):
        half = len(counters) // 2
        return [tuple(counters[:half]), tuple(counters[half:])]
    return []
