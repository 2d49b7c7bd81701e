// What a kernel asks of the host while it runs: printed text, and memory for the device heap.
//
// The protocol is the "hostcall" of the ROCm device libraries (ockl, hostcall_impl): a wave takes a packet from a free
// stack, fills it, pushes it onto a ready stack and spins until the host clears the packet's ready bit. Each thread of
// the engine has a buffer of its own and looks at it between the turns of its waves, so a packet is always known to
// come from the workgroup that just ran, and what is printed has the same order whatever the number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/memory.hpp"
#include "engine/launch.hpp"
#include "engine/printf_buffers.hpp"

namespace hipscope {

class HostServices {
public:
    /// `print` false: what kernels print is kept for `said` instead (replay).
    HostServices(Memory& memory, bool print) : memory_(memory), print_(print), printf_buffers_(memory) {}

    /// Make the buffers that `launch` wants for each of `threads`, with room for `waves` calls at a time.
    /// Throws std::runtime_error when device memory is used up.
    void open(int threads, std::uint64_t waves, const PreparedLaunch& launch);
    /// Write the addresses of the thread's buffers into a kernarg segment.
    void put_addresses(int thread, std::uint64_t kernarg, const HostArguments& arguments) const;
    /// A copy of the launch's kernarg segment for `thread`, with the addresses of that thread's buffers.
    std::uint64_t kernarg_for(int thread, const PreparedLaunch& launch);
    /// State of the device heap (ockl's dm_alloc); zero-filled at the first call, kept over dispatches.
    std::uint64_t heap();
    /// Bytes that the device heap may take from device memory.
    std::uint64_t heap_limit = 4ULL << 30U;
    /// What hipDeviceSetLimit was last given: scratch of a thread is as large as its kernel asks for, whatever this says.
    std::uint64_t stack_limit = 8192;
    /// Told of what the device heap takes from device memory and gives back.
    std::function<void(std::uint64_t address)> slab_appeared, slab_disappears;

    /// The real-time clock of all waves of the dispatch. The device heap waits by it and compares what different waves
    /// have read, so it must not seem to run backwards from one wave to another.
    std::atomic<std::uint64_t> realtime{0};

    /// Answer what waves of `thread` have asked; they belong to workgroup `group`.
    void answer(int thread, std::uint64_t group) {
        if (ready(thread)) answer_all(thread, group);
        if (formats_ != nullptr) printf_buffers_.note(thread, group);
    }
    /// The dispatch is over: write what it printed, in the order of the workgroups.
    void flush();
    /// What kernels printed, a text for each message in no order that counts, as far as there is room; and how many.
    [[nodiscard]] const std::vector<std::string>& said() const { return said_; }
    [[nodiscard]] std::uint64_t messages() const { return said_count_; }
    void forget_said() {
        said_.clear();
        said_bytes_ = said_count_ = 0;
    }
    /// True when a device-side assertion has spoken (and the wave has trapped since).
    [[nodiscard]] bool asserted() const { return asserted_; }
    /// Blocks of device memory that are ours and not the program's.
    [[nodiscard]] std::vector<std::uint64_t> blocks() const;

private:
    struct Line {
        std::uint64_t block = 0, buffer = 0, kernarg = 0;
    };
    struct Message {
        std::uint64_t group = 0;
        std::vector<std::uint64_t> words;  // the first one chooses the stream
    };
    struct Output {
        std::uint64_t group;
        bool error;
        std::string text;
    };

    [[nodiscard]] bool ready(int thread) const;
    void answer_all(int thread, std::uint64_t group);
    void printed(std::uint64_t* slots, std::uint64_t group);
    void memory_request(std::uint64_t* slots);
    std::size_t finish(const Message& message);
    void write_output();
    void add_output(std::uint64_t group, bool error, std::string text);

    Memory& memory_;
    bool print_;
    std::mutex mutex_;
    std::vector<Line> lines_;
    std::uint64_t packets_ = 0;
    std::uint64_t heap_ = 0, heap_bytes_ = 0;
    bool heap_full_said_ = false, unknown_said_ = false, asserted_ = false;
    std::map<std::uint64_t, std::uint64_t> heap_blocks_;  // address -> bytes
    std::map<std::uint64_t, Message> messages_;           // by number
    std::uint64_t next_message_ = 1;
    PrintfBuffers printf_buffers_;
    const PrintfFormats* formats_ = nullptr;  // of the dispatch's code object, when its kernel uses buffered printf
    std::vector<Output> output_;
    std::size_t output_bytes_ = 0;
    std::vector<std::string> said_;
    std::uint64_t said_bytes_ = 0, said_count_ = 0;
};

}  // namespace hipscope
