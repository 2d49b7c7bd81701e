// Pairs of half-precision numbers: products and sums that are exact in them, a tree in LDS, packed comparisons.
#include "check.hpp"
#include <hip/hip_fp16.h>

__global__ void dot(const __half2* a, const __half2* b, float* out, __half2* most, int n) {
    __shared__ __half2 sum[128], best[128];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    const __half2 x = i < n ? a[i] : __float2half2_rn(0), y = i < n ? b[i] : __float2half2_rn(0);
    sum[t] = __hfma2(x, y, __float2half2_rn(0));
    best[t] = x;
    __syncthreads();
    for (int d = 64; d > 0; d /= 2) {
        if (t < d) {
            sum[t] = __hadd2(sum[t], sum[t + d]);
            const __half2 p = best[t], q = best[t + d];
            best[t] = __halves2half2(__hgt(__low2half(p), __low2half(q)) ? __low2half(p) : __low2half(q),
                                     __hlt(__high2half(p), __high2half(q)) ? __high2half(p) : __high2half(q));
        }
        __syncthreads();
    }
    if (t == 0) {
        out[2 * blockIdx.x] = __low2float(sum[0]);
        out[2 * blockIdx.x + 1] = __high2float(sum[0]);
        most[blockIdx.x] = best[0];
    }
}
int main() {
    const int n = 500, groups = 4;
    std::vector<float> fa(2 * n), fb(2 * n);
    std::vector<__half2> a(n), b(n);
    for (int i = 0; i < 2 * n; ++i) {
        fa[i] = static_cast<float>(static_cast<int>(mixed(i) % 9) - 4);
        fb[i] = static_cast<float>(static_cast<int>(mixed(i + 3000) % 7) - 3) * 0.5F;
    }
    for (int i = 0; i < n; ++i) {
        a[i] = __halves2half2(__float2half(fa[2 * i]), __float2half(fa[2 * i + 1]));
        b[i] = __halves2half2(__float2half(fb[2 * i]), __float2half(fb[2 * i + 1]));
    }
    Device<__half2> da(a), db(b), most(groups);
    Device<float> out(2 * groups);
    dot<<<groups, 128>>>(da.data, db.data, out.data, most.data, n);
    const auto got = out.read();
    const auto best = most.read();
    for (int g = 0; g < groups; ++g) {
        float sum[2] = {}, low = g == 3 ? 0 : -99, high = g == 3 ? 0 : 99;
        for (int i = g * 128; i < n && i < (g + 1) * 128; ++i) {
            sum[0] += fa[2 * i] * fb[2 * i];
            sum[1] += fa[2 * i + 1] * fb[2 * i + 1];
            low = std::max(low, fa[2 * i]);
            high = std::min(high, fa[2 * i + 1]);
        }
        expect("low", g, got[2 * g], sum[0]);
        expect("high", g, got[2 * g + 1], sum[1]);
        expect("largest", g, __half2float(__low2half(best[g])), low);
        expect("smallest", g, __half2float(__high2half(best[g])), high);
    }
    return verdict();
}
