"""SARIF: what the standard asks of a log, places that code scanning finds, fingerprints that outlive moved lines."""

from __future__ import annotations

import copy
import hashlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema

from hipscope.analysis.source.texts import SourceTexts
from hipscope.server.exchange.sarif import render_sarif
from hipscope.server.reports.report_reader import read_check, read_report
from hipscope.server.reports.schema.optimize import Edit
from hipscope.server.reports.schema.programs import ProgramError, ProgramReport, ProgramsReport
from tests.server.command_line import Cli
from tests.server.conftest import FILE, HOT_LINE, PROGRAM
from tests.server.records import optimization

MESSAGE = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
ARTIFACT = {
    "type": "object",
    "properties": {"uri": {"type": "string", "format": "uri-reference"}, "uriBaseId": {"type": "string"}},
    "additionalProperties": False,
}
COLUMNS = ("startLine", "startColumn", "endLine", "endColumn")
FIX = {
    "type": "object",
    "required": ["artifactChanges"],
    "properties": {
        "description": MESSAGE,
        "artifactChanges": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["artifactLocation", "replacements"],
                "properties": {
                    "artifactLocation": ARTIFACT,
                    "replacements": {
                        "type": "array",
                        "minItems": 1,
                        "items": {
                            "type": "object",
                            "required": ["deletedRegion"],
                            "properties": {
                                "deletedRegion": {
                                    "type": "object",
                                    "properties": {c: {"type": "integer", "minimum": 1} for c in COLUMNS},
                                    "additionalProperties": False,
                                },
                                "insertedContent": {
                                    "type": "object",
                                    "properties": {"text": {"type": "string"}},
                                    "additionalProperties": False,
                                },
                            },
                            "additionalProperties": False,
                        },
                    },
                },
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}
LOCATION = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "message": MESSAGE,
        "logicalLocations": {"type": "array", "items": {"type": "object"}},
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation"],
            "properties": {
                "artifactLocation": ARTIFACT,
                "region": {
                    "type": "object",
                    "properties": {
                        "startLine": {"type": "integer", "minimum": 1},
                        "endLine": {"type": "integer", "minimum": 1},
                    },
                    "additionalProperties": False,
                },
            },
        },
    },
    "additionalProperties": False,
}
RULE = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string"},
        "shortDescription": MESSAGE,
        "fullDescription": MESSAGE,
        "helpUri": {"type": "string", "format": "uri"},
        "help": {**MESSAGE, "properties": {"text": {"type": "string"}, "markdown": {"type": "string"}}},
    },
    "additionalProperties": False,
}
# What sections 3.13, 3.14, 3.19, 3.27, 3.28, 3.29 and 3.49 of the standard ask of the objects that are written.
LOG = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool"],
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "name": {"type": "string"},
                                    "version": {"type": "string"},
                                    "rules": {"type": "array", "items": RULE, "uniqueItems": True},
                                },
                                "additionalProperties": False,
                            }
                        },
                    },
                    "invocations": {
                        "type": "array",
                        "items": {"type": "object", "required": ["executionSuccessful"]},
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "originalUriBaseIds": {"type": "object", "additionalProperties": ARTIFACT},
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message"],
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "message": MESSAGE,
                                "locations": {"type": "array", "items": LOCATION},
                                "relatedLocations": {"type": "array", "items": LOCATION, "uniqueItems": True},
                                "partialFingerprints": {
                                    "type": "object",
                                    "additionalProperties": {"type": "string"},
                                },
                                "properties": {"type": "object"},
                                "fixes": {"type": "array", "items": FIX, "uniqueItems": True},
                            },
                            "additionalProperties": False,
                        },
                    },
                },
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}


def log(report: object, text: str = PROGRAM, root: str = "/project") -> dict[str, Any]:
    written = render_sarif(report, SourceTexts({Path(FILE): text.encode()}), "1.0", Path(root))
    data: dict[str, Any] = json.loads(written)
    jsonschema.validate(data, LOG)
    run: dict[str, Any] = data["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [rules[r["ruleIndex"]] for r in run["results"]] == [r["ruleId"] for r in run["results"]]
    return run


def fingerprints(run: dict[str, Any]) -> list[str]:
    return [r["partialFingerprints"]["hipscopeLine/v1"] for r in run["results"]]


def test_a_finding_is_a_result_at_its_line_with_its_formula_as_rule(report_data: dict[str, Any]) -> None:
    run = log(read_report(report_data, "the test"))
    (result,) = run["results"]
    assert result["ruleId"] == "bankConflict"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "transpose.hip", "uriBaseId": "SRCROOT"}
    assert place["region"]["startLine"] == HOT_LINE
    assert "modelled" in result["message"]["text"]
    assert result["properties"]["provenance"] == "modelled"
    (rule,) = run["tool"]["driver"]["rules"]
    assert rule["helpUri"].endswith("bankConflict.md")
    assert "LDS bank conflicts" in rule["help"]["markdown"]


