"""What the wave time goes into: every cycle of every instruction has a cause, and each cause a remedy.

Takes a kernel, gives its time by cause, over all and per line. Formulas say what is wrong; this says what each hot line
spends its time on when none of them speaks. The table `CAUSES` holds the words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hipscope.analysis.metrics.line_costs import user_frame
from hipscope.analysis.metrics.memory_patterns import conflict_degree
from hipscope.analysis.metrics.roofline import roofline
from hipscope.analysis.metrics.stalls import blamed_stalls, total_cycles
from hipscope.analysis.profile import Instruction, Kernel, MemoryPattern, Profile, StallReason
from hipscope.formulas.detect.dataflow import addressed_by_loads
from hipscope.formulas.detect.fences import is_fence
from hipscope.formulas.detect.instruction_mix import (
    is_double,
    is_scratch,
    is_synchronising,
    is_transcendental,
    is_valu,
    mnemonic,
    waves,
)
from hipscope.formulas.detect.memory_access import wasteful, wasteful_loads
from hipscope.formulas.detect.slow_arithmetic import lanes_in_turn, slow_lines
from hipscope.formulas.detect.thresholds import THRESHOLDS
from hipscope.formulas.detect.time_at_stake import unit_share


@dataclass(frozen=True)
class Cause:
    """What takes time, as the end of "this line ...", and what makes it less."""

    words: str
    remedy: str


CAUSES: Mapping[str, Cause] = {
    "start": Cause(
        "waits for the kernel's arguments and the launch's shape, which each wave loads before it can begin",
        "let each work-item do more, so that fewer waves begin; a block size known when compiling saves a load",
    ),
    "uniform loads": Cause(
        "waits for values that are the same for all lanes, loaded as they are needed",
        "unroll the loop, so that several of these loads are on their way, or load them together before it",
    ),
    "scattered loads": Cause(
        "waits for loads whose lanes touch a cache line each",
        "let neighbouring lanes load neighbouring elements, or stage the block in LDS",
    ),
    "narrow loads": Cause(
        "waits for loads of one or two bytes per lane, which fill a small part of each line",
        "let each lane load 4 to 16 bytes at once and take them apart in registers",
    ),
    "dependent loads": Cause(
        "waits for loads whose address another load brings",
        "load the next index before using this one, keep several chains going in each lane, or keep the table in LDS",
    ),
    "repeated loads": Cause(
        "waits for data that the kernel loads again and again",
        "stage what a workgroup shares in LDS, or keep it in registers over several outputs",
    ),
    "loop loads": Cause(
        "waits for loads in each step of a loop, with little else in flight",
        "unroll the loop and issue its loads before the first use, or load the next step's data early",
    ),
    "batched loads": Cause(
        "waits for loads that are on their way together, as in an unrolled loop",
        "let more waves fit on a SIMD (fewer registers, less LDS), or load the next round before using this one",
    ),
    "first loads": Cause(
        "waits for the data that it begins with, and has nothing else to do meanwhile",
        "let each work-item take several elements and load them all before the first use",
    ),
    "bandwidth": Cause(
        "waits for data that move about as fast as the memory can",
        "move fewer bytes: fuse passes over the same data, use smaller types, keep intermediate results on the chip",
    ),
    "fences": Cause(
        "waits until caches are written back to memory or emptied, for a fence or the order of an atomic operation",
        "fence less often, for fewer waves, or for a narrower scope; relaxed order where no other data are published",
    ),
    "polling": Cause(
        "looks again and again for a result of another wave",
        "let fewer waves wait, or split the kernel where they meet",
    ),
    "stores": Cause(
        "waits for its own stores: a load behind them is waited for together with them, or reads what they stored",
        "keep the value in a register and store it once after the loop; load the next steps' data before storing",
    ),
    "store queue": Cause(
        "waits for room for its stores: earlier ones of the CU are still on their way",
        "store less, or whole lines: 16 bytes per lane, neighbouring lanes side by side",
    ),
    "narrow stores": Cause(
        "waits for stores of one or two bytes per lane, which fill a small part of each line",
        "let each lane collect 4 to 16 bytes in registers and store them at once",
    ),
    "scattered stores": Cause(
        "waits for stores whose lanes touch a cache line each and fill little of it",
        "let neighbouring lanes store neighbouring elements, or collect them in LDS and store whole lines",
    ),
    "memory queue": Cause(
        "queues for the vector memory unit behind other accesses",
        "make fewer and denser accesses: 8 or 16 bytes per lane, neighbouring lanes together",
    ),
    "atomics": Cause(
        "waits for atomic operations",
        "add up within the wave or in LDS first, then do one atomic per address and workgroup",
    ),
    "lanes in turn": Cause(
        "adds up its lanes' values one lane after another, what the compiler makes of an atomic operation of a "
        "whole wave on one address",
        "reduce within the wave first (shuffles or DPP: 6 steps instead of 64), then let one lane do the atomic",
    ),
    "bank conflicts": Cause(
        "waits for LDS accesses whose lanes want different words of the same bank",
        "pad the row of the LDS array by one element, or swizzle its index",
    ),
    "lane exchange": Cause(
        "exchanges values between lanes, which goes through the LDS unit",
        "exchange less often: let each lane hold more of the data; DPP moves within rows of 16 lanes need no LDS",
    ),
    "LDS": Cause(
        "waits for the LDS",
        "access 8 or 16 bytes per lane at once, read the next step early, keep in registers what is used twice",
    ),
    "barrier": Cause(
        "waits at a barrier for the slowest wave of the workgroup",
        "give the waves equal work between barriers, use fewer barriers or smaller workgroups",
    ),
    "scratch": Cause(
        "reads and writes scratch memory: spilled registers, or arrays with run-time indices",
        "declare `__launch_bounds__`, unroll the loops that index the array, or keep it in LDS",
    ),
    "integer division": Cause(
        "divides integers, a few dozen instructions each",
        "divide by constants or powers of two, use 32 bits, or compute quotient and remainder once and hoist them",
    ),
    "double division": Cause(
        "divides or takes roots in double precision, several dozen instructions each",
        "multiply by a reciprocal that is computed once, or use float where the precision allows",
    ),
    "division": Cause(
        "divides exactly, a dozen instructions each",
        "multiply by a reciprocal that is computed once outside the loop",
    ),
    "function": Cause(
        "computes mathematical functions, dozens of instructions each",
        "compute them once for several uses, or use the fast forms (`__expf`, `__sinf`) where the precision allows",
    ),
    "double": Cause(
        "computes in double precision",
        "use float where the data are float; else fewer operations",
    ),
    "dependency": Cause(
        "waits for the results of instructions before it",
        "give each lane independent work: several elements or accumulators, an unrolled loop",
    ),
    "fetch": Cause(
        "waits for its instructions to be fetched",
        "make the hot code smaller: unroll and inline less",
    ),
    "contention": Cause(
        "waits for its turn, as other waves of the SIMD issue: the SIMD is busy",
        "execute fewer or cheaper instructions",
    ),
    "matrix": Cause("runs matrix instructions", "keep them fed: larger tiles per wave"),
    "integers": Cause(
        "computes with integers: indices, addresses, bits",
        "32-bit indices for 64-bit ones, pointers that advance for multiplications, what stays the same out of loops",
    ),
    "moves": Cause(
        "compares, selects, moves and converts values",
        "fewer conversions between types, fewer conditional values, packed types for narrow data",
    ),
    "control": Cause(
        "branches and counts loops",
        "unroll the loop, or let a lane do several steps per iteration",
    ),
    "arithmetic": Cause(
        "issues its arithmetic",
        "fewer operations, two floats per instruction (`ext_vector_type(2)`), more waves to fill the SIMDs",
    ),
    "math pipe": Cause(
        "waits for its arithmetic unit, which other waves use",
        "fewer or cheaper operations, or other units for a part of them",
    ),
    "texture": Cause(
        "waits for the texture unit", "make fewer texture accesses, or plain loads of whole lines"
    ),
    "constants": Cause(
        "waits for constants or arguments that are not in their cache",
        "read fewer of them, from neighbouring places, and all lanes the same one",
    ),
    "other": Cause("waits for a reason that the profile does not name", "see the wait reasons of the line"),
}


@dataclass(frozen=True)
class LineCause:
    """One line with what it spends its time on: `share` is of the kernel's wave time, `causes` of the line's, largest
    first. `column` 0 is unknown; `rounds` is how often each wave comes there.
    """

    file: str
    line: int
    column: int
    share: float
    causes: tuple[tuple[str, float], ...]
    rounds: float | None


def time_by_cause(profile: Profile, kernel: Kernel) -> Mapping[str, float]:
    """Parts of the kernel's wave time, largest first; empty without instructions that took time."""
    total = total_cycles(kernel)
    if not total:
        return {}
    found: dict[str, float] = {}
    for table in _tables(profile, kernel):
        _add(found, table)
    return {name: cycles / total for name, cycles in _ranked(found) if cycles > 0}


