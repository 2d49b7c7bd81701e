// One recorded dispatch as it lies on disk: meta.json, the arguments, the code object and one file per buffer.
// The emulator's runtime and the tools library for GPUs write captures through this; capture/meta.cpp reads them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capture/checksum.hpp"
#include "engine/kernel_argument.hpp"

namespace hipscope {

/// A block of device memory. Argument `arguments[i]` points to byte `offsets[i]` of it.
struct RecordedBuffer {
    std::uint64_t address = 0, bytes = 0;
    std::vector<std::size_t> arguments;
    std::vector<std::uint64_t> offsets;
};

/// A variable of the code object.
struct RecordedGlobal {
    std::string symbol;
    std::uint64_t address = 0, bytes = 0;
};

struct CapturedLaunch {
    std::uint64_t id = 0;
    std::string kernel;  // mangled
    std::string code_object_hash;
    std::array<std::uint32_t, 3> grid{}, workgroup{};  // work-items
    std::uint32_t dynamic_lds = 0;
    bool cooperative = false;
    bool variant = false;  // another launch of the same shape and sharing, for its arguments
    std::uint64_t kernarg_bytes = 0, explicit_bytes = 0;
    std::vector<KernelArgument> arguments;
    std::vector<RecordedBuffer> buffers;
    std::vector<RecordedGlobal> globals;
    std::string reason;  // why the record is not complete; empty when it is
    std::string note;    // what a proof with a complete record has to say of it; empty: nothing
};

/// Note in `buffers` which of them the explicit arguments point into. A pointer may be an argument of its own or a
/// field of a structure passed by value, so every 8 bytes are looked at.
void find_references(const std::vector<KernelArgument>& arguments, std::string_view kernarg,
                     std::vector<RecordedBuffer>& buffers);

/// Write meta.json. It comes last, so that a folder that has it is whole. Throws std::runtime_error.
void write_meta(DispatchWriter& files, const CapturedLaunch& record);

}  // namespace hipscope
