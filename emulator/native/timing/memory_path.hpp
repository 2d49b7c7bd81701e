// The vector memory path of the timed XCD: per CU the address unit, L1 and its miss and store queues; shared by the
// XCD's CUs the L2 channels, the XCD's share of MALL and HBM, and the lines that atomics serialise on.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/access.hpp"
#include "timing/constants.hpp"
#include "timing/history.hpp"
#include "timing/instruction_info.hpp"
#include "timing/l1_lines.hpp"
#include "timing/memory_counts.hpp"
#include "timing/server.hpp"
#include "timing/tags.hpp"
#include "timing/translations.hpp"

namespace hipscope {

/// Fixed number of requests in flight; a new one waits for the one that is `size` requests older.
struct InFlight {
    struct Request {
        std::int64_t done = 0;
        std::uint32_t pc = 0;
        bool atomic = false;
    };
    std::vector<Request> requests;
    std::size_t next = 0;

    explicit InFlight(int size) : requests(static_cast<std::size_t>(size)) {}
    [[nodiscard]] const Request& oldest() const { return requests[next]; }
    /// Member by member: a copy of the whole would be read in other pieces than it was written in.
    void push(std::int64_t done, std::uint32_t pc, bool atomic) {
        Request& request = requests[next];
        request.done = done;
        request.pc = pc;
        request.atomic = atomic;
        next = next + 1 == requests.size() ? 0 : next + 1;
    }
};

/// Lines of an access whose cache entries are asked for before its turn comes. Those of its other lines are when it does.
inline constexpr int kFetchedAhead = 4;

/// What the clock asks of an access that was executed; it outlives neither the lines nor the access that it points to.
struct Touched {
    Space space = Space::none;
    AccessKind kind = AccessKind::load;
    std::uint8_t bytes = 0;
    std::uint8_t lanes = 0;             // how many
    int lds_cycles = 0, lds_addresses = 1;  // of a lane
    int l1_cycles = 0, lines = 0;       // see Lines; a store is taken line by line
    std::uint64_t address = 0;          // of a scalar load
    const std::uint64_t* line = nullptr;
    const std::uint8_t* parts = nullptr;
    const MemoryAccess* made = nullptr;  // of an atomic operation

    /// Where the lines are not spelled out, those of a run are known by its ends only.
    static Touched from(const MemoryAccess& access, const Lines& lines, const LdsCost& lds) {
        return {access.space, access.kind, access.bytes, static_cast<std::uint8_t>(std::popcount(access.lanes)), lds.cycles,
                access.addresses, access.kind == AccessKind::store ? lines.lookups : lines.cycles, lines.count, access.address[0][0], lines.line, lines.parts, &access};
    }
};

/// One CU's side.
struct CuMemory {
    /// `lines`: of its L1, none.
    CuMemory(const TimingConstants& c, L1Lines lines, const std::int64_t& now)
        : l1(std::move(lines)),
          translations(c.utcl1_entries, c.utcl1_fragment_bytes, c.utcl1_miss_cycles),
          misses(c.l1_misses_in_flight),
          stores(c.store_queue),
          returns(now) {}

    L1Lines l1;
    Translations translations;
    InFlight misses, stores;
    Server returns;               // L2 -> L1 data bus
    std::int64_t address_free = 0;  // when the address unit can take the next instruction
    std::int64_t busy = 0;          // cycles the address unit worked
    enum class Held : std::uint8_t { no, memory, atomic };
    Held held = Held::no;           // whether a full miss or store queue made `address_free` late
    std::uint32_t held_by_pc = 0;   // the instruction whose request was waited for

    /// The time at which the line's address is known; what comes behind waits for it.
    std::int64_t translate(std::uint64_t line, std::int64_t t, std::uint32_t pc) {
        const std::int64_t known = translations.translate(line, t);
        if (known > t) {
            held = Held::memory;
            held_by_pc = pc;
        }
        return known;
    }
    void hold(const InFlight::Request& request) {
        held = request.atomic ? Held::atomic : Held::memory;
        held_by_pc = request.pc;
    }
};

class XcdMemory {
public:
    /// `l2`: its tags. `l2_clock`: goes on through all launches that they are kept for. `now`: the model's clock.
    XcdMemory(const TimingConstants& constants, MallHistory& history, Tags& l2, std::int64_t& l2_clock, int active_xcds, const std::int64_t& now);
    ~XcdMemory();
    XcdMemory(const XcdMemory&) = delete;
    XcdMemory& operator=(const XcdMemory&) = delete;

