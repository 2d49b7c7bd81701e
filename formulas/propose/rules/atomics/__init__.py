"""Rules for fewer or cheaper atomics: they take a kernel and its launches, give candidates."""
