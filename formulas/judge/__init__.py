"""Whether a candidate is taken: guard, compile, timed replay, proof, the whole program.

Takes a candidate and a bench, gives a decision with its reason. Never edits a file of the user.
"""