def line_causes(profile: Profile, kernel: Kernel) -> tuple[LineCause, ...]:
    """The kernel's lines, costliest first."""
    total = total_cycles(kernel)
    if not total:
        return ()
    number = waves(kernel)
    grouped: dict[tuple[str, int], tuple[dict[str, float], list[Instruction]]] = {}
    for instruction, table in zip(kernel.instructions, _tables(profile, kernel), strict=True):
        frame = user_frame(instruction.source)
        if frame is not None:
            causes, instructions = grouped.setdefault((frame.file, frame.line), ({}, []))
            _add(causes, table)
            instructions.append(instruction)
    lines = []
    for (file, line), (causes, instructions) in grouped.items():
        cycles = sum(causes.values())
        if cycles <= 0:
            continue
        worst = max(instructions, key=lambda i: i.latency)
        frame = user_frame(worst.source)
        hits = max(i.hits for i in instructions)
        parts = tuple((name, c / cycles) for name, c in _ranked(causes))
        column = frame.column if frame is not None else 0
        lines.append(LineCause(file, line, column, cycles / total, parts, hits / number if number else None))
    return tuple(sorted(lines, key=lambda entry: (-entry.share, entry.file, entry.line)))


def _add(into: dict[str, float], cycles: Mapping[str, float]) -> None:
    for name, more in cycles.items():
        into[name] = into.get(name, 0.0) + more


