"""All arithmetic with positions: bytes, the editor's units, lines that moved, edits of a workspace.

Takes texts and spans in bytes, gives ranges of the protocol. Nothing else converts columns.
"""
