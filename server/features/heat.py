"""`hipscope/heat`: the share of each line, for a client that tints lines and asks for it."""

from __future__ import annotations

from hipscope.server.render.words import reason
from hipscope.server.session.known_profiles import Marks, hottest
from hipscope.server.session.language_server import HipServer, path_of

_SMALLEST_GPU_SHARE = 0.002


def send_heat(ls: HipServer, uri: str) -> None:
    """Send the heat of a document as it stands now."""
    if not ls.draws_heat:
        return
    file = path_of(uri)
    document = ls.document(file) if file else None
    marks = ls.marks(uri)
    ls.protocol.notify(
        "hipscope/heat",
        {
            "uri": uri,
            "version": document.version if document else None,
            "lines": build(marks) if marks else [],
        },
    )


def build(marks: Marks) -> list[dict[str, object]]:
    """The hot lines: `line` counts from 0, `share` is of the kernel that the line matters most to."""
    rows: list[dict[str, object]] = []
    for number, share, kernels in marks.hot_lines:
        if share is None or share < _SMALLEST_GPU_SHARE:
            continue
        kernel, row = hottest(kernels)
        words = reason(row.reason) if row.reason else "issue"
        stale = marks.is_stale(kernel)
        rows.append({"line": number - 1, "share": row.share, "reason": words, "stale": stale})
    return rows
