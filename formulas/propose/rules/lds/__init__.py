"""Rules for LDS, and for reductions in it or in waves: they take a kernel and its launches, give candidates."""
