// A program that a time limit ends must not take with it what it has printed: with a limit, standard output goes out line by line,
// also into a pipe or a file. The bytes are the same. A program that chooses its own buffer later keeps that.
#include <cstdio>
#include <cstdlib>

namespace {

[[gnu::constructor]] void print_lines() {
    if (std::getenv("HIPSCOPE_TIME_LIMIT_MS") != nullptr) std::setvbuf(stdout, nullptr, _IOLBF, 0);
}

}  // namespace
