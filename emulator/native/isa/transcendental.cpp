// Reciprocal, roots, exponential, logarithm, sine and cosine (manual section 12.8). Results are those of the host's
// mathematics in double precision, rounded: at least as accurate as the hardware, not always bit-equal to it.
#include "isa/families.hpp"
#include "isa/lanes.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

constexpr f64 turn = 6.283185307179586476925286766559;

HIPSCOPE_INLINE f32 rcp(f32 x) { return with_gpu_nan<f32>(1.0F / x, x); }
HIPSCOPE_INLINE f64 rcp(f64 x) { return with_gpu_nan<f64>(1.0 / x, x); }
HIPSCOPE_INLINE f32 root(f32 x) { return with_gpu_nan<f32>(__builtin_sqrtf(x), x); }
HIPSCOPE_INLINE f64 root(f64 x) { return with_gpu_nan<f64>(__builtin_sqrt(x), x); }
HIPSCOPE_INLINE f32 rsq(f32 x) { return with_gpu_nan<f32>(static_cast<f32>(1.0 / __builtin_sqrt(static_cast<f64>(x))), x); }
HIPSCOPE_INLINE f64 rsq(f64 x) { return with_gpu_nan<f64>(1.0 / __builtin_sqrt(x), x); }
f32 exp2_of(f32 x) { return with_gpu_nan<f32>(static_cast<f32>(std::exp2(static_cast<f64>(x))), x); }
f32 log2_of(f32 x) { return with_gpu_nan<f32>(static_cast<f32>(std::log2(static_cast<f64>(x))), x); }
/// The argument counts turns; whole turns are removed exactly before the multiplication.
f32 sine(f32 x) { const f64 t = static_cast<f64>(x); return with_gpu_nan<f32>(static_cast<f32>(std::sin((t - std::floor(t)) * turn)), x); }
f32 cosine(f32 x) { const f64 t = static_cast<f64>(x); return with_gpu_nan<f32>(static_cast<f32>(std::cos((t - std::floor(t)) * turn)), x); }

template <f32 (*f)(f32)>
f16 on_half(f16 x) { return is_nan(x) ? quiet(x) : narrow(f(widen(x))); }
f32 rcp_single(f32 x) { return rcp(x); }
f32 root_single(f32 x) { return root(x); }
f32 rsq_single(f32 x) { return rsq(x); }

}  // namespace

Table transcendental() {
    static constexpr Entry rows[] = {
        op("v_rcp_f32", Unit::valu_trans, [](f32 a) { return rcp(a); }),
        op("v_rcp_iflag_f32", Unit::valu_trans, [](f32 a) { return rcp(a); }),
        op("v_rcp_f64", Unit::valu_trans, [](f64 a) { return rcp(a); }),
        op("v_sqrt_f32", Unit::valu_trans, [](f32 a) { return root(a); }),
        op("v_sqrt_f64", Unit::valu_trans, [](f64 a) { return root(a); }),
        op("v_rsq_f32", Unit::valu_trans, [](f32 a) { return rsq(a); }),
        op("v_rsq_f64", Unit::valu_trans, [](f64 a) { return rsq(a); }),
        slow_op("v_exp_f32", Unit::valu_trans, [](f32 a) { return exp2_of(a); }),
        slow_op("v_exp_legacy_f32", Unit::valu_trans, [](f32 a) { return exp2_of(a); }),
        slow_op("v_log_f32", Unit::valu_trans, [](f32 a) { return log2_of(a); }),
        slow_op("v_log_legacy_f32", Unit::valu_trans, [](f32 a) { return log2_of(a); }),
        slow_op("v_sin_f32", Unit::valu_trans, [](f32 a) { return sine(a); }),
        slow_op("v_cos_f32", Unit::valu_trans, [](f32 a) { return cosine(a); }),
        slow_op("v_rcp_f16", Unit::valu_trans, [](f16 a) { return on_half<rcp_single>(a); }),
        slow_op("v_sqrt_f16", Unit::valu_trans, [](f16 a) { return on_half<root_single>(a); }),
        slow_op("v_rsq_f16", Unit::valu_trans, [](f16 a) { return on_half<rsq_single>(a); }),
        slow_op("v_exp_f16", Unit::valu_trans, [](f16 a) { return on_half<exp2_of>(a); }),
        slow_op("v_log_f16", Unit::valu_trans, [](f16 a) { return on_half<log2_of>(a); }),
        slow_op("v_sin_f16", Unit::valu_trans, [](f16 a) { return on_half<sine>(a); }),
        slow_op("v_cos_f16", Unit::valu_trans, [](f16 a) { return on_half<cosine>(a); }),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
