"""Which hardware counters are asked for, and in how few runs of the program.

Takes the architecture, gives the counters that roofline, occupancy and formulas use there, packed into passes by how
many a block of the hardware counts at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
# Matrix types that an architecture adds (counter_defs.yaml of rocprofiler-sdk).
_ADDED = {"gfx942": ("SQ_INSTS_VALU_MFMA_MOPS_XF32",), "gfx950": ("SQ_INSTS_VALU_MFMA_MOPS_F6F4",)}
_WITHOUT_TYPES = ("SQ_INSTS_VALU_ADD_", "SQ_INSTS_VALU_MUL_", "SQ_INSTS_VALU_FMA_", "SQ_INSTS_VALU_TRANS_")
# What rocprofiler-sdk defines for gfx11 and gfx12; gfx10 has the same names.
_GRAPHICS = (
    "GRBM_GUI_ACTIVE", "SQ_WAVES", "SQ_WAVE_CYCLES", "SQ_WAIT_ANY", "SQ_WAIT_INST_ANY", "SQ_INSTS_VALU",
    "SQ_INSTS_SALU", "SQ_INSTS_SMEM", "SQ_INSTS_LDS", "SQ_INSTS_FLAT", "SQ_INSTS_TEX_LOAD", "SQ_INSTS_TEX_STORE",
    "SQC_LDS_BANK_CONFLICT", "SQC_LDS_IDX_ACTIVE", "GL2C_HIT_sum", "GL2C_MISS_sum", "GL2C_EA_RDREQ_32B_sum",
    "GL2C_EA_RDREQ_64B_sum", "GL2C_EA_RDREQ_96B_sum", "GL2C_EA_RDREQ_128B_sum",
)  # fmt: skip


def counter_set(arch: str) -> tuple[str, ...]:
    """The counters to ask for on that architecture, by the names that it has for them."""
    if arch.startswith(("gfx10", "gfx11", "gfx12")):
        return _GRAPHICS
    if arch in ("gfx90a", "gfx908"):
        older = (
            c.replace("TCC_EA0_", "TCC_EA_")
            for c in COUNTERS
            if c != "TCC_BUBBLE_sum" and not c.endswith("_F8")
        )
        return tuple(c for c in older if arch == "gfx90a" or not c.startswith(_WITHOUT_TYPES))
    return (*COUNTERS, *_ADDED.get(arch, ()))


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
