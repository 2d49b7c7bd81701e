"""What is known about a kernel before it is rewritten: its launches, instances, and what its lanes address.

Takes recorded launches and syntax, gives facts that recipes and the guard rely on. Raises rather than guesses.
"""
