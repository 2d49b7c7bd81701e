"""Advice for arrays of structures of which a wave uses one member."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from hipscope.analysis.source.parse import parse
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts
from hipscope.formulas.propose.candidate import Advice, Refusal
from hipscope.formulas.propose.rules.memory.structure_of_arrays import structure_of_arrays


def answer(parameters: str, body: str, sizes: Mapping[str, int]) -> Advice | Refusal:
    text = f"__global__ void k({parameters}) {{\n  int t = blockIdx.x * blockDim.x + threadIdx.x;\n  {body}\n}}\n"
    (kernel,) = parse(text.encode()).kernels
    launch = LaunchFact(grid=(4096, 1, 1), workgroup=(128, 1, 1), scalars={"n": 512})
    found = structure_of_arrays(
        text.encode(), kernel, None, LaunchFacts(launches=(launch,), type_bytes=sizes)
    )
    assert isinstance(found, Advice | Refusal)
    return found


def test_a_member_of_large_structures_is_told_to_lie_apart() -> None:
    advice = answer("Particle* p, int n", "p[t].x += p[t].vx;", {"Particle": 88})
    assert isinstance(advice, Advice), advice
    assert advice.recipe == "structure_of_arrays"
    assert "`x` of all elements of `p`" in advice.title
    assert "88 bytes" in advice.title


@pytest.mark.parametrize(
    ("parameters", "body", "sizes"),
    [
        ("const float4* in, float* out", "out[t] = in[t].x;", {}),
        ("const Cell* in, float* out", "out[t] = in[t].x;", {"Cell": 16}),
        ("const Cell* in, float* out", "out[t] = in[t].x;", {}),
        ("const Cell* in, Cell* out", "out[t] = in[t];", {"Cell": 64}),
        ("const Cell* in, float* out, int n", "out[t] = in[t * n].x;", {"Cell": 64}),
        ("const int* where, const Cell* in, float* out", "out[t] = in[where[t]].x;", {"Cell": 64}),
    ],
)
def test_other_accesses_get_no_advice(parameters: str, body: str, sizes: Mapping[str, int]) -> None:
    assert isinstance(answer(parameters, body, sizes), Refusal)
