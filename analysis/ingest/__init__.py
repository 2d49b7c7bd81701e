"""Reads a capture directory into a `Profile`: the same reader for the emulator's output and for rocprofv3's.

Takes a directory, gives the joined record. Files are recognised by what is in them, not by their names.
"""

from __future__ import annotations

from hipscope.analysis.ingest.capture import read_capture, read_captures

__all__ = ["read_capture", "read_captures"]
