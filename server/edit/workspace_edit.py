"""A verified edit as a `WorkspaceEdit` that this client can apply, for exactly the text it was verified against."""

from __future__ import annotations

from dataclasses import dataclass

from lsprotocol import types as lsp

from hipscope.server.edit.positions import Encoding, byte_range, digest
from hipscope.server.reports.schema.optimize import Edit

_BOM = "\ufeff"


class StaleEdit(Exception):
    """The text is no longer the one that the edit was verified against."""


@dataclass(frozen=True)
class EditSide:
    """What the client can do with an edit, and its units."""

    encoding: Encoding = lsp.PositionEncodingKind.Utf16
    document_changes: bool = True
    annotations: bool = False


def workspace_edit(
    edit: Edit, text: str, uri: str, version: int | None, label: str, description: str, client: EditSide
) -> lsp.WorkspaceEdit:
    """The edit for a document with that text. Raises StaleEdit when it is another text."""
    start, end = edit.start_byte, edit.end_byte
    if digest(text) != edit.original_sha256:
        # Editors keep a byte order mark out of the text; on disk, where the edit was made, it is three bytes.
        if digest(_BOM + text) != edit.original_sha256:
            raise StaleEdit
        start, end = start - 3, end - 3
    plain = lsp.TextEdit(range=byte_range(text, start, end, client.encoding), new_text=edit.new_text)
    return edit_of_document(plain, uri, version, label, description, client)


def edit_of_document(
    plain: lsp.TextEdit, uri: str, version: int | None, label: str, description: str, client: EditSide
) -> lsp.WorkspaceEdit:
    """One change of a document, in the most telling way that the client knows."""
    span = plain.range
    if not client.document_changes:
        return lsp.WorkspaceEdit(changes={uri: [plain]})
    document = lsp.OptionalVersionedTextDocumentIdentifier(uri=uri, version=version)
    if not client.annotations:
        return lsp.WorkspaceEdit(
            document_changes=[lsp.TextDocumentEdit(text_document=document, edits=[plain])]
        )
    # Never `needs_confirmation`: VS Code would open its preview with every box unticked, and apply nothing.
    annotation = lsp.ChangeAnnotation(label=label, description=description, needs_confirmation=False)
    annotated = lsp.AnnotatedTextEdit(annotation_id="hipscope", range=span, new_text=plain.new_text)
    return lsp.WorkspaceEdit(
        document_changes=[lsp.TextDocumentEdit(text_document=document, edits=[annotated])],
        change_annotations={"hipscope": annotation},
    )
