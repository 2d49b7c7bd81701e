"""The defences of the proof that can be switched off one by one, so that a test can show what only one of them sees.

Names only; docs/accordo-defences.md says what each is for. Nothing but tests switches any of them off.
"""

from __future__ import annotations

from typing import Literal

Defence = Literal[
    "poison",  # what the reference writes first, LDS and registers hold random bytes
    "poison_fillings",  # what the reference writes first holds NaN, infinity and zero in turn
    "other_order",  # a second order of waves and workgroups
    "held_waves",  # waves are stopped at atomics and fences until the others have gone on
    "repeats",  # more orders, compared bit by bit with each other
    "relocation",  # buffers at other addresses, in another order, with gaps
    "pointers_apart",  # pointers into the same buffer lead to copies with other numbers
    "permuted_inputs",
    "scaled_inputs",
    "special_inputs",  # zeros, ones, denormals, ramps, large values
    "not_finite_inputs",
    "large_integers",
    "small_integers",  # 8-bit and 16-bit integers of all values
    "updated_memory",  # what a kernel updates holds other numbers before
    "one_changed_input",
    "named_values",  # what the programs compare with, among the inputs
    "named_arguments",  # arguments that a candidate compares with
    "crossed",  # several arguments and the inputs at once, for a candidate with conditions of its own
    "structured_inputs",  # sorted lists and numbers of elements, otherwise and still what they are
    "named_integers",  # integers beyond the range of the inputs too
    "other_scalars",
    "zero_scalars",  # floats of 0, with NaN in what is updated: it may be that it is not read then
    "turned_flags",  # small integer arguments have each other small value
    "other_strides",  # integer arguments of 1 become 2, sizes are halved
    "other_variables",
    "other_workgroups",
    "larger_sizes",  # arguments and sides of the grid beyond numbers and widths that only the candidate's code has
    "beyond_32_bits",  # element numbers beyond 32 bits, over buffers that exist only where they are touched
    "mixed_integers",  # integers of one input among those of the others
    "grown",  # launches beyond 16 bits, with buffers as much longer
    "printed",  # what kernels print
    "larger_workgroups",  # workgroups of twice as many work-items, and more than a wave
    "more_dimensions",  # workgroups and grids of two and three dimensions where the recorded ones have one
    "other_sizes",  # integer arguments one less, one more, 1 and 0
    "other_signs",  # integer arguments of the other sign, where they bound nothing
    "whole_workgroups",  # integer arguments that are whole workgroups, one or two, or one more or less than whole ones
    "inputs_untouched",
    "written_bytes_only",
    "written_back",  # what the reference never writes is not written with its own value either
    "state",  # no device variables of its own, in which a launch could leave something for the next; no clock
    "not_finite_places",
    "lost_atomics",
    "variables",
    "oracle",
    "all_dispatches",
]
Without = frozenset[Defence]
NOTHING_OFF: Without = frozenset()
