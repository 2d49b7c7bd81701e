// Records one launch: its arguments and every allocation that can be reached from them, before and after.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "capture/record.hpp"
#include "tool/kernels.hpp"
#include "tool/runtime.hpp"
#include "tool/settings.hpp"

namespace hipscope::gpu {

/// Everything that a snapshot reads memory and allocations with.
struct DeviceMemory {
    std::function<std::string(std::uint64_t address, std::uint64_t bytes)> read;
    std::function<std::optional<Block>(std::uint64_t address)> find;       // asks the runtime, too: for arguments
    std::function<std::optional<Block>(std::uint64_t address)> find_seen;  // quick: for every word of a buffer
};

/// The allocations that `arguments` point into, and those that 8-byte words in them point into, and so on.
///
/// Stops at `max_bytes` of memory: the blocks found by then are given, and `cut` is set. A word that looks like a pointer counts
/// as one: a block too many costs time, a block too few would make a replay wrong.
std::vector<RecordedBuffer> reachable_blocks(const std::vector<KernelArgument>& arguments, const std::string& kernarg,
                                             const DeviceMemory& memory, std::uint64_t max_bytes, bool& cut);

class Snapshot {
public:
    /// Write what the launch is about to see. Throws std::runtime_error.
    Snapshot(const Settings& settings, std::uint64_t id, const hsa_kernel_dispatch_packet_t& packet,
             std::shared_ptr<const LoadedKernel> kernel, DeviceMemory memory);
    /// Write what the launch has left, and meta.json. Throws std::runtime_error.
    void finish();
    /// Write meta.json only: the launch has no result, `reason` says why.
    void give_up(const std::string& reason);

private:
    void write_memory(const std::string& ending);

    std::shared_ptr<const LoadedKernel> kernel_;
    DeviceMemory memory_;
    DispatchWriter files_;
    CapturedLaunch record_;
};

}  // namespace hipscope::gpu
