// Random accesses to LDS and to global memory: two kernels make the same ones, and one of them stores a word of its own to
// every page first, and to every page of LDS after every barrier, twice there. The other stores these elsewhere, so that the
// waves come to the accesses at the same time. See test_sanitizers_random.py. Argument: the seed.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr unsigned kLdsWords = 2048, kWords = 1 << 14, kOwn = 64;  // every 64th word is nobody's but the first thread's
constexpr int kOperations = 24;
using Four = __attribute__((ext_vector_type(4))) unsigned;

enum Kind : int {
    load_word, load_byte, load_short, load_long, load_four, load_two_words, atomic_load, add, add_and_take, add_long, set_bits,
    store_word, store_long, store_four, store_two_words, store_byte, store_short, swap, atomic_store, fence, barrier, kinds
};
struct Operation {
    int kind, lane_step, wave_step, group_step, base, words, scrambled, value, waves, left_out;
};

/// An element of `words` words where `per_own` make 64 of them, but none of those that hold the first thread's word.
__device__ unsigned element(unsigned x, unsigned words, unsigned per_own) {
    const unsigned own = per_own < kOwn ? 1 : per_own / kOwn;
    x %= words / kOwn * per_own;
    return x % per_own >= per_own - own ? x - own : x;
}

/// No `volatile`: that would make accesses to global memory ones that other workgroups may meet.
template <class T>
__device__ void load(const T* from) {
    const T value = *from;
    if constexpr (sizeof(T) < 4) asm volatile("" ::"v"(static_cast<unsigned>(value)) : "memory");
    else asm volatile("" ::"v"(value) : "memory");
}

__device__ void operate(const Operation& o, unsigned* memory) {
    const unsigned lane = threadIdx.x % 64, wave = threadIdx.x / 64;
    if ((o.waves >> wave & 1) == 0 || (o.left_out != 0 && lane % o.left_out == 0)) return;
    unsigned x = lane * o.lane_step + wave * o.wave_step + blockIdx.x * o.group_step + o.base;
    if (o.scrambled) x = x * 2654435761U >> 7;
    const unsigned value = o.value == 0 ? 7 : o.value == 1 ? lane : threadIdx.x + 1;
    auto* const word = memory + element(x, o.words, 64);
    auto* const byte = reinterpret_cast<unsigned char*>(memory) + element(x, o.words, 256);
    auto* const part = reinterpret_cast<unsigned short*>(memory) + element(x, o.words, 128);
    auto* const wide = reinterpret_cast<unsigned long long*>(memory) + element(x, o.words, 32);
    auto* const four = reinterpret_cast<Four*>(memory) + element(x, o.words, 16);
    switch (o.kind) {
        case load_word: load(word); break;
        case load_byte: load(byte); break;
        case load_short: load(part); break;
        case load_long: load(wide); break;
        case load_four: load(four); break;
        case load_two_words: {
            const unsigned first = memory[element(x, o.words, 64)], second = memory[element(x + 64, o.words, 64)];
            asm volatile("" ::"v"(first), "v"(second));
            break;
        }
        case atomic_load: static_cast<void>(__hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)); break;
        case add: atomicAdd(word, 1U); break;
        case add_and_take: {
            const unsigned before = atomicAdd(word, 1U);
            asm volatile("" ::"v"(before));
            break;
        }
        case add_long: atomicAdd(wide, 1ULL); break;
        case set_bits: atomicOr(word, value); break;
        case store_word: *word = value; break;
        case store_two_words: {
            memory[element(x, o.words, 64)] = value;
            memory[element(x + 64, o.words, 64)] = lane;
            break;
        }
        case store_byte: *byte = value; break;
        case store_short: *part = value; break;
        case store_long: *wide = value; break;
        case store_four: *four = Four{value, value, value, value}; break;
        case swap: {
            const unsigned before = atomicCAS(word, 7U, value);
            asm volatile("" ::"v"(before));
            break;
        }
        case atomic_store: __hip_atomic_store(word, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); break;
        case fence: __threadfence(); break;
        default: break;
    }
    asm volatile("" ::: "memory");
}

