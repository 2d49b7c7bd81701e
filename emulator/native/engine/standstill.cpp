// Executes a wave until it is where it was.
#include "engine/standstill.hpp"

#include <array>
#include <cstring>
#include <string_view>
#include <vector>

namespace hipscope {
namespace {

constexpr int kLongestLoop = 4096;  // instructions

/// What a wave knows but for memory and its clock.
class Registers {
public:
    explicit Registers(const Wave& wave) : sgpr_(wave.sgpr), scc_(wave.scc), mode_(wave.mode), vgpr_(wave.vgpr[0], wave.vgpr[0] + rows(wave) * kLanes) {}
    [[nodiscard]] bool same(const Wave& wave) const {
        return scc_ == wave.scc && mode_ == wave.mode && sgpr_ == wave.sgpr && std::memcmp(vgpr_.data(), wave.vgpr[0], vgpr_.size() * 4) == 0;
    }

private:
    static std::size_t rows(const Wave& wave) { return wave.group->registers.size() / wave.group->waves.size(); }

    std::array<std::uint32_t, sreg::count> sgpr_;
    bool scc_;
    std::uint32_t mode_;
    std::vector<std::uint32_t> vgpr_;
};

/// Stores, and atomics whose results nobody sees. What an atomic gives back stands in a register, and is another value when it was changed.
bool changes_memory(const Instruction& in) {
    const auto has = [&in](std::string_view part) { return in.text.find(part) != std::string::npos; };
    return has("_store") || (has("atomic") && in.destinations == 0) ||
           (in.unit == Unit::lds && in.destinations == 0 && in.text.starts_with("ds_"));
}

}  // namespace

bool goes_round(Wave& wave) {
    const Instruction* const code = wave.program->instructions.data();
    const std::uint32_t begin = wave.pc;
    const Registers before(wave);
    for (int done = 0; done < kLongestLoop; ++done) {
        const Instruction& in = code[wave.pc];
        if (changes_memory(in)) return false;
        switch (in.run(wave, in)) {
            case Step::jump: break;
            case Step::next: case Step::yield: ++wave.pc; break;
            case Step::retry: return true;
            default: return false;
        }
        if (wave.pc == begin && before.same(wave)) return true;
    }
    return false;
}

bool goes_round(Workgroup& group) {
    for (std::size_t i = 0; i < group.waves.size(); ++i)
        if (group.state[i] == WaveState::ready && !goes_round(group.waves[i])) return false;
    return true;
}

}  // namespace hipscope
