"""The server's side of the wire: how it ends."""

from __future__ import annotations

import io

import pytest
from pygls.io_ import StdoutWriter

from hipscope.server.app import create_server


def test_nothing_is_sent_to_a_client_that_has_left(caplog: pytest.LogCaptureFixture) -> None:
    server = create_server()
    server.protocol.set_writer(StdoutWriter(io.BytesIO()))
    leaving = server.protocol.structure_message({"jsonrpc": "2.0", "method": "exit"})
    with pytest.raises(SystemExit):
        server.protocol.handle_message(leaving)
    server.log("what a job says when it is cancelled")
    assert caplog.text == ""
