// Data races within a dispatch: who touched each word of LDS and global memory last, and what orders two accesses.
//
// Order within a workgroup is exact: a vector clock for each wave, joined at barriers and through atomic operations on
// the same word. Between workgroups an access is taken to be ordered when its workgroup wrote back its caches
// (buffer_wbl2 sc1, a release) after it, and the other workgroup invalidated its own (buffer_inv sc1, an acquire) after
// that (LLVM AMDGPUUsage, "Memory Model GFX942"). That never calls an ordered pair a race; it overlooks races between
// workgroups that both fence for another reason. Global wave sync orders what comes before it in one workgroup and after
// it in another (races_grid.cpp).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/decode.hpp"
#include "core/wave.hpp"

namespace hipscope::sanitize {

inline constexpr std::size_t kMaxWaves = 16;
/// One entry for each wave of the workgroup, then the grid barriers of the dispatch that are known to have opened.
using Clocks = std::array<std::uint32_t, kMaxWaves + 1>;
inline constexpr std::size_t kGrid = kMaxWaves;

void join(Clocks& into, const Clocks& from);

/// What an instruction means for order, beside being an access.
enum class Role : std::uint8_t { none, release, acquire, poll, grid_barrier, grid_give, grid_take };

/// `poll`: a load in a short loop that stores nothing and never changes the address, so that it waits for another wave.
/// `grid_...`: global wave sync; a semaphore gives and takes.
std::vector<Role> roles_of(const Program& program);

/// One access as a word remembers it. 0: nobody.
struct Trace {
    std::uint64_t bits = 0;

    static constexpr std::uint32_t max_pc = (1U << 20U) - 1;
    static Trace make(std::uint32_t segment, std::uint32_t pc, std::uint32_t scope) {
        return {std::uint64_t{segment} << 32U | std::uint64_t{pc} << 12U | std::uint64_t{scope} << 10U};
    }
    [[nodiscard]] Trace with(std::uint32_t lane, std::uint32_t mask) const { return {bits | lane << 4U | mask}; }
    [[nodiscard]] std::uint32_t segment() const { return static_cast<std::uint32_t>(bits >> 32U); }
    [[nodiscard]] std::uint32_t pc() const { return static_cast<std::uint32_t>(bits >> 12U) & max_pc; }
    [[nodiscard]] std::uint32_t scope() const { return static_cast<std::uint32_t>(bits >> 10U) & 3U; }
    [[nodiscard]] int lane() const { return static_cast<int>(bits >> 4U) & 63; }
    [[nodiscard]] std::uint32_t mask() const { return static_cast<std::uint32_t>(bits) & 15U; }
};

/// Atomic scope of an access: none, workgroup (sc0 alone), or one that other workgroups see.
namespace scope {
inline constexpr std::uint32_t plain = 0, workgroup = 1, device = 2;
}

/// The words of a stretch of memory.
struct Words {
    std::uint64_t* write;
    std::uint64_t* read;
    std::uint32_t* value;  // what the word held after the last store
};

/// What a wave did between two events that order it: `clock` is its own at that time.
struct Segment {
    std::uint64_t group;
    std::uint64_t begun;        // event number
    std::uint32_t clock;
    std::uint32_t releases;     // of the workgroup until then
    std::uint8_t wave;
};

struct WaveOrder {
    Clocks clocks{};            // what it knows of each wave of its workgroup; its own: the present
    std::uint32_t segment = 0;
    bool used = false;          // the segment holds an access
};

struct GroupOrder {
    std::vector<WaveOrder> waves;
    std::uint32_t epoch = 0;    // first segment after the last barrier
    std::vector<std::uint64_t> lds_write, lds_read;
    std::vector<std::uint32_t> lds_value;
};

/// A pair of accesses that nothing orders.
struct Conflict {
    Trace first;
    Segment by;
    std::uint64_t address = 0;
    std::uint32_t bytes = 0;
    int lane = -1;
    bool wrote_first = false, writes = false;
    bool synchronised = false;   // the workgroups met through an atomic, but caches were not written back or invalidated
    bool released = false;       // ... and the first one did write back
    std::uint32_t seed = ~0U;    // a plain load that met an atomic operation: its pc
};

class Races {
public:
    Races();
    ~Races();
    Races(const Races&) = delete;
    Races& operator=(const Races&) = delete;

