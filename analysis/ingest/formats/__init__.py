"""One module per format of captures.

Takes a file or folder whose format was recognised, gives a `Recorded`: columns of launches and counters, traces,
agents.
Nothing is joined here, and what a file does not hold is missing. Bad cells and rows cost themselves, never the file.
"""
