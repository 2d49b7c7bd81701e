"""What became of mutants, kept in a file as it becomes known, so that a long run can be stopped and gone on with.

JSON Lines: one line for each mutant, one for what the recipes made of each kernel, one for each file that is done. A
line counts for the version of the guard, the proof and the recipes that wrote it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hipscope.emulator.runner import replay_executable

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Result:
    """What became of one mutant; `changed` is the first line that it changes, as it reads now."""

    file: str
    base: str
    kind: str
    changed: str
    outcome: str
    reason: str


@dataclass(frozen=True)
class Bases:
    """The texts of one kernel that mutants are made of, with their names, and right recipe outputs not accepted."""

    texts: tuple[tuple[str, str], ...]
    wronged: tuple[str, ...]


@dataclass(frozen=True)
class Done:
    """A file of which all is known: the keys of its mutants, and right recipe outputs not accepted."""

    mutants: tuple[str, ...]
    wronged: tuple[str, ...]


Entry = Result | Bases | Done


class Log:
    """The file. `keep` says which results of other versions still count; if it is None, nothing of them does."""

    def __init__(self, path: Path, keep: Callable[[Result], bool] | None = None) -> None:
        self.path = path
        self._entries: dict[str, Entry] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            try:
                known = json.loads(line)
            except ValueError:
                continue  # cut short when the run was killed: that mutant is judged again
            entry = _entry(known)
            kept = keep is not None and (not isinstance(entry, Result) or keep(entry))
            if known["version"] == version() or kept:
                self._entries[known["key"]] = entry

    def result(self, key: str) -> Result | None:
        """What is known of a mutant."""
        found = self._entries.get(key)
        return found if isinstance(found, Result) else None

    def bases(self, key: str) -> Bases | None:
        """What is known of a kernel."""
        found = self._entries.get(key)
        return found if isinstance(found, Bases) else None

    def done(self, key: str) -> tuple[tuple[Result, ...], tuple[str, ...]] | None:
        """The results of a file, and the right recipe outputs that were not accepted, if all of it is known."""
        found = self._entries.get(key)
        if not isinstance(found, Done):
            return None
        results = tuple(r for k in found.mutants if (r := self.result(k)) is not None)
        return (results, found.wronged) if len(results) == len(found.mutants) else None

    def add(self, key: str, entry: Entry) -> None:
        """Write one line; several processes may write to one file."""
        self._entries[key] = entry
        kind = type(entry).__name__.lower()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"version": version(), "key": key, kind: asdict(entry)}) + "\n")


def _entry(known: dict[str, Any]) -> Entry:
    if "result" in known:
        return Result(**known["result"])
    if "done" in known:
        return Done(tuple(known["done"]["mutants"]), tuple(known["done"]["wronged"]))
    texts = tuple((name, text) for name, text in known["bases"]["texts"])
    return Bases(texts, tuple(known["bases"]["wronged"]))


def key_of(*parts: bytes | str) -> str:
    """A name for a mutant or a kernel."""
    texts = (p if isinstance(p, bytes) else p.encode() for p in parts)
    return hashlib.sha256(b"\0".join(texts)).hexdigest()


@cache
def version() -> str:
    """A digest of all that decides about a mutant: the proof, the guard, the recipes, the emulator."""
    files: Sequence[Path] = [*(ROOT / "accordo").rglob("*.py"), *(ROOT / "formulas").rglob("*.py")]
    listed = [replay_executable(), *sorted(f for f in files if "llm" not in f.parts)]
    return key_of(*(hashlib.sha256(f.read_bytes()).hexdigest() for f in listed))[:16]
