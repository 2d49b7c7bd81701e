"""Which files and folders an agent may name: those below the roots, where they really lie.

Takes a path as text, gives the real one. What is built and run must lie in a folder that the user has allowed, too.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.errors import UsageError
from hipscope.analysis.system.allowed_folders import is_allowed
from hipscope.analysis.system.places import place_of

_SETTINGS = "hipscope.toml"
_LONGEST = 4096


@dataclass(frozen=True)
class Roots:
    """The folders that bound what an agent reads, builds and runs; real paths, the first one is where it stands."""

    folders: tuple[Path, ...]

    @classmethod
    def of(cls, folders: Iterable[Path]) -> Roots:
        """The roots of these folders. Raises UsageError for what is none."""
        real = []
        for folder in folders:
            if not folder.is_dir():
                raise UsageError(f"{folder}: not a folder", "name an existing folder with --root")
            real.append(folder.resolve())
        return cls(tuple(dict.fromkeys(real)))

    def holds(self, path: Path) -> bool:
        """Whether a real path lies below a root."""
        return any(path == root or path.is_relative_to(root) for root in self.folders)

    def of_path(self, path: Path) -> Path:
        """The root that a real path lies below; the first one for any other."""
        return next((root for root in self.folders if path.is_relative_to(root)), self.folders[0])

    def existing(self, text: str) -> Path:
        """The real path of a file or folder below a root. Raises UsageError.

        Relative ones start at the first root. Links are followed first: where one leads out of the roots, the answer is
        the same as for a path outside of them.
        """
        if not text or "\0" in text or len(text) > _LONGEST:
            raise UsageError("that is no path", "name a file or a folder")
        try:
            real = (self.folders[0] / text).resolve()
            inside = self.holds(real)
            kind = real.stat().st_mode if inside else 0
        except (OSError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or "it cannot be followed"
            raise UsageError(f"{text}: {reason}") from None
        except UnicodeEncodeError:
            raise UsageError("that is no path", "name a file or a folder") from None
        if not inside:
            raise UsageError(
                f"{text} is outside of the roots", f"the roots: {', '.join(map(str, self.folders))}"
            )
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            raise UsageError(f"{text}: neither a file nor a folder")
        return real

    def runnable(self, text: str) -> Path:
        """The real path of what may be built and run. Raises UsageError where the user has not allowed its folder."""
        path = self.existing(text)
        folder = path if path.is_dir() else path.parent
        if not is_allowed(folder):
            raise UsageError(
                f"{folder} is not allowed: nothing in it is built or run",
                f"the user agrees to that with `hipscope allow {folder}`",
            )
        holder = place_of(path, _SETTINGS).holder
        if holder is not None and not (self.holds(holder.resolve()) and is_allowed(holder)):
            raise UsageError(
                f"{holder / _SETTINGS} says how to build {text}, and lies outside of what may be built and run",
                "start hipscope mcp with --root on that folder, and allow it",
            )
        return path
