"""What kind of number a counter is: a count, a level that is summed over cycles, or a ratio of others.

Takes a counter's name and, where the capture says it, its expression. A ratio must not be added up over launches: its
mean has the weight that it was divided by. Names and formulas: rocprofiler-sdk, counter_defs.yaml.
"""

from __future__ import annotations

import re

from hipscope.analysis.profile import CounterKind

TIME = "time"
CYCLES = "GRBM_GUI_ACTIVE"
_WAVES = "SQ_WAVES"
# Ratios that rocprofiler-sdk ships, with what each is divided by. Where that is the cycles of the launch, its time
# serves.
_WEIGHTS: dict[str, str] = {
    **dict.fromkeys(
        (
            "OccupancyPercent", "MeanOccupancyPerCU", "VALUBusy", "SALUBusy", "MemUnitBusy", "MemUnitStalled",
            "WriteUnitStalled", "MfmaUtil", "LDSBankConflict", "ALUStalledByLDS", "GPUBusy", "GPU_UTIL", "CU_OCCUPANCY",
            "CU_UTILIZATION", "TA_UTIL", "SE_UTIL", "VALU_UTIL", "SQ_UTIL",
        ),
        CYCLES,
    ),
    "MeanOccupancyPerActiveCU": "SQ_BUSYCYCLES",
    "VALUUtilization": "SQ_ACTIVE_INST_VALU",
    "L2CacheHit": "TCC_REQ_sum",
    **dict.fromkeys(
        (
            "VALUInsts", "SALUInsts", "SFetchInsts", "VFetchInsts", "VWriteInsts", "FlatVMemInsts", "LDSInsts",
            "FlatLDSInsts", "GDSInsts", "WAVE_DEP_WAIT", "WAVE_ISSUE_WAIT",
        ),
        _WAVES,
    ),
}  # fmt: skip
_CONSTANTS = re.compile(
    r"(CU_NUM|SE_NUM|SIMD_NUM|XCC_NUM|MAX_WAVE_SIZE|wave_front_size|num_\w+|max_\w+_num)$", re.I
)
_LEVELS = re.compile(r"(_ACCUM$|_LEVEL(_|$)|^SQ_LEVEL_|^SQ_ACCUM_PREV)")
_REDUCED = re.compile(r"(_avr|_avg|_max|_min|_ratio)(\[\d+\])?$", re.I)
_NVIDIA_RATIO = re.compile(r"\.(pct|avg|max|min|ratio|per_\w+)\b|\.pct_|^derived__.*(pct|avg|nway)", re.I)
_DIVIDES = re.compile(r"100\s*\*|/|reduce\([^)]*,\s*(avr|max|min)", re.I)


def kind_of(name: str, expression: str = "") -> CounterKind:
    """Counts and levels are added up over launches, ratios are not."""
    if name in _WEIGHTS or _CONSTANTS.match(name) or _REDUCED.search(name) or _NVIDIA_RATIO.search(name):
        return "ratio"
    if expression and expression != name and _DIVIDES.search(expression):
        return "ratio"
    return "level" if _LEVELS.search(name) else "count"


def weight_of(name: str) -> str | None:
    """The counter that a ratio is weighted by, TIME for a constant; None where it is not known."""
    if _CONSTANTS.match(name):
        return TIME
    return _WEIGHTS.get(name)


def is_of_cycles(weight: str) -> bool:
    """Whether a weight is the cycles of the launch, for which its time stands in."""
    return weight == CYCLES
