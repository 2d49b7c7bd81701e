// What a program's device work leaves: a digest of each buffer after each launch, and of each copy to the host. Two runs
// of a program can be compared by it where the program itself prints nothing.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/memory.hpp"
#include "engine/raw_output.hpp"

namespace hipscope {

/// Writes `effects` into a folder, a line each: "L KERNEL id:digest ..." for a launch (no ids: not looked at), and
/// "C bytes digest offset address" for a copy, whose contents stand at that offset of `copies` (-: not kept) and come from that
/// address (0: from rows with gaps).
class Effects {
public:
    /// `budget`: bytes of buffers that are looked at after launches.
    Effects(RawOutput& output, std::uint64_t budget) : output_(output), budget_(budget) {}

    /// `internal` lists blocks that are not the program's.
    void launched(const std::string& kernel, const Memory& memory, const std::vector<std::uint64_t>& internal);
    /// Rows of a copy from the device to the host, as `to` has them, and the address of a single one.
    void copied(std::string_view bytes, std::uint64_t from);

private:
    static constexpr std::uint64_t kKept = 32ULL << 20U;  // bytes of copies
    [[nodiscard]] bool looks(std::uint64_t bytes);
    void line(const std::string& text);

    RawOutput& output_;  // this process's own folder, from the first line on
    std::uint64_t budget_, used_ = 0, launches_ = 0, next_ = 0, kept_ = 0;
    std::ofstream lines_, contents_;
};

}  // namespace hipscope