    void begin(const std::shared_ptr<Disassembly>& code);
    void started(GroupOrder& order, std::uint64_t group, std::size_t waves, std::uint32_t lds_bytes);
    void barrier(GroupOrder& order, std::uint64_t group);
    void fence(GroupOrder& order, std::uint64_t group, std::uint32_t wave, Role role);
    /// A wave executed a global wave sync instruction: `first` unless it tries again, `passed` unless it has to wait.
    void grid_sync(GroupOrder& order, std::uint64_t group, std::uint32_t wave, Role role, bool first, bool passed);
    using Found = std::function<void(const Conflict&)>;
    /// Notes the access that an instruction just made. `found` is called for each word in conflict.
    void access(GroupOrder& order, const Wave& wave, const Instruction& in, const Found& found);

    /// True for a load of a word on which the same wave then made a compare-and-swap: a stale value costs it a retry, no more.
    [[nodiscard]] bool starts_swap(std::uint32_t pc) const { return seeds_.contains(pc); }
    [[nodiscard]] Role role(std::uint32_t pc) const { return (*roles_)[pc]; }
    [[nodiscard]] const Segment& segment(std::uint32_t id) const { return segments_[id - base_]; }

private:
    static constexpr unsigned page_bits = 12;
    static constexpr std::size_t page_words = 1U << (page_bits - 2);
    struct Page {
        std::uint64_t write[page_words], read[page_words];
        std::uint32_t value[page_words];
    };
    /// A workgroup at a grid barrier, or at a semaphore that it gives to.
    struct Arrival {
        std::uint32_t number;                // of the barrier; they count from 1 in the order in which they open
        std::uint32_t releases;              // of the workgroup until then
        std::uint64_t since;                 // when the workgroup left the one before
        Clocks known;                        // what lies before it
    };
    /// How a workgroup has met others in this dispatch.
    struct GroupFences {
        std::vector<std::uint64_t> releases;
        std::uint64_t acquired = 0;
        std::vector<Arrival> arrivals;       // `number` and `known` only grow
        std::uint32_t left_number = 0;       // the last grid barrier that the workgroup has left, and when
        std::uint64_t left = 0;
        std::vector<std::uint64_t> watched;  // words that it has read atomically, the newest few
        std::size_t next_watched = 0;
    };

    struct Access;

    void next_segment(GroupOrder& order, std::uint64_t group, std::uint32_t wave);
    void arrive(GroupOrder& order, std::uint64_t group, std::uint32_t wave);
    [[nodiscard]] const Arrival* arrival_between(const Segment& earlier, const Clocks& now) const;
    [[nodiscard]] bool grid_fenced(const Arrival& arrival, const Segment& writer, std::uint64_t reader) const;
    [[nodiscard]] bool ordered(const Access& access, Trace earlier, bool wrote) const;
    [[nodiscard]] bool met(std::uint64_t reader, const Segment& writer) const;
    void row_of_words(const Access& access);
    std::uint64_t quiet_loads(const Access& access);
    void scattered_words(const Access& access);
    void touch(const Access& access, const Words& words, std::size_t count, std::uint64_t address, std::uint32_t first_word);
    void touch_one(const Access& access, const Words& words, std::uint64_t address, int lane, std::uint32_t mask, std::uint32_t content);
    void conflict(const Access& access, Trace earlier, bool wrote, std::uint64_t address, int lane);
    void synchronise(const Access& access, std::uint64_t word, bool reads, bool changes);
    [[nodiscard]] Words words_at(const Access& access, std::uint64_t address);

    const std::vector<Role>* roles_ = nullptr;
    std::unordered_map<std::shared_ptr<Disassembly>, std::vector<Role>> known_roles_;
    std::vector<Segment> segments_;
    std::uint32_t base_ = 1;
    std::uint64_t time_ = 1;
    std::uint32_t grid_opened_ = 0;  // grid barriers of this dispatch
    std::unordered_map<std::uint64_t, GroupFences> fences_;
    std::unordered_map<std::uint64_t, std::uint64_t> changes_;  // (workgroup, global word) -> time of its last atomic change
    std::unordered_map<std::uint64_t, Clocks> clocks_;       // by workgroup and word
    std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
    std::unordered_set<std::uint32_t> seeds_;
    std::array<std::pair<std::uint64_t, Page*>, 256> recent_;  // pages by the low bits of their number
};

}  // namespace hipscope::sanitize
