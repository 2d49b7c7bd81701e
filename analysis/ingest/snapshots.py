"""The copies of sources that a thread trace keeps: `snapshots.json` beside it says where the copy of each file is.

Takes folders of captures, gives the copy of a file of the capturing machine. A copy lies in the folder of its
`snapshots.json`: a path that leads out of it is not followed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

_NAME = "snapshots.json"
_LARGEST = 64 << 20


@dataclass(frozen=True)
class Snapshots:
    """The trees of all `snapshots.json`, each with its folder."""

    trees: tuple[tuple[Path, Mapping[str, Any]], ...] = ()

    @classmethod
    def below(cls, paths: Sequence[Path]) -> Snapshots:
        """Those in the folders; one that cannot be read has no copies."""
        trees = []
        for root in paths:
            for folder, folders, files in os.walk(root):
                folders.sort()
                if _NAME in files and (tree := _load(Path(folder, _NAME))) is not None:
                    trees.append((Path(folder), tree))
        return cls(tuple(trees))

    def copy_of(self, file: str) -> Path | None:
        """The copy of a file, or None."""
        parts = PurePosixPath(file).parts
        for folder, tree in self.trees:
            branch: Any = tree
            for part in parts:
                branch = branch.get(part) if isinstance(branch, dict) else None
            if isinstance(branch, str) and (copy := _copy(folder, branch)) is not None:
                return copy
        return None


def _copy(folder: Path, name: str) -> Path | None:
    """The file of that name in the folder itself; None for any other path, and for what no file can be called."""
    copy = folder / name
    try:
        inside = Path(os.path.realpath(copy)).parent == Path(os.path.realpath(folder))
        return copy if inside and copy.is_file() else None
    except (OSError, ValueError):
        return None


def _load(path: Path) -> Mapping[str, Any] | None:
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return None
        tree = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return tree if isinstance(tree, dict) else None
