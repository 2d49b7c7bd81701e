"""A verified edit as this client can apply it, and only on the text it was verified against."""

from __future__ import annotations

import pytest
from lsprotocol import types as lsp

from hipscope.server.edit.positions import digest
from hipscope.server.edit.workspace_edit import EditSide, StaleEdit, workspace_edit
from hipscope.server.reports.schema.optimize import Edit

TEXT = "int x;\n  slow();\n"
START = TEXT.index("slow")
EDIT = Edit("/project/a.hip", digest(TEXT), START, START + 4, "fast")
URI = "file:///project/a.hip"


def made(text: str, side: EditSide, edit: Edit = EDIT) -> lsp.WorkspaceEdit:
    return workspace_edit(edit, text, URI, 7, "label", "why", side)


def test_the_edit_names_the_version_it_is_for_and_touches_only_its_bytes() -> None:
    edit = made(TEXT, EditSide())
    assert edit.document_changes is not None
    change = edit.document_changes[0]
    assert isinstance(change, lsp.TextDocumentEdit)
    assert change.text_document.version == 7
    assert change.edits[0].range == lsp.Range(lsp.Position(1, 2), lsp.Position(1, 6))
    assert edit.change_annotations is None


def test_a_client_without_document_changes_gets_plain_changes() -> None:
    edit = made(TEXT, EditSide(document_changes=False))
    assert edit.document_changes is None
    assert edit.changes is not None
    assert edit.changes[URI][0].new_text == "fast"


def test_a_client_with_annotations_is_told_what_the_edit_is_and_never_has_to_tick_it() -> None:
    edit = made(TEXT, EditSide(annotations=True))
    assert edit.change_annotations is not None
    assert edit.change_annotations["hipscope"].needs_confirmation is False


def test_another_text_is_refused() -> None:
    with pytest.raises(StaleEdit):
        made(TEXT + " ", EditSide())


def test_a_byte_order_mark_that_only_the_disk_has_does_not_shift_the_edit() -> None:
    on_disk = Edit(EDIT.file, digest("\ufeff" + TEXT), START + 3, START + 7, "fast")
    changes = made(TEXT, EditSide(document_changes=False), on_disk).changes
    assert changes is not None
    assert changes[URI][0].range.start == lsp.Position(1, 2)
