"""A verified edit as this client can apply it, and only on the text it was verified against."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lsprotocol import types as lsp

from hipscope.server.edit.line_map import digest
from hipscope.server.edit.workspace_edit import DocumentText, EditSide, StaleEdit, workspace_edit
from hipscope.server.reports.schema.optimize import Edit, EditPart

TEXT = "int x;\n  slow();\n"
START = TEXT.index("slow")
EDIT = Edit("/project/a.hip", digest(TEXT), START, START + 4, "fast", ())
URI = "file:///project/a.hip"


def made(text: str, side: EditSide, edit: Edit = EDIT) -> lsp.WorkspaceEdit:
    return workspace_edit(edit, [DocumentText(URI, 7, text)], "label", "why", side)


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
    on_disk = Edit(EDIT.file, digest("\ufeff" + TEXT), START + 3, START + 7, "fast", ())
    changes = made(TEXT, EditSide(document_changes=False), on_disk).changes
    assert changes is not None
    assert changes[URI][0].range.start == lsp.Position(1, 2)


def test_an_edit_of_two_files_is_one_edit_of_both_documents_each_by_its_version() -> None:
    other = DocumentText("file:///project/a.h", None, "one\ntwo\n")
    edit = replace(EDIT, also=(EditPart("/project/a.h", digest(other.text), 4, 7, "2"),))
    both = [DocumentText(URI, 7, TEXT), other]
    made = workspace_edit(edit, both, "label", "why", EditSide(annotations=True)).document_changes
    assert made is not None
    first, second = made
    assert isinstance(first, lsp.TextDocumentEdit)
    assert isinstance(second, lsp.TextDocumentEdit)
    assert (first.text_document.version, second.text_document.version) == (7, None)
    assert second.edits[0].range == lsp.Range(lsp.Position(1, 0), lsp.Position(1, 3))
    plain = workspace_edit(edit, both, "label", "why", EditSide(document_changes=False)).changes
    assert plain is not None
    assert sorted(plain) == [other.uri, URI]
    changed = [both[0], replace(other, text="one\n")]
    with pytest.raises(StaleEdit) as stale:
        workspace_edit(edit, changed, "label", "why", EditSide())
    assert stale.value.file == "/project/a.h"
