// Ways through a program from an instruction on.
#include "sanitize/uses.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace hipscope::sanitize {
namespace {

constexpr std::size_t kFar = 2000;  // instructions on all ways
constexpr std::size_t kLevels = 4, kMany = 32;
constexpr unsigned kWidest = 64;  // dwords of a result

bool loads(const Instruction& in) {
    return in.destinations != 0 && (in.unit == Unit::smem || in.unit == Unit::vmem_load || in.unit == Unit::lds || in.unit == Unit::scratch);
}

/// The dwords of `result` that `other` names, a bit for each.
std::uint64_t common(const Operand& result, const Operand& other) {
    if (other.kind != result.kind) return 0;
    const int from = std::max<int>(result.index, other.index), end = std::min<int>(result.index + result.dwords, other.index + other.dwords);
    if (from >= end) return 0;
    return (~std::uint64_t{0} >> (64 - (end - from))) << (from - result.index);
}

/// Adds those that read the result of the instruction at `start`.
void add_readers(const Program& program, std::uint32_t start, const std::function<bool(std::uint32_t)>& ran, std::set<std::uint32_t>& readers) {
    const auto& code = program.instructions;
    if (code[start].destinations == 0 || code[start].destination[0].dwords > kWidest) return;
    const Operand& result = code[start].destination[0];
    struct Way {
        std::uint32_t pc;
        std::uint64_t left;  // dwords of the result that are still there
    };
    std::vector<Way> ways{{start + 1, common(result, result)}};
    std::unordered_map<std::uint32_t, std::uint64_t> seen;
    for (std::size_t steps = 0; !ways.empty() && steps < kFar; ++steps) {
        auto [pc, left] = ways.back();
        ways.pop_back();
        if (pc >= code.size() || !ran(pc) || (left & ~seen[pc]) == 0) continue;
        seen[pc] |= left;
        const Instruction& in = code[pc];
        std::uint64_t read = 0;
        for (int n = 0; n < in.sources; ++n) read |= common(result, in.source[n]) & left;
        if (read != 0) readers.insert(pc);
        for (int n = 0; n < in.destinations; ++n) left &= ~common(result, in.destination[n]);
        if (left == 0 || in.unit == Unit::end_program) continue;
        const bool jumps = in.unit == Unit::branch, falls = !jumps || in.text.starts_with("s_cbranch");
        if (falls) ways.push_back({pc + 1, left});
        if (jumps && (falls || in.text.starts_with("s_branch"))) ways.push_back({in.target, left});
    }
}

}  // namespace

std::vector<std::vector<std::uint32_t>> uses_of(const Program& program, std::uint32_t load, const std::function<bool(std::uint32_t)>& ran) {
    std::vector<std::vector<std::uint32_t>> levels;
    if (!loads(program.instructions[load])) return levels;
    std::vector<std::uint32_t> from{load};
    while (levels.size() < kLevels && from.size() <= kMany) {
        std::set<std::uint32_t> readers;
        for (const std::uint32_t pc : from) add_readers(program, pc, ran, readers);
        if (readers.empty()) break;
        from.assign(readers.begin(), readers.end());
        levels.push_back(from);
    }
    return levels;
}

}  // namespace hipscope::sanitize
