"""What the program's text means, by the compiler's own reading: types, instances, accesses, calls, launches, values.

Takes texts (`SourceTexts`), a compile command and the compiler's libclang, gives frozen records. None where the
compiler does not say; never falls back to text; opens no source file (libclang reads what is included). Imported when
needed.
"""
