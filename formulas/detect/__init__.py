"""Which bottlenecks a kernel has: one module per formula, on shares of time and sites in the source.

Takes a `Profile`, a kernel and the texts, gives `Finding`s. Only looks; changes nothing.
"""
