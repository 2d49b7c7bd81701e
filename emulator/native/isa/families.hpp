// The families of the instruction table, one function per file of this folder.
#pragma once

#include "isa/entry.hpp"
#include "isa/number.hpp"

namespace hipscope::HIPSCOPE_ISA {

isa::Table salu();
isa::Table control();
isa::Table smem();
isa::Table scalar_memory_writes();
isa::Table valu_f32();
isa::Table valu_f64();
isa::Table valu_int();
isa::Table valu_16bit();
isa::Table valu_packed();
isa::Table valu_gfx950();
isa::Table small_float();
isa::Table compare();
isa::Table convert();
isa::Table transcendental();
isa::Table lane_exchange();
isa::Table vector_memory();
isa::Table buffer();
isa::Table buffer_format();
isa::Table vector_atomics();
isa::Table lds();
isa::Table global_wave_sync();
isa::Table mfma();

}  // namespace hipscope::HIPSCOPE_ISA