def _ranked(cycles: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(cycles.items(), key=lambda item: -item[1])


def _tables(profile: Profile, kernel: Kernel) -> list[dict[str, float]]:
    """Per instruction: its cycles by cause, waits given to what is waited for."""
    slow: dict[int, str] = {i.index: line.kind for line in slow_lines(kernel) for i in line.instructions}
    slow |= dict.fromkeys(lanes_in_turn(kernel), "lanes in turn")
    load, queued = _load_cause(profile, kernel), _queued(kernel)
    lost = _lost_to_conflicts(profile, kernel)
    tables = []
    for instruction, blamed in zip(kernel.instructions, blamed_stalls(kernel), strict=True):
        table = {_work(instruction, slow): max(0.0, instruction.latency - instruction.stall)}
        for reason, cycles in blamed.items():
            cause = _wait(instruction, reason, slow, load)
            behind = min(cycles, queued.get(instruction.index, 0.0)) if cause == "stores" else 0.0
            turns = cycles * lost.get(instruction.index, 0.0) if cause == "LDS" else 0.0
            moved = {"store queue": behind} if behind else {"bank conflicts": turns} if turns else {}
            _add(table, {cause: cycles - behind - turns, **moved})
        tables.append(table)
    return tables


def _lost_to_conflicts(profile: Profile, kernel: Kernel) -> dict[int, float]:
    """Per access to LDS with conflicts, the part of the waits for it that the conflicts take: no more over all than the
    LDS is busy with them. It is what `bankConflict` has at stake.
    """
    blamed, total = blamed_stalls(kernel), total_cycles(kernel)
    parts: dict[int, float] = {}
    waited = cycles = 0.0
    for i in kernel.instructions:
        degree = conflict_degree(i.memory) if i.memory is not None and i.memory.space == "lds" else None
        if i.memory is None or degree is None or degree < THRESHOLDS["bankConflict.degree"]:
            continue
        parts[i.index] = i.memory.lds_conflict_cycles / i.memory.lds_cycles
        waited += parts[i.index] * sum(blamed[i.index].values())
        cycles += i.memory.lds_conflict_cycles
    busy = unit_share(kernel, profile.device, cycles)
    if busy is None or not waited or not total:
        return parts
    scale = min(1.0, busy / (waited / total))
    return {index: part * scale for index, part in parts.items()}


def _queued(kernel: Kernel) -> dict[int, float]:
    """Per store, the cycles that stores waited for it before they could be issued: there is no load behind them."""
    found: dict[int, float] = {}
    stores = [i for i in kernel.instructions if "_store" in mnemonic(i)]
    own = {i.index for i in stores}
    for instruction in stores:
        for producer, cycles in instruction.waited_for.items():
            if producer in own:
                found[producer] = found.get(producer, 0.0) + cycles
    return found


def _load_cause(profile: Profile, kernel: Kernel) -> Callable[[Instruction], str]:
    """Why waves wait for an access to global memory, or for a scalar load."""
    number = waves(kernel) or 0.0
    dependent, wasted = addressed_by_loads(kernel), wasteful_loads(kernel)
    roof = roofline(kernel, profile.device, profile.provenance)
    streaming = roof.bound == "memory" and _memory_is_busy(kernel)
    full = (roof.memory_fraction or 0.0) >= AT_THE_ROOF * THRESHOLDS["memoryAccess.reachable_bandwidth"]
    loads = Counter(_line(i) for i in kernel.instructions if i.hits and _is_load(i))  # many: an unrolled loop

    def cause(instruction: Instruction) -> str:
        pattern = instruction.memory
        rounds = instruction.hits / number if number else 0.0
        if mnemonic(instruction).startswith("s_"):
            return "start" if rounds < _AGAIN and _is_argument(instruction) else "uniform loads"
        if is_fence(instruction):
            return "fences"
        if is_synchronising(instruction) and rounds >= THRESHOLDS["spinning.rounds"]:
            return "polling"
        narrow = pattern is not None and pattern.bytes_per_lane <= _NARROW and not full
        if "_store" in mnemonic(instruction):
            if wasteful(instruction):
                return "scattered stores"
            return "narrow stores" if narrow else "bandwidth" if streaming else "stores"
        if instruction.index in dependent:
            return "dependent loads"
        if instruction.index in wasted:
            return "scattered loads"
        if narrow:
            return "narrow loads"
        if streaming:
            return "bandwidth"
        if rounds < _LOOP:
            return "batched loads" if loads[_line(instruction)] >= _BATCH else "first loads"
        if pattern is not None and _asked(pattern) >= _REPEATED:
            return "repeated loads"
        return "loop loads"

    return cause


def _memory_is_busy(kernel: Kernel) -> bool:
    """Whether memory works as fast as it can while the waves run; not where a model says that it has room."""
    busy = max((kernel.busy[unit] for unit in _MEMORY if unit in kernel.busy), default=None)
    return busy is None or busy >= AT_THE_ROOF * (1 - min(1.0, kernel.busy.get("launch", 0.0)))


def _is_load(instruction: Instruction) -> bool:
    pattern = instruction.memory
    return pattern is not None and pattern.space == "global" and pattern.kind == "load"


def _line(instruction: Instruction) -> tuple[str, int] | None:
    frame = user_frame(instruction.source)
    return (frame.file, frame.line) if frame is not None else None


def _asked(pattern: MemoryPattern) -> float:
    """How often the same line is asked for; 0 when it is not known."""
    return pattern.lines_used / pattern.distinct_lines if pattern.distinct_lines else 0.0


_MEMORY = ("hbm", "mall")
_ARGUMENTS = tuple(f"s[{n}:{n + 1}]" for n in range(0, 12, 2))  # where a wave finds what it was launched with
_AGAIN = 1.5  # times per wave: an argument is loaded once
AT_THE_ROOF = 0.85  # of what the device reaches: "within 15 % of a roof"
_NARROW = 2  # bytes per lane
_REPEATED = 16  # times that the same line is asked for: a wave of floats fills two lines at once
_LOOP = THRESHOLDS["latencyHiding.rounds"]
_BATCH = 16  # load instructions of a line: more than one expression has, so that a loop was unrolled there


_ONCE: Mapping[StallReason, str] = {
    StallReason.ATOMIC: "atomics",
    StallReason.SCRATCH_MEMORY: "scratch",
    StallReason.BARRIER: "barrier",
    StallReason.INSTRUCTION_FETCH: "fetch",
    StallReason.ISSUE_CONTENTION: "contention",
    StallReason.SLEEP: "polling",
    # What only other vendors' profilers and hardware samples tell apart.
    StallReason.MEMORY_QUEUE: "memory queue",
    StallReason.MATH_PIPE: "math pipe",
    StallReason.TEXTURE: "texture",
    StallReason.FENCE: "fences",
    StallReason.NOT_SELECTED: "contention",
    StallReason.CONSTANT_CACHE: "constants",
}


def _wait(
    instruction: Instruction,
    reason: StallReason,
    slow: Mapping[int, str],
    load: Callable[[Instruction], str],
) -> str:
    name = mnemonic(instruction)
    if reason in _ONCE:
        return _ONCE[reason]
    if reason in (StallReason.GLOBAL_MEMORY, StallReason.SCALAR_MEMORY):
        return load(instruction)
    if reason is StallReason.LDS:
        return _lds(instruction)
    if reason is StallReason.PIPE_BUSY:
        if instruction.memory is not None or name.startswith(("global_", "flat_", "buffer_")):
            return "LDS" if name.startswith("ds_") else "memory queue"
        return slow.get(instruction.index, "function" if is_transcendental(instruction) else "arithmetic")
    if reason is StallReason.DEPENDENCY:
        return slow.get(instruction.index, "dependency")
    return "other"


def _is_argument(instruction: Instruction) -> bool:
    """A scalar load from the block of arguments: at a constant place behind one of the first scalars."""
    parts = instruction.text.replace(",", " ").split()
    return len(parts) > 3 and parts[3].startswith("0x") and parts[2] in _ARGUMENTS


def _lds(instruction: Instruction) -> str:
    if mnemonic(instruction).startswith(("ds_bpermute", "ds_permute", "ds_swizzle")):
        return "lane exchange"
    return "LDS"


def _work(instruction: Instruction, slow: Mapping[int, str]) -> str:
    """What issuing the instruction is for."""
    name = mnemonic(instruction)
    if instruction.index in slow:
        return slow[instruction.index]
    for prefixes, cause in _WORK:
        if name.startswith(prefixes):
            return cause
    if is_scratch(instruction):
        return "scratch"
    if is_double(instruction):
        return "double"
    if is_valu(instruction) and any(part in name for part in _INTEGER):
        return "integers"
    return "arithmetic" if is_valu(instruction) else "control"


# What issuing is for; the other causes are waits.
WORK = frozenset(
    {
        *("matrix", "moves", "function", "division", "double division", "integer division"),
        *("integers", "control", "double", "arithmetic", "lanes in turn"),
    }
)
_INTEGER = ("_u32", "_i32", "_u64", "_i64", "_b32", "_b64", "_u16", "_i16", "_u24", "_i24")
_WORK: tuple[tuple[tuple[str, ...], str], ...] = (
    (("v_mfma", "v_smfmac"), "matrix"),
    (
        (
            "v_mov",
            "v_cndmask",
            "v_cmp",
            "v_cvt",
            "v_perm",
            "v_accvgpr",
            "v_readlane",
            "v_readfirstlane",
            "v_writelane",
        ),
        "moves",
    ),
    (("v_exp_", "v_log_", "v_sin_", "v_cos_", "v_sqrt_", "v_rsq_"), "function"),
    (("v_rcp_", "v_div_"), "division"),
    (("s_cbranch", "s_branch", "s_cmp"), "control"),
    (("s_load", "s_mul", "s_add", "s_sub", "s_lsh", "s_ash", "s_bfe", "s_mov"), "integers"),
    (("ds_bpermute", "ds_permute", "ds_swizzle"), "lane exchange"),
    (("ds_",), "LDS"),
    (("global_atomic", "flat_atomic", "buffer_atomic"), "atomics"),
    (("global_", "flat_", "buffer_"), "memory queue"),
)
