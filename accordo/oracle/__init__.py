"""The kernel in double precision: its source with doubles for floats, compiled, and its launch.

Takes the reference's source and a recorded launch, gives a code object and a launch for it. Never judges.
"""
