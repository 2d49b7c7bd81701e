"""Rules that compute the same with cheaper operations: they take a kernel and its launches, give candidates."""
