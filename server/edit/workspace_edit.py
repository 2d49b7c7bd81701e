"""A verified edit as a `WorkspaceEdit` that this client can apply, for exactly the text it was verified against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lsprotocol import types as lsp

from hipscope.server.edit.line_map import digest
from hipscope.server.edit.positions import Encoding, byte_range
from hipscope.server.reports.schema.optimize import Edit, EditPart

_BOM = "\ufeff"


class StaleEdit(Exception):
    """The text of a file is no longer the one that the edit was verified against."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.file = file


@dataclass(frozen=True)
class EditSide:
    """What the client can do with an edit, and its units."""

    encoding: Encoding = lsp.PositionEncodingKind.Utf16
    document_changes: bool = True
    annotations: bool = False


@dataclass(frozen=True)
class DocumentText:
    """What a document holds; `version` None for a file that is not open."""

    uri: str
    version: int | None
    text: str


@dataclass(frozen=True)
class DocumentChange:
    """One change of one document."""

    plain: lsp.TextEdit
    uri: str
    version: int | None


def workspace_edit(
    edit: Edit, documents: Sequence[DocumentText], label: str, description: str, client: EditSide
) -> lsp.WorkspaceEdit:
    """The edit for the documents of its parts. Raises StaleEdit when one has another text."""
    changes = [
        DocumentChange(_text_edit(part, document.text, client), document.uri, document.version)
        for part, document in zip(edit.parts, documents, strict=True)
    ]
    return edit_of_documents(changes, label, description, client)


def is_of_text(edit: EditPart, text: str) -> bool:
    """Whether an edit was verified against that text; an editor may leave out the file's byte order mark."""
    return edit.original_sha256 in (digest(text), digest(_BOM + text))


def edited_text(edit: EditPart, text: str) -> str:
    """The text with the edit, without a byte order mark. Raises StaleEdit when it is another text."""
    start, end = _bytes_of(edit, text)
    data = text.encode("utf-8", "surrogatepass")
    return (data[:start] + edit.new_text.encode() + data[end:]).decode("utf-8", "surrogatepass")


def plain_edit(
    uri: str, version: int | None, changes: Sequence[lsp.TextEdit], client: EditSide
) -> lsp.WorkspaceEdit:
    """Several changes of one document."""
    if not client.document_changes:
        return lsp.WorkspaceEdit(changes={uri: list(changes)})
    document = lsp.OptionalVersionedTextDocumentIdentifier(uri=uri, version=version)
    edited = lsp.TextDocumentEdit(text_document=document, edits=list(changes))
    return lsp.WorkspaceEdit(document_changes=[edited])


def _text_edit(edit: EditPart, text: str, client: EditSide) -> lsp.TextEdit:
    """The change of a document with that text. Raises StaleEdit when it is another text."""
    start, end = _bytes_of(edit, text)
    return lsp.TextEdit(range=byte_range(text, start, end, client.encoding), new_text=edit.new_text)


def _bytes_of(edit: EditPart, text: str) -> tuple[int, int]:
    """The bytes of a document's text that an edit replaces. Raises StaleEdit when it is another text."""
    if not is_of_text(edit, text):
        raise StaleEdit(edit.file)
    if digest(text) == edit.original_sha256:
        return edit.start_byte, edit.end_byte
    # Editors keep a byte order mark out of the text; on disk, where the edit was made, it is three bytes.
    return edit.start_byte - 3, edit.end_byte - 3


def edit_of_documents(
    changes: Sequence[DocumentChange], label: str, description: str, client: EditSide
) -> lsp.WorkspaceEdit:
    """One change of each document, in the most telling way that the client knows."""
    if not client.document_changes:
        return lsp.WorkspaceEdit(changes={change.uri: [change.plain] for change in changes})
    # Never `needs_confirmation`: VS Code would open its preview with every box unticked, and apply nothing.
    annotation = lsp.ChangeAnnotation(label=label, description=description, needs_confirmation=False)
    found: list[lsp.TextDocumentEdit] = []
    for change in changes:
        plain = change.plain
        annotated = lsp.AnnotatedTextEdit(
            annotation_id="hipscope", range=plain.range, new_text=plain.new_text
        )
        document = lsp.OptionalVersionedTextDocumentIdentifier(uri=change.uri, version=change.version)
        found.append(
            lsp.TextDocumentEdit(text_document=document, edits=[annotated if client.annotations else plain])
        )
    annotations = {"hipscope": annotation} if client.annotations else None
    return lsp.WorkspaceEdit(document_changes=list(found), change_annotations=annotations)
