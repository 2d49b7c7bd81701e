"""Tables computed from a `Profile`: stalls, memory patterns, occupancy, roofline, costs of lines.

Takes a `Profile` or one of its kernels, gives numbers. Never does IO; what was not recorded stays absent.
"""
