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
    """The device that an agent record describes, completed from the row of the table that is closest to it.

    Without a record it is the table's first row: then only machine-independent numbers should be believed.
    """
    table = _table()
    if agent is None:
        return next(iter(table.values()))
    row = _closest(agent, table)
    told: dict[str, Any] = {
        "compute_units": agent.compute_units,
        "simds_per_cu": agent.simds_per_cu,
        "xcds": agent.xcds,
        "clock_mhz": agent.clock_mhz,
        "max_waves_per_simd": agent.max_waves_per_simd,
        "wave_size": agent.wave_size,
        "lds_bytes": agent.lds_bytes,
    }
    if agent.arch:
        told["arch"] = agent.arch
    if agent.arch != row.arch and agent.product:
        told["name"] = agent.product
    return row.model_copy(update={name: value for name, value in told.items() if value is not None})


def _closest(agent: AgentRecord, table: Mapping[str, Device]) -> Device:
    product = agent.product.lower().replace(" ", "")
    for name, device in table.items():
        if name in product:
            return device
    same_arch = [device for device in table.values() if device.arch == agent.arch] or list(table.values())
    wanted = agent.compute_units or 0
    return min(same_arch, key=lambda device: abs(device.compute_units - wanted))


@functools.cache
def _table() -> Mapping[str, Device]:
    return {name: _device(name, row) for name, row in device_table().items()}


def _device(name: str, row: Mapping[str, Any]) -> Device:
    fields = {key: row[key] for key in Device.model_fields if key in row}
    return Device(**{**fields, "name": name})
