// See the header.
#include "isa/refused.hpp"

namespace hipscope::isa {
namespace {

constexpr Refused rows[] = {
    {"image_", "textures and images; HIP refuses them for these targets when it compiles"},
    {"s_rfe_b64", "returns from a trap handler; kernels have none"},
    {"s_rfe_restore_b64", "returns from a trap handler; kernels have none"},
    {"s_cbranch_g_fork", "control flow on the fork stack, which no compiler uses"},
    {"s_cbranch_i_fork", "control flow on the fork stack, which no compiler uses"},
    {"s_cbranch_join", "control flow on the fork stack, which no compiler uses"},
    {"s_setvskip", "skips vector instructions, which no compiler uses"},
    {"s_endpgm_ordered_ps_done", "ends pixel shaders"},
    {"v_screen_partition_4se_b32", "graphics"},
    {"s_scratch_load_", "scalar access to another wave's scratch, whose layout is not modelled"},
    {"s_scratch_store_", "scalar access to another wave's scratch, whose layout is not modelled"},
};

}  // namespace

std::span<const Refused> refused() { return rows; }

std::string_view reason_for(std::string_view name) {
    for (const Refused& row : rows) {
        if (name == row.name || (row.name.back() == '_' && name.starts_with(row.name))) return row.reason;
    }
    return {};
}

}  // namespace hipscope::isa
