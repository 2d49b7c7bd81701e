"""Pages in a real browser: nothing of a program runs, no console error, the numbers of the report, no network."""

from __future__ import annotations

import copy
import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from hipscope.analysis.errors import MissingTool
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.timeline.records import Gap, GpuTime, KernelPath, Lane, LongestPath, Timeline
from hipscope.server.pages import page
from hipscope.server.reports.compare_writer import compare_reports
from hipscope.server.reports.report_reader import read_report
from hipscope.server.reports.schema.check import AccessedBytes, CheckReport, DefectReport, DefectSite
from hipscope.server.reports.schema.compare import CompareReport, PassedLimit
from hipscope.server.reports.schema.isa import IsaInstruction, IsaReport
from hipscope.server.reports.schema.optimize import Side
from hipscope.server.reports.schema.profile import Program, Report
from hipscope.server.reports.schema.programs import ProgramError, ProgramReport, ProgramsReport
from hipscope.server.reports.schema.verdict import Trial, Verdict
from tests.server.command_line import Cli
from tests.server.conftest import FILE, HOT_LINE, PROGRAM
from tests.server.records import attempt, optimization

HOSTILE = "k<img src=x onerror=\"document.title='owned'\"></script><script>document.title='owned'</script>{{7*7}}&lt;"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


