// The lines that an L2 holds when a launch begins, so that the launch can be timed again in that state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "timing/tags.hpp"

namespace hipscope {

/// Neighbouring lines, by their numbers.
struct LineRun {
    std::uint64_t first, count;
};

/// Put into an empty L2 in this order, they leave it in the order in which they were used: the first lines first.
using L2Lines = std::vector<LineRun>;

L2Lines lines_of(const Tags& l2);
/// Put the lines in, those that come twice once; they are there from the beginning of time.
void fill(Tags& l2, const L2Lines& lines);

/// One run in each line of text, and the text's checksum in the last.
std::string to_text(const L2Lines& lines);
/// Throws std::runtime_error when the text is not whole.
L2Lines lines_from(std::string_view text);

}  // namespace hipscope
