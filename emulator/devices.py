"""The device table: what each modelled GPU is, and the constants of its timing model.

Takes a device name, gives its numbers, or the flat file that the native runtime reads them from. Values, units and
sources are in devices.toml, which is the one place to correct them.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hipscope.emulator.csv_tables import DeviceInfo

_TABLE = Path(__file__).with_name("devices.toml")


@dataclass(frozen=True)
class Constant:
    """One row of the table."""

    value: str | int | float
    unit: str
    source: str


@functools.cache
def device_constants() -> Mapping[str, Mapping[str, Constant]]:
    """All devices with all their rows, those of their base included."""
    table = tomllib.loads(_TABLE.read_text(encoding="utf-8"))
    return {name: _resolve(row, table["bases"]) for name, row in table["devices"].items()}


def device_table() -> dict[str, dict[str, Any]]:
    """The values alone: device name -> key -> value."""
    return {name: {key: row.value for key, row in rows.items()} for name, rows in device_constants().items()}


def device_info(name: str) -> DeviceInfo:
    """The device as the agent table shows it. Raises KeyError for an unknown name."""
    row = device_table()[name]
    fields = {key: row[key] for key in DeviceInfo.__dataclass_fields__ if key in row}
    return DeviceInfo(key=name, **{**fields, "clock_mhz": float(row["clock_mhz"])})


def write_device_config(name: str, path: Path) -> Path:
    """Write the flat "key value" file of a device for HIPSCOPE_DEVICE_CONFIG. Raises KeyError for an unknown name."""
    rows = device_constants()[name]
    lines = [f"name {name}", *(f"{key} {row.value}" for key, row in rows.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _resolve(device: Mapping[str, Any], bases: Mapping[str, Any]) -> Mapping[str, Constant]:
    inherited = _resolve(bases[device["base"]], bases) if "base" in device else {}
    own = {key: Constant(**row) for key, row in device.items() if key != "base"}
    return {**inherited, **own}
