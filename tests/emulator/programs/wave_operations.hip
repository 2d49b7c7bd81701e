// Ballots, shuffles, votes, scans and reductions over a wave of 64.
#include "check.hpp"

__global__ void exchange(const int* in, int* down, int* up, int* xored, int* any, double* wide, unsigned long long* votes, int* scan, int* broadcast) {
    const int i = threadIdx.x, v = in[i];
    down[i] = __shfl_down(v, 3);
    up[i] = __shfl_up(v, 5, 16);
    xored[i] = __shfl_xor(v, 9);
    any[i] = __shfl(v, (i * 7) & 63);
    wide[i] = __shfl_xor(static_cast<double>(v) * 1.5, 32);
    votes[i] = __ballot(v & 1);
    int sum = v;
    for (int d = 1; d < 64; d *= 2) {
        const int below = __shfl_up(sum, d);
        if (i >= d) sum += below;
    }
    scan[i] = sum;
    broadcast[i] = __any(v == 1234567) * 4 + __all(v > -100) * 2 + (__popcll(__ballot(v > 0)) & 1);
}
__global__ void divergent(int* out) {
    const int i = threadIdx.x;
    int total = 0;
    if (i % 3 == 0) {
        total = __popcll(__ballot(1));
    } else if (i % 3 == 1) {
        for (int k = 0; k < i; ++k) total += __builtin_amdgcn_readfirstlane(i) == i ? 1 : 0;
    } else {
        total = static_cast<int>(__lane_id());
    }
    out[i] = total;
}
__global__ void reduce(const float* in, float* out, int n) {
    __shared__ float part[4];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    for (int d = 32; d > 0; d /= 2) sum += __shfl_down(sum, d);
    if (threadIdx.x % 64 == 0) part[threadIdx.x / 64] = sum;
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(out, part[0] + part[1] + part[2] + part[3]);
}
__global__ void dpp(const int* in, int* out) {
    const int i = threadIdx.x, v = in[i];
    out[i] = __builtin_amdgcn_update_dpp(-1, v, 0x111, 0xf, 0xf, false);          // row_shr:1
    out[64 + i] = __builtin_amdgcn_update_dpp(-1, v, 0x102, 0xf, 0xf, true);      // row_shl:2, zero outside
    out[128 + i] = __builtin_amdgcn_update_dpp(-1, v, 0x1b, 0xf, 0xf, false);     // quad_perm:[3,2,1,0]
    out[192 + i] = __builtin_amdgcn_update_dpp(-1, v, 0x140, 0x5, 0xf, false);    // row_mirror, rows 0 and 2
    out[256 + i] = __builtin_amdgcn_update_dpp(-1, v, 0x142, 0xa, 0xf, false);    // row_bcast:15, rows 1 and 3
    out[320 + i] = __builtin_amdgcn_ds_swizzle(v, 0x041f);                        // xor 1 within 32 lanes
    out[384 + i] = __builtin_amdgcn_ds_bpermute(((i + 20) & 63) * 4, v);
    out[448 + i] = __builtin_amdgcn_ds_permute(((i + 20) & 63) * 4, v);
}
int main() {
    std::vector<int> in(64);
    for (int i = 0; i < 64; ++i) in[static_cast<std::size_t>(i)] = (i * 37) % 101 - 20;
    const auto at = [&](int i) { return in[static_cast<std::size_t>(i & 63)]; };
    Device<int> d(in), down(64), up(64), xored(64), any(64), scan(64), broadcast(64);
    Device<double> wide(64);
    Device<unsigned long long> votes(64);
    exchange<<<1, 64>>>(d.data, down.data, up.data, xored.data, any.data, wide.data, votes.data, scan.data, broadcast.data);
    const auto h_down = down.read(), h_up = up.read(), h_xor = xored.read(), h_any = any.read(), h_scan = scan.read(), h_b = broadcast.read();
    const auto h_wide = wide.read();
    const auto h_votes = votes.read();
    unsigned long long vote = 0;
    int positive = 0;
    for (int i = 0; i < 64; ++i) {
        vote |= static_cast<unsigned long long>(at(i) & 1) << i;
        positive += at(i) > 0;
    }
    for (int i = 0, sum = 0; i < 64; ++i) {
        sum += at(i);
        const std::size_t s = static_cast<std::size_t>(i);
        expect("down", s, h_down[s], i + 3 < 64 ? at(i + 3) : at(i));
        expect("up", s, h_up[s], i % 16 >= 5 ? at(i - 5) : at(i));
        expect("xor", s, h_xor[s], at(i ^ 9));
        expect("any lane", s, h_any[s], at(i * 7));
        expect("wide", s, h_wide[s], at(i ^ 32) * 1.5);
        expect("ballot", s, h_votes[s], vote);
        expect("scan", s, h_scan[s], sum);
        expect("votes", s, h_b[s], 2 + (positive & 1));
    }
    Device<int> div(64);
    divergent<<<1, 64>>>(div.data);
    const auto h_div = div.read();
    for (int i = 0; i < 64; ++i) {
        const int want = i % 3 == 0 ? 22 : i % 3 == 2 ? i : i;
        if (i % 3 != 1) expect("divergent", i, h_div[static_cast<std::size_t>(i)], want);
    }
    const int n = 10000;
    std::vector<float> values(n);
    double total = 0;
    for (int i = 0; i < n; ++i) total += values[static_cast<std::size_t>(i)] = static_cast<float>(i % 17) * 0.5F;
    Device<float> dv(values), sum(std::vector<float>{0.0F});
    reduce<<<8, 256>>>(dv.data, sum.data, n);
    expect("reduce", 0, static_cast<double>(sum.read()[0]), total, 1e-6);

    Device<int> moved(512);
    dpp<<<1, 64>>>(d.data, moved.data);
    const auto m = moved.read();
    for (int i = 0; i < 64; ++i) {
        const std::size_t s = static_cast<std::size_t>(i);
        expect("row_shr", s, m[s], i % 16 >= 1 ? at(i - 1) : -1);
        expect("row_shl", s, m[64 + s], i % 16 + 2 < 16 ? at(i + 2) : 0);
        expect("quad_perm", s, m[128 + s], at(i ^ 3));
        expect("row_mirror", s, m[192 + s], i / 16 % 2 == 0 ? at(i ^ 15) : -1);
        expect("row_bcast", s, m[256 + s], i / 16 % 2 == 1 ? at(i / 16 * 16 - 1) : -1);
        expect("swizzle", s, m[320 + s], at(i ^ 1));
        expect("bpermute", s, m[384 + s], at(i + 20));
        expect("permute", s, m[448 + s], at(i - 20));
    }
    return verdict();
}
