"""The defences of the proof that can be switched off one by one, so that a test can show what only one of them sees.

Names only; docs/accordo.md says what each is for. Nothing but tests switches any of them off.
"""

from __future__ import annotations

from typing import Literal

Defence = Literal[
    "poison",  # what the reference writes first, LDS and registers hold random bytes
    "poison_fillings",  # what the reference writes first holds NaN, infinity and zero in turn
    "other_order",  # a second order of waves and workgroups
    "repeats",  # more orders, compared bit by bit with each other
    "relocation",  # buffers at other addresses, in another order, with gaps
    "pointers_apart",  # pointers into the same buffer lead to copies with other numbers
    "permuted_inputs",
    "scaled_inputs",
    "special_inputs",  # zeros, ones, denormals, ramps, large values
    "not_finite_inputs",
    "large_integers",
    "one_changed_input",
    "other_scalars",
    "turned_flags",  # integer arguments that are 0, 1 or negative
    "other_variables",
    "other_workgroups",
    "more_dimensions",  # workgroups and grids of two and three dimensions where the recorded ones have one
    "other_sizes",  # integer arguments one less, one more, 1 and 0
    "whole_workgroups",  # integer arguments that are whole workgroups, one or two, or one more or less than whole ones
    "inputs_untouched",
    "written_bytes_only",
    "not_finite_places",
    "lost_atomics",
    "variables",
    "oracle",
    "all_dispatches",
]
Without = frozenset[Defence]
NOTHING_OFF: Without = frozenset()
