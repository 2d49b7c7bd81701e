// libhipscope-replay.so: the replay inside the calling process; emulator/replay.py calls it.
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <stdexcept>

#include "capture/replay_dispatch.hpp"

/// Takes the arguments of hipscope-replay. 0: result.json is written; 2: `message` says what is wrong with the arguments.
extern "C" __attribute__((visibility("default"))) int hipscope_replay(int argc, char** argv, char* message, std::size_t room) {
    static std::mutex one_at_a_time;  // captured pointers are absolute: there is one device address range in a process
    try {
        const hipscope::ReplayOptions options = hipscope::ReplayOptions::parse(argc, argv);
        std::filesystem::create_directories(options.out);
        const std::lock_guard lock(one_at_a_time);
        hipscope::write_result(options.out, hipscope::replay_dispatch(options));
        return 0;
    } catch (const std::exception& error) {
        std::snprintf(message, room, "%s", error.what());
        return 2;
    }
}
