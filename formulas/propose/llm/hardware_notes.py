"""What the hardware does in the cases that the formulas find: two short paragraphs for the model, with their source.

Numbers are of CDNA3 (MI300X, gfx942). A formula without an entry adds nothing to the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class HardwareNote:
    """A text, and where its numbers come from."""

    text: str
    source: str


HARDWARE_NOTES: Mapping[str, HardwareNote] = {
    "bankConflict": HardwareNote(
        "LDS has 32 banks of 4 bytes; a wave of 64 lanes takes 2 cycles if no two lanes of a half need one bank at "
        "different words, and one more for each lane that does.\n"
        "A row length that is odd in words, by one word of padding or by an XOR of the column with the row, spreads a "
        "column over all banks. Stride 2 costs a third, stride 32 everything.",
        "ROCm rocprofiler-compute, LDS example; pyhip's ds_read_b32 by stride on MI300",
    ),
    "memoryAccess": HardwareNote(
        "L2 and L1 move lines of 128 bytes: what a wave does not use of a line is moved all the same.\n"
        "Dense 4-byte accesses of 64 lanes are 2 lines. Go through LDS where either loads or stores must stride; that "
        "costs two LDS accesses and a barrier, far less than a line for each lane.",
        "ROCm CDNA3 memory hierarchy; rocprofiler-compute, vL1D",
    ),
    "narrowAccess": HardwareNote(
        "Each access instruction of a wave costs the same address work for 1 byte as for 16 bytes a lane.\n"
        "A float4 for each lane instead of a float made a row sum 1.62 times as fast on an MI300X. It needs 16-byte "
        "alignment of every row, and a tail for what is left.",
        "PyTorch issue 160466 (MI300X, float4 input per lane)",
    ),
    "atomicContention": HardwareNote(
        "Atomics to one address are done one after the other in L2, about a lane at a time; the compiler already "
        "combines a wave's adds to one uniform address.\n"
        "Combine a workgroup's values in LDS or by shuffles first, so that one atomic leaves it; for histograms keep a "
        "private copy in LDS. Integer results stay equal, floating-point sums change their rounding.",
        "LLVM AMDGPU atomic optimizer; rocprofiler-compute, L2 atomics",
    ),
    "registerPressure": HardwareNote(
        "A SIMD has 512 VGPRs a lane, given in steps of 8: 128 for each of 4 waves, 256 for each of 2. A spilled "
        "register is a load and a store of memory.\n"
        "__launch_bounds__ with the real workgroup size lets the compiler use up to 512; shorter live ranges, less "
        "unrolling and no arrays indexed by variables need fewer.",
        "LLVM AMDGPU usage, register budget of gfx90a and gfx942",
    ),
    "branchDivergence": HardwareNote(
        "A wave runs both sides of a branch that its 64 lanes take differently, each with the other lanes idle.\n"
        "Sort work so that whole waves agree, or compute both cheap sides and select. Loops run as long as the slowest "
        "lane: even out their lengths within a wave.",
        "CDNA3 ISA, EXEC mask",
    ),
    "memoryLocality": HardwareNote(
        "Each of 8 XCDs has an L2 of 4 MiB of its own; workgroups go to XCDs in turn, so neighbours do not share L2.\n"
        "Give an XCD neighbouring work by renumbering blocks (x = block % 8), one to one for every grid size, or keep "
        "what is read again in LDS or registers.",
        "SwizzlePerf (arXiv 2508.20258); ROCm CDNA3 memory hierarchy",
    ),
    "latencyHiding": HardwareNote(
        "A load from HBM takes about 850 cycles; a wave waits for the oldest one that it needs.\n"
        "Issue several independent loads before the first use, by unrolling with separate registers, or have more "
        "waves. 16 values for each thread instead of 4 made a sum 1.9 times as fast on an MI300X.",
        "rocprofiler-compute's recorded MI300X workloads; PyTorch issues 132964, 135397",
    ),
    "precision": HardwareNote(
        "An operation in double takes the vector units at half the rate or less, and conversions and twice the "
        "registers.\nA literal without `f` or a call of `exp` instead of `expf` in a kernel of floats makes doubles by "
        "accident. Keep double where the source means it.",
        "AMD CDNA3 white paper, peak rates",
    ),
    "launchConfig": HardwareNote(
        "There are more CUs than workgroups: the others idle, and each XCD gets every eighth workgroup.\n"
        "The launch stays as it is, so shorten the work of the longest workgroup: more loads in flight, less serial "
        "work, all lanes busy.",
        "ROCm CDNA3 compute partitioning",
    ),
    "fences": HardwareNote(
        "__threadfence() writes the L2 back, waits for everything and invalidates caches: microseconds on an MI300X.\n"
        "Within a workgroup __syncthreads() or __threadfence_block() is enough; keep the fence where another workgroup "
        "reads what was written.",
        "LLVM AMDGPU memory model of gfx942; RCCL issues 1766, 1830",
    ),
    "doubleDivision": HardwareNote(
        "A division or root in double is a sequence of about ten dependent instructions at the slow rate.\n"
        "Hoist a reciprocal only where results stay within the tolerance; otherwise divide once for values that are "
        "needed several times.",
        "LLVM AMDGPU lowering of fdiv",
    ),
}
