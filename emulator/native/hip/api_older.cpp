// What libamdhip64 exports beside the HIP API and older programs are linked to: conversions that compilers call, names for
// profilers, descriptions of texture channels (data only; there are no textures).
#include "hip/api.hpp"
#include "isa/number.hpp"

using namespace hipscope;

namespace {
struct ChannelDescription {
    int x, y, z, w, kind;
};
}  // namespace

HIPSCOPE_API std::uint16_t __gnu_f2h_ieee(float value) { return isa_baseline::narrow(value).bits; }
HIPSCOPE_API float __gnu_h2f_ieee(std::uint16_t bits) { return isa_baseline::widen({bits}); }

HIPSCOPE_API ChannelDescription hipCreateChannelDesc(int x, int y, int z, int w, int kind) { return {x, y, z, w, kind}; }

HIPSCOPE_API const char* hipApiName(std::uint32_t) { return "unknown"; }
HIPSCOPE_API const char* hipGetCmdName(std::uint32_t) { return "unknown"; }
HIPSCOPE_API abi::Error hip_init() { return abi::error::success; }
