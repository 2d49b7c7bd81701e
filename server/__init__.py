"""The edge of hipscope: the command line and the language server. Translates, and analyses nothing."""
