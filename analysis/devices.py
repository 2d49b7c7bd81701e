"""Devices by name, and the device of a capture.

Takes the name of a modelled device, or what a capture says of its GPU, gives a `Device`. What the capture says wins;
the rest comes from the rows of its product and its architecture in gpus.toml. What neither says is None: a GPU that is
not in the table has no other one's numbers.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hipscope.analysis.errors import UsageError
from hipscope.analysis.profile import Ceiling, Device
from hipscope.emulator.devices import device_table

Row = Mapping[str, Any]
_TABLE = Path(__file__).with_name("gpus.toml")
_LARGEST = 1 << 53  # of a number that a device is told by
_MEMORY = ("hbm", "mall")  # belong to the whole GPU: a partition of it has a part that no table tells


@dataclass(frozen=True)
class DeviceFacts:
    """What a capture says about its GPU; None is what it does not say.

    `product` is any name of it, `chip` its PCI device id. `l2_channels` and `memory_bytes_per_s` are of the device that
    the program saw, which may be a partition of the GPU.
    """

    arch: str | None = None
    product: str | None = None
    chip: int | None = None
    compute_units: int | None = None
    simds_per_cu: int | None = None
    xcds: int | None = None
    clock_mhz: float | None = None
    max_waves_per_simd: int | None = None
    wave_size: int | None = None
    lds_bytes: int | None = None
    shader_engines: int | None = None
    l2_channels: int | None = None
    memory_bytes_per_s: float | None = None
    partition: str | None = None


def find_device(name: str) -> Device:
    """The modelled device of that name, upper or lower case. Raises `UsageError` with the closest name that exists."""
    table = device_table()
    key = name.strip().lower()
    if key not in table:
        close = difflib.get_close_matches(key, table, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known devices: {', '.join(table)}"
        raise UsageError(f"unknown device {name!r}", hint)
    row = table[key]
    modelled = {field: row[field] for field in Device.model_fields if field in row}
    facts = DeviceFacts(
        arch=row["arch"],
        product=key,
        compute_units=row["compute_units"],
        xcds=row["xcds"],
        clock_mhz=row["clock_mhz"],
    )
    return device_of(facts).model_copy(update={**modelled, "name": key})


def device_of(facts: DeviceFacts) -> Device:
    """The device that a capture speaks of. A fact that is no text or no positive number is one that it does not say."""
    facts = _plausible(facts)
    arch = _arch_name(facts.arch)
    product = _product(facts, arch)
    if product is not None and arch is None:
        arch = product["archs"][0]
    rows = _arch(arch)
    whole = product is not None and _is_whole(facts, product)
    told = {
        "arch": arch or None,
        "compute_units": facts.compute_units,
        "simds_per_cu": facts.simds_per_cu,
        "xcds": facts.xcds,
        "clock_mhz": facts.clock_mhz,
        "max_waves_per_simd": facts.max_waves_per_simd,
        "wave_size": facts.wave_size,
        "lds_bytes": facts.lds_bytes,
        "shader_engines": facts.shader_engines,
        "partition": facts.partition or (None if whole or product is None else _partition(facts, product)),
    }
    known = {name: value for name, value in rows.items() if name in Device.model_fields}
    if product is not None and whole:
        known |= {
            name: _value(product[name]) for name in ("compute_units", "xcds", "clock_mhz") if name in product
        }
    elif product is not None and "clock_mhz" in product:
        known["clock_mhz"] = _value(product["clock_mhz"])
    if facts.wave_size is not None and facts.wave_size != rows.get("wave_size"):
        known |= _per_wave(known, facts.wave_size)
    known |= {name: value for name, value in told.items() if value is not None}
    known["name"] = _name(facts, product, arch)
    device = Device(**known)
    device = device.model_copy(update=_per_xcd(device, facts, rows))
    return _with_ceilings(device, rows, facts.memory_bytes_per_s, product if whole else None)


def _plausible(facts: DeviceFacts) -> DeviceFacts:
    """The facts without what no device has: captures may be damaged, and databases hold values of any type."""
    texts = {"arch", "product", "partition"}
    odd: dict[str, Any] = {}
    for name, value in vars(facts).items():
        if name in texts:
            fits = isinstance(value, str)
        elif name in ("clock_mhz", "memory_bytes_per_s"):
            fits = isinstance(value, int | float) and 0 < value < _LARGEST
        else:
            fits = isinstance(value, int) and 0 < value < _LARGEST
        if value is not None and not fits:
            odd[name] = None
    return dataclasses.replace(facts, **odd, **dict.fromkeys(impossible(facts)))


def impossible(facts: DeviceFacts) -> tuple[str, ...]:
    """The facts that cannot be, by the architecture: more CUs on an XCD, or beside its L2 channels, than there are.

    Tools that do not know a new GPU count one die of it, and compute the bandwidth of its memory from that.
    """
    rows = _arch(_arch_name(facts.arch if isinstance(facts.arch, str) else None))
    units = facts.compute_units
    if "most_cus_per_xcd" not in rows or not isinstance(units, int):
        return ()
    told = ((facts.xcds, 1), (facts.l2_channels, rows["l2_channels_per_xcd"]))
    if any(isinstance(n, int) and 0 < n * rows["most_cus_per_xcd"] < units * each for n, each in told):
        return "xcds", "l2_channels", "memory_bytes_per_s"
    return ()


def with_measured(device: Device, measured: Mapping[str, float], source: str) -> Device:
    """The device with ceilings that were measured on it, per second and by the names of `Device.ceilings`."""
    ceilings = dict(device.ceilings)
    for name, per_s in measured.items():
        before = ceilings.get(name)
        peak = (
            None
            if before is None
            else before.peak_per_s or (None if before.basis == "measured" else before.per_s)
        )
        ceilings[name] = Ceiling(per_s=per_s, basis="measured", source=source, peak_per_s=peak)
    return device.model_copy(update={"ceilings": ceilings})


def empty_launch_ns(device: Device) -> float | None:
    """What the shortest launch takes; None for a product on which nobody has measured it."""
    row = _table()["product"].get(device.name, {}).get("empty_launch_ns")
    return None if row is None else float(row["value"])


def _with_ceilings(device: Device, rows: Row, memory: float | None, product: Row | None) -> Device:
    """Peaks by the device's own units and clock, memory by the product, and what was measured on the product."""
    peaks = _computed(device, rows)
    for level in _MEMORY:
        if product is not None and f"{level}_bytes_per_s" in product:
            row = product[f"{level}_bytes_per_s"]
            peaks[level] = Ceiling(per_s=row["value"], basis="data sheet", source=row["source"])
    if memory:
        said = "memory clock and channels of the capture"
        peaks["hbm"] = Ceiling(per_s=memory, basis="computed", source=said)
    theoretical = {
        "hbm_bytes_per_s": peaks["hbm"].per_s if "hbm" in peaks else None,
        "l2_bytes_per_s": peaks["l2"].per_s if "l2" in peaks else None,
        "flops_fp32": peaks["vector_f32"].per_s if "vector_f32" in peaks else None,
        "flops_fp64": peaks["vector_f64"].per_s if "vector_f64" in peaks else None,
        "ceilings": peaks,
    }
    found = device.model_copy(update=theoretical)
    measured = product.get("measured", {}) if product is not None else {}
    if not measured:
        return found
    values = {name: row["value"] for name, row in measured.items()}
    return with_measured(found, values, next(iter(measured.values()))["source"])


