"""What the compiler can be told of a kernel that needs no finding.

Takes a kernel, its profile and its recorded launches; gives candidates for any choice of hints. Never decides which one
is worth anything.
"""
