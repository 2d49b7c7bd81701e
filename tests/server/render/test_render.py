"""The report in a terminal of any width."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from hipscope.analysis.source.texts import ByteColumn, SourceTexts
from hipscope.server.render.blocks import Block, Heading, Table, to_markdown, to_plain
from hipscope.server.render.explain import gain_sentence
from hipscope.server.render.proposal import defects_sentence, evidence
from hipscope.server.render.text import heat_strip, listed, render_optimization, render_profile
from hipscope.server.reports.schema.notes import CompileNote
from hipscope.server.reports.schema.optimize import KernelGain
from hipscope.server.reports.schema.profile import Fault, Report
from tests.server.records import attempt, optimization


def printed(report: Report, width: int = 110, top: int | None = None) -> str:
    console = Console(file=io.StringIO(), width=width, no_color=True, highlight=False)
    render_profile(report, console, SourceTexts(), top)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [80, 110, 200])
def test_the_numbers_are_whole_at_any_width(report: Report, width: int) -> None:
    text = printed(report, width)
    for part in ("49.4 us", "67 %", "LDS bound", "4/8 waves", "modelled", "60 %", "bankConflict"):
        assert part in text
    assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("width", [60, 80, 110, 140])
def test_kernel_names_are_cut_at_110_columns_no_more_than_at_60(report: Report, width: int) -> None:
    kernel = replace(
        report.kernels[0], name="smooth_transpose_by_tiles(float*)", time_ns_low=1e4, time_ns_high=2e4
    )
    text = printed(replace(report, kernels=(kernel,), findings=()), width)
    assert "\nsmooth_transpose_by_tiles  " in text
    assert "49.4 us" in text


def test_what_bounds_the_kernels_is_no_heading_over_nothing(report: Report) -> None:
    bare = replace(report, findings=(), diagnoses=())
    assert "What bounds" not in printed(bare)
    assert "No formula has a finding." in printed(bare)
    assert "finding" not in printed(replace(bare, kernels=()))


def test_the_same_fault_three_times_is_said_once(report: Report) -> None:
    fault = Fault(
        kernel="transpose", message="access outside any allocation", refused=False, left_out=False, file="", line=0,
        column=ByteColumn(0), instruction=None,
    )  # fmt: skip
    text = printed(replace(report, faults=(fault, fault, fault)))
    assert text.count("access outside") == 1
    assert "fault in transpose: access outside any allocation (3 times)" in text


def test_only_the_longest_kernels_are_shown_and_the_rest_is_counted(report: Report) -> None:
    text = printed(report, top=1)
    assert "copy" not in text
    assert "1 more with 33 % of GPU time" in text


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (("void axpy<float>(float*, int)", "copy(int*)"), ("axpy", "copy")),
        (
            ("void n::axpy<float>(float*, int)", "void n::axpy<S<2> >(S<2>*, int)"),
            ("axpy<float>", "axpy<S<2> >"),
        ),
        (("axpy(float*, int)", "axpy(double*, int)"), ("axpy(float*, int)", "axpy(double*, int)")),
        (("a::axpy(int*)", "b::axpy(int*)"), ("a::axpy(int*)", "b::axpy(int*)")),
    ],
)
def test_kernels_of_one_name_are_told_apart(
    report: Report, names: tuple[str, str], shown: tuple[str, str]
) -> None:
    kernels = tuple(replace(k, name=n, mangled=n) for k, n in zip(report.kernels, names, strict=True))
    renamed = replace(
        report, kernels=kernels, findings=(replace(report.findings[0], kernel=names[0], mangled=names[0]),)
    )
    assert tuple(map(renamed.short_name, kernels)) == shown
    text = printed(renamed, width=200)
    assert all(f"\n{name}  " in text for name in shown)
    assert (f"  {shown[0]}" in text.partition("bankConflict")[2].split("\n")[0]) is (shown[0] != "axpy")


def test_a_finding_with_little_at_stake_is_named_without_its_numbers(report: Report) -> None:
    finding = report.findings[0]
    metric = finding.evidence[0].metric
    assert metric in printed(report)
    text = printed(replace(report, findings=(replace(finding, share=0.005),)))
    assert finding.formula in text
    assert metric not in text


def test_what_several_lines_cost_with_no_gain_known_is_said_beside_the_lines_own_share(
    report: Report,
) -> None:
    row = replace(report.kernels[0].lines[0], share=0.36)
    kernel = replace(report.kernels[0], lines=(row,))
    finding = replace(
        report.findings[0],
        file=row.file,
        line=row.line,
        share=0.62,
        estimated_speedup=None,
        usual_speedup=None,
    )
    told = gain_sentence(finding, kernel)
    assert told == "Of the kernel's time this line takes 36 %, with others like it 62 %."


def test_what_is_not_known_is_not_shown_as_a_number(report: Report) -> None:
    bare = replace(report.kernels[0], time_ns=None, occupancy=None, bound="unknown")
    text = printed(replace(report, kernels=(bare,)))
    assert text.count("unknown") == 3


def test_a_kernel_is_drawn_as_a_strip_with_its_hottest_line_highest(report: Report) -> None:
    assert heat_strip(report.kernels[0]) == "▁▁▂▃█▁"


def test_a_partial_profile_and_a_fault_say_so(report: Report) -> None:
    fault = Fault(
        kernel="transpose",
        message="access outside any allocation",
        refused=False,
        left_out=False,
        file="/project/transpose.hip",
        line=6,
        column=ByteColumn(3),
        instruction="global_store",
    )
    odd = ("every float of the 64 bytes is NaN",)
    text = printed(replace(report, partial="2 of 9 launches", faults=(fault,), warnings=odd))
    assert "Warning: every float of the 64 bytes is NaN" in text
    assert "Partial: 2 of 9 launches" in text
    assert "fault in transpose: access outside any allocation" in text
    assert "transpose.hip:6" in text


def test_a_gpu_that_was_left_unused_is_named(report: Report) -> None:
    reason = "the AMD GPU (gfx942) is not used: /dev/kfd: Permission denied"
    assert "not used" not in printed(report)
    assert f"Note: {reason}" in printed(replace(report, source_note=reason))


def test_markup_in_names_is_shown_and_not_obeyed(report: Report) -> None:
    odd = replace(report.findings[0], message="[bold]tile[0][/bold]")
    assert "[bold]tile[0][/bold]" in printed(replace(report, findings=(odd,)))


def test_advice_is_said_once() -> None:
    reason = "Advice: Share rows. Not done here: launches stand in host code."
    advice = attempt(recipe="row_per_wave", outcome="advice", reason=reason, title="Share rows")
    console = Console(file=io.StringIO(), width=80, no_color=True)
    render_optimization(optimization(attempts=(advice,)), console)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().count("Share rows") == 1
    assert "    Not done here: launches stand in host code." in console.file.getvalue()


def test_what_helps_several_lines_of_a_kernel_is_said_at_the_first(report: Report) -> None:
    kernel = report.kernels[0]
    words = (
        "waits for the LDS. What helps: wide reads; early reads",
        "waits. What helps: early reads",
        "waits too",
    )
    lines = tuple(
        replace(
            report.findings[0], formula="diagnoseOnly", mangled=kernel.mangled, line=n, share=0.2, message=w
        )
        for n, w in enumerate(words, 1)
    )
    text = printed(replace(report, findings=(), diagnoses=lines), width=200)
    assert "waits for the LDS. What helps: wide reads; early reads" in text
    assert text.count("What helps") == 1


def test_no_improvement_lists_every_attempt_with_its_reason() -> None:
    slow = attempt(
        recipe="pad_lds",
        outcome="not_faster",
        reason="only 1 % faster",
        title="Pad `tile`",
        notes=("refuted: fewer",),
    )
    found = optimization(message="No verified improvement.", attempts=(slow,))
    console = Console(file=io.StringIO(), width=80, no_color=True)
    render_optimization(found, console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    assert "Pad `tile`" in text
    assert "only 1 % faster" in text
    assert "note: refuted: fewer" in text
    assert "The file stays as it is." in text


def test_the_lines_of_a_change_are_never_cut() -> None:
    diff = f"--- a/k.hip\n+++ b/k.hip\n@@ -1,2 +1,2 @@\n-{'x' * 150}\n+{'y' * 150}\n \n"
    stream = io.StringIO()
    render_optimization(optimization(status="verified", diff=diff), Console(file=stream, width=80))
    assert diff in stream.getvalue()


def test_an_edit_of_two_kernels_shows_each_and_their_sum() -> None:
    found = optimization(
        status="verified",
        kernel="first(int)",
        speedup=2.0,
        compiles=7,
        replays=90,
        gpu_speedup=1.6,
        kernels=(
            KernelGain("first(int)", 1, 9e3, 2.0, 1),
            KernelGain("second(int)", 9, 3e3, 1.25, 1),
        ),
    )
    stream = io.StringIO()
    render_optimization(found, Console(file=stream, width=140), verbose=True)
    text = stream.getvalue()
    assert "1.25x as fast (all launches of a run: 3.00 us before, 2.40 us after): second." in text
    assert "All kernels of a run together: 1.60x as fast." in text
    assert "7 texts of device code were compiled and 90 launches replayed for 0 attempts." in text


def test_blocks_are_the_same_in_markdown_and_in_plain_text() -> None:
    blocks: list[Block] = [
        Heading("kernel"),
        Table(("a", "b"), (("x|y", "10"), ("`z`", "2")), frozenset({1})),
        "**bold** end",
    ]
    assert to_markdown(blocks).splitlines()[2:6] == [
        "| a | b |",
        "| :-- | --: |",
        "| x\\|y | 10 |",
        "| `z` | 2 |",
    ]
    assert to_plain(blocks).splitlines() == ["kernel", "", "a     b", "x|y  10", "z     2", "", "bold end"]


def test_an_uncertain_wait_is_marked(report: Report) -> None:
    assert "?" not in printed(report)
    kernel = report.kernels[0]
    lines = tuple(replace(row, reason_may_be="pipe_busy") for row in kernel.lines)
    assert "or pipe busy?" in printed(replace(report, kernels=(replace(kernel, lines=lines),)))


def test_words_are_listed_however_many_there_are() -> None:
    assert [listed(iter(words)) for words in ("", "a", "ab", "abc")] == ["", "a", "a and b", "a, b and c"]


DEFECT = CompileNote(
    "divergent-barrier", "warning", "32 of the 64 lanes of the wave do not reach this barrier", "transpose",
    "/project/transpose.hip", 4, ByteColumn(3), ByteColumn(0), (), None, "",
)  # fmt: skip


def test_defects_stand_in_a_profile_and_beside_each_edit(report: Report) -> None:
    words = "/project/transpose.hip:4:3: divergent-barrier: 32 of the 64 lanes"
    assert words in printed(replace(report, defects=(DEFECT,)), 200)
    assert "defect" not in printed(report)
    found = optimization(
        status="verified", diff="", speedup=2.0, kernel="transpose(float*, int)", defects=(DEFECT,)
    )
    console = Console(file=io.StringIO(), width=200, no_color=True, highlight=False)
    render_optimization(found, console)
    assert isinstance(console.file, io.StringIO)
    assert words in console.file.getvalue()
    assert "line 4, divergent-barrier: 32 of the 64" in evidence(found)
    assert defects_sentence(found).endswith("does not mend: divergent-barrier on line 4.")
    assert "Defects" not in evidence(replace(found, defects=()))
    assert not defects_sentence(replace(found, defects=()))


@pytest.mark.parametrize("found", [True, False], ids=["beside findings", "without a finding"])
def test_a_line_with_ten_per_cent_of_a_kernel_is_a_finding_or_in_the_headline(
    report: Report, found: bool
) -> None:
    kernel, finding = report.kernels[0], report.findings[0]
    told = replace(
        finding, formula="diagnoseOnly", kernel=kernel.name, mangled=kernel.mangled, file=kernel.file or "", line=4,
        share=0.3, message="takes 30% of the wave time: divides exactly, a dozen (71%); waits for the LDS (20%). "
        "What helps: multiply; read early",
    )  # fmt: skip
    cool = replace(told, line=5, share=0.09)
    shown = replace(report, findings=report.findings if found else (), diagnoses=(told, cool))
    head, _, rest = printed(shown, 140).partition("finding")[2].partition("\n")
    assert head == (", and beside them:" if found else ". Where the time goes:")
    assert rest.startswith("  30 % of transpose is line 4: divides exactly, a dozen; waits for the LDS\n")
    assert "9.0 % of" not in rest


def test_a_program_that_fails_is_told_what_looks_for_defects(report: Report) -> None:
    failed = replace(report, program=replace(report.program, exit_code=1))
    assert "left with exit code 1. If its results are wrong: `hipscope check`" in printed(failed)
    assert "hipscope check" not in printed(report)
    over = "kernel transpose: not finished, when the program's time was over: 10 of 99 workgroups were done"
    fault = Fault("transpose", over, False, False, "", 0, ByteColumn(0), None)
    stopped = printed(replace(failed, faults=(fault,)))
    assert "left with exit code 1. Its time was over, so its last launch was stopped" in stopped
    assert "hipscope check" not in stopped
