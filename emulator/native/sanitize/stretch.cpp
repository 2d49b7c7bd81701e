// Where stretches end, and which registers they need.
#include "sanitize/stretch.hpp"

#include <algorithm>

#include "core/wave.hpp"

namespace hipscope::sanitize {
namespace {

/// A computation of the active lanes on registers that its operands name, after which EXEC is what it was.
bool only_computes(const Instruction& in, const Flow& flow) {
    if (in.unit == Unit::waitcnt) return true;
    const bool lanes_alone = flow.reach == Reach::active && (flow.kind == FlowKind::compute || flow.kind == FlowKind::copy);
    const bool arithmetic = in.unit == Unit::valu || in.unit == Unit::valu_half || in.unit == Unit::valu_trans || in.unit == Unit::salu;
    return lanes_alone && arithmetic && in.unindexed == nullptr && !flow.scalar_write.has(sreg::exec) && !flow.scalar_write.has(sreg::exec + 1);
}

void add_new(std::vector<std::uint16_t>& rows, const RowRange& range, const std::vector<std::uint16_t>& but) {
    for (std::uint16_t row = range.first; row < range.first + range.count; ++row)
        if (std::ranges::find(rows, row) == rows.end() && std::ranges::find(but, row) == but.end()) rows.push_back(row);
}

}  // namespace

Stretch stretch_from(const Program& program, std::size_t first, const std::function<const Flow&(std::size_t)>& flow_at) {
    Stretch s;
    for (std::size_t at = first; at < program.instructions.size() && s.length < Stretch::most; ++at, ++s.length) {
        const Instruction& in = program.instructions[at];
        const Flow& flow = flow_at(at);
        if (!only_computes(in, flow)) break;
        for (unsigned n = 0; n < flow.reads; ++n) add_new(s.reads, flow.read[n], s.writes);
        for (unsigned n = 0; n < flow.writes; ++n) add_new(s.writes, flow.write[n], {});
        ScalarSet scalars = flow.scalar_read;
        scalars.remove(s.scalar_writes);
        s.scalar_reads.add(scalars);
        s.scalar_writes.add(flow.scalar_write);
    }
    return s;
}

}  // namespace hipscope::sanitize
