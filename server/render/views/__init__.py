"""Single views of a report: a source line in words, the machine code of a kernel."""
