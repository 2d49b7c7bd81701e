"""Searches that found nothing before: on the same text, settings and inputs they would find nothing again.

Takes what an optimization works on, gives the digest of a kernel's search. What was searched is kept by the caller.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hipscope.analysis.profile import Kernel
from hipscope.analysis.run import Run
from hipscope.analysis.toolchain.project import Project
from hipscope.formulas.judge.outcome import Outcome
from hipscope.formulas.optimize.result import Attempt

# What may come out otherwise the next time: for want of time, of a tool or of memory, or on other data.
_MAY_CHANGE = frozenset(
    {
        Outcome.CANNOT_JUDGE,
        Outcome.ENDED,
        Outcome.MODEL_FAILED,
        Outcome.NOT_MEASURED,
        Outcome.PROGRAM_DIFFERS,
    }
)


@dataclass(frozen=True)
class KnownLosses:
    """`when` has the time of each search that found nothing, by its digest; `files` are the digests of settings, build
    files and data.
    """

    when: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    def digest(self, project: Project, run: Run, kernel: Kernel, *given: object) -> str:
        """What a search for rewrites of a kernel is made on: all texts and settings of the program, and what is `given`
        else.
        """
        texts = {str(path): run.texts.digest(path) for path in (*project.sources, *project.headers)}
        whole = (
            importlib.metadata.version("hipscope"),
            project.config.model_dump_json(),
            project.program_args,
            kernel.mangled,
            kernel.file,
            sorted(texts.items()),
            sorted(self.files.items()),
            *map(str, given),
        )
        return hashlib.sha256(json.dumps(whole).encode("utf-8", "replace")).hexdigest()

    def attempt(self, kernel: Kernel, formula: str, digest: str) -> Attempt | None:
        """The attempt that stands for a search that is not made again; None for one that is."""
        if (when := self.when.get(digest)) is None:
            return None
        return Attempt(
            formula=formula,
            kernel=kernel.name,
            recipe="",
            title="",
            outcome=Outcome.TRIED_BEFORE,
            reason=f"All that is known was tried on this very text on {when[:10]}, and nothing gained; "
            "--again tries it once more.",
        )


def lost(attempts: Sequence[Attempt], digest: str) -> list[Attempt]:
    """The attempts of a search without a result, marked so that it is not made again where it would end alike."""
    if any(a.outcome in _MAY_CHANGE for a in attempts):
        return list(attempts)
    return [a.model_copy(update={"search": digest}) for a in attempts]
