// Runs of lines out of an L2's tags, as text, and back.
#include "timing/l2_lines.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "core/digest.hpp"

namespace hipscope {
namespace {

constexpr std::string_view kEnd = "end ";

}  // namespace

L2Lines lines_of(const Tags& l2) {
    std::vector<std::vector<std::uint64_t>> by_age;
    l2.for_each_by_age([&](std::size_t age, std::uint64_t line) {
        if (age >= by_age.size()) by_age.resize(age + 1);
        by_age[age].push_back(line);
    });
    L2Lines lines;
    for (std::vector<std::uint64_t>& of_age : by_age) {
        std::ranges::sort(of_age);
        for (const std::uint64_t line : of_age) {
            if (!lines.empty() && lines.back().first + lines.back().count == line) ++lines.back().count;
            else lines.push_back({line, 1});
        }
    }
    return lines;
}

void fill(Tags& l2, const L2Lines& lines) {
    for (const auto& [first, count] : lines)
        for (std::uint64_t line = first; line < first + count; ++line)
            if (l2.find(line) == nullptr) l2.insert(line);
}

std::string to_text(const L2Lines& lines) {
    std::string text;
    for (const auto& [first, count] : lines) text += std::to_string(first) + ' ' + std::to_string(count) + '\n';
    return text + std::string(kEnd) + Digest().add(text).text() + '\n';
}

L2Lines lines_from(std::string_view text) {
    const std::size_t end = text.rfind(kEnd);
    if (end == std::string_view::npos || text.substr(end) != std::string(kEnd) + Digest().add(std::string(text.substr(0, end))).text() + '\n')
        throw std::runtime_error("what the L2 held when the launch was recorded is damaged; profile the program again");
    L2Lines lines;
    std::istringstream in{std::string(text.substr(0, end))};
    for (LineRun run{}; in >> run.first >> run.count;) lines.push_back(run);
    return lines;
}

}  // namespace hipscope
