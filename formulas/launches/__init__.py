"""Launch edits: other grids and workgroups in the program's host code, proved in whole programs and in replays.

Takes a kernel's bench, gives judgements of edits of the numbers that its launches come from. It changes no kernel.
"""
