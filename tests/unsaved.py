"""A run on a text that the editor has not saved, for tests of what is built from it."""

from __future__ import annotations

from pathlib import Path

from hipscope.analysis.run import Run
from hipscope.analysis.source.texts import SourceTexts


def unsaved(file: Path, text: bytes) -> Run:
    """A run in which the file holds this text."""
    return Run(texts=SourceTexts({file: text}))
