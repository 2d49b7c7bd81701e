"""What an optimization is asked for, and what its earlier rounds came to. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hipscope.analysis.profile import Kernel
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
