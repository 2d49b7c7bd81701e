// What the fuzzers share: random numbers, damage to bytes, and the number of the input at hand when something crashes.
#pragma once

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>

namespace hipscope::fuzz {

inline std::atomic<std::uint64_t> current{0};

extern "C" inline void tell(int) {
    char text[64];
    const int n = std::snprintf(text, sizeof text, "fuzz: input %llu\n", static_cast<unsigned long long>(current.load()));
    static_cast<void>(!write(2, text, static_cast<std::size_t>(n)));
    std::_Exit(3);
}

struct Random {
    std::uint64_t state;
    std::uint64_t next() {
        std::uint64_t z = state += 0x9e3779b97f4a7c15ULL;
        z = (z ^ z >> 30U) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ z >> 27U) * 0x94d049bb133111ebULL;
        return z ^ z >> 31U;
    }
    std::size_t below(std::size_t n) { return n == 0 ? 0 : next() % n; }
};

/// A few changes: bits, bytes, numbers of 1 to 8 bytes set to corner values, pieces copied, cut off or put in.
inline void damage(std::string& bytes, Random& random) {
    static constexpr std::uint64_t corners[] = {0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff, 1ULL << 40U, ~0ULL, 1ULL << 63U};
    // Headers are small and decide most: half of the changes go there, the other half anywhere.
    for (std::size_t changes = 1 + random.below(6); changes > 0 && !bytes.empty(); --changes) {
        const std::size_t reach = random.below(2) == 0 ? std::min<std::size_t>(bytes.size(), 0x600) : bytes.size();
        const std::size_t at = random.below(reach);
        switch (random.below(8)) {
            case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8))); break;
            case 1: bytes[at] = static_cast<char>(random.next()); break;
            case 2: case 3: case 4: {
                const std::uint64_t value = random.below(3) == 0 ? random.next() : corners[random.below(std::size(corners))] + random.below(3) - 1;
                const std::size_t width = std::size_t{1} << random.below(4);
                std::memcpy(bytes.data() + at, &value, std::min(width, bytes.size() - at));
                break;
            }
            case 5: {
                const std::size_t from = random.below(bytes.size()), length = random.below(std::min(bytes.size() - from, bytes.size() - at)) % 256;
                std::memmove(bytes.data() + at, bytes.data() + from, length);
                break;
            }
            case 6: if (random.below(4) == 0) bytes.resize(random.below(bytes.size()) + 1); break;
            default: bytes.insert(at, random.below(32), static_cast<char>(random.next())); break;
        }
    }
}

inline std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Feed the inputs of SEED, INPUTS of them or those of a range FROM:TO, and print what became of them.
template <class Feed>
void run(const char* inputs, const char* seed, const Feed& feed) {
    for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) std::signal(signal, tell);
    char* behind = nullptr;
    std::uint64_t begin = 0, end = std::strtoull(inputs, &behind, 10);
    if (*behind == ':') {
        begin = end;
        end = std::strtoull(behind + 1, nullptr, 10);
    }
    std::map<std::string, std::uint64_t> results;
    for (current = begin; current < end; ++current) {
        Random random{std::strtoull(seed, nullptr, 10) * 1'000'003 + current};
        const std::string result = feed(random);
        ++results[result.substr(0, result.find('\''))];
    }
    for (const auto& [what, count] : results) std::printf("%8llu  %s\n", static_cast<unsigned long long>(count), what.c_str());
}

}  // namespace hipscope::fuzz
