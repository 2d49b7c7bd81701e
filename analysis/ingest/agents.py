"""The agent table: which GPU a capture comes from.

Takes agent_info.csv, gives one record per GPU. A value that the table lacks is None.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.devices import DeviceFacts
from hipscope.analysis.ingest.tables import integer, read_rows


@dataclass(frozen=True)
class Agent:
    """One GPU as its driver describes it."""

    node: int | None
    logical_node: int | None
    facts: DeviceFacts


def read_agents(path: Path) -> list[Agent]:
    """The GPUs of the table, in its order."""
    agents = []
    for row in read_rows(path):
        if row.get("Agent_Type", "").upper() != "GPU":
            continue
        lds = integer(row, "Lds_Size_In_Kb")
        agents.append(
            Agent(
                node=integer(row, "Node_Id"),
                logical_node=integer(row, "Logical_Node_Id"),
                facts=DeviceFacts(
                    arch=row.get("Name") or None,
                    product=row.get("Product_Name") or None,
                    chip=_positive(integer(row, "Device_Id")),
                    compute_units=_positive(integer(row, "Cu_Count")),
                    simds_per_cu=_positive(integer(row, "Simd_Per_Cu")),
                    xcds=_positive(integer(row, "Num_Xcc")),
                    clock_mhz=_positive(integer(row, "Max_Engine_Clk_Fcompute")),
                    max_waves_per_simd=_positive(integer(row, "Max_Waves_Per_Simd")),
                    wave_size=_positive(integer(row, "Wave_Front_Size")),
                    lds_bytes=None if not lds else lds * 1024,
                    shader_engines=_positive(integer(row, "Num_Shader_Banks")),
                ),
            )
        )
    return agents


def find_agent(agents: Sequence[Agent], reference: str) -> Agent | None:
    """The GPU that a trace's Agent_Id means: a node number (old), `Agent N` (either numbering) or `GPU N`."""
    match = re.fullmatch(r"(?:(Agent|GPU) )?(\d+)", reference.strip())
    if match:
        kind, number = match[1], int(match[2])
        if kind == "GPU":
            return agents[number] if number < len(agents) else None
        for attribute in ("logical_node", "node") if kind == "Agent" else ("node", "logical_node"):
            for agent in agents:
                if getattr(agent, attribute) == number:
                    return agent
    return agents[0] if agents else None


def _positive(value: int | None) -> int | None:
    """Pre-production parts report 0 for what they do not know."""
    return value if value else None
