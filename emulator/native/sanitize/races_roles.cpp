// What the instructions of a program mean for the order of accesses.
#include <string_view>

#include "sanitize/races.hpp"

namespace hipscope::sanitize {
namespace {

constexpr std::uint32_t kLongestPoll = 40;  // instructions of a loop that only waits

bool writes_register(const Instruction& in, const Operand& o) {
    for (int d = 0; d < in.destinations; ++d) {
        const Operand& to = in.destination[d];
        if (to.kind == o.kind && to.index <= o.index && o.index < to.index + to.dwords) return true;
    }
    return false;
}

bool same_operand(const Operand& a, const Operand& b) {
    return a.kind == b.kind && (a.kind == OperandKind::literal ? a.literal == b.literal : a.index == b.index && a.dwords == b.dwords);
}

std::string_view name_of(const Instruction& in) {
    const std::string_view text = in.text;
    return text.substr(0, text.find(' '));
}

/// What the instructions from `load` to before `end` compare the loaded value with; nullptr when they don't.
const Operand* compared_with(const std::vector<Instruction>& code, std::uint32_t load, std::uint32_t end) {
    for (std::uint32_t pc = load + 1; pc < end; ++pc) {
        const Instruction& in = code[pc];
        if (in.sources < 2 || !in.text.starts_with("v_cmp_")) continue;
        if (same_operand(in.source[0], code[load].destination[0])) return &in.source[1];
        if (same_operand(in.source[1], code[load].destination[0])) return &in.source[0];
    }
    return nullptr;
}

/// Compilers take the first turn of a loop that waits out of it: a load before the loop whose value is compared with the same
/// operand as that of the load `poll` in it, and a branch over the loop. It waits as well.
void mark_first_turn(const std::vector<Instruction>& code, std::uint32_t first, std::uint32_t poll, std::uint32_t last, std::vector<Role>& roles) {
    const Operand* wanted = compared_with(code, poll, last);
    bool branch_over = false;
    for (std::uint32_t pc = first; wanted != nullptr && pc-- > 0 && first - pc <= kLongestPoll;) {
        const Instruction& in = code[pc];
        if (in.unit == Unit::branch) {
            if (in.target <= last || in.target > last + 2) return;
            branch_over = true;
        }
        if (in.unit != code[poll].unit) {
            if (in.unit == Unit::vmem_store || in.unit == Unit::vmem_atomic || in.unit == Unit::barrier) return;
            continue;
        }
        if (name_of(in) != name_of(code[poll])) return;
        const Operand* with = compared_with(code, pc, first);
        if (branch_over && with != nullptr && same_operand(*with, *wanted)) roles[pc] = Role::poll;
        return;
    }
}

/// Loads between `first` and the branch at `last` that read the same address in each turn.
void mark_polls(const Program& program, std::uint32_t first, std::uint32_t last, std::vector<Role>& roles) {
    const auto& code = program.instructions;
    for (std::uint32_t pc = first; pc <= last; ++pc) {
        const Unit unit = code[pc].unit;
        const bool stores = unit == Unit::vmem_store || unit == Unit::vmem_atomic || (unit == Unit::lds && code[pc].destinations == 0);
        if (stores || unit == Unit::barrier || unit == Unit::end_program) return;
    }
    for (std::uint32_t pc = first; pc <= last; ++pc) {
        if (code[pc].unit != Unit::lds && code[pc].unit != Unit::vmem_load) continue;
        bool moves = false;
        for (std::uint32_t other = first; other <= last; ++other)
            for (int k = 0; k < code[pc].sources; ++k)
                if (code[pc].source[k].kind != OperandKind::none) moves |= writes_register(code[other], code[pc].source[k]);
        if (moves) continue;
        roles[pc] = Role::poll;
        mark_first_turn(code, first, pc, last, roles);
    }
}

/// Of a ds_gws instruction. ds_gws_init orders nothing.
Role grid_role(std::string_view text) {
    if (text.starts_with("ds_gws_barrier")) return Role::grid_barrier;
    if (text.starts_with("ds_gws_sema_p")) return Role::grid_take;
    return text.starts_with("ds_gws_sema_") ? Role::grid_give : Role::none;
}

}  // namespace

std::vector<Role> roles_of(const Program& program) {
    const auto& code = program.instructions;
    std::vector<Role> roles(code.size(), Role::none);
    for (std::uint32_t pc = 0; pc < code.size(); ++pc) {
        const Instruction& in = code[pc];
        if (in.unit == Unit::branch && in.text.starts_with("s_cbranch") && in.target <= pc && pc - in.target <= kLongestPoll)
            mark_polls(program, in.target, pc, roles);
        const bool device = in.text.find("sc1") != std::string::npos;
        if (device && in.text.starts_with("buffer_wbl2")) roles[pc] = Role::release;
        if (device && in.text.starts_with("buffer_inv")) roles[pc] = Role::acquire;
        if (in.text.starts_with("ds_gws_")) roles[pc] = grid_role(in.text);
    }
    return roles;
}

}  // namespace hipscope::sanitize
