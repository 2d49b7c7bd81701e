"""`hipscope.toml` as a document: what is wrong with it, what may stand there, and what a key means.

Takes its text as the editor has it, gives LSP answers. Never builds or runs anything.
"""
