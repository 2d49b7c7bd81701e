"""Whether the programs of a folder may be built and run: asked once, as a build does whatever the repository says.

What the user agrees to is kept for all sessions (analysis/system/allowed_folders.py); a "no" holds for this one, until
the user starts something by hand.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from lsprotocol import types as lsp

from hipscope.analysis.system.allowed_folders import allow_folder, is_allowed
from hipscope.server.session.language_server import HipServer

ALLOW = "Allow"
NOT_ALLOWED = "nothing is built or run before its folder is allowed (`hipscope allow`)"


def is_permitted(ls: HipServer, key: Path) -> bool:
    """Whether the user has agreed before: what nobody asked for never asks."""
    return ls.has_extension or is_allowed(_folder(ls, key))


async def may_run(ls: HipServer, key: Path, *, asked: bool) -> bool:
    """Whether the project `key`, a folder or a lone source, may be built and run; the user is asked if need be.

    `asked`: the user has started it by hand, so a "no" of this session is asked about again.
    """
    folder = _folder(ls, key)
    # Our extension starts no server before its editor trusts the folder.
    if is_permitted(ls, key):
        return True
    if folder in ls.refused_folders and not asked:
        return False
    question = ls.folder_questions.get(folder)
    if question is None:
        question = ls.folder_questions[folder] = asyncio.ensure_future(_ask(ls, folder))
        question.add_done_callback(lambda _: ls.folder_questions.pop(folder, None))
    # Shielded: the client may still answer after the command was cancelled.
    return await asyncio.shield(question)


async def _ask(ls: HipServer, folder: Path) -> bool:
    chosen = await ls.window_show_message_request_async(
        lsp.ShowMessageRequestParams(
            type=lsp.MessageType.Warning,
            message=f"hipscope: to profile the programs in {folder} it builds and runs them. Do you trust this folder?",
            actions=[lsp.MessageActionItem(title=ALLOW), lsp.MessageActionItem(title="Not now")],
        )
    )
    if chosen is None or chosen.title != ALLOW:
        ls.refused_folders.add(folder)
        return False
    ls.refused_folders.discard(folder)
    allow_folder(folder)
    return True


def _folder(ls: HipServer, key: Path) -> Path:
    """What is asked about: the workspace folder, or where there is none the project's own."""
    around = [f for f in ls.folders() if key.is_relative_to(f)]
    return max(around, key=lambda f: len(f.parts)) if around else key if key.is_dir() else key.parent
