"""What the original does on the recorded launches and on every trial: run once, kept for all candidates.

Takes captures and settings, gives `ReferenceRun`s. Never sees a candidate.
"""
