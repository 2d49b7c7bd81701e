"""What a coding agent may ask for over MCP: profiles, explanations, and the judgement of its own rewrites.

Takes requests of the official SDK, gives JSON within a budget of tokens. A file is written by `apply_verified` only.
Long work runs in worker processes, as for editors; nothing is analysed here.
"""
