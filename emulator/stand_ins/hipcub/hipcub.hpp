// hipCUB over rocPRIM, which has to be installed (Debian and Ubuntu: librocprim-dev): what public programs call most.
#pragma once

#include <hip/hip_runtime.h>

#include <iterator>
#include <limits>
#include <type_traits>
#include <rocprim/rocprim.hpp>

#ifndef HIPCUB_ROCPRIM_API
#define HIPCUB_ROCPRIM_API 1
#endif

namespace hipcub {

struct Sum {
    template <class T>
    __host__ __device__ constexpr T operator()(const T& a, const T& b) const { return a + b; }
};
struct Max {
    template <class T>
    __host__ __device__ constexpr T operator()(const T& a, const T& b) const { return a < b ? b : a; }
};
struct Min {
    template <class T>
    __host__ __device__ constexpr T operator()(const T& a, const T& b) const { return b < a ? b : a; }
};
struct Equality {
    template <class T>
    __host__ __device__ constexpr bool operator()(const T& a, const T& b) const { return a == b; }
};

template <class T>
using CountingInputIterator = rocprim::counting_iterator<T>;
template <class T>
using ConstantInputIterator = rocprim::constant_iterator<T>;
template <class Offset = std::ptrdiff_t>
using DiscardOutputIterator = rocprim::discard_iterator;
template <class Value, class Operation, class Iterator>
using TransformInputIterator = rocprim::transform_iterator<Iterator, Operation, Value>;

// ---- workgroups ----

enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

template <class T, int X, BlockReduceAlgorithm algorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int arch = 0>
class BlockReduce {
    static constexpr auto kind = algorithm == BLOCK_REDUCE_WARP_REDUCTIONS ? rocprim::block_reduce_algorithm::using_warp_reduce
                                                                           : rocprim::block_reduce_algorithm::raking_reduce;
    using Base = rocprim::block_reduce<T, X, kind, Y, Z>;

public:
    using TempStorage = typename Base::storage_type;
    __device__ BlockReduce() : storage_(own()) {}
    __device__ explicit BlockReduce(TempStorage& storage) : storage_(storage) {}

    /// The result is thread 0's.
    template <class Operation>
    __device__ T Reduce(T input, Operation operation) {
        Base().reduce(input, input, storage_, operation);
        return input;
    }
    template <class Operation>
    __device__ T Reduce(T input, Operation operation, int valid) {
        Base().reduce(input, input, static_cast<unsigned>(valid), storage_, operation);
        return input;
    }
    template <int items, class Operation>
    __device__ T Reduce(T (&input)[items], Operation operation) {
        T output;
        Base().reduce(input, output, storage_, operation);
        return output;
    }
    __device__ T Sum(T input) { return Reduce(input, hipcub::Sum()); }
    __device__ T Sum(T input, int valid) { return Reduce(input, hipcub::Sum(), valid); }
    template <int items>
    __device__ T Sum(T (&input)[items]) { return Reduce(input, hipcub::Sum()); }

private:
    __device__ static TempStorage& own() {
        __shared__ TempStorage storage;
        return storage;
    }
    TempStorage& storage_;
};

template <class T, int X, BlockScanAlgorithm algorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int arch = 0>
class BlockScan {
    static constexpr auto kind = algorithm == BLOCK_SCAN_WARP_SCANS ? rocprim::block_scan_algorithm::using_warp_scan : rocprim::block_scan_algorithm::reduce_then_scan;
    using Base = rocprim::block_scan<T, X, kind, Y, Z>;

public:
    using TempStorage = typename Base::storage_type;
    __device__ BlockScan() : storage_(own()) {}
    __device__ explicit BlockScan(TempStorage& storage) : storage_(storage) {}

