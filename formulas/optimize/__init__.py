"""The loop from a finding to a verified edit, and the cache that makes it quick.

Takes a project and options, gives the result and its verified edit. Writes a source only through `verified_edit`.
"""
