"""Changed launches: fresh inputs, other scalars, sizes and addresses, the constants that a program compares with.

Takes a recorded launch, gives the replacements for its buffers and arguments. Never runs anything.
"""