    template <class Operation>
    __device__ void InclusiveScan(T input, T& output, Operation operation) { Base().inclusive_scan(input, output, storage_, operation); }
    template <class Operation>
    __device__ void InclusiveScan(T input, T& output, Operation operation, T& aggregate) { Base().inclusive_scan(input, output, aggregate, storage_, operation); }
    template <class Operation>
    __device__ void ExclusiveScan(T input, T& output, T initial, Operation operation) { Base().exclusive_scan(input, output, initial, storage_, operation); }
    template <class Operation>
    __device__ void ExclusiveScan(T input, T& output, T initial, Operation operation, T& aggregate) {
        Base().exclusive_scan(input, output, initial, aggregate, storage_, operation);
    }
    __device__ void InclusiveSum(T input, T& output) { InclusiveScan(input, output, hipcub::Sum()); }
    __device__ void InclusiveSum(T input, T& output, T& aggregate) { InclusiveScan(input, output, hipcub::Sum(), aggregate); }
    __device__ void ExclusiveSum(T input, T& output) { ExclusiveScan(input, output, T(0), hipcub::Sum()); }
    __device__ void ExclusiveSum(T input, T& output, T& aggregate) { ExclusiveScan(input, output, T(0), hipcub::Sum(), aggregate); }
    template <int items>
    __device__ void InclusiveSum(T (&input)[items], T (&output)[items]) { Base().inclusive_scan(input, output, storage_, hipcub::Sum()); }
    template <int items>
    __device__ void ExclusiveSum(T (&input)[items], T (&output)[items]) { Base().exclusive_scan(input, output, T(0), storage_, hipcub::Sum()); }

private:
    __device__ static TempStorage& own() {
        __shared__ TempStorage storage;
        return storage;
    }
    TempStorage& storage_;
};

// ---- waves ----

template <class T, int width = 64, int arch = 0>
class WarpReduce {
    using Base = rocprim::warp_reduce<T, width>;

public:
    using TempStorage = typename Base::storage_type;
    __device__ explicit WarpReduce(TempStorage& storage) : storage_(storage) {}
    template <class Operation>
    __device__ T Reduce(T input, Operation operation) {
        Base().reduce(input, input, storage_, operation);
        return input;
    }
    __device__ T Sum(T input) { return Reduce(input, hipcub::Sum()); }

private:
    TempStorage& storage_;
};

template <class T, int width = 64, int arch = 0>
class WarpScan {
    using Base = rocprim::warp_scan<T, width>;

public:
    using TempStorage = typename Base::storage_type;
    __device__ explicit WarpScan(TempStorage& storage) : storage_(storage) {}
    template <class Operation>
    __device__ void InclusiveScan(T input, T& output, Operation operation) { Base().inclusive_scan(input, output, storage_, operation); }
    template <class Operation>
    __device__ void ExclusiveScan(T input, T& output, T initial, Operation operation) { Base().exclusive_scan(input, output, initial, storage_, operation); }
    __device__ void InclusiveSum(T input, T& output) { InclusiveScan(input, output, hipcub::Sum()); }
    __device__ void ExclusiveSum(T input, T& output) { ExclusiveScan(input, output, T(0), hipcub::Sum()); }

private:
    TempStorage& storage_;
};

// ---- the whole device ----

template <class T>
struct DoubleBuffer {
    T* d_buffers[2];
    int selector;
    DoubleBuffer() : d_buffers{nullptr, nullptr}, selector(0) {}
    DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate}, selector(0) {}
    T* Current() { return d_buffers[selector]; }
    T* Alternate() { return d_buffers[selector ^ 1]; }
};

/// What is summed has the type of the result, where that has one: flags are counted, bytes do not overflow.
template <class In, class Out>
using Accumulated = typename std::conditional<std::is_void<typename std::iterator_traits<Out>::value_type>::value, typename std::iterator_traits<In>::value_type,
                                              typename std::iterator_traits<Out>::value_type>::type;
template <class T, class Operation>
struct Typed {
    Operation operation;
    __host__ __device__ T operator()(const T& a, const T& b) const { return operation(a, b); }
};

