"""Executes recorded launches again, on the emulator or on a GPU.

Takes a capture and a code object, gives the buffers afterwards and what the run reported. Never compares.
"""
