"""Stands for a process of hipscope where something must be started: the one that `warm.py` forks gets its streams.

`HIPSCOPE_TEST_WARM=SOCKET python warm_client.py MODULE ARGUMENT...`; without a module, as HIPSCOPE_WORKER, a worker.
What ends this process ends that one, too: SIGTERM is passed on, and any other end closes the connection.
"""

import json
import os
import signal
import socket
import sys

module, *arguments = sys.argv[1:] or ["--"]
if module.startswith("--"):
    module, arguments = "hipscope.server.jobs.worker", sys.argv[1:]
connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
connection.connect(os.environ["HIPSCOPE_TEST_WARM"])
asked = {"module": module, "arguments": arguments, "folder": os.getcwd(), "variables": dict(os.environ)}
socket.send_fds(connection, [json.dumps(asked).encode()], [0, 1, 2])
signal.signal(signal.SIGTERM, lambda number, _: connection.send(str(int(number)).encode()))
nothing = os.open(os.devnull, os.O_RDWR)
for stream in (0, 1, 2):
    os.dup2(nothing, stream)
status = int(connection.recv(64) or -signal.SIGKILL)
if status < 0:
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
sys.exit(status)
