"""What can be said of a program as soon as it compiles: no run, no profile.

Takes code objects, the program's texts and what the compiler says of them; gives what each kernel needs of the GPU, and
notes with a place. Never builds, never runs anything.
"""
