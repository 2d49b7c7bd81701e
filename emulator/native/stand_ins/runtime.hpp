// What the stand-ins for ROCm's libraries ask of the emulator's HIP runtime, and how a call of theirs becomes work of a stream.
//
// The symbols are weak: the program brings the runtime. AMD's own has none of them, and then nothing is computed.
#pragma once

#include <cstddef>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#define STAND_IN_API extern "C" __attribute__((visibility("default")))

extern "C" {
__attribute__((weak)) int hipscopeLibraryCall(const char* name, void* stream, void (*work)(void*), void* data, void (*drop)(void*));
__attribute__((weak)) int hipscopeLibraryMemory(const void* start, std::size_t pitch, std::size_t width, std::size_t rows, int written);
__attribute__((weak)) int hipStreamSynchronize(void* stream);
__attribute__((weak)) int hipStreamIsCapturing(void* stream, int* status);
__attribute__((weak)) int hipMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width, std::size_t height, int kind);
__attribute__((weak)) int hipMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width, std::size_t height, int kind, void* stream);
__attribute__((weak)) int hipMalloc(void** pointer, std::size_t bytes);
__attribute__((weak)) int hipFree(void* pointer);
}

namespace stand_in {

/// How a call came out; each library has its own numbers for these.
enum class Outcome { ok, no_handle, no_pointer, bad_size, bad_value, not_supported, failed };

/// True in a program that runs on the emulator. Says so once when it does not.
inline bool on_emulator(const char* library) {
    if (hipscopeLibraryCall != nullptr && hipscopeLibraryMemory != nullptr) return true;
    static const bool said = [library] {
        std::fprintf(stderr, "hipscope: this %s computes on hipscope's emulator alone; link the program with ROCm's for a GPU\n", library);
        return true;
    }();
    return !said;
}

/// The memory that a call reads and writes: kernels could only use memory of the device, and no more than a block has.
class Operands {
public:
    explicit Operands(std::string function) : function_(std::move(function)) {}

    void reads(const char* operand, const void* start, std::size_t pitch, std::size_t width, std::size_t rows) {
        look(operand, start, pitch, width, rows, false);
    }
    void writes(const char* operand, const void* start, std::size_t pitch, std::size_t width, std::size_t rows) {
        look(operand, start, pitch, width, rows, true);
    }
    [[nodiscard]] bool fine() const { return fine_; }

private:
    void look(const char* operand, const void* start, std::size_t pitch, std::size_t width, std::size_t rows, bool written) {
        if (width == 0 || rows == 0 || !fine_) return;
        const int found = hipscopeLibraryMemory(start, pitch, width, rows, written ? 1 : 0);
        if (found == 0) return;
        fine_ = false;
        std::fprintf(stderr, "hipscope emulator: %s: %s: %zu bytes from %p %s\n", function_.c_str(), operand, (rows - 1) * pitch + width, start,
                     found == 1 ? "are no memory of the device" : "are more than its block of memory has");
    }

    std::string function_;
    bool fine_ = true;
};

/// Compute `work` in a stream when its turn has come. `wait`: its result is the host's, so the stream is waited for.
inline Outcome compute(const std::string& function, void* stream, std::function<void(Operands&)> work, bool wait = false) {
    struct Job {
        std::string function;
        std::function<void(Operands&)> work;
        std::shared_ptr<bool> fine = std::make_shared<bool>(true);
    };
    auto job = std::make_unique<Job>(Job{function, std::move(work)});
    const std::shared_ptr<bool> fine = job->fine;
    const auto run = [](void* data) {
        auto* const self = static_cast<Job*>(data);
        Operands operands(self->function);
        self->work(operands);
        *self->fine = operands.fine();
    };
    const auto drop = [](void* data) { delete static_cast<Job*>(data); };
    if (hipscopeLibraryCall(function.c_str(), stream, run, job.release(), drop) != 0) return Outcome::failed;
    if (wait && hipStreamSynchronize(stream) != 0) return Outcome::failed;
    return *fine ? Outcome::ok : Outcome::failed;
}

}  // namespace stand_in
