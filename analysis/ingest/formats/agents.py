"""Agents: which GPUs a capture comes from.

Takes agent_info.csv, the agents of a JSON or rocpd capture or sysinfo.csv, gives one record per GPU. A value that the
capture lacks is None.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hipscope.analysis.devices import DeviceFacts
from hipscope.analysis.ingest.formats.columns import MISSING, integers, numbers
from hipscope.analysis.ingest.formats.tables import Row

_ONE_XCD = frozenset({"gfx906", "gfx908", "gfx90a"})


@dataclass(frozen=True)
class Agent:
    """One GPU as its driver describes it, and the numbers that a trace may call it by."""

    node: int | None
    logical_node: int | None
    facts: DeviceFacts
    handle: int | None = None


def agents_of_table(rows: Sequence[Row]) -> list[Agent]:
    """The GPUs of agent_info.csv, in its order."""
    return [agent_of(row) for row in rows if str(row.get("Agent_Type", "")).upper() in ("GPU", "2")]


def agent_of(row: Mapping[str, Any], handle: int | None = None) -> Agent:
    """A GPU from a record with the names of `rocprofiler_agent_t`, in any capitals."""
    cells = {name.lower(): value for name, value in row.items()}
    lds = _whole(cells.get("lds_size_in_kb"))
    facts = DeviceFacts(
        arch=_text(cells.get("name")),
        product=_text(cells.get("product_name")),
        chip=_whole(cells.get("device_id")),
        compute_units=_whole(cells.get("cu_count")),
        simds_per_cu=_whole(cells.get("simd_per_cu")),
        xcds=_whole(cells.get("num_xcc")),
        clock_mhz=_whole(cells.get("max_engine_clk_fcompute")),
        max_waves_per_simd=_whole(cells.get("max_waves_per_simd")),
        wave_size=_whole(cells.get("wave_front_size")),
        lds_bytes=None if lds is None else lds * 1024,
        shader_engines=_whole(cells.get("num_shader_banks")),
    )
    return Agent(_known(cells.get("node_id")), _known(cells.get("logical_node_id")), facts, handle)


# Columns of sysinfo.csv as omniperf of ROCm 5 names them.
_OMNIPERF: Mapping[str, str] = {
    "gpu_soc": "gpu_arch",
    "name": "gpu_model",
    "numCU": "cu_per_gpu",
    "numSIMD": "simd_per_cu",
    "numSE": "se_per_gpu",
    "waveSize": "wave_size",
    "maxWavesPerCU": "max_waves_per_cu",
    "sclk": "max_sclk",
    "mclk": "max_mclk",
    "totalL2Banks": "total_l2_chan",
    "hbmBW": "hbm_bw",
    "host_rocmver": "rocm_version",
}


def sysinfo_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of sysinfo.csv under the names of today."""
    return {_OMNIPERF.get(name, name): value for name, value in row.items()}


def agent_of_sysinfo(row: Mapping[str, Any]) -> Agent | None:
    """The GPU of a rocprofiler-compute workload; None when the row names none."""
    arch = _text(row.get("gpu_arch"))
    if arch is None or not arch.startswith("gfx"):
        return None
    waves, simds = _whole(row.get("max_waves_per_cu")), _whole(row.get("simd_per_cu"))
    partition = _text(row.get("compute_partition"))
    facts = DeviceFacts(
        arch=arch,
        product=_text(row.get("gpu_model")),
        chip=_whole(row.get("gpu_chip_id")) or _whole(row.get("chip_id")),
        compute_units=_whole(row.get("cu_per_gpu")),
        simds_per_cu=simds,
        xcds=_whole(row.get("num_xcd")) or (1 if arch in _ONE_XCD else None),
        clock_mhz=_whole(row.get("max_sclk")),
        max_waves_per_simd=waves // simds if waves and simds else None,
        wave_size=_whole(row.get("wave_size")),
        shader_engines=_whole(row.get("se_per_gpu")),
        l2_channels=_whole(row.get("total_l2_chan")),
        memory_bytes_per_s=_memory(row),
        partition=partition if partition not in (None, "NA", "N/A") else None,
    )
    return Agent(None, None, facts)


def find_agent(agents: Sequence[Agent], reference: str) -> Agent | None:
    """The GPU that a trace's Agent_Id means: a node number (old), `Agent N` (either numbering), `GPU N` or a handle.

    Without a reference it is the only GPU; of several it is not known which.
    """
    match = re.fullmatch(r"(?:(Agent|GPU) )?(\d+)", reference.strip())
    if match:
        kind, number = match[1], int(match[2])
        if kind == "GPU":
            return agents[number] if number < len(agents) else None
        for attribute in ("logical_node", "node") if kind == "Agent" else ("node", "logical_node", "handle"):
            for agent in agents:
                if getattr(agent, attribute) == number:
                    return agent
    return agents[0] if len({a.facts for a in agents}) == 1 else None


def _memory(row: Mapping[str, Any]) -> float | None:
    """Bytes per second, as rocprofiler-compute computes it: 32 bytes per clock and channel."""
    clock, channels = _whole(row.get("max_mclk")), _whole(row.get("num_hbm_channels"))
    if clock and channels:
        return clock * 1e6 * 32 * channels
    told = float(numbers([row.get("hbm_bw")])[0])
    return told * 1e9 if told > 0 else None


def _whole(value: object) -> int | None:
    """A number above 0: parts before their production report 0 for what they do not know."""
    found = int(integers([value])[0])
    return found if found > 0 else None


def _known(value: object) -> int | None:
    found = int(integers([value])[0])
    return None if found == MISSING else found


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
