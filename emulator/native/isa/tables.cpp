// All rows of one build (baseline, AVX2 or AVX-512), in the order of the families.
#include "isa/families.hpp"

#include <array>

namespace hipscope::HIPSCOPE_ISA {

std::span<const isa::Table> tables() {
    static const std::array all{salu(),    control(), smem(), scalar_memory_writes(), valu_f32(),      valu_f64(),      valu_int(),      valu_16bit(),     valu_packed(),
                                compare(), convert(), transcendental(), lane_exchange(), vector_memory(), buffer(), buffer_format(), vector_atomics(), lds(), global_wave_sync(), mfma(), valu_gfx950(), small_float()};
    return all;
}

}  // namespace hipscope::HIPSCOPE_ISA