def test_a_fingerprint_survives_lines_that_move_and_tells_lines_apart(report_data: dict[str, Any]) -> None:
    first = log(read_report(report_data, "the test"))
    moved = copy.deepcopy(report_data)
    for finding in moved["findings"]:
        finding["line"] += 2
        finding["end_line"] += 2
    assert fingerprints(log(read_report(moved, "the test"), "// one\n// two\n" + PROGRAM)) == fingerprints(
        first
    )
    twice = copy.deepcopy(report_data)
    twice["findings"] = [*twice["findings"], *twice["findings"]]
    both = fingerprints(log(read_report(twice, "the test")))
    assert len(set(both)) == 2
    assert both[0] == fingerprints(first)[0]
    other = fingerprints(log(read_report(report_data, "the test"), PROGRAM.replace("/*slow*/", "+ 1")))
    assert other != fingerprints(first)


def test_a_file_outside_of_the_repository_has_its_whole_address(report_data: dict[str, Any]) -> None:
    run = log(read_report(report_data, "the test"), root="/elsewhere")
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "file:///project/transpose.hip"}


def test_a_defect_is_an_error_at_both_of_its_places(fake: ModuleType) -> None:
    text = PROGRAM.replace("// cost 0.1", "// races").replace("// cost 0.2", "// with")
    run = log(read_check(fake.check(FILE, text), "the test"), text)
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("check/data-race", "error")
    assert len(result["relatedLocations"]) == 2


def test_a_program_that_failed_is_named_and_the_others_are_there(report_data: dict[str, Any]) -> None:
    good = ProgramReport("transpose.hip", 0, None, read_report(report_data, "the test"))
    bad = ProgramReport("other.hip", 4, ProgramError("other.hip:3: expected ';'", None), None)
    run = log(ProgramsReport((bad, good)))
    assert run["invocations"][0]["executionSuccessful"] is False
    assert "expected ';'" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
    assert len(run["results"]) == 1


def test_the_command_writes_it_and_other_commands_refuse_the_form(
    cli: Cli, report_data: dict[str, Any]
) -> None:
    cli.write(json.dumps(report_data), "run.json")
    outcome = cli("show", "run.json", "--format", "sarif")
    assert outcome.code == 0
    jsonschema.validate(json.loads(outcome.stdout), LOG)
    refused = cli("resources", "run.json", "--format", "sarif")
    assert refused.code == 2
    assert "a form of profile, show, check, optimize" in " ".join(refused.stderr.split())


def replaced(text: str, region: dict[str, int], new: str) -> str:
    """What an editor makes of a replacement."""
    lines = text.splitlines(keepends=True)
    start, end = (
        sum(map(len, lines[: region[f"{side}Line"] - 1])) + region[f"{side}Column"] - 1
        for side in ("start", "end")
    )
    return text[:start] + new + text[end:]


def test_a_verified_edit_is_a_fix_that_gives_its_text() -> None:
    text = PROGRAM.replace("// cost", "/* \u00e4\U0001f680 */ // cost", 1)
    data = text.encode()
    start = data.index(b"tile[x][n]")
    edit = Edit(FILE, hashlib.sha256(data).hexdigest(), start, start + len(b"tile[x][n]"), "tile[n][x]", ())
    found = optimization(
        status="verified", message="Swapped: 2x", formula="bankConflict", edit=edit, speedup=2.0
    )
    (result,) = log(found, text)["results"]
    (change,) = result["fixes"][0]["artifactChanges"]
    (one,) = change["replacements"]
    assert change["artifactLocation"]["uri"] == "transpose.hip"
    assert replaced(text, one["deletedRegion"], one["insertedContent"]["text"]) == text.replace(
        "tile[x][n]", "tile[n][x]"
    )
    assert "fixes" not in log(found, f"{text}// changed since")["results"][0]
    assert log(optimization())["results"] == []


def test_a_source_that_fails_has_a_log_and_issues_of_its_failure(cli: Cli) -> None:
    cli.write("int main() { return }", "broken.hip")
    done = cli("profile", "broken.hip", "--format", "sarif", "-o", "log.sarif")
    assert done.code == 4
    data = json.loads((cli.folder / "log.sarif").read_text())
    jsonschema.validate(data, LOG)
    (invocation,) = data["runs"][0]["invocations"]
    assert not invocation["executionSuccessful"]
    (note,) = invocation["toolExecutionNotifications"]
    assert note["message"]["text"].startswith("broken.hip: ")
    (issue,) = json.loads(cli("profile", "broken.hip", "--format", "codequality").stdout)
    assert issue["location"] == {"path": "broken.hip", "lines": {"begin": 1}}
    assert issue["severity"] == "blocker"
    gate = cli("compare", "broken.hip", "broken.hip", "--format", "junit")
    assert gate.code == 4
    assert 'errors="1"' in gate.stdout
