"""Subcommands of the command line, one file each: `add(app)` registers it."""