def _per_xcd(device: Device, facts: DeviceFacts, rows: Row) -> dict[str, int | None]:
    """What each XCD has as many of."""
    found = {"shader_engines": facts.shader_engines, "l2_channels": facts.l2_channels}
    for name in found:
        if found[name] is None and device.xcds and f"{name}_per_xcd" in rows:
            found[name] = device.xcds * rows[f"{name}_per_xcd"]
    return found


def _computed(device: Device, rows: Row) -> dict[str, Ceiling]:
    """What the units come to at the device's clock."""
    if not device.clock_mhz:
        return {}
    cycles = device.clock_mhz * 1e6
    peaks: dict[str, Ceiling] = {}

    def add(name: str, units: int | None, each: float | None, what: str) -> None:
        if units and each:
            source = f"{units} {what} x {each:g} x {device.clock_mhz:g} MHz"
            peaks[name] = Ceiling(per_s=units * each * cycles, basis="computed", source=source)

    for level in ("lds", "l1"):
        add(level, device.compute_units, rows.get(f"{level}_bytes_per_cycle"), "CUs")
    add("l2", device.l2_channels, rows.get("l2_bytes_per_cycle"), "channels")
    for kind, each in rows.get("per_cu", {}).items():
        add(kind, device.compute_units, each, "CUs")
    for kind in ("issue", "valu"):
        add(kind, device.compute_units, rows.get(f"{kind}_per_cycle"), "CUs")
    return peaks


