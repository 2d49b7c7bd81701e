"""What the static model knows of a wave's values: never a guess, and no number that it cannot hold."""

from __future__ import annotations

import numpy as np
import pytest

from hipscope.analysis.source.nodes import child_of, walk
from hipscope.analysis.source.parse import parse, parse_expression
from hipscope.formulas.facts.lane_model import NotStatic, Wave, evaluate, lds_conflict_cycles, wave_values
from hipscope.formulas.facts.launch_facts import LaunchFact

KERNEL = b"""__global__ void mix(unsigned long* out, unsigned long seed, int n) {
  unsigned long mask = 0xffffffffffffffffUL;
  int at = threadIdx.x * n + 010;
  out[at] = seed & mask;
}
"""


def test_a_number_of_64_bits_is_unknown_and_the_rest_is_known() -> None:
    file = parse(KERNEL)
    (kernel,) = file.kernels
    launch = LaunchFact((64, 1, 1), (64, 1, 1), scalars={"seed": 2**64 - 1, "n": 3})
    store = next(n for n in walk(kernel.body_node) if n.type == "subscript_expression")
    wave = wave_values(kernel, launch, file.constants, at=store)
    assert not {"mask", "seed"} & set(wave.values)
    assert list(evaluate(child_of(store, "indices").named_children[0], wave)[:3]) == [8, 11, 14]


def test_sizes_and_places_are_known_in_the_older_spelling_too() -> None:
    file = parse(
        b"__global__ void k(int* p) { int all = hipGridDim_x * hipBlockDim_x; "
        b"p[hipThreadIdx_x + all * hipBlockIdx_y + all] = 0; }"
    )
    (kernel,) = file.kernels
    store = next(n for n in walk(kernel.body_node) if n.type == "subscript_expression")
    wave = wave_values(kernel, LaunchFact((256, 2, 1), (64, 1, 1)), file.constants, at=store)
    assert list(evaluate(child_of(store, "indices").named_children[0], wave)[:2]) == [256, 257]


@pytest.mark.parametrize("text", ["0xffffffffffffffffULL", "18446744073709551615u", "1.5f", "0x8p3"])
def test_a_literal_that_is_no_signed_integer_is_not_static(text: str) -> None:
    node = parse_expression(text)
    assert node is not None
    with pytest.raises(NotStatic, match=text[:4]):
        evaluate(node, Wave({}, 1))


@pytest.mark.parametrize(
    ("text", "value"), [("0", 0), ("017", 15), ("0x1F", 31), ("0b101", 5), ("1'000u", 1000)]
)
def test_a_literal_is_read_in_its_base(text: str, value: int) -> None:
    node = parse_expression(text)
    assert node is not None
    assert evaluate(node, Wave({}, 1))[0] == value


@pytest.mark.parametrize(
    ("write", "device", "cycles"), [(True, "mi300x", 0), (False, "mi300x", 8), (False, "mi355x", 8)]
)
def test_accesses_of_sixteen_bytes_conflict_by_direction_and_device(
    write: bool,
    device: str,
    cycles: int,
) -> None:
    lanes = np.arange(64)
    padded = lanes // 8 * 160 + lanes % 8 * 16  # rows of 128 bytes with 32 bytes of padding
    assert lds_conflict_cycles(padded, 16, write=write, device=device) == cycles
