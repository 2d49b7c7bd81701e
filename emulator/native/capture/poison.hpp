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

/// The random number of a byte depends on its place only, so that a mask in parts gives the same bytes as a whole one.
class PoisonBytes {
public:
    PoisonBytes(std::uint64_t seed, std::size_t buffer) : state_(seed * 0x9e3779b97f4a7c15ULL + buffer + 1) {}
    char next() {
        state_ = state_ * kFactor + kTerm;
        return static_cast<char>(state_ >> 56U);
    }
    /// Pass over `count` bytes: the powers of the step x -> x * factor + term, by squaring.
    void skip(std::uint64_t count) {
        for (std::uint64_t factor = kFactor, term = kTerm; count != 0; count >>= 1U) {
            if ((count & 1U) != 0) state_ = state_ * factor + term;
            term *= factor + 1;
            factor *= factor;
        }
    }

private:
    static constexpr std::uint64_t kFactor = 6364136223846793005ULL, kTerm = 1442695040888963407ULL;
    std::uint64_t state_;
};

inline bool is_poisoned(char flags) {
    const auto bits = static_cast<std::uint8_t>(flags);
    return (bits & access_bit::written) != 0 && (bits & access_bit::read_before_written) == 0;
}

/// Whether none of the eight bytes that these flags are for is written.
inline bool none_written(const char* flags) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, flags, sizeof eight);
    return (eight & access_bit::written * 0x0101010101010101ULL) == 0;
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
            while (i < end && is_poisoned(run.bytes[i - run.offset])) ++i;
            if (i > begin) visit(begin, i - begin);
            else ++i;
        }
    }
}

/// Fill the bytes of `data` that the reference writes before it reads them: with `fill`, repeated from the buffer's start
/// on, or if that is empty with random bytes of `seed` and `buffer`.
/// `mask` has one byte of access bits for each byte of the buffer (capture/trace.hpp); none outside of its runs.
inline void poison(char* data, std::size_t bytes, const std::vector<Run>& mask, std::uint64_t seed, std::size_t buffer,
                   const std::string& fill) {
    PoisonBytes random(seed, buffer);
    std::size_t done = 0;  // bytes that the random numbers have come past
    each_poisoned(mask, bytes, [&](std::size_t offset, std::size_t count) {
        if (!fill.empty()) {
            std::size_t next = offset % fill.size();
            for (std::size_t i = offset; i < offset + count; ++i) {
                data[i] = fill[next];
                next = next + 1 == fill.size() ? 0 : next + 1;
            }
            return;
        }
        random.skip(offset - done);
        for (std::size_t i = offset; i < offset + count; ++i) data[i] = random.next();
        done = offset + count;
    });
}

}  // namespace hipscope
