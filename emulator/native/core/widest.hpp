// Marks a function whose loops over lanes are compiled for wider vectors too; the machine's best is taken at run time.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define HIPSCOPE_WIDEST [[gnu::target_clones("default", "avx2", "avx512f")]]
#else
#define HIPSCOPE_WIDEST
#endif
