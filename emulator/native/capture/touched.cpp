// Protected pages; the first access to a piece of them raises SIGSEGV, whose handler keeps the contents and opens the piece.
#include "capture/touched.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace hipscope {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLeastPiece = 1U << 16U;
constexpr std::uint64_t kMostPieces = 1U << 13U;  // each may be a mapping of its own, of which a process has 65,530
constexpr std::uint64_t kUntouched = std::numeric_limits<std::uint64_t>::max(), kNotKept = kUntouched - 1;

std::atomic<TouchedMemory*> active{nullptr};

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

char* at(std::uint64_t address) {
    return reinterpret_cast<char*>(address);  // NOLINT(performance-no-int-to-ptr): device pointers are host pointers
}

}  // namespace

TouchedMemory::TouchedMemory(const std::vector<Block>& blocks, std::uint64_t most) : most_(most) {
    std::uint64_t total = 0;
    for (const Block& block : blocks) total += block.bytes;
    piece_ = std::max(kLeastPiece, round_up(total / kMostPieces, kPage));
    order_.resize(blocks.size());
    std::vector<std::size_t> sorted(blocks.size());
    for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = i;
    std::sort(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) { return blocks[a].address < blocks[b].address; });
    for (const std::size_t i : sorted) {
        order_[i] = watched_.size();
        watched_.push_back({blocks[i], std::vector<std::uint64_t>((blocks[i].bytes + piece_ - 1) / piece_, kUntouched)});
    }
    void* kept = mmap(nullptr, std::max(most_, kPage), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (kept == MAP_FAILED) throw std::runtime_error("no address space for what a launch touches");
    kept_ = static_cast<char*>(kept);
    struct sigaction action{};
    action.sa_sigaction = fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    active = this;
    sigaction(SIGSEGV, &action, &previous_);
    for (const Watched& w : watched_) {
        if (!w.block.open) continue;
        for (std::uint64_t offset = 0; offset < w.block.bytes; offset += piece_) touch(w.block.address + offset);
    }
    for (const Watched& w : watched_)
        if (!w.block.open && w.block.bytes > 0 && mprotect(at(w.block.address), round_up(w.block.bytes, kPage), PROT_NONE) != 0) {
            end();
            munmap(kept_, std::max(most_, kPage));
            throw std::runtime_error("the system does not let memory be watched");
        }
}

TouchedMemory::~TouchedMemory() {
    end();
    munmap(kept_, std::max(most_, kPage));
}

void TouchedMemory::end() {
    if (ended_) return;
    ended_ = true;
    for (const Watched& w : watched_) mprotect(at(w.block.address), round_up(w.block.bytes, kPage), PROT_READ | PROT_WRITE);
    sigaction(SIGSEGV, &previous_, nullptr);
    active = nullptr;
}

void TouchedMemory::fault(int /*signal*/, siginfo_t* info, void* /*context*/) {
    const int number = errno;
    TouchedMemory* const watch = active;
    const bool ours = watch != nullptr && watch->touch(reinterpret_cast<std::uint64_t>(info->si_addr));
    // Not ours: the access is repeated under the handler that was there before.
    if (!ours && watch != nullptr) sigaction(SIGSEGV, &watch->previous_, nullptr);
    errno = number;
}

std::uint64_t TouchedMemory::piece_bytes(const Watched& w, std::size_t piece) const {
    return std::min(piece_, w.block.bytes - piece * piece_);
}

bool TouchedMemory::touch(std::uint64_t address) {
    auto found = std::upper_bound(watched_.begin(), watched_.end(), address,
                                  [](std::uint64_t a, const Watched& w) { return a < w.block.address; });
    if (found == watched_.begin()) return false;
    Watched& w = *--found;
    const std::uint64_t offset = address - w.block.address;
    if (offset >= round_up(w.block.bytes, kPage)) return false;
    const std::size_t piece = std::min<std::size_t>(offset / piece_, w.kept.size() - 1);
    char* const start = at(w.block.address + piece * piece_);
    const std::uint64_t bytes = piece_bytes(w, piece);
    while (busy_.test_and_set(std::memory_order_acquire)) {}
    if (w.kept[piece] == kUntouched) {
        touched_ += bytes;
        if (bytes <= most_ - used_) {
            // Others may read the piece meanwhile; who writes to it comes here and waits.
            if (!w.block.open) mprotect(start, round_up(bytes, kPage), PROT_READ);
            std::memcpy(kept_ + used_, start, bytes);
            w.kept[piece] = used_;
            used_ += bytes;
        } else {
            w.kept[piece] = kNotKept;
            over_ = true;
        }
    }
    const bool open = w.block.open || mprotect(start, round_up(bytes, kPage), PROT_READ | PROT_WRITE) == 0;
    busy_.clear(std::memory_order_release);
    return open;
}

TouchedMemory::Span TouchedMemory::span(std::size_t block) const {
    const Watched& w = watched_[order_[block]];
    Span span;
    for (std::size_t piece = 0; piece < w.kept.size(); ++piece) {
        if (w.kept[piece] == kUntouched) continue;
        if (span.end == 0) span.first = piece * piece_;
        span.end = piece * piece_ + piece_bytes(w, piece);
    }
    return span;
}

std::string TouchedMemory::before(std::size_t block, Span part) const {
    const Watched& w = watched_[order_[block]];
    std::string content(at(w.block.address + part.first), part.end - part.first);
    for (std::size_t piece = part.first / piece_; piece < w.kept.size() && piece * piece_ < part.end; ++piece) {
        if (w.kept[piece] >= kNotKept) continue;
        const std::uint64_t from = std::max(part.first, piece * piece_);
        const std::uint64_t to = std::min(part.end, piece * piece_ + piece_bytes(w, piece));
        std::memcpy(content.data() + (from - part.first), kept_ + w.kept[piece] + (from - piece * piece_), to - from);
    }
    return content;
}

}  // namespace hipscope