struct DeviceReduce {
    template <class In, class Out, class Operation, class T>
    static hipError_t Reduce(void* temp, size_t& bytes, In in, Out out, int n, Operation operation, T initial, hipStream_t stream = nullptr, bool debug = false) {
        return rocprim::reduce(temp, bytes, in, out, initial, static_cast<size_t>(n), Typed<Accumulated<In, Out>, Operation>{operation}, stream, debug);
    }
    template <class In, class Out>
    static hipError_t Sum(void* temp, size_t& bytes, In in, Out out, int n, hipStream_t stream = nullptr, bool debug = false) {
        return Reduce(temp, bytes, in, out, n, hipcub::Sum(), Accumulated<In, Out>(0), stream, debug);
    }
    template <class In, class Out>
    static hipError_t Max(void* temp, size_t& bytes, In in, Out out, int n, hipStream_t stream = nullptr, bool debug = false) {
        return Reduce(temp, bytes, in, out, n, hipcub::Max(), std::numeric_limits<typename std::iterator_traits<In>::value_type>::lowest(), stream, debug);
    }
    template <class In, class Out>
    static hipError_t Min(void* temp, size_t& bytes, In in, Out out, int n, hipStream_t stream = nullptr, bool debug = false) {
        return Reduce(temp, bytes, in, out, n, hipcub::Min(), std::numeric_limits<typename std::iterator_traits<In>::value_type>::max(), stream, debug);
    }
};

struct DeviceScan {
    template <class In, class Out, class Operation>
    static hipError_t InclusiveScan(void* temp, size_t& bytes, In in, Out out, Operation operation, int n, hipStream_t stream = nullptr, bool debug = false) {
        return rocprim::inclusive_scan(temp, bytes, in, out, static_cast<size_t>(n), Typed<Accumulated<In, Out>, Operation>{operation}, stream, debug);
    }
    template <class In, class Out, class Operation, class T>
    static hipError_t ExclusiveScan(void* temp, size_t& bytes, In in, Out out, Operation operation, T initial, int n, hipStream_t stream = nullptr, bool debug = false) {
        return rocprim::exclusive_scan(temp, bytes, in, out, initial, static_cast<size_t>(n), Typed<Accumulated<In, Out>, Operation>{operation}, stream, debug);
    }
    template <class In, class Out>
    static hipError_t InclusiveSum(void* temp, size_t& bytes, In in, Out out, int n, hipStream_t stream = nullptr, bool debug = false) {
        return InclusiveScan(temp, bytes, in, out, hipcub::Sum(), n, stream, debug);
    }
    template <class In, class Out>
    static hipError_t ExclusiveSum(void* temp, size_t& bytes, In in, Out out, int n, hipStream_t stream = nullptr, bool debug = false) {
        return ExclusiveScan(temp, bytes, in, out, hipcub::Sum(), Accumulated<In, Out>(0), n, stream, debug);
    }
};

