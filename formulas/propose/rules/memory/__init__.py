"""Rules for loads and stores of one thread: they take a kernel and its launches, give candidates."""
