"""The things that take time, profile, check and optimize, from a request to the JSON object of the command line.

Both the command line and the worker call these. This module imports what computes; only they import it, and late.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hipscope.accordo.compare.tolerance import UserTolerance
from hipscope.analysis.config import Config
from hipscope.analysis.devices import find_device
from hipscope.analysis.errors import UsageError
from hipscope.analysis.runs.profile_project import ProfileOptions, profile_project
from hipscope.analysis.toolchain.project import Project, resolve_config, resolve_project
from hipscope.formulas.propose.llm.model_settings import withhold_key
from hipscope.server.reports.profile_writer import optimize_report, profile_report

Progress = Callable[[str, float | None], None]
_LOWEST_PRIORITY = 19
CHECKS = ("bounds", "races", "barriers", "alignment", "stale", "uninitialised")


@dataclass(frozen=True)
class Request:
    """What the user asked for; None leaves what `hipscope.toml` or the default says. `overlays` are unsaved texts."""

    target: Path
    program_args: tuple[str, ...] = ()
    backend: str | None = None
    device: str | None = None
    arch: str | None = None
    time_budget_s: float | None = None
    formula: str | None = None
    kernel: str | None = None
    rewriter: str | None = None
    yes_send: bool = False
    test_command: str | None = None
    stored_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    checks: str = "all"
    overlays: Mapping[Path, bytes] = field(default_factory=dict)


def profile(request: Request, progress: Progress, cancel: threading.Event) -> dict[str, Any]:
    """Build and profile; the `hipscope.profile/1` object. Raises HipscopeError."""
    project = _without_key(find_project(request))
    config = project.config
    session = profile_project(
        project, options=ProfileOptions(overlay=request.overlays), progress=progress, cancel=cancel
    )
    return profile_report(session.profile, config.formulas, config.min_share, request.overlays)


def prepare(request: Request, progress: Progress, cancel: threading.Event) -> dict[str, Any]:
    """Make what rewrites of the program will be held against, with the lowest priority. Raises HipscopeError."""
    from hipscope.formulas.optimize.prepared_cache import prepare_project

    project = _without_key(find_project(request))
    if not project.config.optimize.prepare:
        return {"prepared": False}
    os.nice(_LOWEST_PRIORITY)
    made = prepare_project(project, overlay=request.overlays, progress=progress, cancel=cancel)
    return {"prepared": made}


def check(request: Request, progress: Progress, cancel: threading.Event) -> dict[str, Any]:
    """Build and run under the sanitizers; the `hipscope.check/1` object. Raises HipscopeError."""
    from hipscope.analysis.runs.check_project import check_project
    from hipscope.server.reports.check_writer import check_report

    unknown = set(request.checks.split(",")) - {"all", *CHECKS}
    if unknown:
        raise UsageError(f"there is no check `{min(unknown)}`", f"choose all, or some of {', '.join(CHECKS)}")
    found = check_project(
        _without_key(find_project(request)),
        checks=request.checks,
        overlay=request.overlays,
        progress=progress,
        cancel=cancel,
    )
    return check_report(found)


def optimize(request: Request, progress: Progress, cancel: threading.Event) -> dict[str, Any]:
    """Find, rewrite, prove and time; the `hipscope.optimize/1` object. Raises HipscopeError."""
    from hipscope.formulas.optimize.loop import OptimizeOptions, optimize_project

    project = find_project(request)
    rewriter = request.rewriter or project.config.optimize.rewriter
    if rewriter == "recipes":
        project = _without_key(project)
    options = OptimizeOptions(
        formula=request.formula or "auto",
        kernel=request.kernel,
        rewriter=rewriter,
        yes_send=request.yes_send,
        stored_keys=request.stored_keys,
        overlay=request.overlays,
    )
    result = optimize_project(project, options=options, progress=progress, cancel=cancel)
    return optimize_report(result)


def prompt(request: Request, progress: Progress, cancel: threading.Event) -> dict[str, Any]:
    """What a language model would be sent for a kernel; sends nothing. Raises HipscopeError."""
    from hipscope.formulas.optimize.model_rewrites import render_prompt

    project = _without_key(find_project(request))
    shown = render_prompt(project, request.kernel, overlay=request.overlays, progress=progress, cancel=cancel)
    return {
        "schema": "hipscope.prompt/1",
        "text": shown.text,
        "messages": [dict(message) for message in shown.messages],
        "profile_bytes": shown.prompt.profile_bytes,
        "tokens": shown.prompt.tokens,
        "left_out": dict(shown.prompt.left_out),
        "complete": bool(shown.messages),
    }


def validate(
    request: Request,
    candidate: Path,
    tolerances: Mapping[str, UserTolerance],
    exact: bool,
    progress: Progress,
    cancel: threading.Event,
) -> dict[str, Any]:
    """Is the candidate's kernel the reference's? The `hipscope.verdict/1` object. Raises HipscopeError."""
    from hipscope.accordo import api
    from hipscope.analysis.source.includes import texts_with_types
    from hipscope.analysis.source.struct_layout import definitions_in
    from hipscope.analysis.source.syntax import parse
    from hipscope.analysis.system.sandbox import isolation
    from hipscope.formulas.facts.recorded_launches import float_structures, pointers_inside

    def say(message: str) -> None:
        progress(message, None)

    config = _with_request(resolve_config(request.target), request)
    withhold_key(config.llm)
    kernel = request.kernel or ""
    with api.capture(
        request.target,
        kernel=kernel,
        arguments=request.program_args,
        config=config,
        progress=say,
        cancel=cancel,
    ) as recording:
        source = recording.source
        syntax = parse(source.read_bytes()).kernel(kernel) if source is not None else None
        members, structures = {}, {}
        if source is not None and syntax is not None:
            texts = texts_with_types(recording.project, source, {})
            definitions = functools.cache(lambda: definitions_in(texts))
            members = pointers_inside(recording.dispatches, syntax, definitions)
            structures = float_structures(recording.dispatches, syntax, definitions)
        verdict = api.compare(
            recording,
            candidate,
            exact=exact,
            tolerances=tolerances,
            names=[p.name for p in syntax.parameters] if syntax else (),
            types=[p.type for p in syntax.parameters] if syntax else (),
            members=members,
            structures=structures,
            progress=say,
            cancel=cancel,
        )
    files = {"reference": str(request.target), "candidate": str(candidate)}
    return {
        "schema": "hipscope.verdict/1",
        "kernel": kernel,
        **files,
        **verdict.model_dump(mode="json"),
        "isolation": isolation() if api.is_source(candidate) else None,
    }


def apply(report: Mapping[str, Any]) -> Path:
    """Write the verified edit of an `optimize` report into its file; where the original is kept. Raises UsageError."""
    from hipscope.formulas.optimize.verified_edit import VerifiedEdit, apply_edit

    return apply_edit(VerifiedEdit.model_validate(report["edit"]))


def find_project(request: Request) -> Project:
    """The project with the request's settings over those of its `hipscope.toml`. Raises UsageError."""
    project = resolve_project(request.target, request.program_args)
    config = _with_request(project.config, request)
    find_device(config.device)
    return resolve_project(request.target, request.program_args, config)


def _without_key(project: Project) -> Project:
    """The project; nothing that is built or run for it sees the key of its language model."""
    withhold_key(project.config.llm)
    return project


def _with_request(config: Config, request: Request) -> Config:
    changes: dict[str, Any] = {}
    if request.backend not in (None, "auto"):
        changes["backend"] = request.backend
    if request.device:
        changes["device"] = request.device
        changes["arch"] = find_device(request.device).arch
    if request.arch:
        changes["arch"] = request.arch
    if request.test_command:
        changes["optimize"] = config.optimize.model_copy(update={"test_command": request.test_command})
    if request.time_budget_s:
        changes["emulator"] = config.emulator.model_copy(update={"time_budget_s": request.time_budget_s})
    if not changes:
        return config
    return Config.model_validate({**config.model_dump(), **changes})
