"""Pages in a real browser: nothing of a program runs, no console error, the numbers of the report, no network."""

from __future__ import annotations

import copy
import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from hipscope.analysis.errors import MissingTool
from hipscope.analysis.source.texts import SourceTexts
from hipscope.server.pages import page
from hipscope.server.reports.compare_writer import compare_reports
from hipscope.server.reports.report_reader import read_report
from hipscope.server.reports.schema.compare import CompareReport, PassedLimit
from hipscope.server.reports.schema.programs import ProgramError, ProgramReport, ProgramsReport
from tests.server.command_line import Cli
from tests.server.conftest import FILE, HOT_LINE, PROGRAM

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


Show = Callable[[str], Elements]


@pytest.fixture
def browser(tmp_path: Path) -> Show:
    """Opens a page in a browser and gives what it made of it; the browser had nothing to complain of."""
    if CHROMIUM is None:
        pytest.skip("no chromium here")

    def show(text: str) -> Elements:
        file = tmp_path / "page.html"
        file.write_text(text)
        done = subprocess.run(
            [
                CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                f"--user-data-dir={tmp_path / 'browser'}", "--virtual-time-budget=2000", "--dump-dom", file.as_uri(),
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


def test_the_command_writes_the_page_and_says_what_it_needs(
    cli: Cli, report_data: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.write(json.dumps(report_data), "run.json")
    assert cli("show", "run.json", "--format", "html", "-o", "page.html").code == 0
    assert (cli.folder / "page.html").read_text().startswith("<!doctype html>")
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(MissingTool, match="the extra `report`"):
        page.check_page_tools()
