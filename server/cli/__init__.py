"""The command line, one file per subcommand.

Takes words, calls a task, prints its result. Never computes anything itself.
"""
