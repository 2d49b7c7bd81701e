// Scalar memory reads (manual chapter 8): one address, one to sixteen dwords into SGPRs.
#include <cstring>

#include "isa/families.hpp"
#include "isa/scalars.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

/// s_load: sources are the base pair and, optionally, an SGPR offset; the immediate is Modifiers::offset.
template <u32 dwords>
Step scalar_load(Wave& w, const Instruction& in) {
    const u64 address = (scalar64(w, in.source[0]) + smem_offset(w, in, 1)) & ~u64{3};
    if (!w.memory->valid(address, dwords * 4)) [[unlikely]] return fault(w, FaultKind::out_of_bounds, address, dwords * 4, -1, false);
    std::memcpy(&w.sgpr[in.destination[0].index], reinterpret_cast<const void*>(address), dwords * 4);
    record_scalar(w, AccessKind::load, address, dwords * 4);
    return Step::next;
}

constexpr Entry load(std::string_view name, Handler run) {
    Entry e;
    e.name = name;
    e.unit = Unit::smem;
    e.run = run;
    e.destinations = 1;
    e.sources = 2;
    e.source = {Type::b64, Type::b32};
    return e;
}

}  // namespace

Table smem() {
    static constexpr Entry rows[] = {
        load("s_load_dword", &scalar_load<1>),
        load("s_load_dwordx2", &scalar_load<2>),
        load("s_load_dwordx4", &scalar_load<4>),
        load("s_load_dwordx8", &scalar_load<8>),
        load("s_load_dwordx16", &scalar_load<16>),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
