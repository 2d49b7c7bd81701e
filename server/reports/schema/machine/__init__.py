"""Records about this machine: what is installed, what the cache holds, what the emulator lacks for a program."""
