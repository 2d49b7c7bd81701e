// Lane permutations through LDS hardware and through scalar registers: bpermute, permute, swizzle, readlane, writelane.
#include "check.hpp"

__global__ void permute(const int* in, int* out) {
    const int i = threadIdx.x, v = in[i];
    out[i] = __builtin_amdgcn_ds_bpermute(((i * 13 + 5) & 63) * 4, v);
    out[64 + i] = __builtin_amdgcn_ds_permute(((i * 27 + 9) & 63) * 4, v);  // a permutation: 27 is odd
    out[128 + i] = __builtin_amdgcn_ds_swizzle(v, 0x401f);  // xor 16
    out[192 + i] = __builtin_amdgcn_ds_swizzle(v, 0x0007);  // and 7
    out[256 + i] = __builtin_amdgcn_ds_swizzle(v, 0x00ff);  // and 31, or 7
    out[320 + i] = __builtin_amdgcn_ds_swizzle(v, 0x801b);  // quad_perm:[3,2,1,0]
    int sum = 0;
    for (int l = 0; l < 64; l += 9) sum += __builtin_amdgcn_readlane(v, l) * (l + 1);
    out[384 + i] = sum;
    if (i > 20) out[448 + i] = __builtin_amdgcn_readfirstlane(v + i);
    else out[448 + i] = __builtin_amdgcn_readfirstlane(v - i);
    if (i % 2) out[512 + i] = __builtin_amdgcn_ds_bpermute((i - 1) * 4, v);  // reads a lane that is off: 0
    else out[512 + i] = -1;
}
int main() {
    const auto in = generate(64, [](std::size_t i) { return static_cast<int>(mixed(i)); });
    Device<int> d(in), out(576);
    permute<<<1, 64>>>(d.data, out.data);
    const auto got = out.read();
    std::vector<int> pushed(64);
    int sum = 0;
    for (int i = 0; i < 64; ++i) pushed[(i * 27 + 9) & 63] = in[i];
    for (int l = 0; l < 64; l += 9) sum += static_cast<int>(static_cast<unsigned>(in[l]) * static_cast<unsigned>(l + 1));
    for (int i = 0; i < 64; ++i) {
        const int half = i & 32;
        const int want[8] = {in[(i * 13 + 5) & 63], pushed[i], in[i ^ 16], in[half + (i & 7)], in[half + ((i & 31) | 7)], in[i ^ 3], sum,
                             i > 20 ? in[21] + 21 : in[0]};
        for (int k = 0; k < 8; ++k) expect("permute", k * 64 + i, got[k * 64 + i], want[k]);
        if (i % 2 == 0) expect("even", i, got[512 + i], -1);
    }
    return verdict();
}
