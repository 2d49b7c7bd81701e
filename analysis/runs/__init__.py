"""The long jobs from end to end: build and profile, check under the sanitizers, emulate a command.

Takes a project or a command, gives a `Profile`, reports or files. Never decides what is a bottleneck.
"""
