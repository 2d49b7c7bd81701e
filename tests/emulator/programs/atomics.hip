// Atomics on global memory and LDS: every width and operation, compare-and-swap loops, contention between workgroups.
#include "check.hpp"

struct Cells {
    int added, smallest, largest, ored, anded, xored, exchanged, increments, decrements;
    unsigned unsigned_smallest, unsigned_largest;
    unsigned long long added64, largest64;
    float added_float, cas_float;
    double added_double;
    long long cas64;
};
__global__ void update(Cells* c, int* tickets) {
    __shared__ int local;
    __shared__ float local_float;
    __shared__ unsigned long long local64;
    if (threadIdx.x == 0) {
        local = 0;
        local_float = 0;
        local64 = 0;
    }
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&local, i & 3);
    atomicAdd(&local_float, 0.5F);
    atomicAdd(&local64, 1ULL << 33);
    atomicAdd(&c->added, 1);
    atomicMin(&c->smallest, 1000 - i);
    atomicMax(&c->largest, i * 3);
    atomicOr(&c->ored, 1 << (i & 15));
    atomicAnd(&c->anded, ~(1 << (i & 7)));
    atomicXor(&c->xored, i);
    __builtin_amdgcn_atomic_inc32(reinterpret_cast<unsigned*>(&c->increments), 9U, __ATOMIC_RELAXED, "agent");
    __builtin_amdgcn_atomic_dec32(reinterpret_cast<unsigned*>(&c->decrements), 6U, __ATOMIC_RELAXED, "agent");
    atomicMin(&c->unsigned_smallest, 4000000000U - static_cast<unsigned>(i));
    atomicMax(&c->unsigned_largest, 3000000000U + static_cast<unsigned>(i));
    atomicAdd(&c->added64, 0x100000001ULL);
    atomicMax(&c->largest64, 0x7000000000ULL + static_cast<unsigned long long>(i));
    atomicAdd(&c->added_float, 0.25F);
    atomicAdd(&c->added_double, 0.125);
    int* as_int = reinterpret_cast<int*>(&c->cas_float);
    int old = *as_int, seen = 0;
    do {
        seen = old;
        old = atomicCAS(as_int, seen, __float_as_int(__int_as_float(seen) + 1.0F));
    } while (old != seen);
    unsigned long long* wide = reinterpret_cast<unsigned long long*>(&c->cas64);
    unsigned long long before = *wide, expected = 0;
    do {
        expected = before;
        before = atomicCAS(wide, expected, expected + 3);
    } while (before != expected);
    tickets[atomicAdd(&c->exchanged, 1)] = i;
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&c->added, local);
        atomicAdd(&c->added_float, local_float);
        atomicAdd(&c->added64, local64);
    }
}
int main() {
    const int blocks = 8, threads = 256, n = blocks * threads;
    Cells start{};
    start.smallest = 1 << 30;
    start.anded = -1;
    start.unsigned_smallest = ~0U;
    Device<Cells> cells(std::vector<Cells>{start});
    Device<int> tickets(n);
    update<<<blocks, threads>>>(cells.data, tickets.data);
    const Cells c = cells.read()[0];
    int xored = 0, low_bits = 0;
    for (int i = 0; i < n; ++i) {
        xored ^= i;
        low_bits += i & 3;
    }
    unsigned inc = 0, dec = 0;
    for (int i = 0; i < n; ++i) {
        inc = inc >= 9 ? 0 : inc + 1;
        dec = dec == 0 || dec > 6 ? 6 : dec - 1;
    }
    expect("add", 0, c.added, n + low_bits);
    expect("min", 0, c.smallest, 1000 - (n - 1));
    expect("max", 0, c.largest, (n - 1) * 3);
    expect("or", 0, c.ored, 0xffff);
    expect("and", 0, c.anded, ~0xff);
    expect("xor", 0, c.xored, xored);
    expect("inc", 0, static_cast<unsigned>(c.increments), inc);
    expect("dec", 0, static_cast<unsigned>(c.decrements), dec);
    expect("umin", 0, c.unsigned_smallest, 4000000000U - static_cast<unsigned>(n - 1));
    expect("umax", 0, c.unsigned_largest, 3000000000U + static_cast<unsigned>(n - 1));
    expect("add64", 0, c.added64, static_cast<unsigned long long>(n) * 0x100000001ULL + static_cast<unsigned long long>(n) * (1ULL << 33));
    expect("max64", 0, c.largest64, 0x7000000000ULL + static_cast<unsigned long long>(n - 1));
    expect("add float", 0, c.added_float, static_cast<float>(n) * 0.75F);
    expect("add double", 0, c.added_double, n * 0.125);
    expect("cas float", 0, c.cas_float, static_cast<float>(n));
    expect("cas 64", 0, c.cas64, 3LL * n);
    auto seen = tickets.read();
    std::vector<int> count(n);
    for (const int t : seen) ++count[static_cast<std::size_t>(t)];
    for (int i = 0; i < n; ++i) expect("ticket", i, count[static_cast<std::size_t>(i)], 1);
    return verdict();
}
