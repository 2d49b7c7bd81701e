// Inclusive scans and a reduction over a wave by DPP moves alone: row shifts, then row broadcasts.
#include "check.hpp"

template <int Control, int Rows>
__device__ int moved(int identity, int v) {
    return __builtin_amdgcn_update_dpp(identity, v, Control, Rows, 0xf, false);
}
__global__ void scan(const int* in, int* sums, int* most) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int s = in[i], m = in[i];
    s += moved<0x111, 0xf>(0, s);  // row_shr:1
    s += moved<0x112, 0xf>(0, s);
    s += moved<0x114, 0xf>(0, s);
    s += moved<0x118, 0xf>(0, s);
    s += moved<0x142, 0xa>(0, s);  // row_bcast:15
    s += moved<0x143, 0xc>(0, s);  // row_bcast:31
    sums[i] = s;
    const int least = -2147483647 - 1;
    m = max(m, moved<0x111, 0xf>(least, m));
    m = max(m, moved<0x112, 0xf>(least, m));
    m = max(m, moved<0x114, 0xf>(least, m));
    m = max(m, moved<0x118, 0xf>(least, m));
    m = max(m, moved<0x142, 0xa>(least, m));
    m = max(m, moved<0x143, 0xc>(least, m));
    most[i] = __builtin_amdgcn_readlane(m, 63);
}
__global__ void rotations(const int* in, int* out) {
    const int i = threadIdx.x, v = in[i];
    out[i] = __builtin_amdgcn_mov_dpp(v, 0x121, 0xf, 0xf, true);        // row_ror:1
    out[64 + i] = __builtin_amdgcn_mov_dpp(v, 0x12f, 0xf, 0xf, true);   // row_ror:15
    out[128 + i] = __builtin_amdgcn_mov_dpp(v, 0x141, 0xf, 0xf, true);  // row_half_mirror
    out[192 + i] = __builtin_amdgcn_mov_dpp(v, 0x140, 0xf, 0xf, true);  // row_mirror
    out[256 + i] = __builtin_amdgcn_mov_dpp(v, 0x4e, 0xf, 0xf, true);   // quad_perm:[2,3,0,1]
    out[320 + i] = __builtin_amdgcn_update_dpp(7, v, 0x130, 0xf, 0xf, false);  // wave_shl:1
    out[384 + i] = __builtin_amdgcn_update_dpp(7, v, 0x138, 0xf, 0xf, false);  // wave_shr:1
    out[448 + i] = __builtin_amdgcn_update_dpp(7, v, 0x134, 0xf, 0xf, false);  // wave_rol:1
    out[512 + i] = __builtin_amdgcn_update_dpp(7, v, 0x13c, 0xf, 0xf, false);  // wave_ror:1
    out[576 + i] = __builtin_amdgcn_update_dpp(7, v, 0xe4, 0xf, 0x5, false);   // banks 0 and 2 only
}
int main() {
    const int n = 512;
    const auto in = generate(n, [](std::size_t i) { return static_cast<int>(mixed(i) % 2001) - 1000; });
    Device<int> d(in), sums(n), most(n), turned(640);
    scan<<<2, 256>>>(d.data, sums.data, most.data);
    const auto s = sums.read(), m = most.read();
    for (int first = 0; first < n; first += 64) {
        int sum = 0, largest = *std::max_element(&in[first], &in[first] + 64);
        for (int l = 0; l < 64; ++l) {
            sum += in[first + l];
            expect("scan", first + l, s[first + l], sum);
            expect("maximum", first + l, m[first + l], largest);
        }
    }
    rotations<<<1, 64>>>(d.data, turned.data);
    const auto got = turned.read();
    for (int l = 0; l < 64; ++l) {
        const int row = l & ~15, r = l & 15;
        const int want[10] = {in[row + (r + 15) % 16], in[row + (r + 1) % 16], in[row + (r & 8) + 7 - (r & 7)], in[row + 15 - r],
                              in[(l & ~3) + ((l & 3) ^ 2)], l < 63 ? in[l + 1] : 7, l > 0 ? in[l - 1] : 7,
                              in[(l + 1) % 64], in[(l + 63) % 64], (r / 4) % 2 == 0 ? in[l] : 7};
        for (int k = 0; k < 10; ++k) expect("rotation", k * 64 + l, got[k * 64 + l], want[k]);
    }
    return verdict();
}
