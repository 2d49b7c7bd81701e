"""Profiles made by hand for the tests of formulas."""

from __future__ import annotations

from hipscope.analysis.devices import find_device
from hipscope.analysis.profile import Kernel, Profile, ProgramRun, Provenance, Source


def modelled_profile(*kernels: Kernel) -> Profile:
    """What the emulated MI300X would say of a program with these kernels."""
    return Profile(
        source=Source.EMULATOR,
        provenance=Provenance.MODELLED,
        device=find_device("mi300x"),
        kernels=kernels,
        program=ProgramRun(command=(), exit_code=0, output=""),
    )
