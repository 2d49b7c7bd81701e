"""The gates between a rewrite and the user's file, by name, in their order, and which of them `validate` leaves out.

Data only. A rewrite passes all of them (`judge`, `whole_program`, `gpu_gate`). A free candidate is asked one thing:
is it the same function? What else it changes, and how fast it is, is its author's business.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Gate:
    """One gate: its name, what it asks of a candidate, and whether a free candidate has to pass it."""

    name: str
    asks: str
    free: bool = False


GATES = (
    Gate("text", "nothing but the kernel changes, and nothing of the deny-list comes into it"),
    Gate("compiler", "it compiles, confined", free=True),
    Gate("arguments", "the kernel's symbol is there and its arguments lie where they did", free=True),
    Gate("resources", "no new spills, no more scratch, and the device's LDS is enough"),
    Gate("proof", "the kernel leaves the same memory as before, free of new defects", free=True),
    Gate("speed", "the kernel is faster, for the reason that was promised, without an occupancy cliff"),
    Gate("physics", "no time is shorter than the device can reach"),
    Gate("program", "the whole program gives the same output, and no other kernel becomes slower"),
    Gate("tests", "the project's own tests pass"),
)
LEFT_OUT_BY_VALIDATE = tuple(gate for gate in GATES if not gate.free)
