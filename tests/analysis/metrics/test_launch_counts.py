"""How often kernels are launched, and which of them do other work than before."""

from hipscope.analysis.devices import find_device
from hipscope.analysis.metrics.launch_counts import (
    as_often,
    launch_counts,
    other_launches,
    other_work,
    varying_counts,
)
from hipscope.analysis.profile import Dispatch, Kernel, Profile, ProgramRun, Provenance, Resources, Source


def profile(*kernels: tuple[str, int, float | None]) -> Profile:
    """A program with these kernels: launches, and vector instructions where they were counted."""
    made = []
    for name, count, work in kernels:
        launches = [
            Dispatch(id=i, grid=(64, 1, 1), workgroup=(64, 1, 1), start_ns=0, end_ns=9) for i in range(count)
        ]
        made.append(
            Kernel(
                name=name, mangled=name, dispatches=tuple(launches), resources=Resources(),
                counters={} if work is None else {"SQ_INSTS_VALU": work},
            )
        )  # fmt: skip
    return Profile(
        source=Source.ROCM, provenance=Provenance.MEASURED, tool="", device=find_device("mi300x"),
        kernels=tuple(made), program=ProgramRun(command=(), exit_code=0, output=""),
    )  # fmt: skip


def test_only_counted_instructions_that_differ_are_other_work() -> None:
    before = profile(("same", 1, 5.0), ("more", 1, 5.0), ("uncounted", 1, None), ("gone", 1, 5.0))
    after = profile(("same", 1, 5.0), ("more", 1, 7.0), ("uncounted", 1, 3.0))
    assert other_work(before, after) == {"more"}


def test_numbers_of_launches_that_vary_by_themselves_bound_the_new_one() -> None:
    before, again, after = (profile(("relax", count, 1.0)) for count in (9, 11, 10))
    assert launch_counts(before) == {"relax": 9}
    assert other_launches(before, after)
    assert not other_launches(before, before)
    assert varying_counts(before, [again]) == {"relax": (9, 11)}
    assert varying_counts(before, [before]) == {}
    assert [as_often("relax", 9, count, [again]) for count in (6, 7, 13, 14)] == [False, True, True, False]
    assert not as_often("relax", 9, 10, [before])
