"""The first step: the programs of base and head are built, run and compared; their code sees no token.

Writes the results into a folder: `compare.json`, `compare.html`, `head.sarif`, `gate.xml`, `exit-code`.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from hipscope.analysis.errors import UsageError
from hipscope.analysis.system.process import run_process
from hipscope.server.ci.workflow import Workflow

EXIT_CODE = "exit-code"
COMPARED = "compare.json"
EDITED = "optimize.json"
_HOURS = 6 * 3600.0


def measure(flow: Workflow, env: Mapping[str, str]) -> int:
    """Compare the programs, and look for a rewrite of the head's where the action was asked to; the gate's exit code.

    Raises UsageError where the checkout keeps the token.
    """
    _check_checkout()
    flow.results.mkdir(parents=True, exist_ok=True)
    programs = _words(env.get("HIPSCOPE_PROGRAMS", "")) or ["."]
    device = ["--device", env["HIPSCOPE_DEVICE"]] if env.get("HIPSCOPE_DEVICE") else []
    common = ["--backend", env.get("HIPSCOPE_BACKEND") or "emulator", *device]
    files = {"json": COMPARED, "html": "compare.html", "sarif": "head.sarif", "junit": "gate.xml"}
    written = [word for form, name in files.items() for word in ("--write", f"{form}={flow.results / name}")]
    limits = ["--fail-on", env.get("HIPSCOPE_FAIL_ON", "")]
    code = _hipscope(["compare", flow.base, flow.head, *programs, *common, *limits, *written])
    (flow.results / EXIT_CODE).write_text(f"{code}\n")
    if env.get("HIPSCOPE_OPTIMIZE") == "true" and not flow.reads_only:
        for program in programs:
            edit = ["--format", "json", "-o", str(flow.results / EDITED)]
            if _hipscope(["optimize", program, *common, *edit]) == 0:
                (flow.results / "program").write_text(program)
                break
    return code


def _hipscope(words: Sequence[str]) -> int:
    """One command of ours, told as it goes; keys and tokens never reach it."""
    done = run_process(
        [sys.executable, "-m", "hipscope.server", *words], timeout=_HOURS, cwd=Path.cwd(), env=_environment()
    )
    sys.stdout.write(done.stdout.decode("utf-8", "replace"))
    sys.stderr.write(done.stderr.decode("utf-8", "replace"))
    return done.returncode


def _environment() -> dict[str, str]:
    """Ours without the files by which a step speaks to later steps."""
    ours = ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY")
    return {name: value for name, value in os.environ.items() if name not in ours}


def _check_checkout() -> None:
    """Raises UsageError where the code that is built and run could read a token from the repository's settings."""
    found = run_process(["git", "config", "--get-regexp", r"http\..*\.extraheader"], timeout=30.0)
    if found.returncode == 0:
        raise UsageError(
            "the checkout keeps the job's token, which the code that is built here could read",
            "give actions/checkout `persist-credentials: false`",
        )


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"`programs` cannot be split into words: {error}") from None
