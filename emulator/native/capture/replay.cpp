// hipscope-replay: runs a captured dispatch again in a process of its own. Prints nothing; result.json in --out tells how
// it went.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "capture/replay_dispatch.hpp"

namespace {

using namespace hipscope;
namespace fs = std::filesystem;

/// Ends the process with a "timeout" result when the time is over: the kernel may never end.
class Watchdog {
public:
    Watchdog(double seconds, std::string out) {
        if (seconds <= 0) return;
        thread_ = std::thread([this, seconds, out = std::move(out)] {
            std::unique_lock lock(mutex_);
            if (ended_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return done_; })) return;
            char text[64];
            std::snprintf(text, sizeof text, "it did not end within %g s", seconds);
            write_result(out, {"timeout", text, std::nullopt, std::nullopt});
            std::_Exit(0);
        });
    }
    ~Watchdog() {
        {
            const std::lock_guard lock(mutex_);
            done_ = true;
        }
        ended_.notify_all();
        if (thread_.joinable()) thread_.join();
    }
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

private:
    std::thread thread_;
    std::mutex mutex_;
    std::condition_variable ended_;
    bool done_ = false;
};

}  // namespace

int main(int argc, char** argv) {
    try {
        const ReplayOptions options = ReplayOptions::parse(argc, argv);
        fs::create_directories(options.out);
        Watchdog watchdog(options.max_seconds, options.out);
        write_result(options.out, replay_dispatch(options));
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "hipscope-replay: %s\n", error.what());
        return 2;
    }
}
