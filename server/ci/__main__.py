"""`python -m hipscope.server.ci measure|publish|gate`: the steps of `action.yml`, by the environment of a workflow."""

from __future__ import annotations

import os
import sys

from hipscope.analysis.errors import HipscopeError
from hipscope.server.ci.measure import EXIT_CODE, measure
from hipscope.server.ci.publish import publish
from hipscope.server.ci.workflow import Workflow

_GATES = (4, 5)  # a program that failed, a limit that was passed


def main() -> int:
    """Do one step; its exit code. Only `gate` leaves with the gate's."""
    step = sys.argv[1] if len(sys.argv) == 2 else ""
    try:
        flow = Workflow.of(os.environ)
        if step == "measure":
            code = measure(flow, os.environ)
            return 0 if code in (0, *_GATES) else code
        if step == "publish":
            for sentence in publish(flow, os.environ):
                sys.stdout.write(f"hipscope: {sentence}\n")
            return 0
        if step == "gate":
            text = (flow.results / EXIT_CODE).read_text().strip()
            return int(text) if text.isdecimal() else 2
    except HipscopeError as failure:
        sys.stderr.write(f"hipscope: {failure}\n")
        return failure.exit_code
    except OSError as error:
        sys.stderr.write(f"hipscope: {error.filename or step}: {error.strerror}\n")
        return 2
    sys.stderr.write("hipscope: name one step: measure, publish or gate\n")
    return 2


if __name__ == "__main__":
    sys.exit(main())
