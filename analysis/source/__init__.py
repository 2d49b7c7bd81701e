"""What the text of a program says: its syntax (tree-sitter), its types, its declarations.

Takes bytes of text, gives nodes, names, layouts and places in the text. Never knows a profile, and never changes text.
"""
