"""Where the formulas point, and where they keep silent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from hipscope.analysis.profile import (
    Dispatch,
    Frame,
    Instruction,
    Kernel,
    KernelName,
    MemoryPattern,
    Profile,
    Resources,
    StallReason,
)
from hipscope.analysis.runs.profile_project import ProfileOptions, ProfileSession, profile_project
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.formulas.base import Finding, Formula, format_value
from hipscope.formulas.detect.registry import FORMULAS, all_formulas, detect_all, diagnose, findings_and_hints
from hipscope.formulas.detect.sites import launch_of
from tests.formulas.hand_made import modelled_profile
from tests.unsaved import unsaved

EXAMPLES = Path(__file__).parents[3] / "examples"
PROGRAMS = sorted(p.name for p in EXAMPLES.glob("*.hip"))
KNOWN = {formula.name for formula in FORMULAS}


ABOVE = 5  # lines that the editor has and the disk has not


@dataclass(frozen=True)
class Profiled:
    """An example that was profiled with unsaved lines on top of it."""

    session: ProfileSession
    texts: SourceTexts
    lines: list[str]

    @property
    def findings(self) -> list[Finding]:
        return detect_all(self.session.profile, self.texts)


def expectations(lines: list[str]) -> list[tuple[str, int]]:
    """(formula, line) of each marked line, for the formulas that exist."""
    marks = re.compile(r"// hipscope: expect (\w+)")
    found = [
        (match[1], number) for number, line in enumerate(lines, start=1) if (match := marks.search(line))
    ]
    return [mark for mark in found if mark[0] in KNOWN]


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Profiled]]:
    """Profiles an example on the emulator, once per test run, as an editor sees it that has not saved it."""
    known: dict[str, Profiled] = {}
    patch = pytest.MonkeyPatch()
    patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))

    def profile(name: str) -> Profiled:
        if name not in known:
            file = EXAMPLES / name
            text = "// größe\n" * ABOVE + file.read_text()
            run = unsaved(file, text.encode())
            options = ProfileOptions(backend="emulator")
            session = profile_project(resolve_project(file), run, options=options)
            known[name] = Profiled(session, run.texts, text.splitlines())
        return known[name]

    yield profile
    patch.undo()


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_example_gives_the_findings_that_it_is_marked_with(
    program: str, profiled: Callable[[str], Profiled]
) -> None:
    example = profiled(program)
    assert example.session.profile.program.exit_code == 0
    assert example.session.profile.program.output.startswith("PASS")
    found = sorted(example.findings, key=lambda f: f.line or 0)  # the marks stand in the order of lines
    assert [(f.formula, f.line) for f in found] == expectations(example.lines)


def moved(profile: Profile, by: int) -> Profile:
    """The profile of the same machine code, compiled from a text with so many lines more on top."""

    def frame(old: Frame) -> Frame:
        return old.model_copy(update={"line": old.line + by}) if old.file.startswith(str(EXAMPLES)) else old

    kernels = [
        k.model_copy(
            update={
                "line": k.line and k.line + by,
                "instructions": tuple(
                    i.model_copy(update={"source": tuple(map(frame, i.source))}) for i in k.instructions
                ),
            }
        )
        for k in profile.kernels
    ]
    return profile.model_copy(update={"kernels": tuple(kernels)})


@pytest.mark.parametrize("program", PROGRAMS)
def test_unsaved_lines_on_top_move_every_finding_down_and_change_nothing_else(
    program: str, profiled: Callable[[str], Profiled]
) -> None:
    example = profiled(program)
    saved = detect_all(moved(example.session.profile, -ABOVE), SourceTexts())
    saved += diagnose(moved(example.session.profile, -ABOVE), saved, SourceTexts())
    found = example.findings
    found += diagnose(example.session.profile, found, example.texts)
    assert found
    assert found == [
        replace(
            f,
            line=f.line + ABOVE,
            end_line=f.end_line + ABOVE,
            related=tuple(replace(r, line=r.line + ABOVE) for r in f.related),
        )
        for f in saved
    ]
    assert all(f.end_column for f in found)


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("lds_column_read.hip", "tile[threadIdx.x][(r + k) % kTile]"),
        ("strided_access.hip", "out[x * height + y] = in[y * width + x]"),
        ("contended_atomic.hip", "atomicAdd(sum, value * value)"),
    ],
)
def test_a_finding_underlines_the_expression(
    program: str, text: str, profiled: Callable[[str], Profiled]
) -> None:
    example = profiled(program)
    finding = example.findings[0]
    line = example.lines[finding.line - 1].encode()
    assert line[finding.column - 1 : finding.end_column - 1].decode() == text
    assert Path(finding.file) == EXAMPLES / program


def test_a_column_read_is_told_in_plain_words(profiled: Callable[[str], Profiled]) -> None:
    example = profiled("lds_column_read.hip")
    finding = example.findings[0]
    assert finding.message.startswith(
        "reads the 32x32 LDS tile `tile` by column: every lane hits the same bank"
    )
    assert finding.share > 0.5
    cycles = next(e for e in finding.evidence if e.metric == "LDS cycles per access")
    assert cycles.value == pytest.approx(63, abs=0.5)
    assert cycles.ideal == pytest.approx(2)
    assert "declared here" in finding.related[0].message
    assert "__shared__" in example.lines[finding.related[0].line - 1]


def test_a_strided_store_counts_the_lines_it_touches(profiled: Callable[[str], Profiled]) -> None:
    example = profiled("strided_access.hip")
    finding = example.findings[0]
    lines = next(e for e in finding.evidence if e.metric == "cache lines per access")
    assert lines.value == pytest.approx(62, abs=1)
    assert lines.ideal == pytest.approx(2, abs=0.1)
    assert "<<<" in example.lines[finding.related[0].line - 1]


def test_a_contended_sum_sends_one_atomic_per_wave(profiled: Callable[[str], Profiled]) -> None:
    finding = profiled("contended_atomic.hip").findings[0]
    operations = next(e.value for e in finding.evidence if e.metric == "atomic operations on memory")
    assert operations == -(-3000017 // 64)
    assert finding.share >= 0.5


@pytest.mark.parametrize("formula", all_formulas(), ids=lambda f: f.name)
def test_every_formula_has_a_page(formula: Formula) -> None:
    page = Path(__file__).parents[3] / "docs" / "formulas" / f"{formula.name}.md"
    text = page.read_text()
    assert all(
        f"## {part}" in text for part in ("What it means", "How it is detected", "How to fix it", "Limits")
    )


# ---- hand-made profiles: each number is known ----

FULL = (64 * 304 * 32, 1, 1)  # as many waves as the device holds, so that the launch itself is no finding


def lds_load(conflict_cycles: float, stall: float) -> Instruction:
    memory = MemoryPattern(
        space="lds", kind="load", bytes_per_lane=4, accesses=100, lanes=6400,
        lds_cycles=200 + conflict_cycles, lds_conflict_cycles=conflict_cycles,
    )  # fmt: skip
    return instruction("ds_read_b32 v1, v2", stall, StallReason.LDS, memory)


def global_load(used: float, stall: float) -> Instruction:
    memory = MemoryPattern(
        space="global",
        kind="load",
        bytes_per_lane=4,
        accesses=100,
        lanes=6400,
        lines_needed=200,
        lines_used=used,
    )
    return instruction("global_load_dword v1, v2, s[0:1]", stall, StallReason.GLOBAL_MEMORY, memory)


def atomic(share: float | None, stall: float) -> Instruction:
    memory = MemoryPattern(
        space="global", kind="atomic", bytes_per_lane=4, accesses=100, lanes=6400, same_address_share=share
    )
    return instruction("global_atomic_add v1, v2, off", stall, StallReason.ATOMIC, memory)


def instruction(text: str, stall: float, reason: StallReason, memory: MemoryPattern | None) -> Instruction:
    return Instruction(
        index=0, address=0, text=text, source=(Frame(file="/k.hip", line=7, column=3),), hits=100, lanes=6400,
        latency=stall + 400, stall=stall, stalls={reason: stall}, memory=memory,
    )  # fmt: skip


def profile_of(*instructions: Instruction, time_ns: float = 1e4, bound_by: str | None = None) -> Profile:
    indexed = tuple(i.model_copy(update={"index": n, "address": 8 * n}) for n, i in enumerate(instructions))
    kernel = Kernel(
        name=KernelName("k(int)"),
        mangled="_Z1ki",
        dispatches=(Dispatch(id=1, grid=FULL, workgroup=(64, 1, 1), start_ns=0, end_ns=time_ns),),
        resources=Resources(),
        instructions=indexed,
        bound_by=bound_by,
    )
    return modelled_profile(kernel)


def shares(profile: Profile) -> list[tuple[str, float]]:
    return [(f.formula, round(f.share, 3)) for f in detect_all(profile, SourceTexts())]


def other(cycles: float) -> Instruction:
    return instruction("v_add_f32_e32 v0, v1, v2", cycles - 400, StallReason.DEPENDENCY, None)


def test_conflicts_that_keep_the_lds_busy_for_a_moment_say_why_little_is_at_stake() -> None:
    # 620,000 cycles of conflicts; 304 CUs have 6.4 million in 10 us at 2.1 GHz.
    profile = profile_of(lds_load(31 * 20000, 9000), instruction("v_nop", 1000, StallReason.DEPENDENCY, None))
    (found,) = detect_all(profile, SourceTexts(), formulas=["bankConflict"], min_share=0.0)
    rows = {e.metric: e.value for e in found.evidence}
    assert rows["wave time waiting for these accesses"] > 80
    assert rows["kernel time the LDS is busy with conflicts"] == pytest.approx(
        100 * 620000 / (304 * 21000), rel=0.01
    )
    assert 100 * found.share == pytest.approx(rows["kernel time the LDS is busy with conflicts"])


def test_conflicts_are_worth_the_waits_that_they_cause() -> None:
    # 8000 of 10000 cycles wait for accesses of which 3/4 is conflict; the LDS itself is busy all the time.
    busy_ns = 0.6 * 600 / 2.1 / 304
    profile = profile_of(lds_load(600, 8000), other(1600), time_ns=busy_ns)
    assert shares(profile) == [("bankConflict", 0.6)]


def test_conflicts_are_worth_no_more_than_the_lds_was_busy_with_them() -> None:
    # 600 conflict cycles spread over 304 CUs, in a kernel that lasts ten times as long.
    profile = profile_of(lds_load(600, 8000), other(1600), time_ns=10 * 600 / 2.1 / 304)
    assert shares(profile) == [("bankConflict", 0.1)]


def test_waiting_at_a_barrier_counts_for_what_the_others_do() -> None:
    barrier = instruction("s_barrier", 9600, StallReason.BARRIER, None)
    profile = profile_of(lds_load(600, 8000), other(1600), barrier, time_ns=600 / 2.1 / 304)
    assert shares(profile) == [("bankConflict", round(8000 * 0.75 / 10400, 3))]


def test_who_waits_at_a_barrier_of_the_grid_with_few_lanes_loses_nothing_to_divergence() -> None:
    few = {"lanes": 100, "hits": 100}
    at_barrier = instruction("ds_gws_barrier v0 gds", 9000, StallReason.BARRIER, None).model_copy(update=few)
    computing = instruction("v_fma_f64 v[0:1], v[0:1], v[2:3], v[4:5]", 9000, StallReason.PIPE_BUSY, None)
    assert "branchDivergence" not in dict(shares(profile_of(at_barrier, other(90000), time_ns=1e6)))
    alone = computing.model_copy(update={"lanes": 20000, "hits": 20000})  # more often than there are waves
    assert "branchDivergence" in dict(shares(profile_of(alone, other(90000), time_ns=1e6)))


def test_conflicts_without_a_wait_are_not_reported() -> None:
    assert shares(profile_of(lds_load(600, 100), other(99500), time_ns=1)) == []


def test_an_access_without_conflicts_is_not_reported_however_long_it_takes() -> None:
    assert shares(profile_of(lds_load(0, 90000), other(1000), time_ns=1)) == []


def test_wasted_lines_are_worth_their_part_of_the_memory_time() -> None:
    # 8000 of 10000 cycles wait, 1800 of 2000 lines are waste.
    profile = profile_of(global_load(2000, 8000), other(1600))
    assert shares(profile) == [("memoryAccess", 0.72)]


def test_rows_that_straddle_a_line_are_not_reported() -> None:
    assert shares(profile_of(global_load(400, 80000), other(1600))) == []


def test_what_bandwidth_cannot_save_is_not_at_stake() -> None:
    needed_ns = 200 * 128 / (0.75 * 5.3e12) * 1e9
    profile = profile_of(global_load(2000, 8000), other(1600), time_ns=needed_ns / 0.7)
    assert shares(profile) == [("memoryAccess", 0.3)]


def test_atomics_on_one_line_are_worth_their_waits() -> None:
    assert shares(profile_of(atomic(1.0, 7600), other(2000))) == [("atomicContention", 0.76)]


def test_atomics_on_many_lines_are_not_contended_but_may_be_too_many() -> None:
    (finding,) = detect_all(profile_of(atomic(0.01, 7600), other(2000)), SourceTexts())
    assert (finding.formula, round(finding.share, 3)) == ("atomicContention", 0.76)
    assert "spread over many addresses" in finding.message
    assert shares(profile_of(atomic(0.01, 300), other(20000))) == []


def test_atomics_of_several_lines_count_together() -> None:
    first, second = atomic(0.01, 200), atomic(0.01, 200)
    second = second.model_copy(update={"source": (Frame(file="/k.hip", line=9, column=3),)})
    (finding,) = detect_all(profile_of(first, second, other(3000)), SourceTexts())
    assert (finding.line, round(finding.share, 3)) == (7, round(400 / 4200, 3))


def test_what_is_small_on_each_line_and_large_together_is_one_finding() -> None:
    def load(line: int, stall: float) -> Instruction:
        return lds_load(200, stall).model_copy(update={"source": (Frame(file="/k.hip", line=line),)})

    lines = [load(line, 600 + line) for line in range(10, 16)]  # half of each wait is conflicts
    profile = profile_of(*lines, other(6000), time_ns=1)
    (finding,) = detect_all(profile, SourceTexts(), formulas=["bankConflict"])
    waits = sum(i.stall for i in lines)
    assert finding.share == pytest.approx(0.5 * waits / (waits + 2400 + 6000))
    assert finding.line == 15
    assert "with 5 more lines like it" in finding.message
    assert [r.line for r in finding.related if r.file] == [14, 13, 12, 11, 10]
    found, hints = findings_and_hints(profile, SourceTexts(), formulas=["bankConflict"], min_share=0.5)
    assert (found, len(hints)) == ([], 6)


def test_a_line_with_none_of_the_time_is_not_named_beside_others() -> None:
    def load(line: int, stall: float) -> Instruction:
        return lds_load(200, stall).model_copy(update={"source": (Frame(file="/k.hip", line=line),)})

    profile = profile_of(load(10, 2400), load(11, 2300), load(12, 1), other(40000), time_ns=1)
    (finding,) = detect_all(profile, SourceTexts(), formulas=["bankConflict"])
    assert "with 1 more line like it" in finding.message
    assert [(r.line, r.message) for r in finding.related if r.file] == [(11, "2.5% of the time here")]


def test_lines_that_the_l1_has_are_not_waste() -> None:
    def load(hits: float) -> Instruction:
        found = global_load(800, 4000)
        assert found.memory is not None
        return found.model_copy(update={"memory": found.memory.model_copy(update={"l1_hits": hits})})

    # Four loads of a structure: the first fetches all lines of the others.
    assert shares(profile_of(load(0), load(800), load(800), load(800), other(1600))) == []
    assert shares(profile_of(load(0), load(0), other(1600))) == [("memoryAccess", 0.577)]


def test_atomics_whose_line_limits_the_kernel_count_without_a_wait_for_them() -> None:
    assert shares(profile_of(atomic(1.0, 0), other(20000), bound_by="atomic")) == [("atomicContention", 0.5)]


def test_a_line_that_limits_the_kernel_is_not_shown_as_time_that_waves_waited() -> None:
    (finding,) = detect_all(profile_of(atomic(1.0, 0), other(20000), bound_by="atomic"), SourceTexts())
    values = {e.metric: e.value for e in finding.evidence}
    assert values["wave time waiting for these atomics"] == 0
    assert values["kernel time the busiest line is busy, at least"] == 50


def test_waits_are_blamed_on_the_access_they_wait_for() -> None:
    wait = instruction("s_waitcnt vmcnt(0)", 8000, StallReason.GLOBAL_MEMORY, None)
    wait = wait.model_copy(update={"waited_for": {0: 8000.0}, "source": (Frame(file="/k.hip", line=9),)})
    finding = detect_all(profile_of(global_load(2000, 0), wait), SourceTexts())[0]
    assert (finding.line, finding.file) == (7, "/k.hip")


def test_a_line_of_a_header_is_reported_where_the_user_called_it() -> None:
    chain = (Frame(file="/usr/include/hip/x.h", line=900), Frame(file="/k.hip", line=12, column=5))
    inlined = atomic(1.0, 7600).model_copy(update={"source": chain})
    assert detect_all(profile_of(inlined, other(2000)), SourceTexts())[0].line == 12


def test_a_profile_without_instructions_gives_no_findings() -> None:
    assert shares(profile_of()) == []


def test_only_the_formulas_that_are_asked_for_look() -> None:
    profile = profile_of(atomic(1.0, 7600), other(2000))
    assert detect_all(profile, SourceTexts(), formulas=["bankConflict"]) == []


def test_a_rewrite_is_measured_by_the_same_metric_as_the_finding() -> None:
    profile = profile_of(lds_load(600, 8000), global_load(2000, 100), atomic(1.0, 10), other(1600))
    measured = {n: v for f in FORMULAS for n, v in f.measure(profile.kernels[0], profile.device).items()}
    assert measured["LDS cycles per access"] == 8.0
    assert measured["cache lines per access"] == 20.0
    assert measured["atomic operations on memory"] == 6400.0


# ---- places in the source ----

SOURCE = """constexpr int kTile = 32;
__global__ void k(float* out, float* in, int n) {
  __shared__ float tile[kTile][kTile + 1];
  if (n) out[n * 2] = in[n] + tile[threadIdx.x][n];  // a[b] = c
  f(n)[2]->x = 1;
}
void host() { k<<<1, 64>>>(a, b, 3); }
"""


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "k.hip"
    path.write_text(SOURCE)
    return str(path)


def test_a_launch_is_found(source: str) -> None:
    related = launch_of(profile_of().kernels[0], source, SourceTexts())
    assert related is not None
    assert related.line == 7


def test_of_a_place_in_a_header_the_launch_is_found_beside_the_kernel(source: str, tmp_path: Path) -> None:
    header = tmp_path / "view.hpp"
    header.write_text("inline int twice(int i) { return 2 * i; }\n")
    kernel = profile_of().kernels[0].model_copy(update={"file": source})
    related = launch_of(kernel, str(header), SourceTexts())
    assert related is not None
    assert (related.file, related.line) == (source, 7)


@pytest.mark.parametrize(
    "launch",
    [
        "k<<<1, 64>>>(p);",
        "hipLaunchKernelGGL(k, dim3(1), dim3(64), 0, 0, p);",
        "hipLaunchKernelGGL(HIP_KERNEL_NAME(k<4>), dim3(1), dim3(64), 0, 0, p);",
        "hipLaunchCooperativeKernel((void*)k, 1, 64, arguments, 0, nullptr);",
    ],
)
def test_the_launch_of_a_kernel_in_a_header_is_found_in_the_program(launch: str, tmp_path: Path) -> None:
    header, program = tmp_path / "kernels.hpp", tmp_path / "src" / "main.cpp"
    program.parent.mkdir()
    header.write_text("__global__ void k(int*) {}\n")
    program.write_text(f"// k<<<>>>\nvoid launch(int* p) {{\n  {launch}\n}}\nint main() {{}}\n")
    texts = SourceTexts().of(lambda: (program, header))
    kernel = profile_of().kernels[0].model_copy(update={"file": str(header)})
    related = launch_of(kernel, str(header), texts)
    assert related is not None
    assert (related.file, related.line) == (str(program), 3)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (62.94, "cycles", "62.9 cycles"),
        (2.0, "cycles", "2 cycles"),
        (96.8, "%", "97 %"),
        (None, "x", "-"),
        (46876.0, "", "46,876"),
    ],
)
def test_numbers_are_written_with_their_unit(value: float | None, unit: str, text: str) -> None:
    assert format_value(value, unit) == text


def test_findings_of_longer_kernels_come_first() -> None:
    small = profile_of(atomic(1.0, 7600), other(2000), time_ns=10)
    large = profile_of(atomic(1.0, 1600), other(8000), time_ns=1000)
    renamed = small.kernels[0].model_copy(update={"name": KernelName("small()"), "mangled": "s"})
    both = large.model_copy(update={"kernels": (*large.kernels, renamed)})
    found: list[Finding] = detect_all(both, SourceTexts())
    assert [f.kernel for f in found] == ["k(int)", "small()"]
