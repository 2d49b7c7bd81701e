"""What the rounds before one came to: the run that it begins with, and the kernels that may gain more.

Takes the results of these rounds, gives what is expected of another one of each kernel.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.profile import Kernel
from hipscope.analysis.runs.profile_project import ProfileSession
from hipscope.analysis.source.kernel_definitions import base_name
from hipscope.formulas.optimize.result import OptimizeResult

# The part of a kernel's time that its first, second and third round saved on average on the public programs. The second
# may save much more than the first (a loop unrolled by 8 before a launch of fewer workgroups), a later one does not.
_SAVED = (0.15, 0.19, 0.03)


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
    """What the rounds before came to: all edited `file`; `gained` are the kernels that may gain more, each with how
    many times as fast each round made it; those named `done` do not.
    """

    file: Path
    gained: Mapping[str, tuple[float, ...]]
    done: frozenset[str]

    def allows(self, kernel: Kernel) -> bool:
        """Whether the next round may be about this kernel: one edit is of one file. A kernel that stands elsewhere has
        gained by a function of that file, and may call others.
        """
        name = base_name(kernel.name)
        here = kernel.file is not None and self.edits(Path(kernel.file))
        return name not in self.done and (here or name in self.gained)

    def edits(self, file: Path) -> bool:
        """Whether this is the file that the rounds before have edited."""
        return file.resolve() == self.file.resolve()

    def has_gained(self, kernel: Kernel) -> bool:
        """Whether an earlier round has rewritten this kernel."""
        return base_name(kernel.name) in self.gained

    def expected(self, kernel: Kernel) -> float:
        """The part of its time that another round is expected to save, by what the rounds before it have saved."""
        gains = self.gained.get(base_name(kernel.name), ())
        usual = _SAVED[min(len(gains), len(_SAVED) - 1)]
        return min(usual, 1 - 1 / gains[-1]) if len(gains) > 1 else usual


def after_rounds(file: Path, rounds: Iterable[OptimizeResult], most: int | None) -> Earlier:
    """What the next round is told of these, which were all verified: `most` are made of one kernel."""
    gained: dict[str, tuple[float, ...]] = {}
    done: set[str] = set()
    for one in rounds:
        own = base_name(one.kernel or "")
        gained[own] = (*gained.get(own, ()), max(1.0, one.speedup or 1.0))
        done |= {base_name(a.kernel) for a in one.attempts} - {own}  # those before it, which gained nothing
    done |= {name for name, gains in gained.items() if most is not None and len(gains) >= most}
    return Earlier(file, {name: g for name, g in gained.items() if name not in done}, frozenset(done))