struct DeviceRadixSort {
#define HIPSCOPE_SORT_PAIRS(Name, name)                                                                                                    \
    template <class K, class V>                                                                                                           \
    static hipError_t Name(void* temp, size_t& bytes, const K* keys, K* keys_out, const V* values, V* values_out, int n, int begin = 0,   \
                           int end = sizeof(K) * 8, hipStream_t stream = nullptr, bool debug = false) {                                   \
        return rocprim::name(temp, bytes, keys, keys_out, values, values_out, static_cast<unsigned>(n), begin, end, stream, debug);       \
    }                                                                                                                                     \
    template <class K, class V>                                                                                                           \
    static hipError_t Name(void* temp, size_t& bytes, DoubleBuffer<K>& keys, DoubleBuffer<V>& values, int n, int begin = 0,               \
                           int end = sizeof(K) * 8, hipStream_t stream = nullptr, bool debug = false) {                                   \
        rocprim::double_buffer<K> k(keys.Current(), keys.Alternate());                                                                    \
        rocprim::double_buffer<V> v(values.Current(), values.Alternate());                                                                \
        const hipError_t error = rocprim::name(temp, bytes, k, v, static_cast<unsigned>(n), begin, end, stream, debug);                   \
        if (temp != nullptr && k.current() != keys.Current()) keys.selector ^= 1;                                                         \
        if (temp != nullptr && v.current() != values.Current()) values.selector ^= 1;                                                     \
        return error;                                                                                                                     \
    }
#define HIPSCOPE_SORT_KEYS(Name, name)                                                                                                     \
    template <class K>                                                                                                                    \
    static hipError_t Name(void* temp, size_t& bytes, const K* keys, K* keys_out, int n, int begin = 0, int end = sizeof(K) * 8,          \
                           hipStream_t stream = nullptr, bool debug = false) {                                                            \
        return rocprim::name(temp, bytes, keys, keys_out, static_cast<unsigned>(n), begin, end, stream, debug);                           \
    }                                                                                                                                     \
    template <class K>                                                                                                                    \
    static hipError_t Name(void* temp, size_t& bytes, DoubleBuffer<K>& keys, int n, int begin = 0, int end = sizeof(K) * 8,               \
                           hipStream_t stream = nullptr, bool debug = false) {                                                            \
        rocprim::double_buffer<K> k(keys.Current(), keys.Alternate());                                                                    \
        const hipError_t error = rocprim::name(temp, bytes, k, static_cast<unsigned>(n), begin, end, stream, debug);                      \
        if (temp != nullptr && k.current() != keys.Current()) keys.selector ^= 1;                                                         \
        return error;                                                                                                                     \
    }
    HIPSCOPE_SORT_PAIRS(SortPairs, radix_sort_pairs)
    HIPSCOPE_SORT_PAIRS(SortPairsDescending, radix_sort_pairs_desc)
    HIPSCOPE_SORT_KEYS(SortKeys, radix_sort_keys)
    HIPSCOPE_SORT_KEYS(SortKeysDescending, radix_sort_keys_desc)
#undef HIPSCOPE_SORT_PAIRS
#undef HIPSCOPE_SORT_KEYS
};

struct DeviceSelect {
    template <class In, class Flags, class Out, class Count>
    static hipError_t Flagged(void* temp, size_t& bytes, In in, Flags flags, Out out, Count count, int n, hipStream_t stream = nullptr, bool debug = false) {
        return rocprim::select(temp, bytes, in, flags, out, count, static_cast<size_t>(n), stream, debug);
    }
    template <class In, class Out, class Count, class Predicate>
    static hipError_t If(void* temp, size_t& bytes, In in, Out out, Count count, int n, Predicate predicate, hipStream_t stream = nullptr, bool debug = false) {
        return rocprim::select(temp, bytes, in, out, count, static_cast<size_t>(n), predicate, stream, debug);
    }
    template <class In, class Out, class Count>
    static hipError_t Unique(void* temp, size_t& bytes, In in, Out out, Count count, int n, hipStream_t stream = nullptr, bool debug = false) {
        return rocprim::unique(temp, bytes, in, out, count, static_cast<size_t>(n), hipcub::Equality(), stream, debug);
    }
};

struct DeviceRunLengthEncode {
    template <class In, class Unique, class Counts, class Runs>
    static hipError_t Encode(void* temp, size_t& bytes, In in, Unique unique, Counts counts, Runs runs, int n, hipStream_t stream = nullptr, bool debug = false) {
        return rocprim::run_length_encode(temp, bytes, in, static_cast<unsigned>(n), unique, counts, runs, stream, debug);
    }
};

struct DeviceHistogram {
    template <class Samples, class Counter, class Level, class Offset>
    static hipError_t HistogramEven(void* temp, size_t& bytes, Samples samples, Counter* histogram, int levels, Level lower, Level upper, Offset n,
                                    hipStream_t stream = nullptr, bool debug = false) {
        return rocprim::histogram_even(temp, bytes, samples, static_cast<unsigned>(n), histogram, static_cast<unsigned>(levels), lower, upper, stream, debug);
    }
};

}  // namespace hipcub
