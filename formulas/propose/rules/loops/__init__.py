"""Rules for loops, branches and registers: they take a kernel and its launches, give candidates."""
