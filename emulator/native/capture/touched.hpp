// Device memory that a launch touches, and what it held before: the pages of blocks are protected until their first access.
// For programs with more live memory than one recorded launch may hold.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

namespace hipscope {

/// Watches blocks from its construction to `end`; one watch at a time in a process.
class TouchedMemory {
public:
    struct Block {
        std::uint64_t address = 0, bytes = 0;  // `address` is that of a page; no other block has a part of its pages
        bool open = false;  // kept at once and never protected: a system call of another thread would fail on it
    };
    struct Span {
        std::uint64_t first = 0, end = 0;  // offsets in the block; equal when nothing was touched
    };

    /// At most `most` bytes of contents are kept. Throws std::runtime_error when the system refuses.
    TouchedMemory(const std::vector<Block>& blocks, std::uint64_t most);
    ~TouchedMemory();
    TouchedMemory(const TouchedMemory&) = delete;
    TouchedMemory& operator=(const TouchedMemory&) = delete;

    /// All memory can be accessed again, unseen.
    void end();
    /// Bytes in the pieces that were touched, also those beyond `most`.
    [[nodiscard]] std::uint64_t bytes() const { return touched_; }
    /// False when more than `most` was touched: what the rest held before is not known.
    [[nodiscard]] bool whole() const { return !over_; }
    /// From the first to the last piece of a block that was touched; all of an open one.
    [[nodiscard]] Span span(std::size_t block) const;
    /// What a part of a block held when the watch began. After `end`, while nothing else has written to it.
    [[nodiscard]] std::string before(std::size_t block, Span part) const;

private:
    struct Watched {
        Block block;
        std::vector<std::uint64_t> kept;  // of each piece: where in `kept_` its contents are
    };

    static void fault(int signal, siginfo_t* info, void* context);
    /// True when the address belongs to a watched block; its piece is then kept and open.
    bool touch(std::uint64_t address);
    [[nodiscard]] std::uint64_t piece_bytes(const Watched& w, std::size_t piece) const;

    std::vector<Watched> watched_;  // by address
    std::vector<std::size_t> order_;  // of each block as given: where it is in `watched_`
    std::uint64_t piece_ = 0, most_ = 0, used_ = 0, touched_ = 0;
    char* kept_ = nullptr;
    bool over_ = false, ended_ = false;
    std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
    struct sigaction previous_{};
};

}  // namespace hipscope
