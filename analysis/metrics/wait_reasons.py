"""What waiting for an instruction's result counts as, by its mnemonic."""

from __future__ import annotations

from functools import lru_cache

from hipscope.analysis.profile import StallReason

# The first that fits. What one counter counts is one kind: an atomic in the LDS is waited for as any LDS access is.
_PREFIXES = (
    (("ds_",), StallReason.LDS),
    (("s_load", "s_buffer_load", "s_scratch"), StallReason.SCALAR_MEMORY),
    (("scratch_",), StallReason.SCRATCH_MEMORY),
    (("global_", "flat_", "buffer_", "tbuffer_", "image_"), StallReason.GLOBAL_MEMORY),
    (("LDS", "LDSM", "STS", "ATOMS"), StallReason.LDS),  # from here on SASS
    (("LDL", "STL"), StallReason.SCRATCH_MEMORY),
    (("LDC", "ULDC"), StallReason.CONSTANT_CACHE),
    (("ATOM", "RED."), StallReason.ATOMIC),
    (("LDG", "LD.", "STG", "ST."), StallReason.GLOBAL_MEMORY),
)


@lru_cache(maxsize=1 << 14)
def wait_reason(text: str) -> StallReason:
    """Which wait a consumer of this instruction's result has; atomics on global memory are a kind of their own."""
    words = text.split(None, 2)
    mnemonic = words[1] if len(words) > 1 and words[0].startswith("@") else words[0] if words else ""
    if "atomic" in mnemonic:
        return StallReason.ATOMIC
    return next(
        (reason for prefixes, reason in _PREFIXES if mnemonic.startswith(prefixes)), StallReason.DEPENDENCY
    )
