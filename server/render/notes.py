"""Notes about the source in a terminal: each with its place, as compilers print theirs, and what would mend it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from hipscope.server.render.words import plural
from hipscope.server.reports.schema.notes import CompileNote


def print_defects(defects: Sequence[CompileNote], more: str, console: Console) -> None:
    """What is wrong with the kernels, as `check` prints notes; nothing without a defect."""
    if not defects:
        return
    console.print(Text(f"\n{plural(len(defects), 'defect', 'defects')} of the program{more}", "bold red"))
    for note in defects:
        print_note(note, console)


def print_note(note: CompileNote, console: Console) -> None:
    """One note with its place, as compilers print theirs, and what would mend it."""
    colour = "yellow" if note.severity == "warning" else "cyan"
    column = f":{note.column}" if note.column else ""
    text = Text(f"{short_path(note.file)}:{note.line}{column}: ") + Text(f"{note.code}: ", f"bold {colour}")
    console.print(text + Text(note.message), soft_wrap=True)
    for place in note.related:
        console.print(Text(f"    {short_path(place.file)}:{place.line}: {place.message}", "dim"))
    if note.fix is not None:
        changes = ", ".join(f"`{change.text.strip(' ,')}`" for change in note.fix.changes)
        console.print(Text(f"    fix: {note.fix.title}: {changes}", "green"))


def short_path(path: str) -> str:
    """A path relative to the working directory when it is inside it."""
    try:
        return str(Path(path).relative_to(Path.cwd().resolve()))
    except ValueError:
        return path
