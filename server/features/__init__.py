"""One file per LSP request: a pure `build` function over the data, and the few lines that register it."""
