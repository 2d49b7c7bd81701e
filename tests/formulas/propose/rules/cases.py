"""Small kernels before and after each recipe: `NAME/CASE.hip` beside `NAME/CASE.out.hip`, and how they are read.

The first line of a case holds what was recorded, as JSON: `launches` are [grid, workgroup, scalars, buffer bytes].
`HIPSCOPE_UPDATE_GOLDEN=1 pytest tests/formulas/propose/rules` writes the `.out.hip` files anew.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from hipscope.analysis.config import Config
from hipscope.analysis.runs.profile_project import profile_project
from hipscope.analysis.source.functions import callables_in
from hipscope.analysis.source.inlining import see_through
from hipscope.analysis.source.parse import parse
from hipscope.analysis.source.structures import definitions_in
from hipscope.analysis.toolchain.code_object import KernelMetadata
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.facts.launch_facts import LaunchFact, LaunchFacts, SourceTypes
from hipscope.formulas.propose.candidate import Candidate, Proposal
from hipscope.formulas.propose.rule import Rule
from hipscope.formulas.propose.rules import ask_recipe, rules

FOLDER = Path(__file__).parent
BY_NAME: dict[str, Rule] = {rule.name: rule for rule in rules() if not rule.advice}
CASES = sorted(p for p in FOLDER.glob("*/*.hip") if not p.name.endswith(".out.hip"))


def read_facts(case: bytes) -> LaunchFacts:
    """What the first line of a case says was recorded."""
    return facts_of(json.loads(case.splitlines()[0].partition(b"facts:")[2]))


def facts_of(data: dict[str, Any]) -> LaunchFacts:
    """LaunchFacts from plain data."""
    launches = []
    for grid, workgroup, *rest in data.get("launches", ()):
        scalars, buffers = [*rest, {}, {}][:2]
        launches.append(LaunchFact(tuple(grid), tuple(workgroup), scalars=scalars, buffer_bytes=buffers))
    needs = data.get("needs")
    return LaunchFacts(
        launches=tuple(launches),
        promised=frozenset(data.get("promised", ())),
        disjoint=frozenset(data.get("disjoint", ())),
        threads=data.get("threads", 0),
        written=data.get("written", max((math.prod(f.workgroup) for f in launches), default=None)),
        xcds=data.get("xcds", 1),
        static_lds=data.get("static_lds", 0),
        member_pointers=data.get("member_pointers", {}),
        member_numbers=data.get("member_numbers", {}),
        needs=metadata(**needs) if needs is not None else None,
        types=SourceTypes(
            elements=data.get("elements", {}),
            values={name: frozenset(values) for name, values in data.get("values", {}).items()},
        ),
    )


def metadata(vgprs: int = 32, vgpr_spills: int = 0, scratch: int = 0) -> KernelMetadata:
    """A kernel's needs as a code object states them."""
    return KernelMetadata(
        symbol="k", arguments=(), kernarg_size=0, vgprs=vgprs, agprs=0, sgprs=16, vgpr_spills=vgpr_spills,
        sgpr_spills=0, lds=0, scratch=scratch, max_flat_workgroup_size=1024, wavefront_size=64, dynamic_stack=False,
    )  # fmt: skip


def ask(recipe: str, source: bytes, facts: LaunchFacts) -> Proposal:
    """What the recipe says of the first kernel of the text."""
    kernel = see_through(parse(source).kernels[0], callables_in([source]), definitions_in([source]))
    return ask_recipe(BY_NAME[recipe], source, kernel, None, facts)


def candidates(answer: Proposal) -> list[Candidate]:
    """The candidates of an answer; fails when it has none."""
    assert isinstance(answer, list), answer
    return answer


def output_of(text: bytes, folder: Path) -> str:
    """What the program prints on the emulator."""
    folder.mkdir()
    (folder / "main.hip").write_bytes(text)
    project = resolve_project(folder / "main.hip", config=Config(backend="emulator"))
    return profile_project(project).profile.program.output
