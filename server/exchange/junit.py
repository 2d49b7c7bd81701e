"""JUnit XML of a comparison: a suite for each program, a case for each kernel, which fails by the limits it passed."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from hipscope.server.render.words import duration
from hipscope.server.reports.schema.compare import ComparedKernel, ComparedProgram, CompareReport
from hipscope.server.reports.schema.programs import FailureReport

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(report: CompareReport | FailureReport) -> str:
    """The XML document. A limit that no kernel has to do with fails a case of its program."""
    if isinstance(report, FailureReport):
        program = ComparedProgram(report.source, (), report.error.message)
        report = CompareReport("", report.source, None, (program,), (), ())
    suites = ElementTree.Element("testsuites", name=_text(f"{report.base} to {report.head}"))
    for program in report.programs:
        suites.append(_suite(report, program))
    for key in ("tests", "failures", "errors"):
        suites.set(key, str(sum(int(suite.get(key, "0")) for suite in suites)))
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _suite(report: CompareReport, program: ComparedProgram) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=_text(program.program))
    passed = [one for one in report.passed_limits if one.program == program.program]
    names = {kernel.name for kernel in program.kernels}
    for kernel in program.kernels:
        case = ElementTree.SubElement(
            suite, "testcase", classname=_text(program.program), name=_text(kernel.name)
        )
        for one in passed:
            if one.kernel == kernel.name:
                _failure(case, one.limit, one.message)
        ElementTree.SubElement(case, "system-out").text = _text(_words(report, kernel))
    for one in passed:
        if one.kernel not in names:
            case = ElementTree.SubElement(
                suite, "testcase", classname=_text(program.program), name=_text(one.kernel or one.limit)
            )
            _failure(case, one.limit, one.message)
    if program.failed is not None:
        case = ElementTree.SubElement(suite, "testcase", classname=_text(program.program), name="compared")
        ElementTree.SubElement(case, "error", message=_text(program.failed))
    cases = list(suite)
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    suite.set("errors", str(sum(case.find("error") is not None for case in cases)))
    return suite


def _failure(case: ElementTree.Element, limit: str, message: str) -> None:
    ElementTree.SubElement(case, "failure", type=_text(limit), message=_text(message)).text = _text(message)


def _words(report: CompareReport, kernel: ComparedKernel) -> str:
    """Both times with their kind, and the change."""
    if kernel.base is None or kernel.head is None:
        return "new" if kernel.base is None else "gone"
    times = f"{duration(kernel.base.time_ns)} before, {duration(kernel.head.time_ns)} after"
    kind = f" ({report.provenance})" if report.provenance else ""
    change = kernel.not_comparable if kernel.change is None else f"{kernel.change:+.1%}"
    return f"{times}{kind}: {change or 'not compared'}"


def _text(text: str) -> str:
    """The text without characters that XML cannot hold."""
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