class Elements(HTMLParser):
    """The elements of a page: tag and attributes, and all text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data

    def of(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        return [a for t, a in self.found if t == tag and all(a.get(k) == v for k, v in attributes.items())]


Show = Callable[..., Elements]


@pytest.fixture
def browser(tmp_path: Path) -> Show:
    """Opens a page in a browser and gives what it made of it; the browser had nothing to complain of."""
    if CHROMIUM is None:
        pytest.skip("no chromium here")

    def show(text: str, place: str = "") -> Elements:
        file = tmp_path / "page.html"
        file.write_text(text)
        done = subprocess.run(
            [
                CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                f"--user-data-dir={tmp_path / 'browser'}", "--virtual-time-budget=2000", "--dump-dom",
                file.as_uri() + place,
            ],
            capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        assert "CONSOLE" not in done.stderr, done.stderr
        return Elements(done.stdout)

    return show


@pytest.fixture
def texts(tmp_path: Path, report_data: dict[str, Any]) -> SourceTexts:
    return SourceTexts({Path(FILE): PROGRAM.encode()})


def test_a_browser_shows_the_numbers_of_the_report(
    browser: Show, report_data: dict[str, Any], texts: SourceTexts
) -> None:
    report = read_report(report_data, "the test")
    shown = browser(page.render_page(report, texts))
    cells = {float(a["data-value"] or 0) for a in shown.of("td", **{"class": "num"}) if a.get("data-value")}
    assert {k.time_ns for k in report.kernels} <= cells
    assert {k.share for k in report.kernels} <= cells
    heat = {
        (int(a["data-line"] or 0), float(a["data-share"] or 0)) for t, a in shown.found if "data-line" in a
    }
    assert heat == {(line.line, line.share) for kernel in report.kernels for line in kernel.lines}
    found = [a for a in shown.of("article") if a.get("data-formula")]
    assert [(a["data-formula"], float(a["data-share"] or 0)) for a in found] == [
        (f.formula, f.share) for f in (*report.findings, *report.diagnoses)
    ]
    assert PROGRAM.splitlines()[HOT_LINE - 1].strip() in shown.words
    assert (
        f"{len(report.kernels)} of {len(report.kernels)}" in shown.words
    )  # what the page's own script counts


def test_names_and_source_text_that_are_markup_do_nothing(
    browser: Show, report_data: dict[str, Any], tmp_path: Path
) -> None:
    data = json.loads(json.dumps(report_data).replace("_Z", "_Zq"))
    for kernel in data["kernels"]:
        kernel["name"] = HOSTILE + kernel["name"]
    for finding in data["findings"]:
        finding["message"] = HOSTILE
    data["program"]["output"] = HOSTILE
    data["device"]["name"] = HOSTILE
    text = PROGRAM.replace("/*slow*/", f"/*{HOSTILE}*/")
    digest = SourceTexts({Path(FILE): text.encode()})
    data["sources"] = {FILE: digest.digest(FILE)}
    report = read_report(data, "the test")
    written = page.render_page(
        ProgramsReport((ProgramReport(HOSTILE, 0, ProgramError(HOSTILE, None), report),)), digest
    )
    assert html.escape(HOSTILE, quote=False)[:9] in written
    shown = browser(written)
    assert shown.of("img") == []
    assert len(shown.of("script")) == 1
    assert "hipscope: profile" in shown.words
    assert "{{7*7}}" in shown.words
    assert not [a for _, attributes in shown.found for a in attributes if a.startswith("on")]


def test_a_comparison_shows_both_sides_and_the_limits_that_were_passed(
    browser: Show, report_data: dict[str, Any]
) -> None:
    slower = copy.deepcopy(report_data)
    slower["kernels"][0]["time_ns"] *= 1.11
    base, head = (read_report(data, "the test") for data in (report_data, slower))
    program = compare_reports("transpose.hip", base, head)
    passed = PassedLimit("time>5%", "transpose.hip", HOSTILE, "is 11.0 % slower")
    report = CompareReport("base", HOSTILE, "modelled", (program,), ("time>5%",), (passed,))
    shown = browser(page.render_page(report, SourceTexts()))
    changes = {float(a["data-value"] or 0) for a in shown.of("td") if a.get("data-value")}
    assert {k.change for k in program.kernels} <= changes
    assert "+11.0%" in shown.words
    assert shown.of("img") == []


def test_a_page_asks_nobody_for_anything_and_is_small(
    report_data: dict[str, Any], texts: SourceTexts
) -> None:
    data = copy.deepcopy(report_data)
    one = data["kernels"][0]
    data["kernels"] = [{**one, "name": f"kernel_{n}(float*)", "mangled": f"_Z{n}"} for n in range(100)]
    written = page.render_page(read_report(data, "the test"), texts)
    assert len(written.encode()) < 3 << 20
    assert not re.findall(r"""(?:src|href|url)\s*[=(]\s*["']?(?!#)[^"'\s>]""", written)
    assert "default-src 'none'" in written


def machine_code(report: Report, text: str = "v_add_f32 v0, v1, v2") -> dict[str, IsaReport]:
    """Three instructions of each line of each kernel, and one of another file."""
    found = {}
    for kernel in report.kernels:
        places = [(FILE, line.line) for line in kernel.lines for _ in range(3)] + [("/other/header.h", 7)]
        found[kernel.mangled] = IsaReport(
            "mi300x", "modelled", kernel.name, kernel.mangled, False,
            tuple(
                IsaInstruction(n, 4 * n, f"{text} // {n}", file, line, 1, 1.0, 0.0, 0.25, {}, {})
                for n, (file, line) in enumerate(places)
            ),
        )  # fmt: skip
    return found


def test_a_line_marks_its_instructions_and_an_instruction_its_line(
    browser: Show, report_data: dict[str, Any], texts: SourceTexts
) -> None:
    report = read_report(report_data, "the test")
    written = page.render_page(report, texts, machine_code(report, f"v_add {HOSTILE}"))
    plain = Elements(written)
    runs = [a for a in plain.of("div") if "data-of" in a]
    own = report.kernels[0]
    assert [int(a["data-of"] or 0) for a in runs][: len(own.lines)] == [line.line for line in own.lines]
    assert "header.h:7" in plain.words
    by_line = {a["data-of"]: a["id"] for a in reversed(runs)}
    for place in (f"#p0-k0-l{HOT_LINE}", f"#{by_line[str(HOT_LINE)]}"):
        shown = browser(written, place)
        chosen = [a for _, a in shown.found if "chosen" in (a.get("class") or "")]
        assert {a.get("data-of") for a in chosen} == {str(HOT_LINE), None}
        assert {a.get("data-line") for a in chosen} == {str(HOT_LINE), None}
        assert shown.of("img") == []


def test_a_page_of_100_kernels_with_machine_code_is_small(
    report_data: dict[str, Any], texts: SourceTexts
) -> None:
    data = copy.deepcopy(report_data)
    one = data["kernels"][0]
    data["kernels"] = [{**one, "name": f"kernel_{n}(float*)", "mangled": f"_Z{n}"} for n in range(100)]
    report = read_report(data, "the test")
    code = machine_code(report)
    many = {name: replace(c, instructions=c.instructions * 300) for name, c in code.items()}
    written = page.render_page(report, texts, many)
    assert len(written.encode()) < 3 << 20
    assert "data-of" in written


def test_an_optimization_shows_edit_proof_both_sides_and_attempts(browser: Show) -> None:
    side = Side(2000.0, "modelled", {"bank_conflicts": 4.0}, 32, 0, 16, 4096, 0, 8.0)
    trials = (Trial(1, "as recorded", "same", ""), Trial(1, HOSTILE, "different", ""))
    wrong = Verdict("different", HOSTILE, 1, trials, (), None, None, 0, False, (), (), 0)
    proved = replace(wrong, outcome="equivalent", trials=trials[:1], bit_exact=True)
    diff = f"--- a/k.hip\n+++ b/k.hip\n@@ -1 +1 @@\n-old {HOSTILE}\n+new {HOSTILE}\n"
    report = optimization(
        status="verified", message=HOSTILE, kernel=HOSTILE, formula="bankConflict", diff=diff, speedup=2.0,
        gpu_speedup=1.25, before=side, after=replace(side, time_ns=1000.0, metrics={"bank_conflicts": 1.0}),
        verdict=proved, attempts=(attempt(title=HOSTILE, outcome="different", verdict=wrong, diff=diff), attempt()),
    )  # fmt: skip
    shown = browser(page.render_page(report, SourceTexts()))
    cells = {float(a["data-value"] or 0) for a in shown.of("td") if a.get("data-value")}
    assert {2000.0, 1000.0} <= cells
    assert [a["data-outcome"] for a in shown.of("details") if "data-outcome" in a] == [
        "different",
        "not_faster",
    ]
    assert "Kernel 2.00x, all kernels of the program 1.25x (modelled)" in shown.words
    assert shown.words.count("+new k<img") == 2
    assert "bit for bit" in shown.words
    assert shown.of("img") == []
    assert len(shown.of("script")) == 1
    empty = page.render_page(optimization(message="Nothing to do."), SourceTexts())
    assert "Nothing was tried" in empty


def test_a_check_shows_both_places_with_their_source(browser: Show) -> None:
    at = DefectSite(FILE, HOT_LINE, 1, HOSTILE, 0, (0, 0, 0), 0, 1, (1, 0, 0), ())
    other = replace(at, line=HOT_LINE + 3, thread=None)
    memory = AccessedBytes("lds", 0, 4, True)
    defect = DefectReport("data-race", HOSTILE, HOSTILE, "_Z1k", 1, 3, at, other, memory, None)
    program = Program((), 0, HOSTILE, None, None)
    report = CheckReport(("races",), 1, (defect,), 0, (), program, None, ())
    texts = SourceTexts({Path(FILE): PROGRAM.encode()})
    failed = ProgramReport(HOSTILE, 4, ProgramError(HOSTILE, None), None)
    shown = browser(
        page.render_page(ProgramsReport((ProgramReport("a.hip", 1, None, report), failed)), texts)
    )
    assert [a["data-class"] for a in shown.of("article")] == ["data-race"]
    assert [int(a["data-line"] or 0) for a in shown.of("div") if "data-line" in a] == [HOT_LINE, HOT_LINE + 3]
    assert PROGRAM.splitlines()[HOT_LINE - 1].strip() in shown.words
    assert "1 defect in 1 dispatch: data-race 1." in shown.words
    assert shown.of("img") == []


def test_a_timeline_draws_each_queue(browser: Show, report_data: dict[str, Any], texts: SourceTexts) -> None:
    gpu = GpuTime(HOSTILE, 2, 600, 0.6, 0, 0, 0, 400, 0, 1)
    lane = Lane("0", 1, None, "launches", 2, 600, (0.0, 1.0, 0.5, 0.0))
    path = LongestPath(1000, 600, 0, 0, 400, 0, True, (KernelPath(HOSTILE, 600, 2, 0),))
    gap = Gap("0", 100, 300, HOSTILE, HOSTILE, ())
    time = Timeline(1000, (gpu,), (lane, lane), 0, (gap,), (), path, (), "gpu", (), "")
    report = replace(read_report(report_data, "the test"), time=time)
    shown = browser(page.render_page(report, texts))
    assert [float(a["data-share"] or 0) for a in shown.of("rect")] == [1.0, 0.5] * 2
    assert "busy 60 %" in shown.words or "busy 60%" in shown.words
    assert shown.of("img") == []


def test_the_command_writes_the_page_and_says_what_it_needs(
    cli: Cli, report_data: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.write(json.dumps(report_data), "run.json")
    assert cli("show", "run.json", "--format", "html", "-o", "page.html").code == 0
    assert (cli.folder / "page.html").read_text().startswith("<!doctype html>")
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(MissingTool, match="the extra `report`"):
        page.check_page_tools()