    /// Time at which the last lane's data is in the register file. `start`: when the address unit takes it.
    std::int64_t load(CuMemory& cu, const Touched& access, CachePolicy policy, std::uint32_t pc, std::int64_t start, CacheCounts& counts);
    /// Time at which the last write is acknowledged.
    std::int64_t store(CuMemory& cu, const Touched& access, CachePolicy policy, std::uint32_t pc, std::int64_t start, CacheCounts& counts);
    /// Time at which the last lane's operation is done (its old value is back, when it returns).
    std::int64_t atomic(CuMemory& cu, const Touched& access, std::uint32_t pc, std::int64_t start, CacheCounts& counts);
    /// A line read by the scalar cache: time at which it arrives.
    std::int64_t read_line(std::uint64_t line, std::int64_t t);

    /// Have at hand what an access to the line will look at.
    void prefetch(const CuMemory& cu, std::uint64_t line) const {
        cu.l1.prefetch(line * l1_pieces_);
        l2_.prefetch(line);
    }

    /// The end of a kernel writes the L2's modified lines back, so that the other XCDs see them.
    void write_back(std::int64_t t);

    [[nodiscard]] const L2Counts& counts() const { return counts_; }
    [[nodiscard]] std::int64_t hottest_atomic() const;
    /// When the last write or atomic leaves the XCD.
    [[nodiscard]] std::int64_t drained() const { return drained_; }

private:
    enum class Found : std::uint8_t { l2, memory };
    std::int64_t l2_read(std::uint64_t line, double cost, std::int64_t t, Found& found, bool streams = false);
    /// Where the touched part of a line was found, and times: when all of it is there, and when the next line's turn comes.
    struct Arrival {
        bool in_l1;
        Found found;
        std::int64_t done, next;
    };
    Arrival look_up(CuMemory& cu, std::uint64_t line, unsigned parts, CachePolicy policy, std::uint32_t pc, std::int64_t t, CacheCounts& counts);
    void l2_write(std::uint64_t line, unsigned parts, std::int64_t t, bool streams);
    std::int64_t bring_for_atomic(std::uint64_t line, unsigned requests, std::int64_t served, CacheCounts& counts);
    std::int64_t change_words(const MemoryAccess& access, std::uint64_t line, int requests, std::int64_t ready);
    std::int64_t from_memory(std::uint64_t line, std::int64_t t);
    void to_memory(const Tags::Line& line, std::int64_t t);
    Tags::Line& l2_insert(const Tags::Place& place, std::int64_t filled, std::int64_t t);
    bool seen(std::uint64_t line);
    Server& channel(std::uint64_t line);

    /// Changes of a word that are still to come: cycles of work, `at` a time. CUs run ahead of each other and an access ahead of
    /// its CU, so that requests come out of order: one waits for the work before it, not until the time of one that came early.
    struct WordQueue {
        std::uint64_t at : 36 = 0, work : 28 = 0;  // half a minute of device time, an eighth of a second of work

        /// Cycles that one has to wait that comes at `t` and takes `cycles`.
        std::int64_t wait(std::int64_t t, std::int64_t cycles) {
            constexpr std::int64_t kMost = (1 << 28) - 1;
            const std::int64_t passed = t - static_cast<std::int64_t>(at);
            auto before = static_cast<std::int64_t>(work);
            if (passed > 0) {
                before -= std::min(before, passed);
                at = static_cast<std::uint64_t>(t) & ((std::uint64_t{1} << 36) - 1);
            }
            work = static_cast<std::uint64_t>(std::min(before + cycles, kMost)) & ((std::uint64_t{1} << 28) - 1);
            return before;
        }
    };
    /// A line that atomics change: its words, how long its requests kept their channel busy, and how long those to the word that
    /// came first, which stands for all, kept that word.
    struct AtomicLine {
        WordQueue words[(1 << kLineBits) / 4];
        std::uint32_t first_words = 0;  // a bit each
        std::int64_t busy = 0, word_busy = 0;
    };

    const TimingConstants& c_;
    MallHistory& history_;
    Tags& l2_;
    std::int64_t& l2_clock_;  // when the last line comes that any launch asked for
    std::int64_t l2_begin_;   // of this launch
    std::vector<Server> channels_, atomic_channels_;
    Server mall_, hbm_;
    double l2_read_cost_, l1_fill_cost_, l2_write_cost_, mall_cost_, hbm_read_cost_, hbm_write_cost_;  // cycles per line or half line
    int active_xcds_;
    unsigned l1_pieces_;  // lines of the L1 that make up one of the L2
    std::unordered_map<std::uint64_t, AtomicLine> atomic_lines_;
    std::uint8_t* seen_;  // one bit per line of device memory: used by this XCD in this dispatch
    L2Counts counts_;
    std::int64_t drained_ = 0;
};

}  // namespace hipscope
