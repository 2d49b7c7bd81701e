"""Whether two sets of buffers are the same: bits, tolerances, distance from double precision.

Takes bytes with their element types, gives errors and sentences. Never runs anything.
"""