def _product(facts: DeviceFacts, arch: str | None) -> Row | None:
    """The product by its chip, else by the longest of its names in what the capture calls it, else by its size."""
    products: list[Row] = [p for p in _table()["product"].values() if arch is None or arch in p["archs"]]
    if facts.chip is not None:
        for product in products:
            if facts.chip in product.get("chips", ()):
                return product
    called = (facts.product or "").lower().replace(" ", "").replace("_", "")
    named = [(len(name), n) for n, p in enumerate(products) for name in p["names"] if _means(called, name)]
    if named:
        return products[max(named)[1]]
    if arch is None or facts.compute_units is None:
        return None
    size = (facts.compute_units, facts.xcds)
    alike = [p for p in products if (_value(p["compute_units"]), _value(p["xcds"])) == size]
    return alike[0] if len(alike) == 1 and not called else None


def _means(called: str, name: str) -> bool:
    """Whether a capture's name of its GPU is one of the product's. An RX with more letters behind it is another one."""
    _, found, rest = called.partition(name)
    return bool(found) and not (name.startswith("rx") and rest[:1].isalpha())


def _is_whole(facts: DeviceFacts, product: Row) -> bool:
    """The device is the whole product, as far as the capture says."""
    if facts.partition not in (None, "", "SPX"):
        return False
    sizes = ((facts.compute_units, "compute_units"), (facts.xcds, "xcds"))
    return all(told is None or told == _value(product[name]) for told, name in sizes)


def _partition(facts: DeviceFacts, product: Row) -> str | None:
    """The mode by the number of XCDs; None when no mode of the product has as many."""
    modes = _value(product["partitions"]) if "partitions" in product else {}
    return next((mode for mode, xcds in modes.items() if xcds == facts.xcds and mode != "SPX"), None)


def _name(facts: DeviceFacts, product: Row | None, arch: str | None) -> str:
    """The product's key when the table has it, else what the capture calls it, else the architecture."""
    keys: list[str] = [name for name, row in _table()["product"].items() if row is product]
    return keys[0] if keys else facts.product or arch or "unknown device"


def _per_wave(known: Row, wave_size: int) -> dict[str, Any]:
    """Registers per lane of waves of another size: the file is the same."""
    if not known.get("unified_registers") or "wave_size" not in known:
        return {"vgprs_per_lane": None, "vgpr_granule": None}
    ratio = known["wave_size"] / wave_size
    return {name: int(known[name] * ratio) for name in ("vgprs_per_lane", "vgpr_granule")}


def _arch_name(told: str | None) -> str | None:
    """`gfx942:sramecc+:xnack-` and `9.0` (NVIDIA's compute capability) by their names in the table."""
    name = (told or "").split(":")[0].strip().lower()
    if name.replace(".", "").isdigit():
        return f"sm_{name.replace('.', '')}"
    return name or None


@functools.cache
def _arch(name: str | None) -> Row:
    """The values of an architecture with those of the one that it is like; empty for an unknown one."""
    row = _table()["arch"].get(name)
    if row is None:
        return {}
    inherited = _arch(row["like"]) if "like" in row else {}
    own = {key: _value(value) for key, value in row.items() if key not in ("like", "per_cu")}
    if "per_cu" in row:
        own["per_cu"] = {kind: value["value"] for kind, value in row["per_cu"].items()}
    return {**inherited, **own}


def _value(row: Row) -> Any:
    return row["value"]


@functools.cache
def _table() -> Row:
    return tomllib.loads(_TABLE.read_text(encoding="utf-8"))
