"""Takes integer expressions of a kernel, gives how large they can become. Never changes text."""
