"""Benches: kernels without a program get one, from a line that says sizes, contents and launch.

Takes sources with bench lines (a comment, or `[[bench]]` in hipscope.toml), gives a `Project` whose program is
generated and includes the user's file. Never writes beside the user's files, and never guesses a missing argument.
"""
