"""From a source to a program: which compiler, which command, what it wrote, what its code objects say.

Takes a `Project` and its texts, gives a `BuiltProgram` and `CodeObject`s. Never runs the program.
"""
