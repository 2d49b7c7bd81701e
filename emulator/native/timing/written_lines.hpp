// Lines of device memory that were written since the timed XCD's last launch began, by others than its timed workgroups.
#pragma once

#include <cstdint>

#include "engine/access.hpp"

namespace hipscope {

/// All threads of a launch mark at once. What is marked is no longer valid in the timed XCD's L2: coherent writes of other XCDs
/// and copies take it away.
class WrittenLines {
public:
    WrittenLines();
    ~WrittenLines();
    WrittenLines(const WrittenLines&) = delete;
    WrittenLines& operator=(const WrittenLines&) = delete;

    /// The lines [begin, end), and those of [address, address + bytes). What is no device memory is left out.
    void mark(std::uint64_t begin, std::uint64_t end);
    void mark_range(std::uint64_t address, std::uint64_t bytes);
    [[nodiscard]] bool contains(std::uint64_t line) const;
    /// Begin anew.
    void clear();

private:
    static constexpr unsigned kWordBits = 6;  // lines of a word, as a power of two

    std::uint64_t* words_;
};

}  // namespace hipscope
