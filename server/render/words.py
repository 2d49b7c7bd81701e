"""Numbers and names as people read them: times with a unit, shares, bars, and what a stall reason means.

Pure functions from a number to a short text; every renderer uses these, so a number looks the same everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_BLOCKS = " ▏▎▍▌▋▊▉█"
_SPARKS = "▁▂▃▄▅▆▇█"

REASONS: Mapping[str, tuple[str, str]] = {
    "global_memory": ("global memory", "waits for a load or store in global memory"),
    "scratch_memory": ("scratch memory", "waits for spilled or indexed private data"),
    "scalar_memory": ("scalar memory", "waits for a scalar load (kernel arguments, constants)"),
    "lds": ("LDS", "waits for local data share"),
    "atomic": ("atomic", "waits for an atomic operation to reach its turn"),
    "barrier": ("barrier", "waits for the other waves of its workgroup"),
    "dependency": ("dependency", "waits for the result of an earlier instruction"),
    "instruction_fetch": ("instruction fetch", "waits for its next instruction"),
    "issue_contention": ("issue contention", "another wave of the SIMD was served first"),
    "pipe_busy": ("pipe busy", "the execution unit was still busy"),
    "sleep": ("sleep", "waits in s_sleep"),
    "other": ("other", "none of the named reasons"),
    "memory_queue": ("memory queue", "the queue to the memory units is full"),
    "math_pipe": ("math pipe", "its arithmetic pipe is taken by other waves"),
    "texture": ("texture", "waits for the texture unit"),
    "fence": ("fence", "waits until its stores are visible to others"),
    "not_selected": ("not selected", "another wave of the SIMD was chosen"),
    "constant_cache": ("constant cache", "waits for a constant that is not in its cache"),
}


def borders(isolation: str) -> str:
    """What kept confined code from everything else."""
    if isolation == "limits":
        return "limits only: what was compiled and run could read the user's files"
    return isolation


def duration(nanoseconds: float | None) -> str:
    """12345.0 -> `12.3 us`; `unknown` for a time that was not recorded."""
    if nanoseconds is None:
        return "unknown"
    for limit, divisor, unit in ((1e3, 1.0, "ns"), (1e6, 1e3, "us"), (1e9, 1e6, "ms")):
        if nanoseconds < limit:
            return f"{three(nanoseconds / divisor)} {unit}"
    return f"{three(nanoseconds / 1e9)} s"


def interval(low: float | None, high: float | None) -> str:
    """` (26.1 to 36.4 us)` behind a time; nothing where it is not known."""
    return "" if low is None or high is None else f" ({duration(low)} to {duration(high)})"


def percent(share: float | None) -> str:
    """0.4123 -> `41 %`; small shares keep a digit."""
    if share is None:
        return "unknown"
    value = share * 100
    if 0 < value < 0.1:
        return "<0.1 %"
    return f"{value:.0f} %" if value >= 9.95 or value == 0 else f"{value:.1f} %"


def count(value: float) -> str:
    """1234567 -> `1.23 M`; below ten thousand as it is."""
    for limit, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            return f"{three(value / (1e3 if unit == 'k' else limit))} {unit}"
    return f"{value:.0f}" if value == int(value) else three(value)


def size(value: float) -> str:
    """Bytes with binary units."""
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if abs(value) >= 1024**power:
            return f"{three(value / 1024**power)} {unit}"
    return f"{value:.0f} B"


def rate(per_second: float, unit: str) -> str:
    """5.3e12, "B/s" -> `5.30 TB/s` (decimal units, as peaks are quoted)."""
    for limit, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if per_second >= limit:
            return f"{three(per_second / limit)} {prefix}{unit}"
    return f"{three(per_second)} {unit}"


def three(value: float) -> str:
    """Three significant digits, without an exponent."""
    if value == 0:
        return "0"
    magnitude = abs(value)
    digits = 2 if magnitude < 10 else 1 if magnitude < 100 else 0
    return f"{value:.{digits}f}" if magnitude >= 0.01 else f"{value:.2g}"


def reason(name: str) -> str:
    """The short name of a stall reason."""
    return REASONS[name][0] if name in REASONS else name.replace("_", " ")


def bar(share: float, width: int = 10) -> str:
    """A bar of `width` characters, filled to `share` in eighths; padded with spaces."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    text = "█" * full + (_BLOCKS[rest] if rest else "")
    return text.ljust(width)


def plural(number: int, one: str, many: str) -> str:
    """1, "launch", "launches" -> `1 launch`."""
    return f"{number} {one if number == 1 else many}"


def launches(number: int, profiled: int | None) -> str:
    """`3 launches`, or `50 launches, 4 of them profiled`: the others have the mean time of these."""
    some = f", {profiled} of them profiled" if profiled is not None and profiled < number else ""
    return plural(number, "launch", "launches") + some


def sparkline(values: Sequence[float]) -> str:
    """One small column per value, the highest full; empty for no values."""
    top = max(values, default=0)
    if top <= 0:
        return _SPARKS[0] * len(values)
    return "".join(_SPARKS[min(7, int(v / top * 7.999))] for v in values)


def uncertain_reason(may_be: str | None) -> str:
    """What a line may wait for most instead, in a few words; nothing where its longest wait is certain."""
    return f"uncertain, may be {reason(may_be)}" if may_be else ""


def top_reasons(stalls: Mapping[str, float], total: float, limit: int = 3) -> list[tuple[str, float]]:
    """The largest reasons with their part of `total`, longest first; none when there is no total."""
    if total <= 0:
        return []
    ranked = sorted(stalls.items(), key=lambda item: -item[1])
    return [(name, cycles / total) for name, cycles in ranked[:limit] if cycles > 0]
