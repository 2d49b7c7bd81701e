// The few calls of the HSA runtime that a snapshot needs, taken from the table that the runtime hands to a tool.
#pragma once

#include <hsa/hsa_api_trace.h>

#include <cstdint>
#include <string>

#include "tool/allocations.hpp"

namespace hipscope::gpu {

/// A signal that starts at 1 and that a packet counts down.
class CompletionSignal {
public:
    /// Throws std::runtime_error when the runtime has none left.
    explicit CompletionSignal(const CoreApiTable& core);
    ~CompletionSignal();
    CompletionSignal(const CompletionSignal&) = delete;
    CompletionSignal& operator=(const CompletionSignal&) = delete;

    [[nodiscard]] hsa_signal_t handle() const { return signal_; }
    /// False when it was not reached within the time. The signal must then outlive the packet: call `abandon`.
    [[nodiscard]] bool wait(std::uint64_t timeout_ms) const;
    /// Leave the signal to the process: a packet that is still queued may count it down later.
    void abandon() { owned_ = false; }

private:
    const CoreApiTable& core_;
    hsa_signal_t signal_{};
    bool owned_ = true;
};

/// A packet that waits for everything before it and makes its writes visible to the host.
hsa_barrier_and_packet_t full_barrier(hsa_signal_t completion);

/// Copy device memory to the host. Throws std::runtime_error with the runtime's own words.
std::string read_device(const CoreApiTable& core, std::uint64_t address, std::uint64_t bytes);

/// The allocation that holds `address`: one that was seen being made, else what the runtime knows of the pointer.
std::optional<Block> find_block(const Allocations& seen, const AmdExtTable& amd, std::uint64_t address);

}  // namespace hipscope::gpu
