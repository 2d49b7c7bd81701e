"""What all commands share: the words of the command line, failures in one line, where results go and how they look.

Takes a task and its result, gives output and an exit code. Never knows a particular command.
"""
