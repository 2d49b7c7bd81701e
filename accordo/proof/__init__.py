"""The verdict: a candidate on the recorded launches and on every trial, against the reference.

Takes prepared references and a candidate's code object, gives a `Verdict`. Never compiles.
"""
