"""The device table: what each modelled GPU is, and the constants of its timing model.

Takes a device name, gives its numbers, or the flat file that the native runtime reads them from. Values, units and
sources are in devices.toml, which is the one place to correct them.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hipscope.emulator.csv_tables import DeviceInfo

_MEMORY = (
    "l1_",
    "l2_",
    "mall_",
    "hbm_",
    "memory_",
    "store_",
    "partial_",
    "address_",
    "translation_",
    "atomic_",
    "fence_",
)
_LDS_WIDTHS = (32, 64, 96, 128)
_LANES = 64
_TABLE = Path(__file__).with_name("devices.toml")


@functools.cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(_TABLE.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Constant:
    """One row of the table.

    `range` is the least and the largest value where the source leaves it open. `ends` are the two values of a switch
    for which there is none: they say how a program's launches follow each other, so a single launch has one of them.
    """

    value: str | int | float
    unit: str
    source: str
    range: tuple[float, float] | None = None
    ends: tuple[float, float] | None = None


@functools.cache
def device_constants() -> Mapping[str, Mapping[str, Constant]]:
    """All devices with all their rows, those of their base included."""
    table = _table()
    return {name: _resolve(row, table["bases"]) for name, row in table["devices"].items()}


def device_table() -> dict[str, dict[str, Any]]:
    """The values alone: device name -> key -> value."""
    return {name: {key: row.value for key, row in rows.items()} for name, rows in device_constants().items()}


def device_info(name: str) -> DeviceInfo:
    """The device as the agent table shows it. Raises KeyError for an unknown name."""
    row = device_table()[name]
    fields = {key: row[key] for key in DeviceInfo.__dataclass_fields__ if key in row}
    return DeviceInfo(key=name, **{**fields, "clock_mhz": float(row["clock_mhz"])})


@dataclass(frozen=True)
class LdsSets:
    """How the LDS serves a wave: lanes that are served together, as numbers, over so many banks of 4 bytes."""

    banks: int
    lanes: tuple[tuple[int, ...], ...]


@functools.cache
def lds_sets(name: str, *, write: bool, lane_bytes: int) -> LdsSets:
    """The sets of an access of so many bytes of each lane, the same that the engine counts conflicts by.

    Raises KeyError for an unknown name.
    """
    width = next((bits for bits in _LDS_WIDTHS if lane_bytes * 8 <= bits), _LDS_WIDTHS[-1])
    row = str(device_table()[name][f"lds_{'write' if write else 'read'}_b{width}"])
    banks, _, listed = row.partition(" banks: ")
    first = [tuple(_numbers(one)) for one in listed.split(",")]
    covered = sum(map(len, first))
    sets = tuple(tuple(lane + at for lane in one) for at in range(0, _LANES, covered) for one in first)
    return LdsSets(int(banks), sets)


def _numbers(ranges: str) -> list[int]:
    """`0-3 20-23` as numbers."""
    ends = [part.split("-") for part in ranges.split()]
    return [n for first, *last in ends for n in range(int(first), int(last[0] if last else first) + 1)]


@functools.cache
def time_interval(bound_by: str) -> tuple[float, float] | None:
    """The least and the largest part of a modelled time that it may be, by its bound; None when not known."""
    row = _table().get("intervals", {}).get(bound_by)
    return None if row is None else (float(row["least"]), float(row["largest"]))


@functools.cache
def wait_interval(reason: str) -> tuple[float, float]:
    """The least and the largest part of a modelled wait that it may be, by its reason; (1, 1) where none is known."""
    row = _table()["waits"].get(reason)
    return (1.0, 1.0) if row is None else (float(row["least"]), float(row["largest"]))


@functools.cache
def constant_interval(device: str, name: str) -> tuple[float, float]:
    """The least and the largest part of a constant that its source leaves open; (1, 1) where it settles the value.

    Raises KeyError for an unknown device or constant.
    """
    row = device_constants()[device][name]
    value = float(row.value)
    return (1.0, 1.0) if row.range is None or not value else (row.range[0] / value, row.range[1] / value)


def constants_at_ends(name: str) -> tuple[dict[str, float], dict[str, float]]:
    """The constants of a device that no source settles, all at the end that makes kernels fast, and all at the other.

    More of a cost or a latency is slow, more of a capacity or a rate is fast. Raises KeyError for an unknown name.
    """
    ranges = uncertain_constants(name)
    costs = {key: key.endswith(("_cycles", "_latency", "_factor")) for key in ranges}
    fast = {key: least if costs[key] else most for key, (least, most) in ranges.items()}
    slow = {key: most if costs[key] else least for key, (least, most) in ranges.items()}
    return fast, slow


def constants_at_mixed_ends(name: str) -> tuple[dict[str, float], dict[str, float]]:
    """The same with memory at its slow end and all else at its fast one, and the other way round.

    A rewrite that trades one against the other may be faster at both ends of `constants_at_ends`.
    """
    fast, slow = constants_at_ends(name)
    memory = {key for key in fast if key.startswith(_MEMORY)}
    return (
        {key: (slow if key in memory else fast)[key] for key in fast},
        {key: (fast if key in memory else slow)[key] for key in fast},
    )


def constants_of_part(name: str) -> dict[str, float] | None:
    """The constants of a device whose XCDs are cut into equal ones of two CUs or a few more; None where they cannot be.

    Each has its part of what an XCD's CUs share: channels of the L2 and their rate, scalar caches, and starts of waves.
    What the device shares, the model gives each XCD a part of. Raises KeyError for an unknown name.
    """
    row = device_table()[name]
    cus = row["compute_units"] // row["xcds"]
    parts = next((n for n in range(cus // 2, 1, -1) if cus % n == 0), None)
    if parts is None:
        return None
    channels = max(1, row["l2_channels"] // parts)
    rate = row["l2_channels"] / parts / channels
    return {
        "xcds": row["xcds"] * parts,
        "sqcs_per_xcd": max(1, round(row["sqcs_per_xcd"] / parts)),
        "l2_channels": channels,
        "l2_read_bytes_per_cycle": row["l2_read_bytes_per_cycle"] * rate,
        "l2_write_bytes_per_cycle": row["l2_write_bytes_per_cycle"] * rate,
        "wave_launch_cycles": row["wave_launch_cycles"] * parts,
    }


def uncertain_constants(name: str) -> dict[str, tuple[float, float]]:
    """The constants of a device that no source settles, with their ranges. Raises KeyError for an unknown name."""
    return {key: row.range for key, row in device_constants()[name].items() if row.range is not None}


def switches(name: str) -> dict[str, tuple[float, float]]:
    """The switches of a device with their two values. Raises KeyError for an unknown name."""
    return {key: row.ends for key, row in device_constants()[name].items() if row.ends is not None}


def write_device_config(name: str, path: Path, changes: Mapping[str, float | str] | None = None) -> Path:
    """Write the flat "key value" file of a device for HIPSCOPE_DEVICE_CONFIG, with some values replaced.

    Raises KeyError for an unknown name.
    """
    rows = {key: row.value for key, row in device_constants()[name].items()} | dict(changes or {})
    lines = [f"name {name}", *(f"{key} {value}" for key, value in rows.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _resolve(device: Mapping[str, Any], bases: Mapping[str, Any]) -> Mapping[str, Constant]:
    inherited = _resolve(bases[device["base"]], bases) if "base" in device else {}
    own = {key: _constant(row) for key, row in device.items() if key != "base"}
    return {**inherited, **own}


def _constant(row: Mapping[str, Any]) -> Constant:
    return Constant(row["value"], row["unit"], row["source"], _pair(row.get("range")), _pair(row.get("ends")))


def _pair(values: Sequence[float] | None) -> tuple[float, float] | None:
    return None if values is None else (values[0], values[1])
