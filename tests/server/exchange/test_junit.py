"""JUnit XML of a gate: a case for each kernel, a failure for each limit that was passed, whatever the names hold."""

from __future__ import annotations

import copy
import json
from typing import Any
from xml.etree import ElementTree

from hipscope.server.exchange.junit import render_junit
from hipscope.server.reports.schema.compare import ComparedProgram, CompareReport, PassedLimit
from tests.server.command_line import Cli


def test_the_gate_of_a_comparison_is_a_suite_with_a_case_for_each_kernel(
    cli: Cli, report_data: dict[str, Any]
) -> None:
    slower = copy.deepcopy(report_data)
    slower["kernels"][0]["time_ns"] *= 1.11
    cli.write(json.dumps(report_data), "base.json")
    cli.write(json.dumps(slower), "head.json")
    outcome = cli("compare", "base.json", "head.json", "--fail-on", "time>5%", "--format", "junit")
    assert outcome.code == 5
    suites = ElementTree.fromstring(outcome.stdout)
    assert {key: suites.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": str(len(report_data["kernels"])),
        "failures": "1",
        "errors": "0",
    }
    (failure,) = suites.iter("failure")
    assert failure.get("type") == "time>5%"
    within = cli("compare", "base.json", "base.json", "--fail-on", "time>5%", "--format", "junit")
    assert within.code == 0
    assert not list(ElementTree.fromstring(within.stdout).iter("failure"))


def test_a_program_that_could_not_be_compared_is_an_error_and_names_may_hold_anything() -> None:
    name = "a\x00<b>&\ud800\"'.hip"
    program = ComparedProgram(name, (), f"{name}: expected ';'")
    limit = PassedLimit("finding:new", name, "", "]]>")
    report = CompareReport("base", "head", None, (program,), ("finding:new",), (limit,))
    suites = ElementTree.fromstring(render_junit(report).encode())
    assert suites.get("errors") == "1"
    assert suites.get("failures") == "1"
    assert [case.get("name") for case in suites.iter("testcase")] == ["finding:new", "compared"]