__device__ void take_own_words(unsigned* memory, unsigned words, int times) {
    if (threadIdx.x != 0) return;
    for (int time = 0; time < times; ++time) {
        for (unsigned i = kOwn - 1; i < words; i += kOwn) memory[i] = 1;
        asm volatile("" ::: "memory");
    }
}

template <bool own_words>
__global__ void in_lds(const Operation* operations, int count) {
    alignas(16) __shared__ unsigned memory[kLdsWords], elsewhere[kLdsWords];
    for (unsigned i = threadIdx.x; i < kLdsWords; i += blockDim.x) memory[i] = 0;
    __syncthreads();
    take_own_words(own_words ? memory : elsewhere, kLdsWords, 2);
    for (int k = 0; k < count; ++k) {
        if (operations[k].kind == barrier) {
            __syncthreads();
            take_own_words(own_words ? memory : elsewhere, kLdsWords, 2);
        } else {
            operate(operations[k], memory);
        }
    }
}

template <bool own_words>
__global__ void in_global(const Operation* operations, int count, unsigned* memory) {
    if (blockIdx.x == 0) take_own_words(own_words ? memory : memory + kWords, kWords, 1);
    for (int k = 0; k < count; ++k) {
        if (operations[k].kind == barrier) __syncthreads();
        else operate(operations[k], memory);
    }
}

static unsigned long long state;
static int random_below(int end) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((state >> 33) % end);
}
template <int n>
static int one_of(const int (&all)[n]) {
    return all[random_below(n)];
}

/// Mostly loads, stores or atomic operations, so that some of the memory is accessed in one way alone.
enum class Mostly { loads, stores, atomics };

static Operation random_operation(Mostly mostly) {
    const int way = random_below(10);
    const Mostly other = mostly == Mostly::loads ? Mostly::atomics : Mostly::loads;
    const Mostly kinds_of = way < 5 ? mostly : other;
    Operation o{};
    if (way >= 6) o.kind = way < 8 ? random_below(barrier) : static_cast<int>(barrier);
    else if (kinds_of == Mostly::loads) o.kind = load_word + random_below(add - load_word);
    else if (kinds_of == Mostly::atomics) o.kind = add + random_below(store_word - add);
    else o.kind = store_word + random_below(store_byte - store_word);
    o.lane_step = one_of({1, 1, 1, 0, 2, 4, 17, 33, -1});
    o.wave_step = one_of({64, 64, 256, 0, 1, 16, 2048});
    o.group_step = one_of({0, 64, 256, 1024});
    o.base = random_below(3) == 0 ? random_below(512) : random_below(8) * 64;
    o.words = one_of({256, 1024, kLdsWords});
    o.scrambled = random_below(4) == 0;
    o.value = random_below(3);
    o.waves = random_below(3) == 0 ? 1 + random_below(15) : 15;
    o.left_out = one_of({0, 0, 0, 1, 2, 3, 5});
    return o;
}

int main(int argc, char** argv) {
    state = argc > 1 ? std::strtoull(argv[1], nullptr, 10) * 7919 + 1 : 1;
    for (int k = 0; k < 8; ++k) random_below(2);
    unsigned* memory = nullptr;
    Operation* operations = nullptr;
    if (hipMalloc(&memory, 2 * kWords * sizeof(unsigned)) || hipMalloc(&operations, kOperations * sizeof(Operation))) return 1;
    for (int round = 0; round < 16; ++round) {
        const auto mostly = static_cast<Mostly>(random_below(3));
        std::vector<Operation> all(kOperations);
        for (Operation& o : all) o = random_operation(mostly);
        const int count = 3 + random_below(kOperations - 2), threads = 64 * (1 + random_below(4)) - (random_below(4) == 0 ? 13 : 0), groups = 1 + random_below(3);
        if (hipMemcpy(operations, all.data(), kOperations * sizeof(Operation), hipMemcpyHostToDevice)) return 1;
        in_lds<false><<<groups, threads>>>(operations, count);
        in_lds<true><<<groups, threads>>>(operations, count);
        for (const bool own_words : {false, true}) {
            if (hipMemset(memory, 0, kWords * sizeof(unsigned))) return 1;
            if (own_words) in_global<true><<<groups, threads>>>(operations, count, memory);
            else in_global<false><<<groups, threads>>>(operations, count, memory);
        }
        if (hipDeviceSynchronize()) return 1;
    }
}
