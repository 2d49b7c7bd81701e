"""Which paths an agent may name: below a root after links, an existing plain file or folder, and allowed to be run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hipscope.analysis.errors import UsageError
from hipscope.analysis.system.allowed_folders import allow_folder
from hipscope.server.agents.paths import Roots


@pytest.fixture
def roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Roots:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("root", "root/inner", "other", "root-beside"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "k.hip").write_text("// a kernel\n")
    return Roots.of([tmp_path / "root"])


def test_files_below_a_root_are_named_from_it_or_absolutely(roots: Roots) -> None:
    (root,) = roots.folders
    assert roots.existing("k.hip") == roots.existing(str(root / "inner" / ".." / "k.hip")) == root / "k.hip"
    assert roots.existing(".") == root


@pytest.mark.parametrize(
    "path",
    [
        "../other/k.hip",
        "inner/../../other/k.hip",
        "../root-beside/k.hip",
        "/etc/passwd",
        "out/k.hip",
        "file.hip",
        "chain.hip",
        "loop.hip",
        "missing.hip",
        "fifo.hip",
        "",
        "a\0b",
        "x" * 5000,
        "\ud800.hip",
        "~/k.hip",
    ],
)
def test_what_lies_elsewhere_or_is_no_file_is_refused(roots: Roots, path: str) -> None:
    (root,) = roots.folders
    (root / "out").symlink_to(root.parent / "other")
    (root / "file.hip").symlink_to(root.parent / "other" / "k.hip")
    (root / "chain.hip").symlink_to(root / "file.hip")
    (root / "loop.hip").symlink_to(root / "loop.hip")
    os.mkfifo(root / "fifo.hip")
    with pytest.raises(UsageError):
        roots.existing(path)


def test_a_root_that_is_a_link_is_where_it_leads(roots: Roots) -> None:
    (root,) = roots.folders
    (root.parent / "link").symlink_to(root)
    assert Roots.of([root.parent / "link"]).existing("k.hip") == root / "k.hip"


def test_settings_outside_of_the_roots_do_not_say_how_to_build(roots: Roots) -> None:
    (root,) = roots.folders
    allow_folder(root.parent)
    assert roots.runnable("k.hip") == root / "k.hip"
    (root.parent / "hipscope.toml").write_text('build = "make"\nrun = "./k"\n')
    with pytest.raises(UsageError, match=r"hipscope\.toml"):
        roots.runnable("k.hip")
