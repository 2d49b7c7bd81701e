"""`hipscope cache`: where, how much, and the end of it."""

from __future__ import annotations

import json

from tests.server.command_line import Cli


def test_the_cache_is_shown_and_cleared(cli: Cli) -> None:
    home = cli.folder / "cache"
    (home / "hipscope" / "build" / "one").mkdir(parents=True)
    (home / "hipscope" / "build" / "one" / "file").write_bytes(b"x" * 2048)
    cli.write("cache_max_bytes = 4096\n", "hipscope.toml")
    report = json.loads(cli("cache", "--format", "json", XDG_CACHE_HOME=str(home)).stdout)
    assert (report["path"], report["size"], report["limit"]) == (str(home / "hipscope"), 2048, 4096)
    assert report["kinds"] == {"build": 2048}
    shown = cli("cache", "--clear", XDG_CACHE_HOME=str(home))
    assert "removed 2.00 KiB" in shown.stdout
    assert list((home / "hipscope").iterdir()) == []
