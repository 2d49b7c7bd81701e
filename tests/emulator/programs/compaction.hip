// Stream compaction: in order by ballots and a scan, in any order with one atomic for each wave, and runs of equal keys.
#include "check.hpp"

constexpr int threads = 192;
__global__ void count(const int* in, int* counts, int n) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    const int i = blockIdx.x * threads + threadIdx.x;
    const unsigned long long kept = __ballot(i < n && in[i] % 3 == 0);
    if (threadIdx.x % 64 == 0) atomicAdd(&sum, __popcll(kept));
    __syncthreads();
    if (threadIdx.x == 0) counts[blockIdx.x] = sum;
}
__global__ void gather(const int* in, const int* counts, int* out, int n) {
    __shared__ int base, wave[3];
    const int i = blockIdx.x * threads + threadIdx.x, w = threadIdx.x / 64;
    if (threadIdx.x == 0) {
        base = 0;
        for (unsigned b = 0; b < blockIdx.x; ++b) base += counts[b];
    }
    const bool keep = i < n && in[i] % 3 == 0;
    const unsigned long long kept = __ballot(keep);
    if (threadIdx.x % 64 == 0) wave[w] = __popcll(kept);
    __syncthreads();
    int at = base + __builtin_amdgcn_mbcnt_hi(static_cast<unsigned>(kept >> 32), __builtin_amdgcn_mbcnt_lo(static_cast<unsigned>(kept), 0));
    for (int k = 0; k < w; ++k) at += wave[k];
    if (keep) out[at] = in[i];
}
__global__ void unordered(const int* in, int* out, int* size, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || in[i] % 3 != 0) return;
    const unsigned long long here = __ballot(1);  // one lane asks for all that are here
    const int leader = __ffsll(here) - 1, lane = __lane_id();
    int first = 0;
    if (lane == leader) first = atomicAdd(size, __popcll(here));
    first = __shfl(first, leader);
    out[first + __popcll(here & ((1ULL << lane) - 1))] = in[i];
}
__global__ void runs(const int* in, int* heads, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int v = i < n ? in[i] / 100 : -1, before = __shfl_up(v, 1);
    const bool head = i < n && (threadIdx.x % 64 == 0 ? i == 0 || in[i - 1] / 100 != v : before != v);
    if (i < n) heads[i] = head;
}
int main() {
    const int n = 2500, groups = (n + threads - 1) / threads;
    const auto in = generate(n, [](std::size_t i) { return static_cast<int>(mixed(i / 4) % 700); });
    std::vector<int> want;
    for (const int v : in)
        if (v % 3 == 0) want.push_back(v);
    Device<int> d(in), counts(groups), out(want.size()), other(want.size()), size(std::vector<int>{0}), heads(n);
    count<<<groups, threads>>>(d.data, counts.data, n);
    gather<<<groups, threads>>>(d.data, counts.data, out.data, n);
    expect_all("ordered", out.read(), [&](std::size_t i) { return want[i]; });
    unordered<<<groups, threads>>>(d.data, other.data, size.data, n);
    auto got = other.read();
    expect("size", 0, size.read()[0], static_cast<int>(want.size()));
    std::sort(got.begin(), got.end());
    std::sort(want.begin(), want.end());
    for (std::size_t i = 0; i < want.size(); ++i) expect("unordered", i, got[i], want[i]);
    runs<<<groups, threads>>>(d.data, heads.data, n);
    expect_all("head", heads.read(), [&](std::size_t i) { return i == 0 || in[i] / 100 != in[i - 1] / 100 ? 1 : 0; });
    return verdict();
}
