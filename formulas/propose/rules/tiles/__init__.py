"""Rules that share elements among threads or outputs: they take a kernel and its launches, give candidates."""
