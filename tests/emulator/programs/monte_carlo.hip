// Monte Carlo with exact integer random numbers: points in a circle, a shuffle with a seed, a random walk in a table.
#include "check.hpp"

__host__ __device__ inline unsigned long long split(unsigned long long& s) {  // splitmix64
    unsigned long long z = s += 0x9e3779b97f4a7c15ULL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}
__host__ __device__ inline int circle(unsigned seed, int draws) {
    unsigned state = seed * 2654435761U + 1;
    int inside = 0;
    for (int i = 0; i < draws; ++i) {
        const unsigned long long x = next_random(state) >> 8, y = next_random(state) >> 8;
        inside += x * x + y * y < 1ULL << 48;
    }
    return inside;
}
__host__ __device__ inline unsigned long long walk(unsigned long long seed, int steps) {
    unsigned long long s = seed, place = 1;
    for (int i = 0; i < steps; ++i) {
        const unsigned long long r = split(s);
        place = r & 1 ? place * 3 + (r >> 60) : place / 2 + r % 1000003;
    }
    return place;
}
__global__ void sample(unsigned long long* total, unsigned long long* walks, int draws) {
    __shared__ int inside;
    if (threadIdx.x == 0) inside = 0;
    __syncthreads();
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&inside, circle(i, draws));
    walks[i] = walk(i, draws);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(total, static_cast<unsigned long long>(inside));
}
int main() {
    const int threads = 100, groups = 6, draws = 40;
    Device<unsigned long long> total(std::vector<unsigned long long>{0}), walks(threads * groups);
    sample<<<groups, threads>>>(total.data, walks.data, draws);
    unsigned long long want = 0;
    for (unsigned i = 0; i < static_cast<unsigned>(threads * groups); ++i) want += static_cast<unsigned>(circle(i, draws));
    expect("circle", 0, total.read()[0], want);
    expect("about pi", 0, 4.0 * static_cast<double>(want) / (threads * groups * draws), 3.14, 0.02);
    expect_all("walk", walks.read(), [&](std::size_t i) { return walk(i, draws); });
    return verdict();
}
