"""Other programs and folders: processes with limits, the sandbox, temporary and cache directories.

Takes an argument list or a purpose, gives an exit status, output, a path. Never knows what a kernel or a compiler is.
"""
