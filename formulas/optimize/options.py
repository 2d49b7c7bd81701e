"""What an optimization is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hipscope.formulas.optimize.known_losses import KnownLosses
from hipscope.formulas.optimize.search_end import SearchEnd


@dataclass(frozen=True)
class GivenRewrite:
    """A rewrite that somebody else wrote: the whole new text of one file of the program."""

    file: Path
    text: bytes


@dataclass(frozen=True)
class OptimizeOptions:
    """What to optimize, and by recipes, a language model or both.

    `yes_send` says that the user agrees to send this project's kernels to the configured language model. `rounds` is
    how often the file is rewritten at most, each time on the text that the last rewrite left and where most is expected
    to be saved; None: as often as pays with recipes and modelled times, else once. A model goes on by itself, within
    its budget, and a measured interval is of one rewrite.
    `stored_keys` are the keys for models that an editor keeps, by address; no text form of the options shows them.
    `end` ends the search with what there is by then; without, it ends when all was tried.
    `passed_over` are titles of rewrites that were proposed before and that another one is wanted than.
    `given` is judged in place of what hipscope would propose itself. `losses` are searches that are not made again.
    """

    formula: str = "auto"
    kernel: str | None = None
    rewriter: str = "recipes"
    yes_send: bool = False
    rounds: int | None = 1
    stored_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    end: SearchEnd | None = None
    given: GivenRewrite | None = None
    passed_over: frozenset[str] = frozenset()
    losses: KnownLosses = field(default_factory=KnownLosses)
