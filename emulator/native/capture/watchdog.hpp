// The clock that a replay runs against.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include "capture/replay_dispatch.hpp"

namespace hipscope {

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
            try {
                write_result(out, {"timeout", text});
            } catch (const std::exception& error) {
                std::fprintf(stderr, "hipscope-replay: %s\n", error.what());
                std::_Exit(2);
            }
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

/// The replay against its clock, which is stopped when this returns: else both might write the result at the same time.
inline ReplayOutcome replay_in_time(const ReplayOptions& options) {
    const Watchdog watchdog(options.max_seconds, options.out);
    return replay_dispatch(options);
}

}  // namespace hipscope
