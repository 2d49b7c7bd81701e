"""What the C++ of a kernel does: names that change, memory that others may see, loops that count.

Takes syntax nodes of one text, gives names, reasons and records. The rules ask here and read no C++ by themselves.
"""
