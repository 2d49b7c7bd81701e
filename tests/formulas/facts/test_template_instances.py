"""Which kernels are one in the source."""

from __future__ import annotations

from hipscope.analysis.devices import find_device
from hipscope.analysis.profile import Kernel, Profile, ProgramRun, Provenance, Resources, Source
from hipscope.formulas.facts.template_instances import instances, launches_of


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


def test_launches_of_a_namesake_in_another_namespace_are_not_ours() -> None:
    ours, other = "_ZN1a5scaleEPf", "_ZN1b5scaleEPf"
    is_mine = launches_of({ours}, ["a::scale(float*)", "b::scale(float*)"])
    assert [
        is_mine(n) for n in (ours, f"{ours}.kd", "a::scale(float *)", "a::scale(float*) [clone .kd]")
    ] == [True] * 4
    assert not is_mine(other)
    assert not is_mine("b::scale(float*)")


def test_where_a_profiler_leaves_arguments_out_the_name_has_to_do() -> None:
    is_mine = launches_of({"_ZN1a5scaleEPf"}, ["scale", "copy"])
    assert is_mine("scale")
    assert not is_mine("copy")
