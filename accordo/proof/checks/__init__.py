"""What a candidate goes through: its planned replays, and the checks on what they leave, one per file.

Takes a prepared reference and a candidate's code object; a check gives a `Rejection`, or None when it finds nothing. No
check decides about another one.
"""
