"""SARIF 2.1.0: the findings of profiles and the defects of checks, as code scanning reads them.

Sections are those of the standard. A rule is a formula or a class of defect; a fingerprint is made of rule, kernel and
the line's text, so that it survives lines that move.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.analysis.source.texts import SourceTexts
from hipscope.server.render.formula_pages import formula_page, page_text
from hipscope.server.render.words import percent
from hipscope.server.reports.schema.check import CheckReport, DefectReport, DefectSite
from hipscope.server.reports.schema.notes import CompileNote
from hipscope.server.reports.schema.optimize import Edit, EditPart, Optimization
from hipscope.server.reports.schema.profile import Finding, Report
from hipscope.server.reports.schema.programs import FailureReport, ProgramsReport

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "SRCROOT"
_WARNING = 0.1  # of all GPU time: from this stake on a finding is a warning
_FINGERPRINT = "hipscopeLine/v1"

Node = dict[str, Any]


def has_sarif(report: object) -> bool:
    """Whether a result has findings or defects at all, or is the failure to get one."""
    return isinstance(report, Report | CheckReport | ProgramsReport | FailureReport | Optimization)


def render_sarif(
    report: object, texts: SourceTexts, version: str, root: Path, named: Path | None = None
) -> str:
    """The log of a result. Files below `root` are named from it, others by their address. `named` is the address of
    `root` for readers, where it is a copy.
    """
    return json.dumps(sarif_log(report, texts, version, root, named), indent=2, ensure_ascii=False) + "\n"


def sarif_log(
    report: object, texts: SourceTexts, version: str, root: Path, named: Path | None = None
) -> Node:
    """The same as an object."""
    log = _Log(texts, root.resolve())
    reports = [p.report for p in report.programs] if isinstance(report, ProgramsReport) else [report]
    for one in reports:
        if isinstance(one, Report):
            log.add_profile(one)
        elif isinstance(one, CheckReport):
            log.add_check(one)
        elif isinstance(one, Optimization) and one.status == "verified" and one.edit is not None:
            log.add_rewrite(one, one.edit)
    return log.node(version, list(_failed(report)), named or root)


def _failed(report: object) -> Iterator[str]:
    """What went wrong with each program, in words."""
    if isinstance(report, FailureReport):
        yield f"{report.source}: {report.error.message}"
    elif isinstance(report, Report) and (why := report.failure()):
        yield why
    elif isinstance(report, ProgramsReport):
        for program in report.programs:
            if program.error is not None:
                yield f"{program.source}: {program.error.message}"
            elif program.report is not None:
                yield from _failed(program.report)


@dataclass
class _Log:
    """Collects the results of one run (3.14) and the rules that they are of."""

    texts: SourceTexts
    root: Path
    rules: dict[str, Node] = field(default_factory=dict)
    results: list[Node] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)

    def node(self, version: str, failed: list[str], named: Path) -> Node:
        driver = {"name": "hipscope", "version": version, "rules": list(self.rules.values())}
        invocation: Node = {"executionSuccessful": not failed}
        if failed:
            invocation["toolExecutionNotifications"] = [
                {"level": "error", "message": {"text": m}} for m in failed
            ]
        run = {
            "tool": {"driver": driver},
            "originalUriBaseIds": {_ROOT: {"uri": f"{named.resolve().as_uri()}/"}},
            "columnKind": "unicodeCodePoints",
            "invocations": [invocation],
            "results": self.results,
        }
        return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}

    def add_profile(self, report: Report) -> None:
        """A result for each finding; its rule is the formula."""
        for one in report.findings:
            share = report.gpu_share(one)
            stake = "" if share is None else f" ({percent(share)} of GPU time at stake, {report.provenance})"
            result = self._result(
                self._formula(one),
                "warning" if (share or 0.0) >= _WARNING else "note",
                f"{base_name(one.kernel)}: {one.message}{stake}",
                one.kernel,
                self._of_finding(report, one),
            )
            result["relatedLocations"] = [
                {**self._location(p.file, p.line), "message": {"text": p.message}}
                for p in one.related
                if p.file
            ]
            result["properties"] = {
                "share": one.share,
                "gpuShare": share,
                "provenance": report.provenance,
                "device": report.device.name,
                "estimatedSpeedup": one.estimated_speedup,
                "evidence": [
                    {"metric": e.metric, "value": e.value, "ideal": e.ideal, "unit": e.unit}
                    for e in one.evidence
                ],
            }
            self.results.append(result)

    def add_check(self, report: CheckReport) -> None:
        """A result for each defect and each note; the rule is its class."""
        for one in report.reports:
            result = self._result(
                self._rule(
                    f"check/{one.defect}", one.defect.replace("-", " "), "A defect that a checked run showed."
                ),
                "error",
                f"{base_name(one.kernel)}: {one.message}",
                one.kernel,
                (one.at.file or "", one.at.line or 0, 0),
            )
            result["relatedLocations"] = list(self._sites(one))
            result["properties"] = {"count": one.count, "launch": one.dispatch}
            self.results.append(result)
        for note in report.notes:
            self.results.append(self._note(note))

    def add_rewrite(self, found: Optimization, edit: Edit) -> None:
        """A verified rewrite: a result with its edit as a fix (3.55)."""
        formula = found.formula or "rewrite"
        rule = self._rule(formula, formula, "A rewrite that was proved and timed.")
        place = (found.file or edit.file, found.line or 0, 0)
        result = self._result(rule, "note", found.message, found.kernel or "", place)
        changes = [self._change(part) for part in edit.parts]
        if all(changes):
            text = f"{found.speedup or 1.0:.2f}x as fast ({found.provenance or 'modelled'}), verified"
            result["fixes"] = [{"description": {"text": text}, "artifactChanges": changes}]
        result["properties"] = {
            "speedup": found.speedup,
            "programSpeedup": found.gpu_speedup,
            "provenance": found.provenance,
            "verdict": found.verdict.outcome if found.verdict is not None else None,
        }
        self.results.append(result)

    def _change(self, part: EditPart) -> Node | None:
        """The replacement in one file (3.56), None where its text is not the one that was judged. Columns are those of
        `columnKind`.
        """
        text = self.texts.read(part.file)
        if text is None or hashlib.sha256(text).hexdigest() != part.original_sha256:
            return None
        start, end = (_line_and_column(text, at) for at in (part.start_byte, part.end_byte))
        region = dict(zip(("startLine", "startColumn", "endLine", "endColumn"), (*start, *end), strict=True))
        replacement = {"deletedRegion": region, "insertedContent": {"text": part.new_text}}
        return {"artifactLocation": self._artifact(part.file), "replacements": [replacement]}

    def _note(self, note: CompileNote) -> Node:
        rule = self._rule(f"check/{note.code}", note.code, "What the text itself says is wrong.")
        level = "warning" if note.severity == "warning" else "note"
        result = self._result(rule, level, note.message, note.kernel, (note.file, note.line, 0))
        result["relatedLocations"] = [
            {**self._location(p.file, p.line), "message": {"text": p.message}} for p in note.related if p.file
        ]
        return result

    def _sites(self, one: DefectReport) -> Iterator[Node]:
        for site, what in ((one.at, "here"), (one.other, "the other access")):
            if isinstance(site, DefectSite) and site.file and site.line:
                yield {
                    **self._location(site.file, site.line),
                    "message": {"text": f"{what}: {site.instruction}"},
                }

    def _result(self, rule: str, level: str, message: str, kernel: str, place: tuple[str, int, int]) -> Node:
        """A result (3.27) without what only one kind of report has."""
        file, line, end = place
        location: Node = {"logicalLocations": [{"name": base_name(kernel), "kind": "function"}]}
        if file and line:
            location = {**self._location(file, line, end), **location}
        return {
            "ruleId": rule,
            "ruleIndex": list(self.rules).index(rule),
            "level": level,
            "message": {"text": message},
            "locations": [location],
            "partialFingerprints": {_FINGERPRINT: self._fingerprint(rule, kernel, file, line)},
        }

    def _fingerprint(self, rule: str, kernel: str, file: str, line: int) -> str:
        """What names a result in the next version, too (3.27.17): rule, kernel, line's text, and which of several."""
        lines = self.texts.lines(file) if file else ()
        text = (
            lines[line - 1].strip().decode("utf-8", "replace") if 0 < line <= len(lines) else Path(file).name
        )
        name = "\n".join((rule, base_name(kernel), text))
        self.seen[name] += 1
        return hashlib.sha256(f"{name}\n{self.seen[name]}".encode()).hexdigest()[:32]

    def _location(self, file: str, line: int, end: int = 0) -> Node:
        """A physical location (3.29): whole lines, as columns of reports count bytes."""
        region: Node = {"startLine": line}
        if end > line:
            region["endLine"] = end
        return {"physicalLocation": {"artifactLocation": self._artifact(file), "region": region}}

    def _artifact(self, file: str) -> Node:
        path = Path(file).resolve()
        if path.is_relative_to(self.root):
            return {"uri": quote(path.relative_to(self.root).as_posix()), "uriBaseId": _ROOT}
        return {"uri": path.as_uri()}

    def _formula(self, finding: Finding) -> str:
        text = ". ".join(finding.remedy)
        rule = self._rule(finding.formula, finding.title or finding.formula, text or finding.formula)
        node = self.rules[rule]
        if (page := formula_page(finding.formula)) is not None:
            node["helpUri"] = page
        if (markdown := page_text(finding.formula)) is not None:
            node["help"] = {"text": text or finding.formula, "markdown": markdown}
        return rule

    def _rule(self, name: str, title: str, text: str) -> str:
        """The id of a rule (3.49), which is made when it is first asked for."""
        self.rules.setdefault(
            name,
            {
                "id": name,
                "name": name,
                "shortDescription": {"text": title},
                "fullDescription": {"text": text},
            },
        )
        return name

    def _of_finding(self, report: Report, finding: Finding) -> tuple[str, int, int]:
        """Where a finding stands, else its kernel."""
        if finding.file and finding.line:
            return finding.file, finding.line, finding.end_line
        kernel = report.kernel(finding.mangled) or report.kernel(finding.kernel)
        return ((kernel.file or ""), (kernel.line or 0), 0) if kernel is not None else ("", 0, 0)


def _line_and_column(text: bytes, at: int) -> tuple[int, int]:
    """The line and the column of a byte, both from 1; columns count code points."""
    begin = text.rfind(b"\n", 0, at) + 1
    return text.count(b"\n", 0, at) + 1, len(text[begin:at].decode("utf-8", "replace")) + 1
