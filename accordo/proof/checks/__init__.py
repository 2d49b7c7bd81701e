"""The checks that a candidate goes through, one per file: each gives a `Rejection`, or None when it finds nothing.

Takes a proof with its planned replays, gives mismatches in words. A check never decides about another one.
"""
