"""One recorded launch: its arguments and buffers, what their bytes mean, which of them it read and wrote.

Takes a capture, gives typed views of it. Never runs anything.
"""
