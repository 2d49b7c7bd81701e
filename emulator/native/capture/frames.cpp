// Packs and unpacks frames, side by side.
#include "capture/frames.hpp"

#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "engine/pool.hpp"

namespace hipscope {
namespace {

constexpr int kLevel = -1;               // several times quicker than level 1, which gains little more on numbers
constexpr std::size_t kThreads = 8;      // more wait for memory
constexpr std::size_t kPerThread = 4;    // frames that are worth a thread

struct Frame {
    std::string_view packed;
    std::size_t offset = 0, bytes = 0;  // of the content
};

[[noreturn]] void damaged() { throw std::runtime_error("is not made of zstd frames as captures have them"); }

std::vector<Frame> frames_of(std::string_view packed) {
    std::vector<Frame> frames;
    std::size_t offset = 0;
    while (!packed.empty()) {
        const std::size_t size = ZSTD_findFrameCompressedSize(packed.data(), packed.size());
        const unsigned long long bytes = ZSTD_getFrameContentSize(packed.data(), packed.size());
        if (ZSTD_isError(size) != 0 || bytes > kFrameBytes) damaged();  // no size is a very large one
        frames.push_back({packed.substr(0, size), offset, static_cast<std::size_t>(bytes)});
        offset += static_cast<std::size_t>(bytes);
        packed.remove_prefix(size);
    }
    return frames;
}

/// Run `task(i)` for i in [0, count) on as many threads as that is worth. False when one of them said so.
template <class Task>
bool on_all(std::size_t count, const Task& task) {
    const std::size_t cores = std::min<std::size_t>(kThreads, std::max(1U, std::thread::hardware_concurrency()));
    const std::size_t threads = std::clamp<std::size_t>(count / kPerThread, 1, cores);
    std::atomic<std::size_t> next{0};
    std::atomic<bool> good{true};
    ThreadPool pool(static_cast<int>(threads));
    pool.run(static_cast<int>(threads), [&](int) {
        for (std::size_t i = next++; i < count && good; i = next++)
            if (!task(i)) good = false;
    });
    return good;
}

}  // namespace

std::string pack(std::string_view content) {
    std::vector<std::string> parts((content.size() + kFrameBytes - 1) / kFrameBytes);
    const bool good = on_all(parts.size(), [&](std::size_t i) {
        const std::string_view part = content.substr(i * kFrameBytes, kFrameBytes);
        parts[i].resize(ZSTD_compressBound(part.size()));
        const std::size_t size = ZSTD_compress(parts[i].data(), parts[i].size(), part.data(), part.size(), kLevel);
        if (ZSTD_isError(size) != 0) return false;
        parts[i].resize(size);
        return true;
    });
    if (!good) throw std::runtime_error("cannot compress captured memory");
    std::string packed;
    for (const std::string& part : parts) packed += part;
    return packed;
}

std::uint64_t unpacked_bytes(std::string_view packed) {
    const std::vector<Frame> frames = frames_of(packed);
    return frames.empty() ? 0 : frames.back().offset + frames.back().bytes;
}

void unpack(std::string_view packed, char* to) {
    const std::vector<Frame> frames = frames_of(packed);
    const bool good = on_all(frames.size(), [&](std::size_t i) {
        const Frame& f = frames[i];
        return ZSTD_decompress(to + f.offset, f.bytes, f.packed.data(), f.packed.size()) == f.bytes;
    });
    if (!good) damaged();
}

}  // namespace hipscope
