"""`hipscope consent`: to which language models a project's kernels may be sent, and the end of that."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hipscope.server.console.options import Source
from hipscope.server.console.terminal import failures_reported


def consent(
    source: Source = Path(),
    withdraw: Annotated[
        bool, typer.Option("--withdraw", help="Take back every consent that was given for this project.")
    ] = False,
) -> None:
    """Show where kernels of a project may be sent, as agreed with --yes-send or in the editor, or take it back."""
    with failures_reported():
        from hipscope.analysis.benches.project import resolve_benched
        from hipscope.formulas.propose.llm.consent import given_consents, withdraw_consents

        root = resolve_benched(source).directory
        for agreed in given_consents(root):
            key = f", with the key in {agreed.key_env}" if agreed.key_env else ""
            where = f" at {agreed.api_base}" if agreed.api_base else ""
            sys.stdout.write(f"kernels of {root} may be sent to {agreed.model}{where}{key}\n")
        if withdraw:
            withdraw_consents(root)
            sys.stdout.write("taken back: nothing is sent without a new consent\n")
        elif not given_consents(root):
            sys.stdout.write(f"nothing of {root} may be sent to a language model\n")
