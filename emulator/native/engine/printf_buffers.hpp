// The buffers of printf as clang compiles it with -mprintf-kind=buffered: a kernel takes pieces of one buffer and leaves its
// messages there, the host prints them when the dispatch has ended.
//
// The protocol is that of LLVM's emitAMDGPUPrintfCall and of __printf_alloc in the ROCm device libraries. Each thread of
// the engine has a buffer of its own; what a wave takes in a turn is known to be its workgroup's, so the order of the text
// does not depend on the number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/memory.hpp"

namespace hipscope {

/// Constant formats by the number that stands for them in messages.
using PrintfFormats = std::map<std::uint64_t, std::string>;

/// Adds a line of the metadata's `amdhsa.printf` ("0:0:" and the number in base 16, a comma, the format); other lines are OpenCL's.
void add_printf_format(PrintfFormats& formats, std::string_view line);

class PrintfBuffers {
public:
    explicit PrintfBuffers(Memory& memory) : memory_(memory) {}

    /// An empty buffer for each thread. Throws std::runtime_error when device memory is used up.
    void open(int threads);
    [[nodiscard]] std::uint64_t address(int thread) const { return buffers_.at(static_cast<std::size_t>(thread)).block; }
    /// After a turn of a wave of workgroup `group`: what was taken since the last turn is that group's.
    void note(int thread, std::uint64_t group);
    /// Give the text of each message to `print`, and empty the buffers. To be called when all waves have ended.
    void read(const PrintfFormats& formats, const std::function<void(std::uint64_t group, std::string text)>& print);
    void add_blocks(std::vector<std::uint64_t>& blocks) const;

private:
    struct Piece {
        std::uint64_t group;
        std::uint32_t begin, end;
    };
    struct Buffer {
        std::uint64_t block = 0;
        std::vector<Piece> pieces;
    };

    Memory& memory_;
    std::vector<Buffer> buffers_;
};

}  // namespace hipscope
