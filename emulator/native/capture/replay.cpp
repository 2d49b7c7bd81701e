// hipscope-replay: runs a captured dispatch again in a process of its own, or many, each in one of its own (--batch).
// Prints nothing; result.json in --out holds the outcome.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "capture/replay_batch.hpp"
#include "capture/replay_dispatch.hpp"
#include "capture/watchdog.hpp"

int main(int argc, char** argv) {
    using namespace hipscope;
    try {
        if (argc > 1 && std::strcmp(argv[1], "--batch") == 0) return replay_batch(argc, argv);
        const ReplayOptions options = ReplayOptions::parse(argc, argv);
        std::filesystem::create_directories(options.out);
        write_result(options.out, replay_in_time(options));
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "hipscope-replay: %s\n", error.what());
        return 2;
    }
}
