"""What an editor has of hipscope, and how it is reached there: the table of docs/editor-features.md.

`python -m tests.server.editor_features` prints it. `test_editors.py` holds each cell against the editor's own part:
the extension's manifest, the plugins as Neovim and Emacs load them, what the server tells any client that it can do.
"""

from __future__ import annotations

from typing import NamedTuple


class Feature(NamedTuple):
    """A row. `plain` is for Helix, Zed and others that have the protocol alone; an empty text is what is not there."""

    name: str
    vscode: str
    neovim: str
    emacs: str
    plain: str


FEATURES = (
    Feature("findings, compiler errors", *["`textDocument/publishDiagnostics`"] * 4),
    Feature("reasons and memory of a line, roofline of a kernel", *["`textDocument/hover`"] * 4),
    Feature(
        "time and bound above a kernel, *Optimize*",
        "`textDocument/codeLens`",
        "`textDocument/codeLens`",
        "",
        "`textDocument/codeLens`",
    ),
    Feature(
        "share beside a hot line",
        "`textDocument/inlayHint`",
        "virtual text",
        "text behind the line",
        "`textDocument/inlayHint`",
    ),
    Feature("coloured lines", "*Toggle Heat Colours*", "`hipscope/heat`", "`hipscope/heat`", ""),
    Feature(
        "profile now",
        "*Profile This Program*",
        "`:Hipscope profile`",
        "`M-x hipscope-profile`",
        "`hipscope.server.profile`",
    ),
    Feature(
        "kernels by cost",
        "*GPU Kernels*",
        "`:Hipscope kernels`",
        "`M-x hipscope-kernels`",
        "`workspace/symbol`",
    ),
    Feature(
        "a kernel's roofline",
        "`textDocument/hover`",
        "`:Hipscope roofline`",
        "`M-x hipscope-roofline`",
        "`textDocument/hover`",
    ),
    Feature(
        "a line in words",
        "*Explain This Line*",
        "`:Hipscope explain`",
        "`M-x hipscope-explain`",
        "`hipscope.server.explain`",
    ),
    Feature(
        "machine code beside the source",
        "*Show the Kernel's Machine Code Beside*",
        "`:Hipscope isa`",
        "`M-x hipscope-isa`",
        "`hipscope.server.isa`",
    ),
    Feature(
        "profiles by commit",
        "*GPU History*",
        "`:Hipscope history`",
        "`M-x hipscope-history`",
        "`hipscope.server.compare`",
    ),
    Feature(
        "a proved rewrite",
        "*Optimize Kernel at Cursor*",
        "`:Hipscope optimize`",
        "`M-x hipscope-optimize`",
        "`textDocument/codeAction`",
    ),
    Feature(
        "back to the text before",
        "*Restore the Text Before the Last Rewrite*",
        "`:Hipscope restore`",
        "`M-x hipscope-restore`",
        "`hipscope.server.restore`",
    ),
    Feature(
        "arguments of the program",
        "*Set This Program's Arguments*",
        "`:Hipscope arguments`",
        "`M-x hipscope-set-arguments`",
        "`hipscope.server.setArguments`",
    ),
    Feature(
        "defects of the program",
        "*Check This Program for Defects*",
        "`:Hipscope check`",
        "`M-x hipscope-check`",
        "`hipscope.server.check`",
    ),
    Feature(
        "a capture or saved report",
        "*Open profile...*",
        "`:Hipscope open`",
        "`M-x hipscope-open-profile`",
        "`hipscope.server.openProfile`",
    ),
    Feature(
        "stop",
        "*Cancel the Running Job*",
        "`:Hipscope cancel`",
        "`M-x hipscope-cancel`",
        "`hipscope.server.cancel`",
    ),
)
EDITORS = ("VS Code", "Neovim, the plugin", "Emacs, the package", "Helix, Zed, other clients")


def table() -> str:
    """The features in Markdown."""
    rows = [("what", *EDITORS), ("---",) * 5, *((f.name, *(cell or "-" for cell in f[1:])) for f in FEATURES)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    print(table())
