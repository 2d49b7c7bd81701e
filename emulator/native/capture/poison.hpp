// Overwrites what a kernel writes without reading it first: its replacement must not depend on those bytes either.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "capture/runs.hpp"
#include "capture/trace.hpp"

namespace hipscope {

/// The random bytes of a word depend on its place only, so that a mask in parts gives the same bytes as a whole one.
class PoisonBytes {
public:
    PoisonBytes(std::uint64_t seed, std::size_t buffer) : start_(seed * 0x9e3779b97f4a7c15ULL + buffer + 1) {}
    /// The eight bytes from `word` * 8 on (the finalizer of SplitMix64).
    [[nodiscard]] std::uint64_t word(std::uint64_t word) const {
        std::uint64_t z = start_ + (word + 1) * 0x9e3779b97f4a7c15ULL;
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31U);
    }

private:
    std::uint64_t start_;
};

/// One byte repeated in all eight of a word.
constexpr std::uint64_t eight_times(std::uint8_t byte) { return byte * 0x0101010101010101ULL; }

inline bool is_poisoned(char flags) {
    const auto bits = static_cast<std::uint8_t>(flags);
    return (bits & access_bit::written) != 0 && (bits & access_bit::read_before_written) == 0;
}

inline std::uint64_t eight_flags(const char* flags) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, flags, sizeof eight);
    return eight;
}

/// Whether none of the eight bytes that these flags are for is written.
inline bool none_written(const char* flags) { return (eight_flags(flags) & eight_times(access_bit::written)) == 0; }

/// Whether all of them are poisoned.
inline bool all_poisoned(const char* flags) {
    return (eight_flags(flags) & eight_times(access_bit::written | access_bit::read_before_written)) == eight_times(access_bit::written);
}

/// Tell `visit` the offset and length of each stretch of a buffer of `bytes` that `poison` fills.
template <class Visit>
void each_poisoned(const std::vector<Run>& mask, std::size_t bytes, const Visit& visit) {
    for (const Run& run : mask) {
        const std::size_t end = std::min(run.offset + run.bytes.size(), bytes);
        for (std::size_t i = run.offset; i < end;) {
            if (i + 8 <= end && none_written(run.bytes.data() + (i - run.offset))) {
                i += 8;
                continue;
            }
            const std::size_t begin = i;
            while (i + 8 <= end && all_poisoned(run.bytes.data() + (i - run.offset))) i += 8;
            while (i < end && is_poisoned(run.bytes[i - run.offset])) ++i;
            if (i > begin) visit(begin, i - begin);
            else ++i;
        }
    }
}

/// Fill `count` bytes from `offset` on with `pattern`, which is repeated from the start of `data` on.
inline void repeat(const std::string& pattern, char* data, std::size_t offset, std::size_t count) {
    std::size_t done = 0;
    for (std::size_t next = offset % pattern.size(); done < std::min(count, pattern.size()); ++done) {
        data[offset + done] = pattern[next];
        next = next + 1 == pattern.size() ? 0 : next + 1;
    }
    while (done < count) {  // what is there is whole patterns, so that twice as many go on with them
        const std::size_t some = std::min(done, count - done);
        std::memcpy(data + offset + done, data + offset, some);
        done += some;
    }
}

/// Fill the bytes of `data` that the reference writes before it reads them: with `fill`, repeated from the buffer's start
/// on, or if that is empty with random bytes of `seed` and `buffer`.
/// `mask` has one byte of access bits for each byte of the buffer (capture/trace.hpp); none outside of its runs.
inline void poison(char* data, std::size_t bytes, const std::vector<Run>& mask, std::uint64_t seed, std::size_t buffer,
                   const std::string& fill) {
    const PoisonBytes random(seed, buffer);
    each_poisoned(mask, bytes, [&](std::size_t offset, std::size_t count) {
        if (!fill.empty()) return repeat(fill, data, offset, count);
        for (std::size_t i = offset; i < offset + count;) {
            const std::uint64_t word = random.word(i / 8);
            const std::size_t some = std::min(8 - i % 8, offset + count - i);
            std::memcpy(data + i, reinterpret_cast<const char*>(&word) + i % 8, some);
            i += some;
        }
    });
}

}  // namespace hipscope
