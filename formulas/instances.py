"""Which kernels of a profile are the same kernel in the source: the instances of a template."""

from __future__ import annotations

from hipscope.analysis.ingest.definitions import base_name
from hipscope.analysis.profile import Kernel, Profile


def instances(profile: Profile, kernel: Kernel) -> tuple[Kernel, ...]:
    """The kernels with the definition of `kernel`, itself among them; by name alone where no place is known."""
    return tuple(
        k
        for k in profile.kernels
        if base_name(k.name) == base_name(kernel.name)
        and (None in (k.line, kernel.line) or (k.file, k.line) == (kernel.file, kernel.line))
    )
