"""What the commands do, one file each. Takes the arguments that `execute_command.py` has unpacked, gives a small object
that says how it ended; never unpacks LSP parameters. Here are the names of the commands."""

PROFILE = "hipscope.server.profile"
OPTIMIZE = "hipscope.server.optimize"
CHECK = "hipscope.server.check"
BENCH = "hipscope.server.bench"
OPEN_PROFILE = "hipscope.server.openProfile"
CANCEL = "hipscope.server.cancel"
APPLY = "hipscope.server.apply"
DISCARD = "hipscope.server.discard"
SET_ARGUMENTS = "hipscope.server.setArguments"
