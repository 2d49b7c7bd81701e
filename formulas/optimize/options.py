"""What an optimization is asked for, and what its earlier rounds came to."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hipscope.analysis.profile import Kernel
from hipscope.analysis.runs.profile_project import ProfileSession
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.formulas.optimize.search_end import SearchEnd


@dataclass(frozen=True)
class OptimizeOptions:
    """What to optimize, and by recipes, a language model or both.

    `yes_send` says that the user agrees to send this project's kernels to the configured language model. `rounds` is
    how often the file is rewritten at most, each time on the text that the last rewrite left: one kernel, then the
    next; None: as often as pays with recipes and modelled times, else once: a model's answers cost money, a measured
    interval is of one rewrite.
    `stored_keys` are the keys for models that an editor keeps, by address; no text form of the options shows them.
    `end` ends the search with what there is by then; without, it ends when all was tried.
    """

    formula: str = "auto"
    kernel: str | None = None
    rewriter: str = "recipes"
    yes_send: bool = False
    rounds: int | None = 1
    stored_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    end: SearchEnd | None = None


@dataclass
class AcceptedRun:
    """The program's run that the last edit was accepted by, and the text of its file: the next round begins with it.

    Its recorded launches hold the program's memory, and are large: who takes the run removes them.
    """

    session: ProfileSession | None = None
    text: bytes = b""

    def put(self, session: ProfileSession | None, text: bytes) -> None:
        """Keep this run in place of the one before."""
        self.drop()
        self.session, self.text = session, text

    def take(self, text: bytes) -> ProfileSession | None:
        """The run with that text; None where there is none."""
        if self.text != text:
            self.drop()
        session, self.session = self.session, None
        return session

    def drop(self) -> None:
        """Remove what nobody takes."""
        if self.session is not None and self.session.capture_dir is not None:
            shutil.rmtree(self.session.capture_dir, ignore_errors=True)
        self.session = None


@dataclass(frozen=True)
class Earlier:
    """What the rounds before came to: all edited `file`, `kernel` goes on to gain, the kernels named `done` do not."""

    file: Path
    kernel: str | None
    done: frozenset[str]

    def allows(self, kernel: Kernel) -> bool:
        """Whether the next round may be about this kernel: one edit is of one file. A kernel that stands elsewhere has
        gained by a function of that file, and may call others.
        """
        name = base_name(kernel.name)
        here = kernel.file is not None and self.edits(Path(kernel.file))
        return name == self.kernel or (here and name not in self.done)

    def edits(self, file: Path) -> bool:
        """Whether this is the file that the rounds before have edited."""
        return file.resolve() == self.file.resolve()
