"""What an editor is shown of a profile, feature by feature, without a server."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lsprotocol import types as lsp

from hipscope.analysis.source.texts import ByteColumn
from hipscope.server.features import code_action, code_lens, diagnostics, heat, hover, inlay_hint
from hipscope.server.features.commands import CHOOSE_BUILD, PROFILE, SET_ARGUMENTS
from hipscope.server.features.diagnostics import ClientSide
from hipscope.server.render.blocks import literal, to_markdown, to_plain
from hipscope.server.render.explain import explain_kernel
from hipscope.server.reports.report_reader import read_report
from hipscope.server.reports.schema.notes import CompileNote
from hipscope.server.reports.schema.profile import Evidence, Kernel, Report
from hipscope.server.session.editor_settings import EditorSettings
from hipscope.server.session.known_profiles import Marks, Problem

UTF16 = lsp.PositionEncodingKind.Utf16
URI = "file:///project/transpose.hip"
FULL = ClientSide(related=True, links=True)
ALL = lsp.Range(lsp.Position(0, 0), lsp.Position(99, 0))
HOT = 5  # index of the line with the finding


def shown(marks: Marks, client: ClientSide = FULL, problems: Sequence[Problem] = ()) -> list[lsp.Diagnostic]:
    return diagnostics.build(marks, problems, marks.current, EditorSettings(), client)


def finding_of(marks: Marks, **parts: Any) -> lsp.Diagnostic:
    found = replace(marks.report.findings[0], **parts)
    marked = replace(marks, report=replace(marks.report, findings=(found,)))
    return next(d for d in shown(marked) if d.code == found.formula)


def edited(marks: Marks, old: str, new: str) -> Marks:
    assert old in marks.profiled
    return replace(marks, current=marks.profiled.replace(old, new))


def test_a_partial_profile_says_so_in_lens_and_hover(marks: Marks) -> None:
    left_out = "1 of 9 launches were not profiled and have no time: late"
    kernel = replace(marks.report.kernels[0], dispatches=9, profiled=4)
    report = replace(marks.report, partial=left_out, kernels=(kernel, *marks.report.kernels[1:]))
    first, *_ = code_lens.build(replace(marks, report=report), URI, UTF16)
    assert first.command is not None
    assert first.command.title.endswith(" · partial")
    told = str(explain_kernel(report, kernel, stale=False))
    assert f"Partial: {left_out}" in told
    assert "in 9 launches, 4 of them profiled" in told


def test_a_finding_marks_the_code_of_its_line_with_formula_share_and_provenance(marks: Marks) -> None:
    found = finding_of(marks)
    assert found.range.start == lsp.Position(HOT, 2)
    assert found.range.end == lsp.Position(HOT, 28)
    assert (found.code, found.source) == ("bankConflict", "hipscope")
    assert "of GPU time at stake, modelled" in found.message


@pytest.mark.parametrize(
    ("share", "severity"),
    [
        (1.0, lsp.DiagnosticSeverity.Warning),
        (0.2, lsp.DiagnosticSeverity.Information),
        (0.05, lsp.DiagnosticSeverity.Hint),
    ],
)
def test_the_more_time_is_at_stake_the_louder_the_mark(
    marks: Marks, share: float, severity: lsp.DiagnosticSeverity
) -> None:
    assert finding_of(marks, share=share).severity == severity


def test_related_places_and_links_are_sent_only_to_clients_that_know_them(marks: Marks) -> None:
    related = finding_of(marks).related_information
    assert related is not None
    assert related[0].location.range.start.line == 1
    assert all(
        d.related_information is None and d.code_description is None for d in shown(marks, ClientSide())
    )


def test_a_line_that_waits_without_a_formula_is_a_hint_and_a_cool_line_is_nothing(marks: Marks) -> None:
    stalls = {d.range.start.line: d for d in shown(marks) if d.code == "stall"}
    assert stalls[9].severity == lsp.DiagnosticSeverity.Hint
    assert "global memory 75 %" in stalls[9].message
    assert HOT not in stalls
    assert 3 not in stalls


def test_marks_move_with_the_text_and_stay_current_when_another_kernel_changes(marks: Marks) -> None:
    moved = edited(edited(marks, "p[n] = p[0]", "p[n] = p[1]"), "int main", "int main")
    moved = replace(moved, current="// a new first line\n" + moved.current)
    found = next(d for d in shown(moved) if d.code == "bankConflict")
    assert found.range.start.line == HOT + 1
    assert "stale" not in found.message


@pytest.mark.parametrize(
    ("old", "new", "stale"),
    [
        ("#define SIDE 32", "#define SIDE 33", (True, True)),
        ("constexpr int kSide = SIDE;", "constexpr int kSide = SIDE + 1;", (True, True)),
        ("constexpr int kSide = SIDE;", "constexpr  int kSide = SIDE;  // wide", (False, False)),
        ("constexpr int kRuns = 3;", "constexpr int kRuns = 4;", (True, True)),
        ("<<<kRuns, 64>>>", "<<<kRuns, 128>>>", (True, True)),
        ("#define SIDE 32\n", "#define SIDE 32\n\n// a remark, not\\ continued\n", (False, False)),
        ("int main()", "__device__ int unused();\nint main()", (True, True)),
        ("int x = threadIdx.x;", "int x = threadIdx.x + 1;", (True, False)),
        ("int x = threadIdx.x;", "int x = threadIdx.x;\n  /* nothing */", (False, False)),
        ("p[n] = p[0];", "p[n] = p[1];", (False, True)),
        ("}\n\n__global__ void copy", "}\n/*\n__global__ void copy", (True, True)),
        ('tag = "//a"', 'tag = "//b"', (True, True)),
        ("return 0", "return  0", (False, False)),
        ("#define WIDE(x) \\\n", "#define WIDE(x) \\\n\n", (True, True)),
    ],
)
def test_a_change_outside_of_kernels_makes_all_stale_and_one_inside_its_own(
    marks: Marks, fake: ModuleType, old: str, new: str, stale: tuple[bool, bool]
) -> None:
    text = "#define SIDE 32\nconstexpr int kSide = SIDE;\nconstexpr int kRuns = 3;\n" + marks.profiled
    text = text.replace("tile[32][32]", "tile[kSide][kSide]").replace("<<<1, 64>>>", "<<<kRuns, 64>>>")
    text = "#define WIDE(x) \\\n  (2 * (x))\n" + text + 'const char* tag = "//a";\n'
    assert old in text
    typed = Marks(read_report(fake.profile(marks.file, text)), marks.file, text, text.replace(old, new))
    transpose, copy = typed.report.kernels
    assert (typed.is_stale(transpose), typed.is_stale(copy)) == stale


def test_what_a_profiled_run_shows_to_be_wrong_is_a_warning_on_its_line(marks: Marks) -> None:
    def noted(code: str) -> CompileNote:
        return CompileNote(
            code, "warning", "some waves reach it in part", "transpose", marks.file, HOT + 1, ByteColumn(0),
            ByteColumn(0), (), None, "",
        )  # fmt: skip

    report = replace(marks.report, defects=(noted("divergent-barrier"), noted("wave-size")))
    found = [d for d in shown(replace(marks, report=report)) if d.message == "some waves reach it in part"]
    # What the text alone shows was published when it compiled.
    assert [(d.code, d.severity, d.range.start.line) for d in found] == [
        ("divergent-barrier", lsp.DiagnosticSeverity.Warning, HOT)
    ]


def test_a_finding_without_a_line_is_shown_nowhere(marks: Marks) -> None:
    (finding,) = marks.report.findings
    lost = replace(marks.report, findings=(replace(finding, line=0, end_line=0),))
    assert "bankConflict" in [d.code for d in shown(marks)]
    assert "bankConflict" not in [d.code for d in shown(replace(marks, report=lost))]


def test_a_kernel_whose_text_changed_is_shown_as_stale_everywhere(marks: Marks) -> None:
    changed = edited(marks, "tile[32][32]", "tile[32][33]")
    found = next(d for d in shown(changed) if d.code == "bankConflict")
    assert found.message.startswith("stale")
    assert found.severity == lsp.DiagnosticSeverity.Hint
    lenses = [lens.command.title for lens in code_lens.build(changed, URI, UTF16) if lens.command]
    assert lenses[0].startswith("stale: profile again")
    assert not any("stale" in title for title in lenses[1:])
    hints = inlay_hint.build(changed, ALL, EditorSettings(), UTF16)
    assert [str(h.label).endswith("(stale)") for h in hints] == [True, True, True, False]
    assert [row["stale"] for row in heat.build(changed)] == [True, True, True, False]
    context = lsp.CodeActionContext(diagnostics=[], only=[lsp.CodeActionKind.QuickFix])
    assert code_action.build(changed, URI, line_range(HOT), context) == []


def test_a_deleted_hot_line_takes_its_mark_with_it(marks: Marks) -> None:
    gone = edited(marks, "  p[x] = tile[x][n]/*slow*/;  // cost 0.6 lds // find bankConflict\n", "")
    assert "bankConflict" not in [d.code for d in shown(gone)]


def test_compiler_errors_are_errors_on_their_column(marks: Marks) -> None:
    problem = Problem(marks.file, 5, ByteColumn(14), "error", "expected ';'")
    found = next(d for d in shown(marks, problems=[problem]) if d.code == "compile")
    assert found.severity == lsp.DiagnosticSeverity.Error
    assert (found.range.start, found.range.end) == (lsp.Position(4, 13), lsp.Position(4, 14))


def test_a_problem_past_the_end_of_the_file_is_shown_on_its_last_line(marks: Marks) -> None:
    problem = Problem(marks.file, 4000, ByteColumn(0), "error", "expected '}' at end of input")
    found = next(d for d in shown(marks, problems=[problem]) if d.code == "compile")
    assert found.range.start.line == marks.current.count("\n")


def test_hover_on_a_line_shows_what_it_waits_for_and_the_memory_pattern(marks: Marks) -> None:
    text = hover_text(marks, HOT, 6)
    assert "| LDS |" in text
    assert "75 %" in text
    assert "bank conflicts take 97 % of 3200 LDS cycles" in text
    assert "60 % of kernel transpose · 40 % of GPU time (modelled)" in text


def test_hover_says_what_helps_before_cost_and_evidence(marks: Marks) -> None:
    found = tuple(
        replace(f, remedy=("pad each row",), evidence=(Evidence("conflicts", 97.0, 0.0, "%"),))
        for f in marks.report.findings
    )
    text = hover_text(replace(marks, report=replace(marks.report, findings=found)), HOT, 6)
    order = [text.index(part) for part in ("at stake", "What helps: pad each row", "| LDS |", "evidence")]
    assert order == sorted(order)


def test_hover_on_a_kernel_name_shows_time_roofline_occupancy_and_provenance(marks: Marks) -> None:
    for line, column in ((1, 18), (13, 5)):
        text = hover_text(marks, line, column)
        for part in (
            "49.4 us in 2 launches (modelled)",
            "4 of 8 waves per SIMD, limited by LDS",
            "0.25 flop/B",
        ):
            assert part in text
        assert "19 % of 5.30 TB/s" in text
        assert "Modelled on mi300x, fake 1" in text


@pytest.mark.parametrize(
    "name",
    [
        "smooth_transpose(float const*, float*, int, int)",
        "__first__(float**, int*)",
        "apply<Op<int>, 2>(Op<int>&, float*)",
        "ns::[lambda#1]::operator()(double*) const",
    ],
)
def test_a_kernel_is_named_in_a_hover_as_it_is_called(marks: Marks, name: str) -> None:
    kernel = replace(marks.report.kernels[0], name=name)
    blocks = explain_kernel(marks.report, kernel, stale=False)
    shown = to_markdown(blocks).splitlines()[0].removeprefix("**").removesuffix("**")
    assert not re.search(r"(?<!\\)[*_<>\[\]#&]", shown)
    assert re.sub(r"\\(.)", r"\1", shown) == name
    assert to_plain(blocks).splitlines()[0] == name


def test_a_hover_does_not_repeat_the_message_that_vs_code_shows_above_it_on_a_mark(marks: Marks) -> None:
    finding = marks.report.findings[0]
    mark = diagnostics.finding_range(finding, HOT + 1, marks.current_lines, UTF16)
    inside, outside = lsp.Position(HOT, mark.start.character), lsp.Position(HOT, mark.end.character + 1)
    for extension, position, repeated in (
        (True, inside, False),
        (True, outside, True),
        (False, inside, True),
    ):
        found = hover.build(marks, position, lsp.MarkupKind.Markdown, UTF16, extension=extension)
        assert found is not None
        assert isinstance(found.contents, lsp.MarkupContent)
        assert found.contents.value.startswith(f"[{finding.formula}](")
        assert (literal(finding.message) in found.contents.value) is repeated


def test_hover_is_plain_text_for_a_client_that_wants_it(marks: Marks) -> None:
    found = hover.build(marks, lsp.Position(1, 18), lsp.MarkupKind.PlainText, UTF16)
    assert found is not None
    assert isinstance(found.contents, lsp.MarkupContent)
    assert found.contents.kind == lsp.MarkupKind.PlainText
    assert not any(mark in found.contents.value for mark in ("|", "**", "`"))


class Passes(tuple[Kernel, ...]):
    """Kernels that count how often somebody goes through all of them."""

    number = 0

    def __iter__(self) -> Iterator[Kernel]:
        self.number += 1
        return super().__iter__()


def test_the_first_hover_and_lens_go_through_no_index_that_was_not_made_when_the_report_came(
    marks: Marks,
) -> None:
    kernels = Passes(marks.report.kernels)
    ready = replace(marks, report=replace(marks.report, kernels=kernels))
    ready.prepare()
    assert kernels.number > 0
    kernels.number = 0
    for line, character in ((5, 8), (1, 18)):
        position = lsp.Position(line=line, character=character)
        assert hover.build(ready, position, lsp.MarkupKind.Markdown, UTF16) is not None
    assert code_lens.build(ready, URI, UTF16)
    assert kernels.number == 0


def test_hover_on_a_line_without_cost_is_nothing(marks: Marks) -> None:
    assert hover.build(marks, lsp.Position(14, 3), lsp.MarkupKind.Markdown, UTF16) is None
    assert hover.build(marks, lsp.Position(400, 0), lsp.MarkupKind.Markdown, UTF16) is None


def test_a_lens_over_each_kernel_says_time_share_and_bound_and_offers_to_optimize(marks: Marks) -> None:
    first, optimize, *_ = code_lens.build(marks, URI, UTF16)
    assert first.range.start == lsp.Position(1, 16)
    assert first.command is not None
    assert first.command.title == "modelled 49.4 us · 67 % of GPU time · LDS bound"
    assert optimize.command is not None
    assert optimize.command.arguments == [{"uri": URI, "kernel": "_Z9transposePfi"}]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("__global__ void transpose", "\n__global__ void transpose"),
        ("__global__ void transpose", "__global__   void transpose"),
        ("tile[32][32]", "tile[32][33]"),
        ("int main", "static int unused;\nint main"),
        ("__global__ void copy", "__global__ void other"),
    ],
)
def test_lenses_that_are_kept_while_somebody_types_are_those_that_would_be_built_anew(
    marks: Marks, old: str, new: str
) -> None:
    kept = code_lens.Kept(marks.report, {})
    assert code_lens.build(marks, URI, UTF16, kept) == code_lens.build(marks, URI, UTF16)
    assert kept.lenses
    changed = edited(marks, old, new)
    assert code_lens.build(changed, URI, UTF16, kept) == code_lens.build(changed, URI, UTF16)
    assert code_lens.build(marks, URI, UTF16, kept) == code_lens.build(marks, URI, UTF16)


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.sampled_from(["", "int x;", "  a[0] = 1;", "}", None])),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_lenses_that_are_kept_over_any_edits_are_those_that_would_be_built_anew(
    marks: Marks, edits: list[tuple[int, str | None]]
) -> None:
    """A line is replaced, or, with None, doubled or left out by turns."""
    kept = code_lens.Kept(marks.report, {})
    code_lens.build(marks, URI, UTF16, kept)
    lines = marks.profiled.split("\n")
    for number, (at, text) in enumerate(edits):
        at %= len(lines)
        lines[at : at + 1] = [text] if text is not None else [lines[at]] * (2 if number % 2 else 0)
        now = replace(marks, current="\n".join(lines))
        assert code_lens.build(now, URI, UTF16, kept) == code_lens.build(now, URI, UTF16)


def test_an_unknown_time_is_called_unknown_and_not_zero(report: Report, marks: Marks) -> None:
    unknown = replace(report.kernels[0], time_ns=None, bound="unknown")
    assert code_lens.summary("measured", unknown) == "time unknown · 67 % of GPU time"


def test_an_unprofiled_file_offers_to_profile_over_its_kernels(marks: Marks) -> None:
    assert [lens.range.start.line for lens in code_lens.build_unprofiled(marks.current, URI)] == [1, 8]


UNLAUNCHED = """\
__global__ void declared(float* p);
__global__ void launched(float* p) { p[0] = 1; }
template <typename T>
__global__ void
__launch_bounds__(256, (2)) other(T* p,
    int n) {
}
template <> __global__ void other<int>(int* p, int n) {}
// __global__ void comment() {
extern "C" __global__ void third(float* p) {
}
"""


@pytest.mark.parametrize(
    ("folder", "ways"), [(True, [PROFILE, CHOOSE_BUILD, SET_ARGUMENTS]), (False, [PROFILE, SET_ARGUMENTS])]
)
def test_a_kernel_that_the_profiled_program_did_not_launch_says_so_and_what_leads_to_it(
    folder: bool, ways: list[str]
) -> None:
    lenses = code_lens.build_unlaunched(UNLAUNCHED, URI, {"launched"}, folder=folder)
    assert [lens.range.start.line for lens in lenses] == [n for n in (3, 7, 9) for _ in ways]
    commands = [lens.command for lens in lenses[: len(ways)] if lens.command]
    assert [command.command for command in commands] == ways
    assert commands[0].title == "not launched in the last profile: profile again"


def test_hints_stand_at_the_end_of_hot_lines_inside_the_asked_range(marks: Marks) -> None:
    hints = inlay_hint.build(marks, ALL, EditorSettings(), UTF16)
    assert [(h.position.line, h.label) for h in hints] == [
        (3, "10 % · scalar memory"),
        (4, "20 % · global memory"),
        (5, "60 % · LDS"),
        (9, "90 % · global memory"),
    ]
    assert [h.position.line for h in inlay_hint.build(marks, line_range(4), EditorSettings(), UTF16)] == [4]
    assert len(inlay_hint.build(marks, ALL, EditorSettings(minimum_share=0.25), UTF16)) == 2


def test_the_finding_offers_a_quick_fix_and_its_kernel_a_rewrite(marks: Marks) -> None:
    mark = finding_of(marks)
    fix, rewrite = code_action.build(marks, URI, line_range(HOT), lsp.CodeActionContext(diagnostics=[mark]))
    assert (fix.kind, fix.title) == (lsp.CodeActionKind.QuickFix, "Optimize kernel transpose: bankConflict")
    assert fix.diagnostics == [mark]
    assert fix.command is not None
    assert fix.command.arguments == [{"uri": URI, "kernel": "_Z9transposePfi", "formula": "bankConflict"}]
    assert (rewrite.kind, rewrite.title) == (lsp.CodeActionKind.RefactorRewrite, "Optimize kernel transpose")


@pytest.mark.parametrize(
    ("only", "count"),
    [
        ("refactor", 1),
        ("quickfix", 1),
        ("refactor.rewrite", 1),
        ("", 2),
        ("source", 0),
        ("refactor.extract", 0),
    ],
)
def test_only_the_kinds_of_action_that_were_asked_for_are_given(marks: Marks, only: str, count: int) -> None:
    context = lsp.CodeActionContext(diagnostics=[], only=[only])
    assert len(code_action.build(marks, URI, line_range(HOT), context)) == count


def test_outside_any_kernel_there_is_no_action(marks: Marks) -> None:
    assert code_action.build(marks, URI, line_range(13), lsp.CodeActionContext(diagnostics=[])) == []


def test_heat_counts_lines_from_zero_and_names_the_reason(marks: Marks) -> None:
    rows = heat.build(marks)
    assert rows[2] == {"line": HOT, "share": 0.6, "reason": "LDS", "stale": False}


def hover_text(marks: Marks, line: int, character: int) -> str:
    found = hover.build(marks, lsp.Position(line, character), lsp.MarkupKind.Markdown, UTF16)
    assert found is not None
    assert isinstance(found.contents, lsp.MarkupContent)
    return found.contents.value


def line_range(line: int) -> lsp.Range:
    return lsp.Range(lsp.Position(line, 2), lsp.Position(line, 4))


def test_a_kernels_hover_begins_with_its_findings_and_says_what_binds_it(marks: Marks) -> None:
    finding = marks.report.findings[0]
    kernel = next(k for k in marks.report.kernels if k.mangled in finding.mangled_names)
    kernel = replace(kernel, busy={"hbm": 0.3, "lds": 0.94, "launch": 0.99, "valu": 0.0})
    text = to_plain(explain_kernel(marks.report, kernel, stale=False))
    assert finding.message in text
    assert text.index(finding.message) < text.index("share of GPU time  ")
    assert "LDS 94 % busy · memory 30 %" in text
    assert "flop/B, the ridge is at 30.8" in text
