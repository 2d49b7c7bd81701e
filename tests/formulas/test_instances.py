"""Which kernels are one in the source."""

from __future__ import annotations

from hipscope.analysis.devices import find_device
from hipscope.analysis.profile import Kernel, Profile, ProgramRun, Provenance, Resources, Source
from hipscope.formulas.instances import instances


def kernel(name: str, mangled: str, file: str | None, line: int | None) -> Kernel:
    return Kernel(name=name, mangled=mangled, file=file, line=line, dispatches=(), resources=Resources())


def test_instances_of_a_template_are_one_kernel_and_a_namesake_elsewhere_is_another() -> None:
    first = kernel("void a::scale<float>(float*)", "f", "src/a.hip", 7)
    second = kernel("void a::scale<double>(double*)", "d", "src/a.hip", 7)
    namesake = kernel("b::scale(float*)", "b", "src/b.hip", 7)
    same_line = kernel("copy(float*)", "c", "src/a.hip", 7)
    nowhere = kernel("scale(int*)", "i", None, None)
    profile = Profile(
        source=Source.ROCM, provenance=Provenance.MEASURED, tool="", device=find_device("mi300x"),
        kernels=(first, second, namesake, same_line, nowhere), program=ProgramRun(command=(), exit_code=0, output=""),
    )  # fmt: skip
    assert instances(profile, first) == (first, second, nowhere)
    assert instances(profile, namesake) == (namesake, nowhere)
