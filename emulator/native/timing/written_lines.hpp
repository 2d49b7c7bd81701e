// Lines of device memory that were written since the timed XCD's last launch began, by others than its timed workgroups.
#pragma once

#include <cstdint>

#include "engine/access.hpp"
#include "timing/tags.hpp"

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
    /// Take the marked lines out of an L2: one by one, or, if they are more than it can have, by a look at each that it has.
    void remove_from(Tags& l2) const;
    /// Begin anew.
    void clear();

private:
    [[nodiscard]] bool contains(std::uint64_t line) const;
    /// Call `take(number)` for each of `words_` that may have a mark.
    template <class Take>
    void for_each_word(Take take) const;

    std::uint64_t* words_;   // a bit for each line
    std::uint64_t* blocks_;  // a bit for each 64 of these words: there are marks in them
};

}  // namespace hipscope
