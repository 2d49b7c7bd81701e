"""What the files of a directory say about how its program is built, and the ROCm that they look for.

Takes a directory, gives proposals for its `hipscope.toml`; make and CMake are asked. Writes nothing into it.
"""
