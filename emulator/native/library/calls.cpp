// libhipscope-native.so: what the emulator's Python side calls in its own process. emulator/native_library.py loads it and
// declares these functions to ctypes, which lets go of the interpreter's lock while one runs; no version of Python is
// compiled in.
//
// A call that fails says so by its result, and hipscope_native_error() of the same thread says why.
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "capture/frames.hpp"
#include "library/replay.hpp"

namespace {

thread_local std::string last_error;

/// What `work` gives, or `failed` with its error kept for this thread.
template <typename Result, typename Work>
Result guarded(Result failed, const Work& work) {
    try {
        return work();
    } catch (const std::exception& error) {
        last_error = error.what();
    } catch (...) {
        last_error = "unknown error";
    }
    return failed;
}

}  // namespace

#define HIPSCOPE_CALL extern "C" __attribute__((visibility("default")))

/// Why the last failed call of this thread failed.
HIPSCOPE_CALL const char* hipscope_native_error() { return last_error.c_str(); }

/// How many bytes the zstd frames of a capture hold; -1 when they are not such frames.
HIPSCOPE_CALL std::int64_t hipscope_unpacked_bytes(const char* packed, std::uint64_t size) {
    return guarded(std::int64_t{-1}, [&] { return static_cast<std::int64_t>(hipscope::unpacked_bytes({packed, size})); });
}

/// Write their content to `content`, which has room for it; -1 when that fails, else 0.
HIPSCOPE_CALL int hipscope_unpack(const char* packed, std::uint64_t size, char* content) {
    return guarded(-1, [&] {
        hipscope::unpack({packed, size}, content);
        return 0;
    });
}

/// Start a replay with `count` options of hipscope-replay; null when that fails. The child dies with the calling thread.
HIPSCOPE_CALL void* hipscope_replay_start(const char* const* words, int count) {
    return guarded(static_cast<void*>(nullptr), [&]() -> void* {
        return new hipscope::PendingReplay(std::vector<std::string>(words, words + count));
    });
}

/// Wait `milliseconds` at most: 1 when the replay has ended, 0 while it runs, -1 when it ended without a result.
HIPSCOPE_CALL int hipscope_replay_wait(void* replay, int milliseconds) {
    return guarded(-1, [&] { return static_cast<hipscope::PendingReplay*>(replay)->wait(milliseconds) ? 1 : 0; });
}

/// Forget a replay, and end it when it still runs.
HIPSCOPE_CALL void hipscope_replay_close(void* replay) { delete static_cast<hipscope::PendingReplay*>(replay); }
