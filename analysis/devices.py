"""Devices by name, and the device of a capture.

Takes a row of the emulator's device table (the one place where a GPU's numbers and their sources stand) or an agent
record of a capture, gives a `Device`. A capture's facts about its GPU win over the table.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping
from typing import Any, Protocol

from hipscope.analysis.errors import UsageError
from hipscope.analysis.profile import Device
from hipscope.emulator.devices import device_table


class AgentRecord(Protocol):
    """What a capture says about its GPU; None is what it does not say."""

    @property
    def arch(self) -> str: ...  # noqa: D102
    @property
    def product(self) -> str: ...  # noqa: D102
    @property
    def compute_units(self) -> int | None: ...  # noqa: D102
    @property
    def simds_per_cu(self) -> int | None: ...  # noqa: D102
    @property
    def xcds(self) -> int | None: ...  # noqa: D102
    @property
    def clock_mhz(self) -> int | None: ...  # noqa: D102
    @property
    def max_waves_per_simd(self) -> int | None: ...  # noqa: D102
    @property
    def wave_size(self) -> int | None: ...  # noqa: D102
    @property
    def lds_bytes(self) -> int | None: ...  # noqa: D102


UNKNOWN = "unknown device"
# What all products of an architecture share.
_OF_ARCH = (
    "simds_per_cu",
    "wave_size",
    "max_waves_per_simd",
    "vgprs_per_lane",
    "vgpr_granule",
    "lds_bytes",
    "lds_granule",
)


def find_device(name: str) -> Device:
    """The device of that name, upper or lower case. Raises `UsageError` with the closest name that exists."""
    table = _table()
    key = name.strip().lower()
    if key in table:
        return table[key]
    close = difflib.get_close_matches(key, table, n=1)
    hint = f"did you mean {close[0]}?" if close else f"known devices: {', '.join(table)}"
    raise UsageError(f"unknown device {name!r}", hint)


def device_of_agent(agent: AgentRecord | None) -> Device:
    """The device that an agent record describes. What neither it nor the table says of that device is None.

    The table is believed for a product that it names. Of another product of the same architecture only what the
    architecture decides is taken from there, never a peak or a clock.
    """
    if agent is None:
        return Device(name=UNKNOWN, arch="")
    told: dict[str, Any] = {
        "compute_units": agent.compute_units,
        "simds_per_cu": agent.simds_per_cu,
        "xcds": agent.xcds,
        "clock_mhz": agent.clock_mhz,
        "max_waves_per_simd": agent.max_waves_per_simd,
        "wave_size": agent.wave_size,
        "lds_bytes": agent.lds_bytes,
    }
    known = {name: value for name, value in told.items() if value is not None}
    row = _row_of(agent, _table())
    if row is None:
        same = next((d for d in _table().values() if d.arch == agent.arch), None)
        fixed = {name: getattr(same, name) for name in _OF_ARCH} if same is not None else {}
        return Device(name=agent.product or agent.arch or UNKNOWN, arch=agent.arch, **{**fixed, **known})
    if agent.arch:
        known["arch"] = agent.arch
    return row.model_copy(update=known)


def _row_of(agent: AgentRecord, table: Mapping[str, Device]) -> Device | None:
    """The row of that product, if its architecture is the same."""
    product = agent.product.lower().replace(" ", "")
    found = next((device for name, device in table.items() if name in product), None)
    return found if found is not None and agent.arch in ("", found.arch) else None


@functools.cache
def _table() -> Mapping[str, Device]:
    return {name: _device(name, row) for name, row in device_table().items()}


def _device(name: str, row: Mapping[str, Any]) -> Device:
    fields = {key: row[key] for key in Device.model_fields if key in row}
    return Device(**{**fields, "name": name})
