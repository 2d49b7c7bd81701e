// Inline assembly: vector and scalar operations, DPP and SDWA by hand, LDS and memory instructions, exec and vcc.
#include "check.hpp"

__global__ void run(const unsigned* in, unsigned* out, int n) {
    __shared__ unsigned lds[64];
    const unsigned t = threadIdx.x, v = in[t], w = in[(t + 1) % 64];
    unsigned a, b, c, d, e, f, g, h;
    asm("v_add_u32 %0, %1, %2" : "=v"(a) : "v"(v), "v"(w));
    asm("v_mad_u32_u24 %0, %1, 3, %2" : "=v"(b) : "v"(v), "v"(w));
    asm("v_add_u32_sdwa %0, %1, %2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1" : "=v"(c) : "v"(v), "v"(w));
    asm("s_nop 1\n v_mov_b32_dpp %0, %1 row_ror:3 row_mask:0xf bank_mask:0xf" : "=v"(d) : "v"(v));
    asm("v_cmp_gt_u32 vcc, %1, %2\n s_nop 1\n v_cndmask_b32 %0, %1, %2, vcc" : "=v"(e) : "v"(v), "v"(w) : "vcc");
    const unsigned address = static_cast<unsigned>(reinterpret_cast<size_t>(static_cast<__attribute__((address_space(3))) unsigned*>(
        (__attribute__((address_space(3))) unsigned*)lds)));
    asm volatile("ds_write_b32 %1, %2\n s_waitcnt lgkmcnt(0)\n s_barrier\n ds_read_b32 %0, %3\n s_waitcnt lgkmcnt(0)"
                 : "=v"(f) : "v"(address + t * 4), "v"(v), "v"(address + (63 - t) * 4) : "memory");
    asm volatile("global_load_dword %0, %1, off offset:8\n s_waitcnt vmcnt(0)" : "=v"(g) : "v"(in + t) : "memory");
    unsigned scalar;
    asm volatile("s_mul_i32 %0, %1, 5\n s_bcnt1_i32_b64 vcc_lo, exec\n s_add_u32 %0, %0, vcc_lo" : "=&s"(scalar) : "s"(n) : "vcc", "scc");
    h = scalar;
    const unsigned results[8] = {a, b, c, d, e, f, g, h};
    for (int k = 0; k < 8; ++k) out[k * 64 + t] = results[k];
}
int main() {
    const auto in = generate(66, [](std::size_t i) { return mixed(i); });
    Device<unsigned> d(in), out(512);
    run<<<1, 64>>>(d.data, out.data, 11);
    const auto got = out.read();
    for (unsigned t = 0; t < 64; ++t) {
        const unsigned v = in[t], w = in[(t + 1) % 64];
        const unsigned want[8] = {v + w, (v & 0xffffffU) * 3 + w, (v >> 8 & 255U) + (w >> 16), in[(t & 48U) + ((t & 15U) + 13) % 16],
                                  v > w ? w : v, in[63 - t], in[t + 2], 55 + 64};
        for (unsigned k = 0; k < 8; ++k) expect("assembly", k * 64 + t, got[k * 64 + t], want[k]);
    }
    return verdict();
}
